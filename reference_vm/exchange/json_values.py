"""Attributes and constants as JSON, both ways.

An attribute is ``true``, a number, a string, ``null`` or a list; what JSON has no form for is an
object with one key: ``{"dtype": "f16"}``, ``{"dim": "4*n"}``, ``{"float": "inf"}``. An integer is
written without a point and a float with one, which an operator that takes floats does not tell
apart.

The elements of a constant are a flat list in row-major order, each float exactly, with ``"nan"``,
``"inf"`` and ``"-inf"`` as strings; or ``hex``, little-endian bytes, where the list would be long
or JSON's numbers would not do: other NaNs, and integers beyond 2^53.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from reference_vm.diagnostics import CompileError, catalog
from reference_vm.exchange.json_place import Place
from reference_vm.exchange.json_types import dim_from_json
from reference_vm.ir.nodes import Constant
from reference_vm.text.constant_parser import readable
from reference_vm.types import Attrs, AttrValue, DType, Poly, Unknown
from reference_vm.types.elements import Element, decode, encode, is_default_nan, is_nan, words

LISTED: Final = 64
"""Constants of more elements are written as ``hex``."""

MAX_LIST_DEPTH: Final = 32
"""How deep lists may nest in an attribute."""

_EXACT: Final = 1 << 53
_SPECIAL: Final = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def attrs_to_json(attrs: Attrs) -> dict[str, Any]:
    """Return attributes as an object, in the order of their names."""
    return {name: _value_to_json(value) for name, value in attrs.items()}


def _value_to_json(value: AttrValue) -> Any:
    match value:
        case tuple():
            return [_value_to_json(item) for item in value]
        case DType():
            return {"dtype": value.name}
        case Poly():
            return {"dim": str(value)}
        case float() if not math.isfinite(value):
            return {"float": str(value)}
        case _:
            return value


def attrs_from_json(place: Place) -> Attrs:
    """Return the attributes that an object says; none where nothing stands."""
    if place.is_absent:
        return Attrs()
    return Attrs({name: _value_from_json(value, 0) for name, value in place.pairs()})


def _value_from_json(place: Place, depth: int) -> AttrValue:
    if depth > MAX_LIST_DEPTH:
        raise CompileError(catalog.text_nests_too_deep("lists", MAX_LIST_DEPTH, None))
    value = place.value
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, list | tuple):
        return tuple(_value_from_json(item, depth + 1) for item in place.items())
    if isinstance(value, Mapping) and len(value) == 1:
        return _tagged(place)
    return place.fail("the value of an attribute, or an object with one key: dtype, dim or float")


def _tagged(place: Place) -> AttrValue:
    match list(place.value):
        case ["dtype"]:
            return place.at("dtype").dtype()
        case ["dim"]:
            dim = dim_from_json(place.at("dim"))
            return place.fail("a dim that is known") if isinstance(dim, Unknown) else dim
        case ["float"]:
            return _special(place.at("float"))
        case _:
            return place.fail("one key: dtype, dim or float")


def _special(place: Place) -> float:
    if place.value not in _SPECIAL:
        place.fail(f"one of {', '.join(_SPECIAL)}")
    return _SPECIAL[place.value]


def elements_to_json(constant: Constant) -> dict[str, Any]:
    """Return the elements of a constant: an object with the key ``data`` or ``hex``."""
    dtype, data = constant.dtype, constant.data
    if len(data) // dtype.itemsize > LISTED or not _fits(dtype, data):
        return {"hex": data.hex()}
    return {"data": [_element_to_json(element) for element in decode(dtype, data)]}


def _fits(dtype: DType, data: bytes) -> bool:
    """Whether JSON's numbers say these elements exactly."""
    if dtype.is_float:
        return all(is_default_nan(dtype, w) or not is_nan(dtype, w) for w in words(dtype, data))
    return all(abs(element) <= _EXACT for element in decode(dtype, data))


def _element_to_json(element: Element) -> Element | str:
    if isinstance(element, float) and not math.isfinite(element):
        return str(element)
    return element


def elements_from_json(place: Place, dtype: DType, shape: tuple[int, ...]) -> bytes:
    """Return the bytes of a constant's elements, as many as its shape says.

    Args:
        place: The object that has the key ``data`` or ``hex``.
        dtype: The dtype of the constant.
        shape: Its shape.
    """
    if place.at("hex").is_absent == place.at("data").is_absent:
        place.fail("either a key data or a key hex")
    count = math.prod(shape)
    if place.at("data").is_absent:
        return _hex(place.at("hex"), dtype, count)
    listed = place.at("data")
    values = [_element(item, dtype) for item in listed.items()]
    if len(values) != count:
        listed.fail(f"{count} elements for {dtype}{list(shape)}, found {len(values)}")
    return encode(dtype, values)


def _hex(place: Place, dtype: DType, count: int) -> bytes:
    try:
        data = bytes.fromhex(place.text("pairs of hex digits"))
    except ValueError:
        place.fail("pairs of hex digits")
    expected = count * dtype.itemsize
    if len(data) != expected:
        place.fail(f"{expected} bytes, found {len(data)}")
    if not readable(dtype, data):
        place.fail(f"bytes that are elements of {dtype}")
    return data


def _element(place: Place, dtype: DType) -> Element:
    value = place.value
    if dtype.is_bool:
        return value if isinstance(value, bool) else place.fail("true or false")
    if isinstance(value, str) and dtype.is_float:
        value = _special(place)
    wanted = (int, float) if dtype.is_float else (int,)
    if not isinstance(value, wanted) or isinstance(value, bool):
        place.fail(f"{'a number' if dtype.is_float else 'an integer'}, for {dtype}")
    try:
        encode(dtype, [value])
    except OverflowError as error:
        place.fail(f"an element of {dtype}: {error}")
    element: Element = value
    return element
