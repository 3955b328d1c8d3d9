"""The integers that a program becomes."""

from __future__ import annotations

import pytest

import reference_vm as rv
from reference_vm.runtime.native import disassembly
from reference_vm.session import Session
from tests.unit.native.data_programs import DATA
from tests.unit.native.programs import LOOP, SAMPLES

VIEW = "(%x: f32[n]) -> f32[n, 1] { %y = expand_dims(%x, axes = [1]) return %y }"
FACT = "(%x: f32[?]) -> i64[1] { %s = shape_of(%x) %t = shape_to_tensor(%s) return %t }"
MATCH = (
    "(%x: f32[?]) -> f32[?] { %m: f32[k] = match_cast(%x) %y: f32[?] = match_cast(%m) return %y }"
)
MOVE = "(%x: (f32[2], f32[3])) -> f32[3] { %y = %x[1] return %y }"


def listing(text: str, device_map: str = "", *, fuse: bool = True) -> str:
    module = rv.parse(f"module {{\n{text}\n}}")
    session = Session(rv.compile(module, device_map, fuse=fuse))
    native = session._native
    assert native is not None
    functions = session.program.executable.functions
    return disassembly.disassemble(functions, native.program.codes)


def test_the_listing_in_the_documentation_is_that_of_a_sum() -> None:
    found = listing("fn @main(%x: f32[4]) -> f32[4] { %y = add(%x, %x) return %y }")

    shown = "".join(f"    {line}\n" for line in found.splitlines())
    assert shown in (disassembly.__doc__ or "")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (LOOP, "TAIL_CALL address 3 s"),
        (LOOP, "BRANCH s"),
        (f"fn @main{VIEW}", "VIEW"),
        (f"fn @main{FACT}", "FACT"),
        (f"fn @main{FACT}", "ELEMENTS"),
        (f"fn @main{MATCH}", "MATCH"),
        (f"fn @main{MOVE}", "MOVE 1 s11 s8"),
        (DATA["list of pairs"].text, "TAG s"),
        (DATA["list of pairs"].text, "FIELD s"),
        (DATA["list of functions"].text, "MAKE s"),
        (DATA["list of functions"].text, "APPLY s"),
    ],
)
def test_instructions_have_a_form_of_their_own(text: str, line: str) -> None:
    assert line in listing(text, fuse=False)


def test_what_only_python_does_is_left_to_it() -> None:
    sample = SAMPLES["two devices"]
    assert listing(sample.text, sample.device_map, fuse=False).count("LEAVE 2") >= 3
