"""Types, attributes and constants to text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from reference_vm.ir.nodes import Constant, Weight
from reference_vm.text.lexer import identifier, quote
from reference_vm.types import (
    AdtType,
    Attrs,
    AttrValue,
    DType,
    FunctionType,
    Poly,
    Shape,
    ShapeType,
    TensorType,
    TupleType,
    Type,
    VirtualDevice,
)
from reference_vm.types.elements import decode, is_default_nan, is_nan, shortest, words
from reference_vm.types.types import str_dim

LISTED: Final = 64
"""Constants of more elements are printed as hex."""


def print_type(type_: Type) -> str:
    """Return the text of a type."""
    match type_:
        case TensorType(dtype=dtype, shape=shape, vdevice=vdevice):
            place = f" {role(vdevice)}" if vdevice else ""
            return f"{dtype}[{print_dims(shape)}]{place}"
        case ShapeType(dims=dims):
            return f"shape[{print_dims(dims)}]"
        case TupleType(items=items):
            return parenthesized([print_type(t) for t in items])
        case FunctionType(params=params, result=result):
            inner = ", ".join(print_type(t) for t in params)
            return f"({inner}) -> {print_type(result)}"
        case AdtType(name=name, args=args):
            return f"{name}[{', '.join(print_type(t) for t in args)}]" if args else name


def print_dims(shape: Shape | None) -> str:
    """Return dims as they stand between brackets."""
    return "..." if shape is None else ", ".join(map(str_dim, shape))


def role(vdevice: VirtualDevice) -> str:
    return f"@{identifier(vdevice.role)}"


def print_value(value: AttrValue) -> str:
    """Return the text of an attribute's value."""
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "none"
        case str():
            return quote(value)
        case int() | float() | Poly() | DType():
            return str(value)
        case tuple():
            return f"[{', '.join(map(print_value, value))}]"


def print_constant(constant: Constant | Weight) -> str:
    """Return the text of a constant."""
    head = f"const {constant.dtype}[{', '.join(map(str, constant.shape))}]"
    head += " packed" if constant.packed else ""
    if isinstance(constant, Weight):
        return f"{head} from {quote(constant.file)} {quote(constant.key)}"
    elements = _elements(constant)
    if elements is None:
        return f'{head} hex "{constant.data.hex()}"'
    if constant.shape:
        return f"{head} [{', '.join(elements)}]"
    return f"{head} {elements[0]}"


def _elements(constant: Constant) -> list[str] | None:
    """Return the text of each element; ``None`` if they are better or only said in hex."""
    dtype, data = constant.dtype, constant.data
    if len(data) > LISTED * dtype.itemsize:
        return None
    if not dtype.is_float:
        return [print_value(element) for element in decode(dtype, data)]
    bits = words(dtype, data)
    if any(is_nan(dtype, b) and not is_default_nan(dtype, b) for b in bits):
        return None
    return [shortest(dtype, b) for b in bits]


def print_attrs(attrs: Attrs) -> list[str]:
    return [f"{name} = {print_value(value)}" for name, value in attrs.items()]


def parenthesized(items: Sequence[str]) -> str:
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
