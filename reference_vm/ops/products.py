"""Matrix products, the large ones shared over threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from reference_vm.ops.definition import Array, Namespace
from reference_vm.ops.sharing import ALONE, is_worth_sharing, share, threads

Part: TypeAlias = tuple[Array, Array, Array]
"""Two factors, and where their product goes."""


def product(xp: Namespace, x: Array, y: Array, out: Array | None = None) -> Array:
    """Return ``xp.matmul(x, y)``, in ``out`` if that is given.

    Raises:
        ValueError: The shapes do not fit.
    """
    if xp is not np or x.dtype.kind != "f":
        return xp.matmul(x, y)
    if _is_large(x, y):
        return _shared(x, y, out)
    with ALONE:
        return xp.matmul(x, y, out=out)


def _is_large(x: Array, y: Array) -> bool:
    return (
        min(x.ndim, y.ndim) >= 2
        and x.shape[-1] == y.shape[-2]
        and (y.ndim == 2 or x.shape[:-2] == y.shape[:-2])
        and is_worth_sharing(x.size * y.shape[-1])
    )


def _shared(x: Array, y: Array, out: Array | None) -> Array:
    """Return the product of operands whose leading dims are the same, or only those of ``x``."""
    shape = (*x.shape[:-1], y.shape[-1])
    result = np.empty(shape, x.dtype) if out is None or out.shape != shape else out
    if y.ndim == 2 and x.ndim > 2 and x.flags.c_contiguous:
        parts = _parts(x.reshape(-1, x.shape[-1]), y, result.reshape(-1, y.shape[-1]))
    else:
        parts = _parts(x, y, result)
    share(parts, _multiply)
    return result


def _multiply(parts: Iterator[Part]) -> None:
    for x, y, out in parts:
        np.matmul(x, y, out=out)


def _parts(x: Array, y: Array, out: Array) -> Sequence[Part]:
    """Return the product in as many parts as there are threads, or a few more."""
    for axis, size in enumerate(out.shape[:-2]):
        if size >= threads():
            cuts = [(slice(None),) * axis + (cut,) for cut in _cuts(size)]
            return [(x[c], y if y.ndim == 2 else y[c], out[c]) for c in cuts]
    if out.shape[-2] >= out.shape[-1]:
        return [(x[..., c, :], y, out[..., c, :]) for c in _cuts(out.shape[-2])]
    return [(x, y[..., c], out[..., c]) for c in _cuts(out.shape[-1])]


def _cuts(size: int) -> Iterator[slice]:
    """Yield slices that cover ``size``, of a multiple of 16 where that is possible."""
    step = -(-size // threads())
    step = -(-step // 16) * 16 if step >= 64 else step
    return (slice(start, start + step) for start in range(0, size, step))


__all__ = ["product"]
