"""Linear algebra: matmul, einsum, det. f16 and bf16 are accumulated in f32; integers wrap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from reference_vm.loops.kernel import Product
from reference_vm.ops.checks import agree_on_dtype, tensor_of
from reference_vm.ops.definition import Array, Attr, Namespace, OpCall, OpDef, Operand
from reference_vm.ops.elementwise import X, Y
from reference_vm.ops.numerics import lifted
from reference_vm.ops.products import product
from reference_vm.ops.shapes import broadcast, is_different, same_dim, str_shape
from reference_vm.types import UNKNOWN, Dim, Shape, TensorType
from reference_vm.types.dtype import FLOATS, NUMERIC
from reference_vm.types.types import str_dim


def _infer_matmul(call: OpCall) -> TensorType:
    x, y = tensor_of(call, 0, NUMERIC), tensor_of(call, 1, NUMERIC)
    agree_on_dtype(call, (0, 1))
    if 0 in (x.rank, y.rank):
        raise call.error("rank-mismatch", f"ranks are {x.rank} and {y.rank}, expected 1 or more")
    if x.shape is None or y.shape is None:
        return TensorType(x.dtype, None)
    return TensorType(x.dtype, _matmul_shape(call, x.shape, y.shape))


def _matmul_shape(call: OpCall, x: Shape, y: Shape) -> Shape:
    inner = y[-2] if len(y) > 1 else y[0]
    if same_dim(x[-1], inner) is None:
        raise call.error(
            "shape-mismatch",
            f"x is {str_shape(x)} and y {str_shape(y)}",
            "the last dim of x is the last but one of y, or the only one",
        )
    lead = broadcast(call, (x[:-2], y[:-2]))
    assert lead is not None
    rows = x[-2:-1] if len(x) > 1 else ()
    columns = y[-1:] if len(y) > 1 else ()
    return (*lead, *rows, *columns)


def _einsum_terms(call: OpCall) -> tuple[list[str], str]:
    """Return the labels of each operand and of the result; an ellipsis is ``.``.

    Raises:
        CompileError: ``attribute-value``: the equation is none, or not for so many operands.
    """
    equation = call.attrs["equation"].replace(" ", "").replace("...", ".")
    left, arrow, result = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(call.types):
        raise _bad_equation(call, f"has {len(terms)} terms for {len(call.types)} operands")
    if not arrow:
        letters = sorted(c for c in set(left) if c.isalpha() and left.count(c) == 1)
        result = ("." if "." in left else "") + "".join(letters)
    for term in (*terms, result):
        if term.count(".") > 1 or not all((c.isalpha() and c.isascii()) or c == "." for c in term):
            raise _bad_equation(call, f"has the term {term!r}")
    if len(set(result)) != len(result) or not set(result) <= set(left) - {","}:
        raise _bad_equation(call, f"has the result {result!r}")
    return terms, result


def _bad_equation(call: OpCall, what: str) -> Exception:
    return call.error(
        "attribute-value",
        f"equation {call.attrs['equation']!r} {what}",
        "write labels as letters, an operand each: ij,jk->ik",
    )


def _infer_einsum(call: OpCall) -> TensorType:
    types = [tensor_of(call, i, NUMERIC) for i in range(len(call.types))]
    agree_on_dtype(call, range(len(types)))
    terms, result = _einsum_terms(call)
    dims: dict[str, Dim] = {}
    leads: list[Shape] = []
    for term, type_ in zip(terms, types, strict=True):
        if type_.shape is None:
            if "." in result:
                return TensorType(types[0].dtype, None)
            continue
        leads.append(_labelled(call, term, type_.shape, dims))
    lead = (broadcast(call, leads) if leads else ()) or ()
    return TensorType(types[0].dtype, _spelled(result, dims, lead))


def _spelled(result: str, dims: Mapping[str, Dim], lead: Shape) -> Shape:
    shape: list[Dim] = []
    for label in result:
        shape.extend(lead if label == "." else (dims.get(label, UNKNOWN),))
    return tuple(shape)


def _labelled(call: OpCall, term: str, shape: Shape, dims: dict[str, Dim]) -> Shape:
    """Note in ``dims`` the sizes that ``term`` names in ``shape``; return those of its ellipsis."""
    labels = len(term.replace(".", ""))
    if labels > len(shape) or ("." not in term and labels < len(shape)):
        raise call.error("rank-mismatch", f"the term {term!r} for a tensor of rank {len(shape)}")
    before, _, after = term.partition(".")
    behind = len(shape) - len(after)
    for label, size in zip(before + after, shape[: len(before)] + shape[behind:], strict=True):
        known = same_dim(dims.get(label, size), size)
        if known is None:
            sizes = f"{str_dim(dims[label])} and {str_dim(size)}"
            raise call.error("shape-mismatch", f"label {label} stands for {sizes}")
        dims[label] = known
    return shape[len(before) : behind]


def _einsum(xp: Namespace, *xs: Array, equation: str) -> Array:
    return xp.einsum(equation.replace(" ", ""), *xs)


def _infer_det(call: OpCall) -> TensorType:
    x = tensor_of(call, 0, FLOATS)
    if x.shape is None:
        return TensorType(x.dtype, None)
    if len(x.shape) < 2:
        raise call.error("rank-mismatch", f"operand x has rank {len(x.shape)}, expected 2 or more")
    if is_different(x.shape[-2], x.shape[-1]):
        raise call.error("shape-mismatch", f"x is {str_shape(x.shape)}, not square")
    return TensorType(x.dtype, x.shape[:-2])


def _det(xp: Namespace, x: Array) -> Array:
    if x.shape[-1] != x.shape[-2]:
        raise ValueError(f"matrices of {x.shape[-2]} by {x.shape[-1]} are not square")
    return xp.linalg.det(x)


OPS: Final[tuple[OpDef, ...]] = (
    OpDef(
        name="matmul",
        summary="Matrix product of the last two axes, the others broadcast; integers wrap.",
        operands=(X, Y),
        infer=_infer_matmul,
        compute=lifted(product),
        loops=Product(),
    ),
    OpDef(
        name="einsum",
        summary="The sum of products that an equation spells: ij,jk->ik.",
        operands=(Operand("xs", variadic=True),),
        attrs={"equation": Attr((str,))},
        infer=_infer_einsum,
        compute=lifted(_einsum),
        origin="onnx",
    ),
    OpDef(
        name="det",
        summary="The determinants of the square matrices on the last two axes.",
        operands=(X,),
        infer=_infer_det,
        compute=lifted(_det),
        origin="onnx",
    ),
)
