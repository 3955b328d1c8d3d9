"""What is computed while compiling has the bits that a run gives it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reference_vm as rv
from reference_vm.bytecode.instructions import Launch
from reference_vm.diagnostics import ExecutionError
from reference_vm.ir.nodes import Constant
from reference_vm.ops.catalog import OPS
from reference_vm.ops.definition import OpDef
from reference_vm.options import context
from reference_vm.passes import pipeline
from reference_vm.passes.catalog import default_pipeline
from reference_vm.passes.context import PassContext
from reference_vm.passes.precompute import Precompute
from reference_vm.session import Session
from reference_vm.targets.numpy import NUMPY, NumpyTarget

RNG = np.random.default_rng(6)
ODD = 1003
"""Elements: not a multiple of any vector."""

UNARY = ("exp", "log", "cos", "sin", "tan", "tanh", "erf", "sigmoid", "gelu", "softplus", "acosh")


def _constant(values: Any) -> str:
    dims = ", ".join(map(str, values.shape))
    return f'const f32[{dims}] hex "{values.tobytes().hex()}"'


def both_ways(body: str, values: Any) -> str:
    """Return a program that does ``body`` to a constant, and to an argument."""
    kind = f"f32[{', '.join(map(str, values.shape))}]"
    again = body.replace("%c", "%d").replace("%k", "%x")
    return f"""module {{ fn @main(%x: {kind}) -> ({kind}, {kind}) {{
      %k = {_constant(values)}
      {body}
      {again}
      %out = (%c, %d)
      return %out
    }} }}"""


def launched(program: Any) -> list[str]:
    """Return the operators that runs of a program launch."""
    code = program.executable.functions[0]
    return [i.site.op for i in code.instructions if isinstance(i, Launch)]


def differences(text: str, values: Any, **options: Any) -> int:
    """Return in how many elements a constant and an argument come out with different bits."""
    program = rv.compile(rv.parse(text), **options)
    folded, ran = Session(program).run("main", values)
    return int(np.sum(folded.view(np.int32) != ran.view(np.int32)))


@pytest.mark.parametrize("executor", ["numba", "numpy"])
@pytest.mark.parametrize("op", UNARY)
def test_a_constant_has_the_bits_of_an_argument(op: str, executor: str) -> None:
    values = RNG.normal(size=ODD).astype(np.float32) * 3

    assert differences(both_ways(f"%c = {op}(%k)", values), values, executor=executor) == 0


def test_a_window_of_many_operators_is_one_constant() -> None:
    body = """
      %a = multiply(%k, %k)
      %e = cos(%a)
      %f = pow(%e, %a)
      %w = sin(%k)
      %q = divide(%w, %k)
      %c = multiply(%q, %f)
    """
    values = RNG.normal(size=(7, 91)).astype(np.float32)
    again = body
    for name in "aefwq":
        again = again.replace(f"%{name}", f"%{name}2")
    text = both_ways(body, values)
    text = text.replace(
        body.replace("%c", "%d").replace("%k", "%x"), again.replace("%c", "%d").replace("%k", "%x")
    )
    program = rv.compile(rv.parse(text))

    assert len(launched(program)) == 1
    assert differences(text, values) == 0


def _foreign(monkeypatch: pytest.MonkeyPatch, kernels: Callable[..., Any]) -> None:
    """Let constants be computed by other kernels than those of the run."""
    original = Precompute.run

    def run(self: Precompute, module: Any, ctx: PassContext) -> Any:
        return original(self, module, replace(ctx, host_kernels=kernels))

    monkeypatch.setattr(Precompute, "run", run)


def test_kernels_of_another_target_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    _foreign(monkeypatch, partial(NUMPY.compile, device_kind="cpu"))
    values = RNG.normal(size=ODD).astype(np.float32) * 3
    wrong = [op for op in UNARY if differences(both_ways(f"%c = {op}(%k)", values), values)]

    assert len(wrong) > 3


def test_a_kernel_that_is_off_by_one_place_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def compute(xp: Any, x: Any) -> Any:
        return np.nextafter(np.cos(x), np.float32(9)).astype(np.float32)

    off: dict[str, OpDef] = {**OPS, "cos": replace(OPS["cos"], compute=compute)}
    target = NumpyTarget(ops=off)
    _foreign(monkeypatch, partial(target.compile, device_kind="cpu"))
    values = RNG.normal(size=ODD).astype(np.float32)

    assert differences(both_ways("%c = cos(%k)", values), values, executor="numpy") == ODD


def test_the_option_leaves_it_to_the_run() -> None:
    values = RNG.normal(size=ODD).astype(np.float32)
    module = rv.parse(both_ways("%c = cos(%k)", values))

    assert len(launched(rv.compile(module))) == 1
    assert len(launched(rv.compile(module, precompute=False))) == 2


def test_bad_data_is_an_error_of_the_run_with_its_line() -> None:
    module = rv.parse("""module { fn @main(%x: f32[2]) -> f32[2] {
      %a = const i32[2] [4, 6]
      %b = const i32[2] [2, 0]
      %q = trunc_divide(%a, %b)
      %f = cast(%q, to = f32)
      %e = exp(%f)
      %y = multiply(%x, %e)
      return %y
    } }""")

    with pytest.raises(ExecutionError) as error:
        Session(rv.compile(module)).run("main", np.ones(2, np.float32))

    (found,) = error.value.diagnostics
    assert found.code == "division-by-zero"
    assert found.span is not None
    assert found.span.line == 4


def test_what_has_an_unknown_dim_is_left_to_the_run() -> None:
    """Also where another dim is 0, so that the number of elements is known."""
    text = """module { fn @main() -> (i64[0, ?], i64[?]) {
      %k = const i64[] 1 %n = nonzero(%k) %c = const i64[3] [2, 2, 3] %u = unique(%c)
      %v = %u[0] %r = (%n, %v) return %r } }"""

    nothing, values = Session(rv.compile(rv.parse(text))).run("main")

    assert nothing.shape == (0, 1)
    assert values.tolist() == [2, 3]


def test_a_saved_program_holds_the_values_and_not_what_they_came_from(tmp_path: Path) -> None:
    values = RNG.normal(size=40_000).astype(np.float32)
    module = rv.parse(both_ways("%c = cos(%k)", values))
    sizes = []
    for precompute in (True, False):
        file = tmp_path / f"{precompute}.rvm"
        rv.compile(module, precompute=precompute).save(file)
        sizes.append(file.stat().st_size)

    assert sizes[0] < sizes[1] + 4096


def test_what_would_grow_a_program_absurdly_is_left_to_the_run() -> None:
    module = rv.parse("""module { fn @main(%x: f32[]) -> f32[10000000] {
      %k = const f32[] 0.5
      %e = exp(%k)
      %s = shape [10000000]
      %large = full(%s, %e)
      %c = cos(%large)
      %y = multiply(%x, %c)
      return %y
    } }""")
    program = rv.compile(module)
    kept = [b.value for b in program.module.by_name["main"].body.bindings()]

    assert sum(len(v.data) for v in kept if isinstance(v, Constant)) < 100


def test_a_second_time_nothing_changes() -> None:
    module = rv.parse(both_ways("%c = cos(%k)", np.ones(4, np.float32)))
    ctx = context("", "copy", None, "", None, None, None)
    once = pipeline.run(module, (*default_pipeline(), Precompute()), ctx, check=True)

    assert Precompute().run(once, ctx) is once


def test_without_kernels_of_the_host_nothing_changes() -> None:
    module = rv.parse(both_ways("%c = cos(%k)", np.zeros(4, np.float32)))

    assert Precompute().run(module, PassContext(OPS)) is module
