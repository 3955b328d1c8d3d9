"""Hand-written kernels with one thing wrong do not pass for right ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from reference_vm.jit.object_cache import ObjectCache
from reference_vm.targets.numba import convolution, recurrence
from reference_vm.targets.numba.conv_geometry import Geometry
from reference_vm.targets.numba.dots import Product
from reference_vm.targets.numba.planes import phase_ranges
from reference_vm.targets.numba.target import NumbaTarget
from tests.unit.targets.judged import check, function_of
from tests.unit.targets.test_recurrent_kernels import _layer, _operands

RANDOM = np.random.default_rng(9)


def _convolve() -> None:
    """Judge a convolution by a target whose code is not kept."""
    operands = [RANDOM.normal(size=s).astype("f4") for s in ((1, 4, 9, 21), (6, 2, 3, 3))]
    function = function_of("conv", operands, group=2, pads=(1, 1, 1, 1), strides=(1, 2))
    check(function, operands, target=NumbaTarget(cache=ObjectCache(None)))


def _remember() -> None:
    function, operands = _layer(
        "lstm", _operands("lstm", (4, 2, 3, 17), "forward", (True,) * 4, "f4")
    )
    check(function, operands, target=NumbaTarget(cache=ObjectCache(None)))


def test_what_is_not_mutated_passes() -> None:
    _convolve()
    _remember()


def _without_a_tap(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Geometry.offsets

    def offsets(self: Geometry) -> Any:
        found = right(self)
        found[-1] = found[-2]
        return found

    monkeypatch.setattr(Geometry, "offsets", offsets)


def _with_garbage_for_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    right = phase_ranges

    def ranges(*args: Any) -> list[int]:
        first, _, high, *rest = right(*args)
        return [first, 0, high, *rest]

    monkeypatch.setattr("reference_vm.targets.numba.convolution.phase_ranges", ranges)


def _with_weights_of_another_group(monkeypatch: pytest.MonkeyPatch) -> None:
    right = convolution.packed_places

    def places(groups: int, features: int, depth: int, height: int) -> Any:
        found = right(groups, features, depth, height)
        return np.roll(found, features, axis=0)

    monkeypatch.setattr(convolution, "packed_places", places)


@pytest.mark.parametrize(
    "mutate", [_without_a_tap, _with_garbage_for_padding, _with_weights_of_another_group]
)
def test_a_wrong_convolution_is_seen(mutate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate(monkeypatch)
    with pytest.raises(AssertionError, match="wrong, first at"):
        _convolve()


def _with_gates_in_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    right = recurrence._Steps._read

    def read(self: Any, parts: Sequence[str], before: Any, sequence: str) -> Any:
        into, out, *rest = parts
        return right(self, [out, into, *rest], before, sequence)

    monkeypatch.setattr(recurrence._Steps, "_read", read)


def _without_the_state(monkeypatch: pytest.MonkeyPatch) -> None:
    right = recurrence._Steps._product

    def product(self: Any, gate: int, end: int, *args: Any, **more: Any) -> None:
        right(self, gate, end - 1, *args, **more)

    monkeypatch.setattr(recurrence._Steps, "_product", product)


def _with_a_sum_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Product.call

    def call(self: Product, out: Any, rows: Any, columns: Any) -> None:
        shorter = Product(**{**_fields(self), "depth": out.sub(self.depth, "1")})
        right(shorter, out, rows, columns)

    monkeypatch.setattr(Product, "call", call)


def _fields(product: Product) -> dict[str, Any]:
    return {name: getattr(product, name) for name in Product.__slots__}


@pytest.mark.parametrize(
    "mutate", [_with_gates_in_another_order, _without_the_state, _with_a_sum_cut_short]
)
def test_a_wrong_cell_is_seen(mutate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate(monkeypatch)
    with pytest.raises(AssertionError, match="wrong, first at"):
        _remember()
