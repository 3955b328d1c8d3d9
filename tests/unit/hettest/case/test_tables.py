"""The tables of numbers at which operators go wrong hold what the case format says."""

from __future__ import annotations

import math
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from hettest.case.model import Tensor
from hettest.case.tables import edges, subnormals
from hettest.case.tensors import value
from hettest.errors import CaseError
from hettest.language import DTYPES
from tests.unit.hettest.case.written import load_text, text

INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
FLOATS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}


def table(dtype: str, name: str, count: int) -> np.ndarray:
    found = value(Tensor(dtype, (count,), cycle=name), None)  # type: ignore[arg-type]
    assert isinstance(found, np.ndarray)
    return found


@pytest.mark.parametrize("dtype", INTEGERS)
def test_edges_of_integers_are_the_ends_of_their_range(dtype: str) -> None:
    info = np.iinfo(table(dtype, "edges", 1).dtype)

    found = table(dtype, "edges", 16).tolist()

    assert found == list(edges(DTYPES[dtype]))
    assert {info.max, info.max - 1, info.max // 2, info.bits - 1, info.bits, 0, 1} <= set(found)
    assert info.min in found
    assert found[0] == 3


@pytest.mark.parametrize("dtype", FLOATS)
def test_edges_of_floats_are_special_and_not_subnormal(dtype: str) -> None:
    info = ml_dtypes.finfo(FLOATS[dtype])

    found = [float(v) for v in table(dtype, "edges", 16)]

    ends = {float(v) for v in (info.max, info.min, info.smallest_normal, 1 + info.eps)}
    assert ends <= set(found)
    assert sum(math.isnan(v) for v in found) == 1
    assert {math.inf, -math.inf} <= set(found)
    assert [math.copysign(1, v) for v in found if v == 0] == [1, -1]
    assert not any(0 < abs(v) < float(info.smallest_normal) for v in found)


@pytest.mark.parametrize("dtype", FLOATS)
def test_subnormals_are_below_the_least_normal_number(dtype: str) -> None:
    info = ml_dtypes.finfo(FLOATS[dtype])
    normal, step = float(info.smallest_normal), float(info.smallest_subnormal)

    found = [float(v) for v in table(dtype, "subnormals", 8)]

    assert found == list(subnormals(DTYPES[dtype]))
    assert found == [step, -step, normal - step, step - normal, normal, -normal, 3 * step, 0]


def test_the_table_starts_again_at_its_end() -> None:
    found = table("i32", "edges", 35)

    assert found[:16].tolist() == found[16:32].tolist()
    assert found[32:].tolist() == found[:3].tolist()


def test_integers_have_no_subnormals(tmp_path: Path) -> None:
    wrong = text().replace("data = [1, 2, 3, 4]", 'cycle = "subnormals"').replace("f32", "i8")

    with pytest.raises(CaseError, match="i8 has no subnormal numbers"):
        load_text(tmp_path, wrong)
