"""ONNX operators that move elements: concat, split, slice, pad, blocks of depth and space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reference_vm.exchange.node import OnnxNode, RuleTable, versions
from reference_vm.ir.nodes import Var
from reference_vm.types import UNKNOWN, Dim, Shape
from reference_vm.types.dim import multiply


def _concat(node: OnnxNode) -> Var:
    return node.build.call("concat", *node.present(), axis=node.axis())


def _split(node: OnnxNode) -> Sequence[Var]:
    axis, parts = node.axis(), len(node.outputs)
    attribute = node.version < 13 and node.has("split")
    sizes = node.build.ints(node.integers("split")) if attribute else node.optional(1)
    if node.version >= 18 and node.has("num_outputs") == (sizes is not None):
        raise node.invalid("needs either num_outputs or the sizes, not both")
    if node.has("num_outputs") and node.integer("num_outputs") != parts:
        raise node.invalid(f"num_outputs is {node.integer('num_outputs')}, but {parts} are named")
    operands = (node.input(0),) if sizes is None else (node.input(0), sizes)
    return node.build.results("split", *operands, axis=axis, num_outputs=parts)


def _slice_attributes(node: OnnxNode) -> Var:
    starts, ends = node.integers("starts"), node.integers("ends")
    axes = node.integers("axes") if node.has("axes") else tuple(range(len(starts)))
    return node.build.call("slice", node.input(0), *map(node.build.ints, (starts, ends, axes)))


def _slice(node: OnnxNode) -> Var:
    found = [node.optional(i) for i in range(5)]
    while found[-1] is None:
        found.pop()
    return node.build.call("slice", *found)


def _pad_attributes(node: OnnxNode) -> Var:
    pads = node.build.ints(node.integers("pads"))
    value = node.build.constant(node.number("value"), node.dtype())
    return node.build.call("pad", node.input(0), pads, value, mode=node.text("mode"))


def _pad(node: OnnxNode) -> Var:
    found = [node.input(0), node.input(1), _pad_value(node), node.optional(3)]
    while found[-1] is None:
        found.pop()
    return node.build.call("pad", *found, mode=node.text("mode"))


def _pad_value(node: OnnxNode) -> Var | None:
    """Return the value as a scalar; older exporters wrote one of rank 1."""
    value = node.optional(2)
    if value is None or node.tensor(value).shape != (1,):
        return value
    return node.build.call("squeeze", value, axes=(0,))


def _dims(node: OnnxNode) -> Shape:
    """Return the dims of an operand of rank 4.

    Raises:
        CompileError: ``invalid-model``: it has another rank.
    """
    shape = node.type().shape
    if shape is None or len(shape) != 4:
        raise node.invalid(f"the operand is {node.type()}, expected a tensor of rank 4")
    return shape


def _block(node: OnnxNode) -> int:
    block = node.integer("blocksize")
    if block < 1:
        raise node.invalid(f"blocksize is {block}, expected at least 1")
    return block


def _quotient(node: OnnxNode, dim: Dim, divisor: int, what: str) -> int:
    """Return ``dim / divisor``, which must be known and whole."""
    if not isinstance(dim, int):
        raise node.unsupported(f"the {what} must be known before the run")
    if dim % divisor:
        raise node.invalid(f"the {what}, {dim}, do not divide by {divisor}")
    return dim // divisor


def _rearranged(node: OnnxNode, split: Shape, axes: tuple[int, ...], joined: Shape) -> Var:
    """Return the operand reshaped, transposed and reshaped; ``0`` and ``-1`` as in ONNX."""
    build = node.build
    x = build.call("reshape", node.input(0), _target(node, split))
    return build.call("reshape", build.call("permute_dims", x, axes=axes), _target(node, joined))


def _target(node: OnnxNode, dims: Shape) -> Var:
    """Return a reshape target; one dim may be unknown if the others are numbers."""
    numbers = [d if isinstance(d, int) else -1 for d in dims]
    if numbers.count(-1) <= 1:
        return node.build.ints(numbers)
    if UNKNOWN in dims:
        raise node.unsupported("the dims of the operand must be known before the run")
    return node.build.shape(dims)


def _depth_to_space(node: OnnxNode) -> Var:
    n, c, h, w = _dims(node)
    b = _block(node)
    inner = _quotient(node, c, b * b, "channels")
    if node.has("mode") and node.text("mode") == "CRD":
        split: Shape = (n, inner, b, b, h, w)
        axes = (0, 1, 4, 2, 5, 3)
    else:
        split = (n, b, b, inner, h, w)
        axes = (0, 3, 4, 1, 5, 2)
    return _rearranged(node, split, axes, (n, inner, _times(h, b), _times(w, b)))


def _space_to_depth(node: OnnxNode) -> Var:
    n, c, h, w = _dims(node)
    b = _block(node)
    rows = _quotient(node, h, b, "rows")
    columns = _quotient(node, w, b, "columns")
    if node.has("mode") and node.text("mode") == "CRD":
        axes = (0, 1, 3, 5, 2, 4)
    else:
        axes = (0, 3, 5, 1, 2, 4)
    split: Shape = (n, c, rows, b, columns, b)
    return _rearranged(node, split, axes, (n, _times(c, b * b), rows, columns))


def _times(dim: Dim, factor: int) -> Dim:
    return multiply(dim, factor)


def _reverse_sequence(node: OnnxNode) -> Var:
    return node.build.call(
        "reverse_sequence",
        node.input(0),
        node.input(1),
        batch_axis=node.integer("batch_axis"),
        time_axis=node.integer("time_axis"),
    )


RULES: Final[RuleTable] = {
    "Concat": versions(_concat, 4, 11, 13),
    "Split": versions(_split, 2, 11, 13, 18),
    "Slice": versions(_slice_attributes, 1) | versions(_slice, 10, 11, 13),
    "Pad": versions(_pad_attributes, 2) | versions(_pad, 11, 13, 18, 19, 21, 23, 24, 25),
    "DepthToSpace": versions(_depth_to_space, 1, 11, 13),
    "SpaceToDepth": versions(_space_to_depth, 1, 13),
    "ReverseSequence": versions(_reverse_sequence, 10, 28),
}


__all__ = ["RULES"]
