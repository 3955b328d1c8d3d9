"""Fourier transforms agree with ONNX's evaluator and with sums written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference_vm.diagnostics import CompileError
from reference_vm.ops.definition import DataError
from reference_vm.ops.signal import DFT, STFT
from reference_vm.types import DTYPES, UNKNOWN, TensorType
from reference_vm.types.dim import symbol
from tests.unit.ops_nn.onnx_nodes import array_type, by_evaluator, check_inferred, compute, infer

F32, I64 = DTYPES["f32"], DTYPES["i64"]
SCALAR = TensorType(I64, ())


def random(*shape: int) -> Any:
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def scalar(value: int) -> Any:
    return np.array(value, np.int64)


@pytest.mark.parametrize("windowed", [True, False])
@pytest.mark.parametrize(("onesided", "parts"), [(True, 1), (False, 1), (False, 2)])
def test_stft_agrees_with_the_evaluator(onesided: bool, windowed: bool, parts: int) -> None:
    window = random(16) if windowed else None
    inputs = [random(2, 50, parts), scalar(7), window, scalar(16)]

    found = compute(STFT, *inputs, onesided=onesided)

    (expected,) = by_evaluator("STFT", inputs, onesided=int(onesided))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=2e-5)
    types = [None if x is None else array_type(x) for x in inputs]
    contents = [None, (7,), None, (16,)]
    check_inferred(infer(STFT, types, contents, onesided=onesided), found, {})


def test_stft_takes_a_signal_without_the_axis_of_parts() -> None:
    signal = random(2, 40)

    found = compute(STFT, signal, scalar(10), random(16))

    np.testing.assert_array_equal(found, compute(STFT, signal[:, :, None], scalar(10), random(16)))


def test_the_frame_of_stft_is_the_whole_signal_by_default() -> None:
    signal = random(1, 9)

    found = compute(STFT, signal, scalar(3))

    expected = np.fft.rfft(signal[0].astype(np.float64))
    assert found.shape == (1, 1, 5, 2)
    np.testing.assert_allclose(found[0, 0, :, 0], expected.real, rtol=1e-6)


def test_the_type_of_stft_follows_symbols() -> None:
    type_ = infer(
        STFT, [TensorType(F32, (1, symbol("n"))), SCALAR, TensorType(F32, (400,))], [None, (160,)]
    )

    assert str(type_) == "f32[1, floordiv(n - 400, 160) + 1, 201, 2]"
    check_inferred(type_, compute(STFT, random(1, 1000), scalar(160), random(400)), {"n": 1000})


def test_a_signal_shorter_than_its_frame_is_an_error_of_the_run() -> None:
    with pytest.raises(DataError, match="do not fit"):
        compute(STFT, random(1, 10), scalar(3), random(16))


def test_a_complex_signal_has_no_onesided_spectrum() -> None:
    with pytest.raises(CompileError, match="onesided"):
        infer(STFT, [TensorType(F32, (1, 50, 2)), SCALAR, TensorType(F32, (16,))])
    with pytest.raises(DataError, match="onesided"):
        compute(STFT, random(1, 50, 2), scalar(7), random(16))


@pytest.mark.parametrize("axis", [None, 0, 1, -2, -3])
@pytest.mark.parametrize("length", [None, 4, 7, 10])
@pytest.mark.parametrize(
    ("inverse", "onesided", "parts"),
    [
        (False, False, 1),
        (False, False, 2),
        (False, True, 1),
        (True, False, 1),
        (True, False, 2),
        (True, True, 2),
    ],
)
def test_dft_agrees_with_numpy(
    axis: int | None, length: int | None, inverse: bool, onesided: bool, parts: int
) -> None:
    x = random(6, 5, 7, parts)
    inputs = [x, None if length is None else scalar(length), None if axis is None else scalar(axis)]

    found = compute(DFT, *inputs, inverse=inverse, onesided=onesided)

    along = (-2 if axis is None else axis) % 4
    number = x[..., 0].astype(np.complex128)
    if parts == 2:
        number = number + 1j * x[..., 1]
    expected: Any
    if inverse and onesided:
        expected = np.fft.irfft(number, length or 2 * (x.shape[along] - 1), axis=along)[..., None]
    else:
        transform = np.fft.ifft if inverse else np.fft.fft
        expected = transform(number, length or x.shape[along], axis=along)
        if onesided:
            expected = expected.take(range(expected.shape[along] // 2 + 1), axis=along)
        expected = np.stack([expected.real, expected.imag], axis=-1)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    types = [None if v is None else array_type(v) for v in inputs]
    contents = [None, None if length is None else (length,), None if axis is None else (axis,)]
    check_inferred(infer(DFT, types, contents, inverse=inverse, onesided=onesided), found, {})


def test_dft_by_hand() -> None:
    found = compute(DFT, np.array([[1, 2, 3, 4]], np.float32)[..., None])

    np.testing.assert_array_equal(found, [[[10, 0], [-2, 2], [-2, 0], [-2, -2]]])


def test_the_type_of_dft_follows_symbols() -> None:
    n = symbol("n")
    assert str(infer(DFT, [TensorType(F32, (n, 2))], onesided=True, inverse=True)) == (
        "f32[2*n - 2, 1]"
    )
    assert infer(DFT, [TensorType(F32, (n, 5, 1)), None, SCALAR]) == TensorType(
        F32, (UNKNOWN, UNKNOWN, 2)
    )


def test_the_axis_of_parts_is_not_transformed() -> None:
    with pytest.raises(CompileError, match="axis"):
        infer(DFT, [TensorType(F32, (4, 5, 1)), None, SCALAR], [None, None, (-1,)])
    with pytest.raises(DataError, match="axis"):
        compute(DFT, random(4, 5, 1), None, scalar(2))
