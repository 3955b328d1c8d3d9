"""How a program is written changes neither what runs where nor what is copied.

Twins (`rewritten_twins`) are compiled and run beside the plain program: the same operators on the
same devices, the same copies for the same reasons, the same bits.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_vm as rv
from tests.property.placed_programs import MAP, program
from tests.property.rewritten_twins import KEEPING_NAMES, MOVING, Twin

SEEDS = st.integers(0, 2**32 - 1)
MANY = settings(max_examples=80, deadline=None)
ALL = (*KEEPING_NAMES, *MOVING, "dead call")
Seen = tuple[Counter[tuple[str, str]], Counter[tuple[str, str, int]], bytes]


def observed(text: str, values: tuple[np.ndarray, ...]) -> list[Seen]:
    """Return, for each way that branches can go, what ran where, the copies, and the result."""
    session = rv.Session(rv.compile(rv.parse(text), MAP, fuse=False), interpreter=True)
    seen = []
    for c0, c1 in product((True, False), repeat=2):
        result = session.run("main", *values, np.array(c0), np.array(c1))
        ran = Counter((r.op, str(r.device)) for r in session.trace if r.kind == "execute")
        copies = Counter(
            (r.cause.kind, str(r.device), r.bytes)
            for r in session.trace
            if r.kind == "copy" and r.cause is not None
        )
        seen.append((ran, copies, np.asarray(result).tobytes()))
    return seen


def check_twin(seed: int, *, explicit: bool) -> set[str]:
    """Check a twin of a random program, and return by which rewrites it is one."""
    rng = random.Random(seed)
    written = program(rng, explicit=explicit, branches=True)
    twin = Twin(rng, ALL if explicit else KEEPING_NAMES)
    text = twin.text(written)
    values = tuple(
        np.array([rng.randrange(-3, 4) for _ in range(4)], np.float32) for _ in written.names
    )
    assert observed(text, values) == observed(written.text(), values), text
    return twin.used


@MANY
@given(SEEDS)
def test_twins_of_explicit_programs_run_and_copy_the_same(seed: int) -> None:
    check_twin(seed, explicit=True)


@MANY
@given(SEEDS)
def test_twins_that_keep_names_are_placed_the_same(seed: int) -> None:
    check_twin(seed, explicit=False)


def test_twins_are_rewritten_in_every_way() -> None:
    used = set[str]()
    for seed in range(60):
        used |= check_twin(seed, explicit=True)

    assert used == set(ALL)
