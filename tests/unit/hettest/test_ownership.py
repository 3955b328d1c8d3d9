"""Arguments stay the caller's, and memory is given back: the checks on good and bad runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hettest.backend.ownership import Kept, ownership
from hettest.backend.protocol import Memory, Observation
from hettest.case.model import Expect
from hettest.expect import arguments, memory
from hettest.expect.situation import Situation
from hettest.language import parse
from hettest.outcome import Status

PROGRAM = """
module {{
  fn @main(%a: f32[4]{donate}) -> f32[4] {{
    %r = negative(%a)
    return %r
  }}
}}
"""


def _situation(
    handed: Any, results: Any, *, donate: bool = False, used: dict[str, Memory] | None = None
) -> Situation:
    return Situation(
        module=parse(PROGRAM.format(donate=" donate" if donate else ""), "negative"),
        entry="main",
        args=(np.array([1, 2, 3, np.nan], np.float32),),
        binding={},
        default="cpu:0",
        policy="copy",
        expect=Expect(),
        expected=None,
        observation=Observation(results=results, memory=used),
        baseline=lambda: None,
        numbers_hold=False,
        ownership=lambda: ownership(Kept.of((handed,), (_untouched(),), results)),
    )


def _untouched() -> Any:
    return np.array([1, 2, 3, np.nan], np.float32)


def test_an_argument_left_alone_is_proven() -> None:
    (clause,) = arguments.check(_situation(_untouched(), -_untouched()))
    assert clause.status is Status.PROVEN


def test_a_written_argument_is_named() -> None:
    (clause,) = arguments.check(_situation(-_untouched(), -_untouched()))
    assert clause.status is Status.FAILED
    assert clause.detail == "%a was written to"


@pytest.mark.parametrize("part", [slice(None), slice(1, 3)])
def test_a_result_in_an_arguments_memory_is_named(part: slice) -> None:
    handed = _untouched()
    (clause,) = arguments.check(_situation(handed, (np.zeros(1), handed[part])))
    assert clause.status is Status.FAILED
    assert clause.detail == "result 1 lies in the memory of %a"


def test_a_donated_argument_may_be_written_and_returned() -> None:
    handed = _untouched()
    np.negative(handed, out=handed)
    assert not list(arguments.check(_situation(handed, handed, donate=True)))


def test_memory_that_stays_in_use_is_named_with_its_device() -> None:
    used = {"cpu:0": Memory(8, 8, 40), "sim:0": Memory(0, 16, 16)}
    (clause,) = memory.check(_situation(_untouched(), -_untouched(), used=used))
    assert clause.status is Status.FAILED
    assert clause.detail == "sim:0: 0 bytes in use before the run, 16 after it"


def test_memory_given_back_is_proven() -> None:
    used = {"cpu:0": Memory(8, 8, 40), "sim:0": Memory(16, 0, 16)}
    (clause,) = memory.check(_situation(_untouched(), -_untouched(), used=used))
    assert clause.status is Status.PROVEN


def test_a_backend_that_shows_no_memory_gets_no_clause() -> None:
    assert not list(memory.check(_situation(_untouched(), -_untouched())))


@pytest.mark.parametrize("form", ["shape", "dtype"])
def test_an_argument_in_another_form_is_named(form: str) -> None:
    handed = _untouched()

    def spoil(results: Any) -> Any:
        setattr(handed, form, {"shape": (2, 2), "dtype": np.int32}[form])
        return results

    (clause,) = arguments.check(_situation(handed, spoil(-_untouched())))
    assert clause.status is Status.FAILED
    assert clause.detail == "%a was written to"
