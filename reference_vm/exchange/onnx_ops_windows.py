"""ONNX operators with windows: convolutions and pools.

``auto_pad`` values of ONNX are ours; ``kernel_shape`` of a convolution only repeats what the
weights say, and is checked against them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reference_vm.exchange.node import OnnxNode, RuleTable, versions
from reference_vm.exchange.onnx_ops_casts import scalar
from reference_vm.ir.nodes import Var
from reference_vm.types import AttrValue, Dim
from reference_vm.types.dim import add, multiply

_AUTO_PADS: Final = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


def window_attributes(node: OnnxNode) -> dict[str, AttrValue]:
    """Return strides, pads, dilations and ``auto_pad`` as our operators take them."""
    auto_pad = node.text("auto_pad") if node.has("auto_pad") else "NOTSET"
    if auto_pad not in _AUTO_PADS:
        raise node.invalid(f"auto_pad is {auto_pad!r}, expected one of {', '.join(_AUTO_PADS)}")
    attrs: dict[str, AttrValue] = {"auto_pad": auto_pad}
    for name in ("strides", "pads", "dilations"):
        attrs[name] = (node.integers(name) or None) if node.has(name) else None
    return attrs


def check_kernel_shape(node: OnnxNode, weights: int = 1) -> None:
    """Check ``kernel_shape`` against input ``weights``.

    Raises:
        CompileError: ``invalid-model``: they disagree.
    """
    shape = node.type(weights).shape
    if not node.has("kernel_shape") or shape is None:
        return
    known = [d for d in shape[2:] if isinstance(d, int)]
    if len(known) == len(shape) - 2 and tuple(known) != node.integers("kernel_shape"):
        found = list(node.integers("kernel_shape"))
        raise node.invalid(f"kernel_shape is {found}, but the weights have {known}")


def _conv(node: OnnxNode) -> Var:
    check_kernel_shape(node)
    operands = [node.input(0), node.input(1), node.optional(2)]
    attrs = window_attributes(node)
    return node.build.call("conv", *trimmed(operands), group=node.integer("group"), **attrs)


def trimmed(operands: Sequence[Var | None]) -> list[Var | None]:
    """Return the operands without those left out at the end."""
    found = list(operands)
    while found and found[-1] is None:
        found.pop()
    return found


def _conv_transpose(node: OnnxNode) -> Var:
    check_kernel_shape(node)
    operands = [node.input(0), node.input(1), node.optional(2)]
    attrs = window_attributes(node)
    for name in ("output_padding", "output_shape"):
        attrs[name] = (node.integers(name) or None) if node.has(name) else None
    group = node.integer("group")
    return node.build.call("conv_transpose", *trimmed(operands), group=group, **attrs)


def _pool_attributes(node: OnnxNode) -> dict[str, AttrValue]:
    attrs = window_attributes(node)
    attrs["kernel_shape"] = node.integers("kernel_shape")
    attrs["ceil_mode"] = node.has("ceil_mode") and node.flag("ceil_mode")
    return attrs


def _max_pool(node: OnnxNode) -> Sequence[Var]:
    attrs = _pool_attributes(node)
    attrs["storage_order"] = node.integer("storage_order") if node.has("storage_order") else 0
    if node.wants(1):
        return node.build.results("max_pool_with_indices", node.input(0), **attrs)
    return (node.build.call("max_pool", node.input(0), **attrs),)


def _average_pool(node: OnnxNode) -> Var:
    attrs = _pool_attributes(node)
    attrs["count_include_pad"] = node.has("count_include_pad") and node.flag("count_include_pad")
    return node.build.call("average_pool", node.input(0), **attrs)


def _lp_pool(node: OnnxNode) -> Var:
    return node.build.call("lp_pool", node.input(0), p=node.integer("p"), **_pool_attributes(node))


def _spatial(node: OnnxNode) -> tuple[int, ...]:
    rank = node.rank()
    if rank < 2:
        raise node.invalid(f"the operand has rank {rank}, expected at least 2")
    return tuple(range(2, rank))


def _global_average_pool(node: OnnxNode) -> Var:
    return node.build.call("mean", node.input(0), axis=_spatial(node), keepdims=True)


def _global_max_pool(node: OnnxNode) -> Var:
    return node.build.call("max", node.input(0), axis=_spatial(node), keepdims=True)


def _global_lp_pool(node: OnnxNode) -> Var:
    build, p = node.build, node.integer("p")
    if p < 1:
        raise node.invalid(f"p is {p}, expected at least 1")
    powers = build.call("pow", build.call("abs", node.input(0)), scalar(node, p, node.dtype()))
    total = build.call("sum", powers, axis=_spatial(node), keepdims=True)
    return build.call("pow", total, scalar(node, 1 / p, node.dtype()))


def _max_unpool(node: OnnxNode) -> Var:
    """Scatter into zeros at the flat indices that ``MaxPool`` gave."""
    build = node.build
    output = _unpooled_shape(node)
    zeros = build.call("full", output, scalar(node, 0, node.dtype()))
    flat = build.ints((-1,))
    places, values, filled = (
        build.call("reshape", v, flat) for v in (node.input(1), node.input(0), zeros)
    )
    scattered = build.call("scatter_elements", filled, places, values, axis=0, reduction="none")
    return build.call("reshape", scattered, output)


def _unpooled_shape(node: OnnxNode) -> Var:
    if node.given(2):
        raise node.unsupported("an output_shape changes what the indices mean")
    shape = node.type().shape
    kernel = node.integers("kernel_shape")
    strides = node.integers("strides") if node.has("strides") else (1,) * len(kernel)
    pads = node.integers("pads") if node.has("pads") else (0,) * (2 * len(kernel))
    if shape is None or len(shape) != len(kernel) + 2:
        raise node.invalid(f"the operand is {node.type()}, but there are {len(kernel)} kernel axes")
    if len(strides) != len(kernel) or len(pads) != 2 * len(kernel):
        raise node.invalid("strides or pads do not fit the kernel")
    spatial = zip(shape[2:], kernel, strides, pads, pads[len(kernel) :], strict=False)
    return node.build.shape((*shape[:2], *(_unpooled(*sizes) for sizes in spatial)))


def _unpooled(size: Dim, kernel: int, stride: int, before: int, after: int) -> Dim:
    return add(multiply(add(size, -1), stride), kernel - before - after)


RULES: Final[RuleTable] = {
    "Conv": versions(_conv, 1, 11, 22),
    "ConvTranspose": versions(_conv_transpose, 1, 11, 22),
    "MaxPool": versions(_max_pool, 1, 8, 10, 11, 12, 22),
    "AveragePool": versions(_average_pool, 7, 10, 11, 19, 22),
    "LpPool": versions(_lp_pool, 2, 11, 18, 22),
    "GlobalAveragePool": versions(_global_average_pool, 1, 22),
    "GlobalMaxPool": versions(_global_max_pool, 1, 22),
    "GlobalLpPool": versions(_global_lp_pool, 2, 22),
    "MaxUnpool": versions(_max_unpool, 9, 11, 22),
}


__all__ = ["RULES", "check_kernel_shape", "trimmed", "window_attributes"]
