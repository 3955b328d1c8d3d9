"""Matrix products with work before and after them compute what their operators do in turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from reference_vm.jit.object_cache import ObjectCache
from reference_vm.targets.numba.staged import StagedKernel
from reference_vm.targets.numba.target import NumbaTarget
from reference_vm.types.arrays import NUMPY
from tests.unit.targets.kernels import library
from tests.unit.targets.test_fused_kernels import only_kernel

GENERATOR = np.random.default_rng(6)
TARGET = NumbaTarget(cache=ObjectCache(None), threads=2)

BIAS = (
    "%x: {t}[n, k] @host, %w: {t}[k, m] @host, %b: {t}[m] @host) -> {t}[n, m] @host",
    """%p: {t}[n, m] @host = matmul(%x, %w)
       %r: {t}[n, m] @host = add(%p, %b)
       return %r""",
)
GELU = (
    "%x: {t}[a, n, k] @host, %w: {t}[k, m] @host, %b: {t}[m] @host) -> {t}[a, n, m] @host",
    """%p: {t}[a, n, m] @host = matmul(%x, %w)
       %s: {t}[a, n, m] @host = add(%b, %p)
       %r: {t}[a, n, m] @host = gelu(%s)
       return %r""",
)
RESIDUAL = (
    """%x: {t}[a, n, k] @host, %w: {t}[k, m] @host, %b: {t}[m] @host, %y: {t}[a, n, m] @host,
       %g: {t}[m] @host) -> {t}[a, n, m] @host""",
    """%p: {t}[a, n, m] @host = matmul(%x, %w)
       %s: {t}[a, n, m] @host = add(%p, %b)
       %u: {t}[a, n, m] @host = add(%s, %y)
       %r: {t}[a, n, m] @host = layer_norm(%u, %g)
       return %r""",
)
SEVERAL = (
    "%x: {t}[n, k] @host, %w: {t}[k, m] @host) -> ({t}[n, m] @host, {t}[n, m] @host, {t}[n] @host)",
    """%p: {t}[n, m] @host = matmul(%x, %w)
       %r: {t}[n, m] @host = relu(%p)
       %s: {t}[n] @host = sum(%r, axis = [1])
       %t: ({t}[n, m] @host, {t}[n, m] @host, {t}[n] @host) = (%p, %r, %s)
       return %t""",
)
MASKED = (
    """%x: {t}[a, h, n, k] @host, %y: {t}[a, h, k, m] @host, %q: {t}[a, 1, 1, m] @host)
       -> {t}[a, h, n, m] @host""",
    """%p: {t}[a, h, n, m] @host = matmul(%x, %y)
       %s: {t}[a, h, n, m] @host = add(%p, %q)
       %r: {t}[a, h, n, m] @host = softmax(%s)
       return %r""",
)
TRANSPOSED = (
    "%x: {t}[k, n] @host, %y: {t}[m, k] @host) -> {t}[n, m] @host",
    """%a: {t}[n, k] @host = permute_dims(%x)
       %b: {t}[k, m] @host = permute_dims(%y, axes = [1, 0])
       %r: {t}[n, m] @host = matmul(%a, %b)
       return %r""",
)
MOVED = (
    "%x: {t}[a, h, n, k] @host, %y: {t}[a, h, k, m] @host) -> {t}[a, n, h, m] @host",
    """%p: {t}[a, h, n, m] @host = matmul(%x, %y)
       %r: {t}[a, n, h, m] @host = permute_dims(%p, axes = [0, 2, 1, 3])
       return %r""",
)
ATTENTION = (
    """%x: {t}[a, n, h, k] @host, %y: {t}[a, m, h, k] @host, %z: {t}[a, m, h, k] @host,
       %q: {t}[a, 1, 1, m] @host) -> {t}[a, n, h, k] @host""",
    """%eight: {t}[] @host = const {t}[] 8.0
       %p: {t}[a, h, n, k] @host = permute_dims(%x, axes = [0, 2, 1, 3])
       %o: {t}[a, h, k, m] @host = permute_dims(%y, axes = [0, 2, 3, 1])
       %s: {t}[a, h, n, m] @host = matmul(%p, %o)
       %d: {t}[a, h, n, m] @host = divide(%s, %eight)
       %t: {t}[a, h, n, m] @host = add(%d, %q)
       %w: {t}[a, h, n, m] @host = softmax(%t)
       %u: {t}[a, h, m, k] @host = permute_dims(%z, axes = [0, 2, 1, 3])
       %c: {t}[a, h, n, k] @host = matmul(%w, %u)
       %r: {t}[a, n, h, k] @host = permute_dims(%c, axes = [0, 2, 1, 3])
       return %r""",
)

CASES = {  # with the axes of the operands, in the order in which they are read
    "bias": (BIAS, "nk km m"),
    "gelu": (GELU, "ank km m"),
    "residual": (RESIDUAL, "ank km m anm m"),
    "several": (SEVERAL, "nk km"),
    "masked": (MASKED, "ahnk ahkm a11m"),
    "transposed": (TRANSPOSED, "kn mk"),
    "moved": (MOVED, "ahnk ahkm"),
    "attention": (ATTENTION, "anhk amhk a11m amhk"),
}

TOLERANCE = {"f32": 2e-5, "f64": 1e-12, "f16": 4e-3, "bf16": 3e-2}


def kernel_of(name: str, dtype: str, threads: int = 2) -> tuple[Any, Any]:
    """Return a case's kernel, and the library's."""
    (signature, body), _ = CASES[name]
    given = only_kernel((signature.replace("{t}", dtype), body.replace("{t}", dtype)))
    made = TARGET if threads == 2 else NumbaTarget(cache=ObjectCache(None), threads=threads)
    kernel = made.compile(given, "cpu")
    assert isinstance(kernel, StagedKernel)
    return kernel, library(given)


def operands(name: str, dtype: str, sizes: dict[str, int]) -> list[Any]:
    shapes = [[sizes.get(c, 1) for c in word] for word in CASES[name][1].split()]
    return [(GENERATOR.standard_normal(s) / 2).astype(NUMPY[dtype]) for s in shapes]


SIZES = [
    {"a": 1, "h": 2, "n": 1, "k": 8, "m": 5},
    {"a": 2, "h": 3, "n": 7, "k": 33, "m": 50},
    {"a": 3, "h": 2, "n": 40, "k": 16, "m": 100},
    {"a": 1, "h": 4, "n": 130, "k": 32, "m": 130},
    {"a": 2, "h": 1, "n": 33, "k": 8, "m": 48},
]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("name", CASES)
def test_a_fused_product_computes_what_its_operators_do(
    name: str, dtype: str, sizes: dict[str, int]
) -> None:
    kernel, plain = kernel_of(name, dtype)
    given = operands(name, dtype, sizes)
    assert kernel.native([x.shape for x in given]) is not None
    count = 3 if name == "several" else 1
    found = kernel(np, given, [None] * count)
    expected = plain(np, given, [None] * count)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        scale = float(np.abs(b).max())
        np.testing.assert_allclose(a, b, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * scale)


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("name", ["bias", "gelu", "residual", "several", "masked"])
def test_each_operator_rounds_to_its_dtype(name: str, dtype: str) -> None:
    kernel, plain = kernel_of(name, dtype)
    given = operands(name, dtype, SIZES[1])
    count = 3 if name == "several" else 1
    found = kernel(np, given, [None] * count)
    expected = plain(np, given, [None] * count)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        a, b = a.astype(np.float64), b.astype(np.float64)
        np.testing.assert_allclose(
            a, b, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * np.abs(b).max()
        )


@pytest.mark.parametrize("name", CASES)
def test_few_rows_and_many_give_the_same_bits(name: str) -> None:
    """Rows are divided by columns when they are few: no sum or fold may change by that."""
    kernel, _ = kernel_of(name, "f32")
    many = operands(name, "f32", {"a": 1, "h": 2, "n": 100, "k": 20, "m": 60})
    rows = {
        "transposed": (slice(None), slice(0, 5)),
        "masked": (Ellipsis, slice(0, 5), slice(None)),
    }
    few = [*many]
    first = rows.get(name, (Ellipsis, slice(0, 5), slice(None)))
    if name == "attention":
        first = (slice(None), slice(0, 5))
    few[0] = np.ascontiguousarray(many[0][first])
    if name == "residual":
        few[3] = np.ascontiguousarray(many[3][:, :5])
    count = 3 if name == "several" else 1
    whole, part = kernel(np, many, [None] * count), kernel(np, few, [None] * count)
    for a, b in zip(whole, part, strict=True):
        axis = next(i for i, (p, q) in enumerate(zip(a.shape, b.shape, strict=True)) if p != q)
        np.testing.assert_array_equal(np.take(a, range(5), axis), b)


@pytest.mark.parametrize("name", CASES)
def test_threads_change_no_bit(name: str) -> None:
    given = operands(name, "f32", {"a": 2, "h": 4, "n": 70, "k": 64, "m": 130})
    count = 3 if name == "several" else 1
    one, five = kernel_of(name, "f32", 1)[0], kernel_of(name, "f32", 5)[0]
    for _ in range(3):
        for a, b in zip(
            one(np, given, [None] * count), five(np, given, [None] * count), strict=True
        ):
            np.testing.assert_array_equal(a.view(np.uint32), b.view(np.uint32))


@pytest.mark.parametrize("empty", "ahnkm")
@pytest.mark.parametrize("name", CASES)
def test_empty_operands_are_computed(name: str, empty: str) -> None:
    sizes = {"a": 2, "h": 2, "n": 3, "k": 4, "m": 5, empty: 0}
    kernel, plain = kernel_of(name, "f32")
    given = operands(name, "f32", sizes)
    count = 3 if name == "several" else 1
    with np.errstate(all="ignore"):
        found = kernel(np, given, [None] * count)
        expected = plain(np, given, [None] * count)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
