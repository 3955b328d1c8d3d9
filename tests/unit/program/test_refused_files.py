"""What is no program, is damaged or is made to harm is refused, with the place in it."""

from __future__ import annotations

import io
import json
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import reference_vm as rv
from reference_vm.program.members import CODE, KERNELS, MANIFEST, MEMBERS, MODULE, WEIGHTS
from tests.unit.program.files import Change, changed, loaded, members, packed, recoded, saved
from tests.unit.program.programs import EXAMPLES


@cache
def original(name: str = "placed") -> bytes:
    return saved(EXAMPLES[name].program())


def refusal(content: bytes) -> str:
    with pytest.raises(rv.CompileError) as caught:
        loaded(content)
    assert [d.code for d in caught.value.diagnostics] == ["invalid-program"]
    return caught.value.diagnostics[0].message


def instruction(tree: Any, kind: str, function: int = 0) -> list[Any]:
    """Return the fields of the first instruction of a kind."""
    fields: list[Any] = next(i[1] for i in tree[3][function][5] if i[0] == kind)
    return fields


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(rv.CompileError, match="No such file"):
        rv.load(tmp_path / "missing.rvm")


@pytest.mark.parametrize("content", [b"", b"PK", b"module {}", b"\0" * 4096])
def test_other_files_are_no_program(content: bytes) -> None:
    assert refusal(content) == "a.rvm: the file is no program that was saved, or is damaged"


def test_every_shorter_file_is_refused() -> None:
    content = original("branches")
    for size in range(0, len(content), 97):
        refusal(content[:size])


