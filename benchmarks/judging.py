"""How long judging takes where one operator has much to do: scatters, gathers, sorts, detection.

Run it: ``python -m benchmarks.judging [NAME ...]``. Each program is made here, run once on the CPU
alone and once on the simulated accelerator, and judged by all checks. The exit code is 1 if judging
one takes more than a minute.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

import reference_vm as rv
from benchmarks.side_by_side import within
from hettest.backend.protocol import Observation
from hettest.judge import judge

LIMIT: Final = 60.0
"""Seconds."""

Array = np.ndarray[Any, np.dtype[Any]]
Made = tuple[str, Sequence[Array]]
"""The program's one call, over ``%a0``, ``%a1``..., and the arguments."""

_random: Final = np.random.default_rng(0)


def _floats(*shape: int) -> Array:
    return _random.standard_normal(shape, dtype=np.float32)


def _places(high: int, *shape: int) -> Array:
    return _random.integers(0, high, shape)


def _boxes(count: int) -> Array:
    corner = _random.uniform(0, 600, (1, count, 2))
    sides = _random.uniform(5, 60, (1, count, 2))
    return np.concatenate([corner, corner + sides], -1).astype(np.float32)


def _number(value: float, dtype: type[Any]) -> Array:
    return np.asarray(value, dtype)


def _trees(count: int, depth: int, features: int) -> list[Array]:
    """Return the tables of full binary trees: nodes, then the entries of their leaves."""
    inner, leaves = 2**depth - 1, 2**depth
    nodes, ends = count * inner, count * leaves
    children = []
    for tree in range(count):
        for node in range(inner):
            below = [2 * node + 1, 2 * node + 2]
            children.append(
                [tree * inner + b if b < inner else -1 - (tree * leaves + b - inner) for b in below]
            )
    table = np.asarray(children, np.int64)
    return [
        _places(features, nodes),
        _floats(nodes),
        np.zeros(nodes, np.uint8),
        table[:, 0].copy(),
        table[:, 1].copy(),
        np.zeros(nodes, np.bool_),
        np.arange(count) * inner,
        np.arange(ends + 1),
        np.zeros(ends, np.int64),
        _floats(ends),
    ]


PROGRAMS: Final[dict[str, Callable[[], Made]]] = {
    "scatter_nd of points": lambda: (
        "scatter_nd(%a0, %a1, %a2)",
        (_floats(1, 80, 80, 24), np.stack([_places(s, 150_000) for s in (1, 80, 80, 24)], -1),
         _floats(150_000)),
    ),
    "scatter_nd of rows, added": lambda: (
        'scatter_nd(%a0, %a1, %a2, reduction = "add")',
        (_floats(20_000, 64), _places(20_000, 100_000, 1), _floats(100_000, 64)),
    ),
    "scatter_elements, added": lambda: (
        'scatter_elements(%a0, %a1, %a2, axis = 0, reduction = "add")',
        (_floats(1000, 500), _places(1000, 2000, 500), _floats(2000, 500)),
    ),
    "scatter_elements, multiplied": lambda: (
        'scatter_elements(%a0, %a1, %a2, axis = 1, reduction = "mul")',
        (_floats(500, 1000), _places(1000, 500, 1000), _floats(500, 1000)),
    ),
    "gather_nd": lambda: (
        "gather_nd(%a0, %a1)",
        (_floats(512, 512, 4), np.stack([_places(512, 500_000) for _ in range(2)], -1)),
    ),
    "top_k": lambda: ("top_k(%a0, %a1)", (_floats(200, 10_000), np.array([100]))),
    "unique": lambda: ("unique(%a0)", (_places(50_000, 1_000_000),)),
    "unique rows": lambda: ("unique(%a0, axis = 0)", (_places(4, 100_000, 8),)),
    "non_max_suppression": lambda: (
        "non_max_suppression(%a0, %a1, %a2, %a3, %a4)",
        (_boxes(8400), _random.uniform(0, 1, (1, 80, 8400)).astype(np.float32),
         _number(100, np.int64), _number(0.45, np.float32), _number(0.9, np.float32)),
    ),
    "roi_align": lambda: (
        "roi_align(%a0, %a1, %a2, output_height = 7, output_width = 7, sampling_ratio = 2)",
        (_floats(1, 64, 100, 100), _boxes(1000)[0] / 8, np.zeros(1000, np.int64)),
    ),
    "resize": lambda: (
        'resize(%a0, none, none, %a1, mode = "cubic")',
        (_floats(1, 16, 200, 200), np.array([1, 16, 500, 500])),
    ),
    "grid_sample": lambda: (
        'grid_sample(%a0, %a1, mode = "linear")',
        (_floats(1, 16, 200, 200), _random.uniform(-1, 1, (1, 300, 300, 2)).astype(np.float32)),
    ),
    "lstm": lambda: (
        "lstm(%a0, %a1, %a2, hidden_size = 256)",
        (_floats(200, 1, 256), _floats(1, 1024, 256) * np.float32(0.06),
         _floats(1, 1024, 256) * np.float32(0.06)),
    ),
    "tree_ensemble": lambda: (
        "tree_ensemble(%a0, " + ", ".join(f"%a{i}" for i in range(1, 11)) + ", targets = 1)",
        (_floats(500, 20), *_trees(100, 6, 20)),
    ),
    "pow of integers": lambda: ("pow(%a0, %a1)", (_places(9, 300_000), _places(9, 300_000))),
    "quotients of integers": lambda: (
        "floor_divide(%a0, %a1)", (_places(9, 300_000) - 4, _places(9, 300_000) + 1),
    ),
    "shifts": lambda: ("bitwise_left_shift(%a0, %a1)", (_places(9, 300_000), _places(9, 300_000))),
    "erf": lambda: ("erf(%a0)", (_floats(2_000_000),)),
    "gelu": lambda: ("gelu(%a0)", (_floats(128, 3072),)),
}  # fmt: skip


def seconds(make: Callable[[], Made]) -> float:
    """Return how long judging one program takes."""
    call, args = make()
    names = {"float32": "f32", "int64": "i64", "uint8": "u8", "bool": "bool"}
    types = [f"%a{i}: {names[a.dtype.name]}{list(a.shape)}" for i, a in enumerate(args)]
    several = call.startswith(("top_k", "unique", "lstm"))
    body = f"%t = {call} %r = %t[0]" if several else f"%r = {call}"
    kind = "i64" if "suppression" in call else names[args[0].dtype.name]
    text = f"module {{ fn @main({', '.join(types)}) -> {kind}[...] {{ {body} return %r }} }}"
    module = rv.parse(text, "judging")
    seen = []
    for default in ("host", "accel"):
        session = rv.Session(rv.compile(module, "host=cpu:0,accel=sim:0", default=default))
        results = session.run("main", *args, keep=True)
        seen.append(Observation(results=results, intermediates=session.intermediates))
    start = time.perf_counter()
    verdict = judge(module, "main", args, seen[1], seen[0])
    spent = time.perf_counter() - start
    assert verdict.holds, verdict.failures
    return spent


def main(names: Sequence[str] = ()) -> int:
    kept = True
    for name in names or tuple(PROGRAMS):
        kept &= within(f"judging {name}", seconds(PROGRAMS[name]), LIMIT, " s")
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
