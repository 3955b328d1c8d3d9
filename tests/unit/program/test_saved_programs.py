"""A program that was saved and loaded is the same program."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reference_vm as rv
from reference_vm.bytecode.disassembler import disassemble
from reference_vm.bytecode.instructions import Kill
from reference_vm.bytecode.verifier import BytecodeError
from reference_vm.codegen.emit import emit
from reference_vm.ir import structural
from tests.unit.program.programs import EXAMPLES

NAMES = pytest.mark.parametrize("name", EXAMPLES)


def leaves(value: Any) -> list[Any]:
    return [x for v in value for x in leaves(v)] if isinstance(value, tuple) else [value]


@NAMES
def test_results_and_trace_are_those_of_the_program_before(name: str, tmp_path: Path) -> None:
    example = EXAMPLES[name]
    program = example.program()
    program.save(tmp_path / "a.rvm")
    before, after = rv.Session(program), rv.Session(rv.load(tmp_path / "a.rvm"))

    expected, found = before.run("main", *example.args), after.run("main", *example.args)

    for left, right in zip(leaves(expected), leaves(found), strict=True):
        np.testing.assert_array_equal(left, right)
    assert [(r.op, r.device, r.defines, r.cause) for r in before.trace] == [
        (r.op, r.device, r.defines, r.cause) for r in after.trace
    ]


@NAMES
def test_nothing_is_lost(name: str, tmp_path: Path) -> None:
    program = EXAMPLES[name].program()
    program.save(tmp_path / "a.rvm")

    loaded = rv.load(tmp_path / "a.rvm")

    assert disassemble(loaded.executable) == disassemble(program.executable)
    assert str(loaded.executable) == str(program.executable)
    assert loaded.device_map == program.device_map
    assert loaded.executor == program.executor
    kernels = [list(map(structural.digest, p.primitives)) for p in (program, loaded)]
    assert kernels[0] == kernels[1]


@NAMES
def test_use_of_memory_is_checked_when_asked_for(name: str, tmp_path: Path) -> None:
    EXAMPLES[name].program().save(tmp_path / "a.rvm")
    rv.load(tmp_path / "a.rvm", check=True)


def test_memory_that_never_goes_is_found_when_asked_for(tmp_path: Path) -> None:
    """Such a file does no harm, so loading without the check takes it."""
    text = """module { fn @main(%a: f32[n]) -> f32[n] {
      %b = cumulative_sum(%a, axis = 0) %c = cumulative_sum(%b, axis = 0) return %c } }"""
    program = rv.compile(rv.parse(text))
    (code,) = program.executable.functions
    kept = tuple(i for i in code.instructions if not isinstance(i, Kill))
    leaking = replace(program.executable, functions=(replace(code, instructions=kept),))
    replace(program, executable=leaking).save(tmp_path / "a.rvm")

    rv.load(tmp_path / "a.rvm")
    with pytest.raises(
        rv.CompileError, match=r"the memory of main/%b \(at 1\) is never given back"
    ):
        rv.load(tmp_path / "a.rvm", check=True)


def test_bytecode_that_could_not_be_loaded_is_found_by_compile_when_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The compiler would be at fault, so a test has to be: one register is never filled."""

    def careless(*args: Any) -> Any:
        made = emit(*args)
        functions = tuple(replace(f, registers=f.registers + 99) for f in made.executable.functions)
        return replace(made, executable=replace(made.executable, functions=functions))

    monkeypatch.setattr("reference_vm.compiler.emit", careless)
    module = rv.parse(EXAMPLES["loops"].text)
    rv.compile(module, "accel=sim:0")

    with pytest.raises(BytecodeError, match=r"@main: has \d+ registers, but fills \d+ at most"):
        rv.compile(module, "accel=sim:0", check=True)


def test_a_device_that_only_a_field_of_a_data_type_names_is_there(tmp_path: Path) -> None:
    text = """module {
      vdevice @host, @accel
      type Some { One(f32[2] @accel), None }
      fn @main(%x: Some) -> Some { return %x }
    }"""
    program = rv.compile(rv.parse(text), "accel=sim:0", check=True)
    program.save(tmp_path / "a.rvm")

    for kept in (program, rv.load(tmp_path / "a.rvm")):
        name, array = rv.Session(kept).run("main", ("One", np.ones(2, "f4")))
        assert name == "One"
        np.testing.assert_array_equal(array, np.ones(2, "f4"))


