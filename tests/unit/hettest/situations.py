"""Situations written down by hand, for testing the kit's checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from hettest.backend.protocol import Observation
from hettest.case.model import Expect
from hettest.expect.situation import Situation
from hettest.language import parse

PAIR = {"host": "cpu:0", "accel": "sim:0"}


def situation(
    program: str,
    args: Sequence[Any],
    observation: Observation,
    binding: Mapping[str, str] = PAIR,
    *,
    policy: str = "copy",
    doubled: Callable[[str], Observation] | None = None,
) -> Situation:
    """Return a run of ``main`` that showed ``observation``; nothing is expected of it."""
    return Situation(
        module=parse(program, "<test>"),
        entry="main",
        args=tuple(args),
        binding=dict(binding),
        default=next(iter(binding.values())),
        policy=policy,
        expect=Expect(),
        expected=None,
        observation=observation,
        baseline=lambda: None,
        numbers_hold=False,
        doubled=doubled,
    )


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)
