"""Modules as the published JSON tree, and back: programs for those who parse no text.

::

    {"format": "hettest-program-1",
     "vdevices": [{"name": "host"}, {"name": "accel"}],
     "types": [],
     "functions": [
       {"name": "main",
        "params": [{"name": "a", "type": {"kind": "tensor", "dtype": "f32", "shape": [4],
                                          "vdevice": null}}],
        "returns": {"kind": "tensor", "dtype": "f32", "shape": [4], "vdevice": "host"},
        "body": {"bindings": [{"name": "s", "kind": "call", "op": "exp", "args": ["a"],
                               "attrs": {}, "device": "accel", "type": null}],
                 "result": "s"}}]}

``docs/reference/program-json.md`` explains it, ``tree.schema.json`` is its JSON schema. Names are
unique within a function; where a module has two variables of one name, the tree numbers them as its
text does. Spans are not in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from reference_vm.diagnostics import CompileError, catalog
from reference_vm.exchange.json_place import Place
from reference_vm.exchange.json_reading import function_from_json
from reference_vm.exchange.json_types import type_from_json, type_to_json
from reference_vm.exchange.json_writing import function_to_json
from reference_vm.ir import nodes
from reference_vm.types import DeviceName, VirtualDevice
from reference_vm.types.device import GLOBAL_SCOPE

FORMAT: Final = "hettest-program-1"


def to_json(module: nodes.Module) -> dict[str, Any]:
    """Return the tree of a module: dicts, lists, strings, numbers, bools and ``None``, all new."""
    return {
        "format": FORMAT,
        "vdevices": [_vdevice_to_json(vdevice) for vdevice in module.vdevices],
        "types": [_adt_to_json(adt) for adt in module.adts],
        "functions": [function_to_json(function) for function in module.functions],
    }


def from_json(tree: Mapping[str, Any]) -> nodes.Module:
    """Return the module that a tree says. Rules about names are those of `ir.verify`.

    Raises:
        CompileError: The tree is malformed; says where in it, what was found and what was expected.
    """
    root = Place(tree, "")
    root.fields(("format", "functions"), ("vdevices", "types"))
    if root.at("format").value != FORMAT:
        root.at("format").fail(repr(FORMAT))
    roles = _roles(root.at("vdevices"))
    types = root.at("types")
    return nodes.Module(
        tuple(roles.values()),
        () if types.is_absent else tuple(_adt_from_json(p, roles) for p in types.items()),
        tuple(function_from_json(p, roles) for p in root.at("functions").items()),
    )


def _vdevice_to_json(vdevice: VirtualDevice) -> dict[str, Any]:
    tree: dict[str, Any] = {"name": vdevice.role}
    if vdevice.device is not None:
        tree["device"] = str(vdevice.device)
    if vdevice.scope != GLOBAL_SCOPE:
        tree["scope"] = vdevice.scope
    return tree


def _roles(place: Place) -> dict[str, VirtualDevice]:
    roles: dict[str, VirtualDevice] = {}
    for item in () if place.is_absent else place.items():
        item.fields(("name",), ("device", "scope"))
        role = item.at("name").text()
        if role in roles:
            raise CompileError(catalog.invalid_tree(item.path, f"{role} again", "each role once"))
        device, scope = item.at("device"), item.at("scope")
        roles[role] = VirtualDevice(
            role,
            None if device.is_absent else _device(device),
            GLOBAL_SCOPE if scope.is_absent else scope.text(),
        )
    return roles


def _device(place: Place) -> DeviceName:
    try:
        return DeviceName.parse(place.text('a device such as "cpu:0"'))
    except ValueError:
        place.fail('a device such as "cpu:0"')


def _adt_to_json(adt: nodes.Adt) -> dict[str, Any]:
    made = [
        {"name": constructor.name, "fields": [type_to_json(f) for f in constructor.fields]}
        for constructor in adt.constructors
    ]
    return {"name": adt.name, "params": list(adt.params), "constructors": made}


def _adt_from_json(place: Place, roles: Mapping[str, VirtualDevice]) -> nodes.Adt:
    place.fields(("name", "params", "constructors"))
    return nodes.Adt(
        place.at("name").text(),
        tuple(param.text() for param in place.at("params").items()),
        tuple(_constructor(item, roles) for item in place.at("constructors").items()),
    )


def _constructor(place: Place, roles: Mapping[str, VirtualDevice]) -> nodes.Constructor:
    place.fields(("name", "fields"))
    fields = tuple(type_from_json(item, roles) for item in place.at("fields").items())
    return nodes.Constructor(place.at("name").text(), fields)