@NAMES
def test_saving_again_makes_the_same_bytes(name: str, tmp_path: Path) -> None:
    EXAMPLES[name].program().save(tmp_path / "a.rvm")
    rv.load(tmp_path / "a.rvm").save(tmp_path / "b.rvm")

    assert (tmp_path / "a.rvm").read_bytes() == (tmp_path / "b.rvm").read_bytes()


def test_every_process_makes_the_same_bytes(tmp_path: Path) -> None:
    script = (
        "import sys; from tests.unit.program.programs import EXAMPLES\n"
        "for n, e in EXAMPLES.items(): e.program().save(f'{sys.argv[1]}/{n}')\n"
    )
    folders = [tmp_path / seed for seed in ("1", "2")]
    for folder in folders:
        folder.mkdir()
        subprocess.run(
            [sys.executable, "-c", script, str(folder)],
            check=True,
            env={**os.environ, "PYTHONHASHSEED": folder.name},
        )

    for name in EXAMPLES:
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()


@NAMES
def test_the_module_is_there_with_all_its_constants(name: str, tmp_path: Path) -> None:
    program = EXAMPLES[name].program()
    program.save(tmp_path / "a.rvm")

    assert structural.equal(rv.load(tmp_path / "a.rvm").module, program.module)


def test_the_text_of_the_module_names_large_constants(tmp_path: Path) -> None:
    EXAMPLES["placed"].program().save(tmp_path / "a.rvm")

    with zipfile.ZipFile(tmp_path / "a.rvm") as archive:
        text = archive.read("module.hir").decode()

    assert 'const f32[100] from "weights.safetensors" "c0"' in text


def test_weights_beside_a_module_go_into_the_file(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    bias = np.array([1, 2, 3, 4], "f4")
    safetensors.save_file({"bias": bias}, tmp_path / "w.safetensors")
    text = """module {
      fn @main(%x: f32[4]) -> f32[4] {
        %b = const f32[4] from "w.safetensors" "bias"
        %y = add(%x, %b)
        return %y
      }
    }
    """
    rv.compile(rv.parse(text), weights=tmp_path).save(tmp_path / "a.rvm")
    (tmp_path / "w.safetensors").unlink()

    result = rv.Session(rv.load(tmp_path / "a.rvm")).run("main", np.ones(4, "f4"))

    np.testing.assert_array_equal(result, bias + 1)


def test_others_read_the_weights(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    EXAMPLES["placed"].program().save(tmp_path / "a.rvm")

    content = zipfile.ZipFile(tmp_path / "a.rvm").read("weights.safetensors")

    np.testing.assert_array_equal(safetensors.load(content)["c0"], np.full(100, 2.5, "f4"))


def test_a_file_that_stood_there_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    (tmp_path / "a.rvm").write_text("old")

    EXAMPLES["branches"].program().save(tmp_path / "a.rvm")

    assert [p.name for p in tmp_path.iterdir()] == ["a.rvm"]
    rv.load(tmp_path / "a.rvm")


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(rv.CompileError, match=r"unwritable-program.*No such file"):
        EXAMPLES["branches"].program().save(tmp_path / "missing" / "a.rvm")


def test_a_program_is_shown_on_one_line() -> None:
    shown = repr(EXAMPLES["placed"].program())

    assert shown.startswith("<Program @main(%a: f32[n, 4] @")
    assert ") -> (f32[n, 4] @host, f32[n] @accel) on cpu:0, sim:0: " in shown
    assert shown.endswith(" kernels, 1 constant>")
    entries = "".join(f"fn @f{i}(%x: f32[{i}]) -> f32[{i}] {{ return %x }}" for i in range(9))
    assert "@f2(%x: f32[2] @host) -> f32[2] @host; 6 more on cpu:0" in repr(
        rv.compile(rv.parse(f"module {{ {entries} }}"))
    )
    params = ", ".join(f"%p{i}: f32[{i}]" for i in range(99))
    many = rv.compile(rv.parse(f"module {{ fn @main({params}) -> f32[0] {{ return %p0 }} }}"))
    assert "%p2: f32[2] @host, …) -> f32[0] @host on cpu:0: " in repr(many)
