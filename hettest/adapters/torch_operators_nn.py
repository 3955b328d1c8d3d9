"""PyTorch's operators of neural networks: windows, normalizations, sampling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from hettest.adapters.torch_operators import ARITHMETIC, Function, functional
from hettest.adapters.torch_operators_movement import MOVEMENT


@final
@dataclass(frozen=True)
class _Windows:
    """Windows over the spatial axes, as the language says them."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[int, ...]
    """In front of each axis, then behind each."""

    def padded(self, torch: Any, x: Any, value: float) -> Any:
        """Return ``x`` with its padding, so that the windows need none."""
        rank = len(self.kernel)
        if not any(self.pads):
            return x
        around = [(self.pads[axis], self.pads[axis + rank]) for axis in reversed(range(rank))]
        return functional(torch).pad(x, [n for pair in around for n in pair], value=value)

    @property
    def is_even(self) -> bool:
        """Whether each axis has one padding for both sides, of half the kernel at most."""
        rank = len(self.kernel)
        small = all(p <= k // 2 for p, k in zip(self.pads, self.kernel, strict=False))
        return small and self.pads[:rank] == self.pads[rank:]

    def behind(self, extra: Sequence[int]) -> _Windows:
        """Return windows with more padding behind."""
        rank = len(self.kernel)
        after = tuple(p + e for p, e in zip(self.pads[rank:], extra, strict=True))
        return _Windows(self.kernel, self.strides, self.dilations, (*self.pads[:rank], *after))


def _windows(
    x: Any,
    kernel: Sequence[int],
    strides: Any,
    pads: Any,
    dilations: Any,
    auto_pad: str,
) -> _Windows:
    rank = len(kernel)
    steps, gaps = tuple(strides or (1,) * rank), tuple(dilations or (1,) * rank)
    around = tuple(pads or (0,) * (2 * rank))
    if auto_pad.startswith("SAME"):
        sizes = zip(x.shape[2:], kernel, steps, gaps, strict=True)
        total = [max((-(-n // s) - 1) * s + (k - 1) * g + 1 - n, 0) for n, k, s, g in sizes]
        less, more = [t // 2 for t in total], [t - t // 2 for t in total]
        around = (*less, *more) if auto_pad == "SAME_UPPER" else (*more, *less)
    elif auto_pad == "VALID":
        around = (0,) * (2 * rank)
    return _Windows(tuple(kernel), steps, gaps, around)


def _last_started(x: Any, windows: _Windows) -> list[int]:
    """Return the padding behind that lets a last window, which begins inside, be whole."""
    found, rank = [], len(windows.kernel)
    for axis, (k, s, d) in enumerate(
        zip(windows.kernel, windows.strides, windows.dilations, strict=True)
    ):
        front, behind = windows.pads[axis], windows.pads[axis + rank]
        size, extent = x.shape[axis + 2], (k - 1) * d + 1
        count = -(-(size + front + behind - extent) // s) + 1
        if (count - 1) * s >= size + front:
            count -= 1
        found.append(max((count - 1) * s + extent - (size + front + behind), 0))
    return found


def _by_rank(torch: Any, name: str, rank: int) -> Any:
    return getattr(functional(torch), f"{name}{rank}d")


def _conv(
    torch: Any,
    x: Any,
    w: Any,
    b: Any = None,
    *,
    group: int,
    strides: Any,
    pads: Any,
    dilations: Any,
    auto_pad: str,
) -> Any:
    windows = _windows(x, w.shape[2:], strides, pads, dilations, auto_pad)
    convolve = _by_rank(torch, "conv", len(windows.kernel))
    padded = windows.padded(torch, x, 0)
    return convolve(padded, w, b, windows.strides, 0, windows.dilations, group)


def _max_pool(
    torch: Any,
    x: Any,
    *,
    kernel_shape: Any,
    strides: Any,
    pads: Any,
    dilations: Any,
    auto_pad: str,
    ceil_mode: bool,
    storage_order: int,
) -> Any:
    windows = _windows(x, kernel_shape, strides, pads, dilations, auto_pad)
    if ceil_mode:
        windows = windows.behind(_last_started(x, windows))
    least = -torch.inf if x.dtype.is_floating_point else torch.iinfo(x.dtype).min
    padded = windows.padded(torch, x, least)
    pool = _by_rank(torch, "max_pool", len(windows.kernel))
    return pool(padded, windows.kernel, windows.strides, 0, windows.dilations)


def _average_pool(
    torch: Any,
    x: Any,
    *,
    kernel_shape: Any,
    strides: Any,
    pads: Any,
    dilations: Any,
    auto_pad: str,
    ceil_mode: bool,
    count_include_pad: bool,
) -> Any:
    """PyTorch's own pool has no dilation and one padding for both sides; else sums of windows."""
    windows = _windows(x, kernel_shape, strides, pads, dilations, auto_pad)
    rank = len(windows.kernel)
    if windows.is_even and set(windows.dilations) == {1}:
        pool = _by_rank(torch, "avg_pool", rank)
        return pool(
            x, windows.kernel, windows.strides, windows.pads[:rank], ceil_mode, count_include_pad
        )
    wide = _wide(torch, x)
    ones = windows.padded(torch, torch.ones_like(wide), 1 if count_include_pad else 0)
    padded = windows.padded(torch, wide, 0)
    if ceil_mode:
        rest = _Windows(windows.kernel, windows.strides, windows.dilations, (0,) * (2 * rank))
        rest = rest.behind(_last_started(x, windows))
        ones, padded = rest.padded(torch, ones, 0), rest.padded(torch, padded, 0)
    return (_summed(torch, padded, windows) / _summed(torch, ones, windows)).to(x.dtype)


def _wide(torch: Any, x: Any) -> Any:
    """Return ``x`` in a dtype in which steps between do not round what is to be judged."""
    return x.to(torch.float32) if x.dtype in (torch.float16, torch.bfloat16) else x


def _summed(torch: Any, x: Any, windows: _Windows) -> Any:
    rank = len(windows.kernel)
    for axis, (k, s, d) in enumerate(
        zip(windows.kernel, windows.strides, windows.dilations, strict=True)
    ):
        x = x.unfold(axis + 2, (k - 1) * d + 1, s)[..., ::d]
    return torch.sum(x, tuple(range(-rank, 0)))


def _lp_pool(torch: Any, x: Any, *, p: int, **attrs: Any) -> Any:
    """``torch.nn.functional.lp_pool2d`` has neither padding nor dilation: sums of windows."""
    ceil_mode, kernel = attrs.pop("ceil_mode"), attrs.pop("kernel_shape")
    windows = _windows(x, kernel, **attrs)
    if ceil_mode:
        windows = windows.behind(_last_started(x, windows))
    powers = windows.padded(torch, torch.abs(_wide(torch, x)) ** p, 0)
    return (_summed(torch, powers, windows) ** (1 / p)).to(x.dtype)


def _conv_transpose(
    torch: Any,
    x: Any,
    w: Any,
    b: Any = None,
    *,
    group: int,
    strides: Any,
    pads: Any,
    dilations: Any,
    auto_pad: str,
    output_padding: Any,
    output_shape: Any,
) -> Any:
    """The whole result without its bias, cut or padded to what is kept of it."""
    rank = x.ndim - 2
    steps, gaps = tuple(strides or (1,) * rank), tuple(dilations or (1,) * rank)
    more = tuple(output_padding or (0,) * rank)
    around = tuple(pads or (0,) * (2 * rank))
    spread = _by_rank(torch, "conv_transpose", rank)
    if auto_pad == "NOTSET" and not output_shape and around[:rank] == around[rank:]:
        return spread(x, w, b, steps, around[:rank], more, group, gaps)
    whole = spread(_wide(torch, x), _wide(torch, w), None, steps, 0, 0, group, gaps)
    cuts = []
    for axis in range(rank):
        full = whole.shape[axis + 2] + more[axis]
        if output_shape or auto_pad.startswith("SAME"):
            kept = output_shape[axis] if output_shape else x.shape[axis + 2] * steps[axis]
            total = max(full - kept, 0)
            before = total // 2 if auto_pad == "SAME_UPPER" else total - total // 2
        elif auto_pad == "VALID":
            before, kept = 0, full
        else:
            before, kept = around[axis], full - around[axis] - around[axis + rank]
        cuts.append((-before, kept + before - whole.shape[axis + 2]))
    cut = functional(torch).pad(whole, [n for pair in reversed(cuts) for n in pair])
    if b is not None:
        cut = cut + _wide(torch, b).reshape(-1, *(1,) * rank)
    return cut.to(x.dtype)


def _layer_norm(
    torch: Any, x: Any, scale: Any, bias: Any = None, *, axis: int, epsilon: float
) -> Any:
    shape = tuple(x.shape[axis % x.ndim :])
    wide = None if bias is None else torch.broadcast_to(bias, shape)
    return functional(torch).layer_norm(x, shape, torch.broadcast_to(scale, shape), wide, epsilon)


def _batch_norm(
    torch: Any, x: Any, scale: Any, bias: Any, mean: Any, variance: Any, *, epsilon: float
) -> Any:
    return functional(torch).batch_norm(x, mean, variance, scale, bias, eps=epsilon)


def _instance_norm(torch: Any, x: Any, scale: Any, bias: Any, *, epsilon: float) -> Any:
    return functional(torch).instance_norm(x, weight=scale, bias=bias, eps=epsilon)


def _grid_sample(
    torch: Any, x: Any, grid: Any, *, mode: str, padding_mode: str, align_corners: bool
) -> Any:
    kinds = {"linear": "bilinear", "cubic": "bicubic"}
    return functional(torch).grid_sample(
        x, grid, kinds.get(mode, mode), padding_mode, align_corners
    )


OPERATORS: Final[Mapping[str, Function]] = {
    **ARITHMETIC,
    **MOVEMENT,
    "conv": _conv,
    "conv_transpose": _conv_transpose,
    "max_pool": _max_pool,
    "average_pool": _average_pool,
    "lp_pool": _lp_pool,
    "layer_norm": _layer_norm,
    "batch_norm": _batch_norm,
    "instance_norm": _instance_norm,
    "grid_sample": _grid_sample,
}
"""Every operator of the language that PyTorch is given."""

ON_SHAPES: Final = ("shape_of", "size_of", "shape_to_tensor", "tensor_to_shape")
"""What the adapter does itself, since PyTorch has shapes as Python's tuples."""

NAMES: Final = (*OPERATORS, *ON_SHAPES)
