"""What the arms of a branch yield shares its bytes with the branch's result, in every arm."""

from __future__ import annotations

import itertools
from typing import Final

import numpy as np
import pytest

import reference_vm as rv
from reference_vm.program.memory import memory_problems
from reference_vm.runtime.peaks import Peak, peaks

DEEPEST: Final = 8
SIDE: Final = 32
"""Of matrices: large enough for rows and the alignment not to matter."""


def nested(depth: int, side: str, pair: bool) -> str:
    """Return a program of branches in the last arms of branches."""
    matrix = f"f32[{side}, {side}]"
    conditions = "".join(f", %c{i}: bool[]" for i in range(depth))
    text = [f"fn @main(%x: {matrix}{conditions}) -> {matrix} {{"]
    for i in range(depth):
        text += [f"%r{i} = if %c{i} {{", *_arm(i, "a", pair), "} else {"]
    text += _arm(depth, "b", pair)
    for i in reversed(range(depth)):
        text.append("}")
        yielded = f"%r{i}"
        if pair and i == 0:
            text += [f"%f = {yielded}[0]", f"%s = {yielded}[1]", "%z = add(%f, %s)"]
        elif i == 0:
            text.append(f"%z = permute_dims({yielded}, axes = [1, 0])")
        else:
            text.append(f"yield {yielded}")
    return "\n".join(("module {", *text, "return %z", "}", "}"))


def _arm(number: int, letter: str, pair: bool) -> list[str]:
    name = f"{letter}{number}"
    lines = [f"%{name} = permute_dims(%x, axes = [1, 0])", f"%{name}x = tanh(%{name})"]
    if not pair:
        return [*lines, f"yield %{name}x"]
    more = [f"%{name}s = sum(%{name}x, axis = [1])", f"%{name}p = (%{name}x, %{name}s)"]
    return [*lines, *more, f"yield %{name}p"]


def most(text: str, depth: int, fuse: bool) -> Peak:
    """Return the greatest peak and the greatest bound of all paths."""
    program = rv.compile(rv.parse(text), "host=cpu:0", fuse=fuse, check=True)
    assert memory_problems(program) == []
    session = rv.Session(program, checked=True)
    x = np.linspace(-1, 1, SIDE * SIDE, dtype=np.float32).reshape(SIDE, SIDE)
    found = []
    for conditions in itertools.product((False, True), repeat=depth):
        session.run("main", x, *map(np.array, conditions))
        found.append(peaks(session.trace)["cpu:0"].aligned or (0, 0))
    planned, bound = (max(column) for column in zip(*found, strict=True))
    return Peak(planned, bound)


@pytest.mark.parametrize("depth", [1, 2, 3, DEEPEST])
@pytest.mark.parametrize("pair", [False, True], ids=["matrix", "pair"])
@pytest.mark.parametrize("side", [str(SIDE), "n"])
@pytest.mark.parametrize("fuse", [False, True], ids=["apart", "fused"])
def test_the_peak_does_not_grow_with_the_arms(
    depth: int, pair: bool, side: str, fuse: bool
) -> None:
    peak = most(nested(depth, side, pair), depth, fuse)

    assert peak.planned <= peak.bound
