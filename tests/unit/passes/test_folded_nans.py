"""NaNs are left to kernels, so their bits are the same from constants as from arguments."""

from __future__ import annotations

import numpy as np
import pytest

import reference_vm as rv
from reference_vm.session import Session
from reference_vm.types import DTYPES
from reference_vm.types.arrays import to_numpy
from tests.unit.native.both import bits

CASES = [
    ("f64", "000000000000f8ff000000000000f07f", "max(%a, axis = [0])", "f64[]"),
    ("f64", "010000000000f07f000000000000f0bf", "cast(%a, to = f16)", "f16[2]"),
    ("f64", "000000000000f0bf010000000000f8ff", "sqrt(%a)", "f64[2]"),
    ("f16", "017c003c", "cast(%a, to = f64)", "f64[2]"),
    ("bf16", "c17f803f", "minimum(%a, %a)", "bf16[2]"),
    ("bf16", "817f803f", "reciprocal(%a)", "bf16[2]"),
]


@pytest.mark.parametrize(("dtype", "data", "operation", "result"), CASES)
def test_nans_have_the_same_bits(dtype: str, data: str, operation: str, result: str) -> None:
    constant = f'%a = const {dtype}[2] hex "{data}"'
    from_constant = f"fn @main() -> {result} {{ {constant} %r = {operation} return %r }}"
    from_argument = f"fn @main(%a: {dtype}[2]) -> {result} {{ %r = {operation} return %r }}"
    given = np.frombuffer(bytes.fromhex(data), to_numpy(DTYPES[dtype]))

    found = Session(rv.compile(rv.parse(f"module {{ {from_constant} }}"))).run("main")
    expected = Session(rv.compile(rv.parse(f"module {{ {from_argument} }}"))).run("main", given)

    assert bits(found) == bits(expected)
