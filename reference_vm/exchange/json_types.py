"""Types and dims as JSON, both ways.

=============================================================  ====================
``{"kind": "tensor", "dtype", "shape", "vdevice"}``            ``f32[n, 4] @accel``
``{"kind": "shape", "shape"}``                                 ``shape[n, 4]``
``{"kind": "tuple", "items"}``                                 ``(f32[4], i64[])``
``{"kind": "function", "params", "returns"}``                  ``(f32[4]) -> f32[]``
``{"kind": "data", "name", "args"}``                           ``List[f32[4]]``
=============================================================  ====================

A shape is a list of dims, or ``null`` if the rank is unknown. A dim is a number, or a string as the
text form has it: ``"n"``, ``"4*n + 1"``, ``"?"``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from reference_vm.diagnostics import CompileError, catalog
from reference_vm.exchange.json_place import Place
from reference_vm.source import Source
from reference_vm.text.cursor import Cursor
from reference_vm.text.type_parser import MAX_TYPE_DEPTH, parse_dim
from reference_vm.types import (
    AdtType,
    Dim,
    FunctionType,
    Shape,
    ShapeType,
    TensorType,
    TupleType,
    Type,
    VirtualDevice,
)
from reference_vm.types.types import str_dim

_KINDS: Final = ("tensor", "shape", "tuple", "function", "data")


def type_to_json(type_: Type) -> dict[str, Any]:
    """Return the object of a type."""
    match type_:
        case TensorType(dtype=dtype, shape=shape, vdevice=vdevice):
            role = None if vdevice is None else vdevice.role
            return {
                "kind": "tensor",
                "dtype": dtype.name,
                "shape": shape_to_json(shape),
                "vdevice": role,
            }
        case ShapeType(dims=dims):
            return {"kind": "shape", "shape": shape_to_json(dims)}
        case TupleType(items=items):
            return {"kind": "tuple", "items": [type_to_json(item) for item in items]}
        case FunctionType(params=params, result=result):
            inner = [type_to_json(param) for param in params]
            return {"kind": "function", "params": inner, "returns": type_to_json(result)}
        case AdtType(name=name, args=args):
            return {"kind": "data", "name": name, "args": [type_to_json(arg) for arg in args]}


def shape_to_json(shape: Shape | None) -> list[int | str] | None:
    """Return the list of dims; ``None`` where the rank is unknown."""
    return None if shape is None else [d if isinstance(d, int) else str_dim(d) for d in shape]


def type_from_json(place: Place, roles: Mapping[str, VirtualDevice], depth: int = 1) -> Type:
    """Return the type that an object says.

    Raises:
        CompileError: It is malformed, or types nest too deeply.
    """
    if depth > MAX_TYPE_DEPTH:
        raise CompileError(catalog.text_nests_too_deep("types", MAX_TYPE_DEPTH, None))
    if not isinstance(place.value, Mapping):
        place.fail("an object that is a type")
    match place.at("kind").value:
        case "tensor":
            place.fields(("kind", "dtype", "shape"), ("vdevice",))
            shape = shape_from_json(place.at("shape"), least=0)
            role = place.at("vdevice")
            vdevice = None if role.is_absent else vdevice_from_json(role, roles)
            return TensorType(place.at("dtype").dtype(), shape, vdevice)
        case "shape":
            place.fields(("kind", "shape"))
            return ShapeType(shape_from_json(place.at("shape")))
        case "tuple":
            place.fields(("kind", "items"))
            return TupleType(_types(place.at("items"), roles, depth))
        case "function":
            place.fields(("kind", "params", "returns"))
            params = _types(place.at("params"), roles, depth)
            return FunctionType(params, type_from_json(place.at("returns"), roles, depth + 1))
        case "data":
            place.fields(("kind", "name"), ("args",))
            args = place.at("args")
            given = () if args.is_absent else _types(args, roles, depth)
            return AdtType(place.at("name").text(), given)
        case _:
            return place.at("kind").fail(f"one of {', '.join(_KINDS)}")


def _types(place: Place, roles: Mapping[str, VirtualDevice], depth: int) -> tuple[Type, ...]:
    return tuple(type_from_json(item, roles, depth + 1) for item in place.items())


def vdevice_from_json(place: Place, roles: Mapping[str, VirtualDevice]) -> VirtualDevice:
    """Return the declared virtual device of a role."""
    role = place.text("a role, or null")
    if role not in roles:
        place.fail(f"a role that vdevices declares: {', '.join(roles) or 'there is none'}")
    return roles[role]


def shape_from_json(place: Place, least: int | None = None) -> Shape | None:
    """Return a shape; numbers in it are ``least`` or more."""
    if place.is_absent:
        return None
    return tuple(dim_from_json(item, least) for item in place.items())


def dim_from_json(place: Place, least: int | None = None) -> Dim:
    """Return a dim: a number, or a text such as ``4*n + 1``.

    Raises:
        CompileError: It is neither; an error in a text is located in that text.
    """
    if not isinstance(place.value, str):
        return place.number(least)
    cursor = Cursor.over(Source(place.path, place.value))
    dim = parse_dim(cursor)
    if cursor.kind != "END":
        raise cursor.error("the end of the dim")
    if cursor.found:
        raise CompileError(*cursor.found)
    return dim