def test_every_changed_byte_of_a_member_is_found() -> None:
    content = original("branches")
    for member in members(content).values():
        start = content.index(member)
        for at in range(start, start + len(member), max(1, len(member) // 25)):
            damaged = bytearray(content)
            damaged[at] ^= 0x20
            assert "a.rvm" in refusal(bytes(damaged))


def test_another_version_is_named_with_what_wrote_it() -> None:
    content = changed(original(), MANIFEST, lambda tree: tree.update(version=2, writer="vm 9"))

    assert "found version 2, written by 'vm 9', expected 1" in refusal(content)


def archive(*entries: tuple[str, bytes], packed_how: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packed_how) as made:
        for name, content in entries:
            made.writestr(name, content)
    return file.getvalue()


def test_paths_are_no_members() -> None:
    parts = list(members(original()).items())

    assert "found the members" in refusal(archive(*parts, ("../../etc/cron.d/x", b"")))
    assert "found the members" in refusal(archive(*parts[1:]))
    with pytest.warns(UserWarning, match="Duplicate name"):
        twice = archive(*parts, parts[0])
    assert "found the members" in refusal(twice)


def test_packed_members_are_refused_whatever_they_would_unpack_to() -> None:
    parts = members(original()) | {MODULE: b"\0" * 100_000_000}

    content = archive(*parts.items(), packed_how=zipfile.ZIP_DEFLATED)

    assert len(content) < 1_000_000
    assert "is packed, expected it stored as it is" in refusal(content)


def test_sizes_that_the_file_does_not_have_are_refused() -> None:
    content = bytearray(original())
    entry = content.rindex(b"PK\1\2")
    content[entry + 20 : entry + 28] = b"\xf0\xff\xff\x7f" * 2

    assert "bytes" in refusal(bytes(content))


@pytest.mark.parametrize("member", [MANIFEST, CODE])
@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff", b"[]", b"[" * 100_000, b"1" * 5_000, b'{"format": "x"}']
)
def test_members_that_are_not_json_of_their_form_are_refused(member: str, content: bytes) -> None:
    parts = members(original()) | {member: content}

    assert member in refusal(packed(parts, digests=member != MANIFEST))


MANIFESTS: dict[str, tuple[Change, str]] = {
    "key": (lambda tree: tree.update(extra=1), "found the keys"),
    "executor": (lambda tree: tree.update(executor="../x"), "executor: found '../x'"),
    "devices": (lambda tree: tree.update(devices=["cpu:0"]), "devices: found a list of 1"),
    "device": (lambda tree: tree.update(devices={"host": "x y"}), "devices: found 'x y'"),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_wrong_manifests_are_refused(name: str) -> None:
    change, message = MANIFESTS[name]

    assert message in refusal(changed(original(), MANIFEST, change))


TREES: dict[str, tuple[Change, str]] = {
    "unknown class": (
        lambda t: t["layout"].update(Explode=["target"]),
        "layout: found 'Explode', expected a class that this version knows",
    ),
    "unknown field": (
        lambda t: t["layout"]["Kill"].append("when"),
        "layout.Kill: found 'registers, when', expected fields registers",
    ),
    "missing class": (lambda t: t["layout"].pop("Jump"), "layout.Jump: found None"),
    "source": (lambda t: t["sources"].append(["x", 1, 1]), "sources[1]"),
    "span": (
        lambda t: t["executable"][3][0][1][0].__setitem__(3, [7, 0, 1]),
        "executable.functions[0].params[0].span: found 7, expected one of 1 sources",
    ),
    "span beyond": (
        lambda t: t["executable"][3][0][1][0].__setitem__(3, [0, 0, 10**9]),
        "expected a part of a text",
    ),
}


@pytest.mark.parametrize("name", TREES)
def test_trees_of_another_layout_are_refused(name: str) -> None:
    change, message = TREES[name]

    assert message in refusal(changed(original(), CODE, change))


CODES: dict[str, tuple[Change, str]] = {
    "instruction": (
        lambda t: t[3][0][5].insert(0, ["Explode", [0]]),
        "executable.functions[0].instructions[0]: found 'Explode', expected LoadConstant or",
    ),
    "type of a field": (
        lambda t: instruction(t, "Launch").__setitem__(0, "0"),
        ".kernel: found '0', expected an integer of 64 bits",
    ),
    "bool for an integer": (
        lambda t: instruction(t, "Launch").__setitem__(0, True),
        ".kernel: found True, expected an integer of 64 bits",
    ),
    "huge integer": (
        lambda t: instruction(t, "Launch").__setitem__(0, 10**4000),
        ".kernel: found an integer of 13288 bits",
    ),
    "kernel": (lambda t: instruction(t, "Launch").__setitem__(0, 99), "kernel 99 is not in the"),
    "negative kernel": (lambda t: instruction(t, "Launch").__setitem__(0, -1), "kernel -1 is not"),
    "device": (
        lambda t: instruction(t, "Launch").__setitem__(1, 2),
        "device 2 is not in the table",
    ),
    "kind of device": (
        lambda t: instruction(t, "Launch").__setitem__(1, 1),
        "a kernel for cpu is launched on sim:0",
    ),
    "argument": (
        lambda t: instruction(t, "Launch").__setitem__(2, [0]),
        "the kernel takes 2 arguments, not 1",
    ),
    "type of an argument": (
        lambda t: instruction(t, "Launch").__setitem__(2, [0, instruction(t, "AllocStorage")[0]]),
        "holds a storage, expected f32[4]",
    ),
    "dtype of a result": (
        lambda t: instruction(t, "Launch")[3][0].__setitem__(1, "f64"),
        "expected f32[",
    ),
    "rank of a result": (
        lambda t: instruction(t, "Launch")[3][0].__setitem__(2, [4]),
        "is made as f32[4], expected f32[",
    ),
    "empty register": (
        lambda t: instruction(t, "Launch").__setitem__(2, [0, t[3][0][3] - 1]),
        "is read, but may be empty",
    ),
    "no register": (
        lambda t: instruction(t, "Launch").__setitem__(2, [0, 10**9]),
        "register 1000000000 is read, but may be empty",
    ),
    "negative register": (
        lambda t: instruction(t, "Launch").__setitem__(2, [0, -1]),
        "there is no register -1",
    ),
    "registers": (lambda t: t[3][0].__setitem__(3, 10**15), "has 1000000000000000 registers"),
    "offset": (
        lambda t: instruction(t, "Launch")[3][0].__setitem__(5, -64),
        "lies at -64, expected a multiple of 4",
    ),
    "storage": (
        lambda t: instruction(t, "Launch")[3][0].__setitem__(4, 0),
        "register 0 holds f32[n, 4], expected a storage",
    ),
    "symbol": (
        lambda t: instruction(t, "AllocStorage").__setitem__(2, [[4, "q"]]),
        "q is no symbol of the function",
    ),
    "dim": (
        lambda t: instruction(t, "AllocStorage").__setitem__(2, [[0, "n"]]),
        "expected a polynomial in its one form",
    ),
    "division by 0": (
        lambda t: instruction(t, "AllocStorage").__setitem__(2, [[1, ["mod", [[1, "n"]], 0]]]),
        "expected a divisor that is not 0",
    ),
    "unused memory": (
        lambda t: instruction(t, "AllocStorage").__setitem__(2, -5),
        "found a storage of -5 bytes",
    ),
    "no return": (lambda t: t[3][0][5].pop(), "a path does not end in a return"),
    "constant": (
        lambda t: instruction(t, "LoadConstant").__setitem__(1, 5),
        "constant 5 is not in the table of 1",
    ),
    "shape of a constant": (
        lambda t: t[2][0].__setitem__(1, [2**40, 2**40]),
        "c0 is not f32[1099511627776, 1099511627776]",
    ),
    "negative shape": (lambda t: t[2][0].__setitem__(1, [-1]), "constants[0]: found the shape"),
    "file of a constant": (
        lambda t: t[2][0].__setitem__(2, ["WeightFile", ["/etc/passwd", "c0"]]),
        "constants[0]: expected a tensor of weights.safetensors",
    ),
    "elements in the code": (
        lambda t: t[2][0].__setitem__(2, ["InlineData", "AAAA"]),
        "expected the name of a tensor beside the tree",
    ),
    "result": (
        lambda t: t[3][0].__setitem__(2, t[3][0][1][0][1]),
        "holds a tuple of 2, expected f32[n, 4]",
    ),
    "first device": (lambda t: t[0].reverse(), "the first device is not cpu:0"),
}


@pytest.mark.parametrize("name", CODES)
def test_bytecode_that_is_not_well_formed_is_refused(name: str) -> None:
    change, message = CODES[name]

    assert message in refusal(recoded(original(), change))


def test_jumps_backwards_are_refused() -> None:
    content = recoded(original("branches"), lambda t: instruction(t, "Branch").__setitem__(1, 0))

    assert "jumps back to 0" in refusal(content)


def kill_first(tree: Any) -> None:
    """Give the first storage back before the function returns."""
    storage = instruction(tree, "AllocStorage")[0]
    tree[3][0][5].insert(-1, ["Kill", [[storage]]])


def too_many_rows(tree: Any) -> None:
    """Let the first result have four rows, whatever the argument has."""
    instruction(tree, "Launch")[3][0][2][0] = 4


def too_small(tree: Any) -> None:
    """Let the first storage be smaller than what lies in it, for some arguments."""
    instruction(tree, "AllocStorage")[2] = [[16, "n"], [-16]]


UNPROVEN: dict[str, tuple[Change, str]] = {
    "memory given back": (kill_first, "use-after-free"),
    "dims of a result": (too_many_rows, "shape-mismatch"),
    "size of a storage": (too_small, "shape-mismatch"),
}


@pytest.mark.parametrize("name", UNPROVEN)
def test_what_only_a_run_can_tell_ends_in_a_located_error(name: str) -> None:
    change, code = UNPROVEN[name]
    program = loaded(recoded(original(), change))
    session = rv.Session(program)

    with pytest.raises(rv.ExecutionError) as caught:
        session.run("main", *EXAMPLES["placed"].args)

    assert not program.proven
    assert "only a run can tell" in session.notes[0]
    assert [d.code for d in caught.value.diagnostics] == [code]
    assert session.memory()["cpu:0"].current == rv.Session(program).memory()["cpu:0"].current


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_the_compiler_makes_is_proven(name: str) -> None:
    assert loaded(original(name)).proven


KERNEL_TEXTS: dict[str, tuple[str, str, str]] = {
    "syntax": ("fn @k0", "fun @k0", "syntax-error"),
    "operator": ("add(", "evil(", "unknown-operator"),
    "type": ("%v0: f32[d0, 4]", "%v0: f64[d0, 4]", "is f32[d0, 4], expected f64[d0, 4]"),
    "count": ("fn @k0", "fn @j0", "expected k0 to k"),
    "mark": (
        "attrs { primitive = true } {\n    %v0: f32[d0, 4]",
        "{\n    %v0: f32[d0, 4]",
        "is not marked primitive",
    ),
}


@pytest.mark.parametrize("name", KERNEL_TEXTS)
def test_texts_that_make_no_kernels_are_refused(name: str) -> None:
    old, new, message = KERNEL_TEXTS[name]
    parts = members(original())
    text = parts[KERNELS].decode()
    assert old in text

    parts[KERNELS] = text.replace(old, new).encode()

    assert message in refusal(packed(parts))


def test_tensors_that_are_not_the_constants_are_refused() -> None:
    parts = members(original())
    header = json.dumps(
        {"c0": {"dtype": "F32", "shape": [100], "data_offsets": [-4, 396]}}
    ).encode()
    for weights, message in (
        (b"", "the file is truncated"),
        (b"\xff" * 8 + b"{}", "the file is truncated"),
        ((2).to_bytes(8, "little") + b"{}", "found 0 tensors, expected the 1 of the code"),
        (len(header).to_bytes(8, "little") + header + bytes(400), "c0 is not f32[100] at 0 to 400"),
        (parts[WEIGHTS] + b"\0", "bytes of data, expected 400"),
        (parts[WEIGHTS][:-1], "the file is truncated"),
    ):
        assert message in refusal(packed(parts | {WEIGHTS: weights}))


def test_the_members_are_listed_where_they_are_documented() -> None:
    page = Path(__file__).parents[3] / "docs" / "reference" / "executables.md"

    assert [m for m in MEMBERS if f"`{m}`" not in page.read_text(encoding="utf-8")] == []


def test_devices_that_are_not_here_are_named_with_their_roles(tmp_path: Path) -> None:
    content = recoded(original("shapes"), lambda t: t[0].append("opencl:3"))
    (tmp_path / "a.rvm").write_bytes(
        changed(content, MANIFEST, lambda t: t["devices"].update(accel="opencl:3"))
    )

    with pytest.raises(rv.CompileError) as caught:
        rv.load(tmp_path / "a.rvm")

    assert [d.code for d in caught.value.diagnostics] == ["device-unavailable"]
    assert "opencl:3, which is @accel, is not available: there is no device kind opencl" in str(
        caught.value
    )
