"""Each kind of error that only a run finds: located, and afterwards all is as before.

Every row is a program with arguments that are right and arguments that are wrong. After the error
the devices hold what they held before, and the right arguments give what they gave.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np
import pytest

import reference_vm as rv
from tests.unit.session.in_use import in_use
from tests.unit.session.test_failures import failure

EXECUTORS: Final = ("native", "interpreter")
RAISED: Final = re.compile(r'(?:DataError|BindError)\(\s*(?:[a-z]+,\s*)?"([a-z-]+)"')
"""How the code of an error stands where it is raised."""


def f32(*values: float) -> Any:
    return np.array(values, np.float32)


def i64(*values: int) -> Any:
    return np.array(values, np.int64)


def number(value: int) -> Any:
    return np.array(value, np.int64)


def zeros(*shape: int) -> Any:
    return np.zeros(shape, np.float32)


@final
@dataclass(frozen=True)
class Row:
    """One kind of error."""

    code: str
    params: str
    result: str
    body: str
    """Its statement at fault is the one with ``<-``."""

    right: tuple[Any, ...]
    wrong: tuple[Any, ...]
    says: str = ""
    device: str = ""
    """The device of the operators, if not any."""

    def __str__(self) -> str:
        return f"{self.code}: {self.body.split('(')[0].split('= ')[-1]}({self.params})"

    @property
    def text(self) -> str:
        lines = [f"    {line.strip()}" for line in self.body.strip().splitlines()]
        return "\n".join(
            (
                "module {",
                "  vdevice @host, @accel",
                f"  fn @main({self.params}) -> {self.result} {{",
                *(line.removesuffix(" <-") for line in lines),
                "    return %r",
                "  }",
                "}",
            )
        )

    @property
    def line(self) -> int | None:
        """The line of the statement at fault; ``None`` for an argument."""
        for number_, line in enumerate(self.body.strip().splitlines()):
            if line.endswith("<-"):
                return number_ + 4
        return None


def op(call: str) -> str:
    """Return a body of one call, which is at fault, between two that are not."""
    return f"%before = negative(%x)\n%r = {call} <-"


V2: Final = f32(1, 2)
V3: Final = f32(1, 2, 3)
ROWS: Final[Sequence[Row]] = (
    # arguments
    Row(
        "argument-shape",
        "%x: f32[n], %y: f32[n]",
        "f32[n]",
        "%r = add(%x, %y)",
        (V3, V3),
        (V3, V2),
        "n was 3",
    ),
    Row(
        "argument-shape",
        "%x: f32[n], %y: f32[2*n]",
        "f32[n]",
        "%r = exp(%x)",
        (V3, zeros(6)),
        (V3, zeros(5)),
        "expected 2*n = 6",
    ),
    Row(
        "argument-shape",
        "%x: f32[3]",
        "f32[3]",
        "%r = exp(%x)",
        (V3,),
        (V2,),
        "found f32[2], expected f32[3]",
    ),
    Row("argument-rank", "%x: f32[?]", "f32[?]", "%r = exp(%x)", (V3,), (zeros(1, 2),)),
    Row("argument-dtype", "%x: f32[?]", "f32[?]", "%r = exp(%x)", (V3,), (i64(1),)),
    Row(
        "symbol-out-of-bounds",
        "%x: f32[n]",
        "f32[n] bounds n in 2..3",
        "%r = exp(%x)",
        (V3,),
        (zeros(4),),
        "n is 4, expected 2..3",
    ),
    # shapes that contradict
    Row(
        "shape-mismatch",
        "%x: f32[?], %y: f32[?]",
        "f32[?]",
        op("add(%x, %y)"),
        (V3, V3),
        (V3, V2),
        "[3] and [2]",
    ),
    Row(
        "shape-mismatch",
        "%x: f32[n], %y: f32[m]",
        "f32[?]",
        op("multiply(%x, %y)"),
        (V3, V3),
        (V3, V2),
    ),
    Row(
        "shape-mismatch",
        "%x: f32[n, k], %y: f32[j, m]",
        "f32[n, m]",
        op("matmul(%x, %y)"),
        (zeros(2, 3), zeros(3, 2)),
        (zeros(2, 3), zeros(2, 3)),
        "x is [2, 3] and y [2, 3]",
    ),
    Row(
        "shape-mismatch",
        "%x: f32[?, ?], %y: f32[?, ?]",
        "f32[?, ?]",
        op("concat(%x, %y, axis = 0)"),
        (zeros(2, 3), zeros(1, 3)),
        (zeros(2, 3), zeros(1, 2)),
        "sizes 3 and 2 on axis 1",
    ),
    Row(
        "shape-mismatch",
        "%x: f32[n, c, 5], %w: f32[2, d, 3]",
        "f32[n, 2, 3]",
        op("conv(%x, %w)"),
        (zeros(1, 3, 5), zeros(2, 3, 3)),
        (zeros(1, 3, 5), zeros(2, 2, 3)),
        "channels",
    ),
    Row(
        "shape-mismatch",
        "%x: f32[1, 2, n]",
        "f32[...]",
        op("max_pool(%x, kernel_shape = [3])"),
        (zeros(1, 2, 3),),
        (zeros(1, 2, 2),),
        "does not fit on spatial axis 0",
    ),
    Row(
        "shape-mismatch",
        "%x: f32[n], %i: i64[m], %u: f32[k]",
        "f32[n]",
        op("scatter_elements(%x, %i, %u)"),
        (V3, i64(0), f32(1)),
        (V3, i64(0), V2),
    ),
    Row(
        "shape-mismatch",
        "%x: f32[?], %t: i64[2]",
        "f32[?, ?]",
        op("reshape(%x, %t)"),
        (zeros(6), i64(2, 3)),
        (zeros(6), i64(4, 2)),
        "6 elements",
    ),
    Row(
        "shape-mismatch",
        "%x: f32[?], %t: i64[2]",
        "f32[?, ?]",
        op("reshape(%x, %t)"),
        (zeros(6), i64(2, -1)),
        (zeros(6), i64(-1, -1)),
        "beside one -1",
    ),
    Row(
        "shape-mismatch",
        "%x: f32[?], %t: i64[2]",
        "f32[?, ?]",
        op("broadcast_to(%x, %t)"),
        (V3, i64(2, 3)),
        (V3, i64(2, 2)),
    ),
    Row(
        "shape-mismatch",
        "%x: f32[?], %s: i64[2]",
        "(f32[?], f32[?])",
        op("split(%x, %s, num_outputs = 2)"),
        (V3, i64(1, 2)),
        (V3, i64(1, 1)),
    ),
    Row(
        "shape-mismatch",
        "%x: f32[?], %k: i64[]",
        "(f32[?], i64[?])",
        op("top_k(%x, %k)"),
        (V3, number(2)),
        (V3, number(4)),
        "the first 4 of 3 elements",
    ),
    Row(
        "match-cast",
        "%x: f32[?]",
        "f32[3]",
        "%before = exp(%x)\n%r: f32[3] = match_cast(%before) <-",
        (V3,),
        (V2,),
        "dim 0 is 2, expected 3",
    ),
    Row(
        "match-cast",
        "%x: f32[...]",
        "f32[?, ?]",
        "%before = exp(%x)\n%r: f32[?, ?] = match_cast(%before) <-",
        (zeros(1, 2),),
        (V2,),
        "the rank is 1, expected 2",
    ),
    Row(
        "match-cast",
        "%x: f32[?], %y: f32[n]",
        "f32[n]",
        "%r: f32[n] = match_cast(%x) <-",
        (V3, V3),
        (V2, V3),
        "expected n = 3",
    ),
    # dims that no tensor has
    Row(
        "shape-mismatch",
        "%x: f32[], %t: i64[2]",
        "f32[?, ?]",
        op("full(%t, %x)"),
        (np.float32(1), i64(1, 2)),
        (np.float32(1), i64(1, -2)),
        "negative",
    ),
    Row(
        "negative-dim",
        "%x: f32[n]",
        "f32[...]",
        "%s = shape [n - 2]\n%one = const f32[] 1.0\n%r = full(%s, %one) <-",
        (V3,),
        (f32(1),),
        "is -4 in this run",
    ),
    Row(
        "out-of-memory",
        "%x: f32[], %t: i64[2]",
        "f32[?, ?]",
        op("full(%t, %x)"),
        (np.float32(1), i64(1, 2)),
        (np.float32(1), i64(2**40, 2**40)),
        "no array is as large",
    ),
    Row(
        "out-of-memory",
        "%x: f32[], %t: i64[1]",
        "f32[?]",
        op("broadcast_to(%x, %t)"),
        (np.float32(1), i64(3)),
        (np.float32(1), i64(2**58)),
    ),
    Row(
        "division-by-zero",
        "%x: f32[n]",
        "f32[...]",
        "%s = shape [floordiv(8, n)] <-\n%one = const f32[] 1.0\n%r = full(%s, %one)",
        (V2,),
        (zeros(0),),
        "divides by n, which is 0",
    ),
    # more than a device has
    Row(
        "out-of-memory",
        "%x: f32[n]",
        "f32[n]",
        op("exp(%x)"),
        (zeros(100),),
        (zeros(900),),
        "cannot allocate 3600 bytes",
        "sim.tiny-memory:0",
    ),
    Row(
        "out-of-memory",
        "%x: f32[?], %k: i64[1]",
        "f32[?]",
        op("tile(%x, %k)"),
        (V3, i64(2)),
        (V3, i64(900)),
        "cannot allocate 10800 bytes",
        "sim.tiny-memory:0",
    ),
    # elements at fault
    Row(
        "index-out-of-range",
        "%x: f32[?], %i: i64[?]",
        "f32[?]",
        op("take(%x, %i, axis = 0)"),
        (V3, i64(-3, 2)),
        (V3, i64(3)),
        "",
        "",
    ),
    Row(
        "index-out-of-range",
        "%x: f32[n], %i: i64[n]",
        "f32[n]",
        op("take_along_axis(%x, %i)"),
        (V3, i64(0, 1, -1)),
        (V3, i64(0, -4, 1)),
    ),
    Row(
        "index-out-of-range",
        "%x: f32[?], %c: bool[?]",
        "f32[?]",
        op("compress(%x, %c, axis = 0)"),
        (V2, np.array([True, False])),
        (V2, np.array([False, False, True])),
    ),
    Row(
        "division-by-zero",
        "%x: i64[n], %y: i64[n]",
        "i64[n]",
        op("floor_divide(%x, %y)"),
        (i64(7, 8), i64(2, 3)),
        (i64(7, 8), i64(2, 0)),
    ),
    Row(
        "negative-exponent",
        "%x: i64[n], %y: i64[n]",
        "i64[n]",
        op("pow(%x, %y)"),
        (i64(2, 3), i64(3, 0)),
        (i64(2, 3), i64(3, -1)),
    ),
    Row(
        "empty-reduction",
        "%x: f32[?, ?]",
        "i64[?]",
        op("argmax(%x, axis = 1)"),
        (zeros(2, 3),),
        (zeros(2, 0),),
    ),
    Row(
        "zero-step",
        "%x: i64[], %s: i64[]",
        "i64[?]",
        op("arange(%x, %x, %s)"),
        (number(3), number(1)),
        (number(3), number(0)),
    ),
    Row(
        "attribute-value",
        "%x: f32[?], %s: f32[1]",
        "f32[?]",
        op("resize(%x, none, %s)"),
        (V2, f32(2)),
        (V2, f32(-1)),
        "expected positive numbers",
    ),
)


ELSEWHERE: Final = {
    "recursion-too-deep",
    "use-after-donation",
    "function-result",
    "argument-type",
    "rank-mismatch",
    "axis-out-of-range",
}
"""Codes that other tests try: of functions, of arguments of odd kinds, and of the operator grid."""

PLACED: Final = [
    (row, place) for row in ROWS for place in ((row.device,) if row.device else ("cpu:0", "sim:0"))
]


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(("row", "place"), PLACED, ids=str)
def test_an_error_is_located_and_leaves_nothing_behind(row: Row, place: str, executor: str) -> None:
    module = rv.parse(row.text)
    program = rv.compile(module, f"host=cpu:0,accel={place}", default="accel", check=True)
    session = rv.Session(program, interpreter=executor == "interpreter")
    first = session.run("main", *row.right)
    held = in_use(session)

    for _ in range(2):
        found = failure(lambda: session.run("main", *row.wrong))
        assert found.code == row.code
        assert row.says in found.message
        assert (found.span and found.span.line) == (row.line or 3)
        assert in_use(session) == held
        again = session.run("main", *row.right)
        for one, other in zip(_leaves(first), _leaves(again), strict=True):
            np.testing.assert_array_equal(one, other)
        assert in_use(session) == held


def _leaves(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


def test_every_code_that_operators_and_the_runtime_raise_is_tried() -> None:
    folder = Path(rv.__file__).parent
    sources = [*folder.glob("ops/*.py"), *folder.glob("runtime/*.py")]
    raised = {code for path in sources for code in RAISED.findall(path.read_text("utf-8"))}

    assert len(raised) > 10
    assert raised - {row.code for row in ROWS} <= ELSEWHERE
