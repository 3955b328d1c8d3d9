"""The adapter that a new backend begins with takes whatever its declaration lets in.

Its operators are few. So that it meets all that the page on programs says a backend without a word
of ``construct:`` meets, each operator of the corpus gets a kernel here that returns its first
operand: what is tested is the adapter around them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pytest

from hettest.backend import Mode, Observation, Options
from hettest.capability import missing
from hettest.case.expansion import Item, expand
from hettest.corpus import own_cases
from hettest.runner.cases import CaseData, arguments
from hettest.runner.program import TextProgram
from hettest.scaffold.package import render

DEVICES: Final = ("cpu:0", "npu:0")
DATA: Final = CaseData()


def adapter() -> dict[str, Any]:
    """Return the names of the adapter's module."""
    names: dict[str, Any] = {}
    exec(compile(render("adapter.py.txt", "mine", "npu", packaged=False), "mine.py", "exec"), names)
    return names


def first(*operands: Any) -> Any:
    return next(operand for operand in operands if operand is not None)


class Everything(dict[str, Callable[..., Any]]):
    """Kernels for all operators."""

    def __missing__(self, op: str) -> Callable[..., Any]:
        return first


def let_in(claims: frozenset[str]) -> Iterator[Item]:
    """Yield one item of each run of the corpus that lacks no word but those for operators."""
    for case in own_cases():
        seen = set()
        for item in () if case.refused else expand(case, DEVICES):
            words = [w for w in DATA.requires(item) if not w.startswith(("op:", "observe:"))]
            if item.run is None or item.run.error or missing(words, claims):
                continue
            if item.run.name not in seen:
                seen.add(item.run.name)
                yield item


def kinds(program: dict[str, Any]) -> set[str]:
    """Return which kinds of bindings, and of arguments left out, a program has."""
    found = [b for f in program["functions"] for b in f["body"]["bindings"]]
    left_out = {"left out"} if any(None in b["args"] for b in found) else set()
    return {b["kind"] for b in found} | left_out


def test_no_program_that_it_lets_in_makes_it_crash() -> None:
    names = adapter()
    names["KERNELS"] = Everything()
    backend = names["Backend"]()
    met: set[str] = set()
    ran = 0
    for item in let_in(backend.capabilities):
        program = DATA.program(item.case)
        module = DATA.module(item.case)
        assert module is not None
        assert item.run is not None
        options = Options(policy=item.policy, default=item.default)
        made = backend.compile(program, item.binding, options)

        found = made.run(item.run.entry, arguments(item.case, item.run, module), Mode.DIRECT)

        assert isinstance(found, Observation), item.id
        assert isinstance(found.results, np.ndarray), item.id
        met |= kinds(program.json())
        ran += 1
    assert met == {"call", "constant", "alias", "shape", "left out"}
    assert ran > 400


PROGRAMS: Final = {
    "shape": ("%r = reshape(%x, %s)", "%s = shape [4]"),
    "left out": ("%r = clip(%x, none, %b)", "%b = const f32[] 3.0"),
}


@pytest.mark.parametrize("what", PROGRAMS)
def test_what_an_operator_reads_reaches_its_kernel(what: str) -> None:
    line, before = PROGRAMS[what]
    text = f"module {{ fn @main(%x: f32[2, 2]) -> f32[] {{ {before}\n {line}\n return %r }} }}"
    seen: list[Any] = []

    def kernel(*operands: Any) -> Any:
        seen.extend(operands)
        return operands[0]

    names = adapter()
    names["KERNELS"] |= {"reshape": kernel, "clip": kernel}
    made = names["Backend"]().compile(TextProgram("a", text), {}, Options(default="npu:0"))
    made.run("main", (np.ones((2, 2), np.float32),), Mode.DIRECT)

    if what == "shape":
        assert seen[1].tolist() == [4]
    else:
        assert seen[1] is None
        assert seen[2] == 3
