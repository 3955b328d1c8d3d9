"""Rules that hold of real numbers change no bit: every pass at work, against none.

Each expression is one that a simplifier might rewrite. It is tried on all special values of each
dtype, with its constants written in the program, compiled as usual, and held to the bit to the same
operators applied one by one to the same values.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
import pytest

import reference_vm as rv
from reference_vm.ops.catalog import OPS
from reference_vm.ops.typing import fill_attrs
from reference_vm.types import NO_ATTRS
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import BF16, DTYPES, F16, F32, I8, I32, I64, U8, DType
from tests.property.grid_cells import Array, special
from tests.property.grid_paths import difference, same_bits

Tree: TypeAlias = "str | tuple[Any, ...]"
"""``x``, ``y``, a number as text, or an operator and its operands."""

RULES: Final[Mapping[str, Tree]] = {
    "x*0": ("multiply", "x", "0"),
    "0*x": ("multiply", "0", "x"),
    "x-x": ("subtract", "x", "x"),
    "x+0": ("add", "x", "0"),
    "0-x": ("subtract", "0", "x"),
    "x*1": ("multiply", "x", "1"),
    "x*-1": ("multiply", "x", "-1"),
    "x+x": ("add", "x", "x"),
    "-(-x)": ("negative", ("negative", "x")),
    "x-(x+1)": ("subtract", "x", ("add", "x", "1")),
    "(x+1)+2": ("add", ("add", "x", "1"), "2"),
    "(x*3)*5": ("multiply", ("multiply", "x", "3"), "5"),
    "(x+y)-y": ("subtract", ("add", "x", "y"), "y"),
    "(x-y)+y": ("add", ("subtract", "x", "y"), "y"),
    "x*y+x": ("add", ("multiply", "x", "y"), "x"),
    "x*y-x*y": ("subtract", ("multiply", "x", "y"), ("multiply", "x", "y")),
    "(x+y)*2": ("multiply", ("add", "x", "y"), "2"),
    "max(x,x)": ("maximum", "x", "x"),
    "max(x,min(x,y))": ("maximum", "x", ("minimum", "x", "y")),
    "min(max(x,3),2)": ("minimum", ("maximum", "x", "3"), "2"),
    "abs(abs(x))": ("abs", ("abs", "x")),
    "abs(-x)": ("abs", ("negative", "x")),
    "square(abs(x))": ("square", ("abs", "x")),
    "relu(relu(x))": ("relu", ("relu", "x")),
    "sign(x)*abs(x)": ("multiply", ("sign", "x"), ("abs", "x")),
}
FLOAT_RULES: Final[Mapping[str, Tree]] = {
    "x/x": ("divide", "x", "x"),
    "0/x": ("divide", "0", "x"),
    "x/1": ("divide", "x", "1"),
    "x/2": ("divide", "x", "2"),
    "x/3": ("divide", "x", "3"),
    "(x/y)*y": ("multiply", ("divide", "x", "y"), "y"),
    "1/(1/x)": ("divide", "1", ("divide", "1", "x")),
    "sqrt(x*x)": ("sqrt", ("multiply", "x", "x")),
    "sqrt(x)*sqrt(x)": ("multiply", ("sqrt", "x"), ("sqrt", "x")),
    "reciprocal(reciprocal(x))": ("reciprocal", ("reciprocal", "x")),
}
FLOATS: Final = (F16, BF16, F32)
SIGNED: Final = (I8, I64)

_PAIRS: Final = ("add", "subtract", "multiply", "maximum", "minimum")
_ALONE: Final = ("negative", "abs", "square")


def grid() -> Iterator[tuple[str, Tree, DType]]:
    for name, tree in RULES.items():
        for dtype in (*FLOATS, *SIGNED):
            yield name, tree, dtype
    for name, tree in FLOAT_RULES.items():
        for dtype in FLOATS:
            yield name, tree, dtype


def program(tree: Tree, dtype: DType) -> str:
    """Return a module that computes a tree of two vectors."""
    lines: list[str] = []

    def write(node: Tree) -> str:
        if node in ("x", "y"):
            return f"%{node}"
        name = f"%v{len(lines)}"
        if isinstance(node, str):
            number = f"{node}.0" if dtype.is_float else node
            lines.append(f"{name} = const {dtype}[] {number}")
            return name
        operator, *operands = node
        written = ", ".join(write(o) for o in operands)
        name = f"%v{len(lines)}"
        lines.append(f"{name} = {operator}({written})")
        return name

    result = write(tree)
    body = "\n".join(lines)
    types = f"%x: {dtype}[n], %y: {dtype}[n]"
    return f"module {{ fn @main({types}) -> {dtype}[n] {{\n{body}\nreturn {result} }} }}"


def by_itself(tree: Tree, known: Mapping[str, Array], dtype: DType) -> Array:
    """Return what the operators of a tree make, one by one."""
    if isinstance(tree, str):
        number = known.get(tree)
        return np.asarray(int(tree), to_numpy(dtype)) if number is None else number
    operator, *operands = tree
    op = OPS[operator]
    with np.errstate(all="ignore"):
        values = [by_itself(o, known, dtype) for o in operands]
        return np.asarray(op.compute(np, *values, **fill_attrs(op, NO_ATTRS)))


def differing(tree: Tree, dtype: DType, **options: Any) -> str | None:
    """Return how the compiled tree differs; ``None`` if it does not."""
    values = special(dtype)
    x, y = np.repeat(values, len(values)), np.tile(values, len(values))
    session = rv.Session(rv.compile(rv.parse(program(tree, dtype)), **options), trace=False)
    found = session.run("main", x, y)
    expected = np.broadcast_to(by_itself(tree, {"x": x, "y": y}, dtype), found.shape)
    return None if same_bits((found,), (expected,)) else difference((found,), (expected,))


CELLS: Final = list(grid())


@pytest.mark.parametrize(
    ("name", "tree", "dtype"), CELLS, ids=[f"{name}-{dtype}" for name, _, dtype in CELLS]
)
def test_a_rule_of_real_numbers_changes_no_bit(name: str, tree: Tree, dtype: DType) -> None:
    assert differing(tree, dtype) is None


@pytest.mark.parametrize("seed", range(40))
def test_a_random_expression_keeps_its_bits(seed: int) -> None:
    rng = random.Random(seed)

    def grown(depth: int) -> Tree:
        if depth == 0 or rng.random() < 0.2:
            return rng.choice(("x", "y", "x", "0", "1", "-1", "2"))
        if rng.random() < 0.3:
            return (rng.choice(_ALONE), grown(depth - 1))
        return (rng.choice(_PAIRS), grown(depth - 1), grown(depth - 1))

    tree = ("add", "x", grown(4))
    for dtype in (F32, I32):
        assert differing(tree, dtype) is None, program(tree, dtype)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("x*0", lambda x, y: np.zeros_like(x)),
        ("x-x", lambda x, y: np.zeros_like(x)),
        ("(x+y)-y", lambda x, y: x),
        ("x+0", lambda x, y: x),
        ("sign(x)*abs(x)", lambda x, y: x),
    ],
)
def test_the_grid_would_find_the_rule_at_work(
    name: str, change: Callable[[Array, Array], Array]
) -> None:
    values = special(DTYPES["f32"])
    x, y = np.repeat(values, len(values)), np.tile(values, len(values))

    meant = by_itself(RULES[name], {"x": x, "y": y}, F32)

    assert not same_bits((change(x, y),), (meant,))


def test_bytes_without_a_sign_wrap_as_others_do() -> None:
    for name in ("x*0", "(x+1)+2", "(x*3)*5", "(x+y)-y", "x*y+x", "(x+y)*2"):
        assert differing(RULES[name], U8) is None
