"""Mutants that run work where it was not wanted; every value is right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from hettest.backend.protocol import Options
from hettest.language import Module, VirtualDevice, nodes
from tests.mutants.mutant import Mutant, kill
from tests.mutants.programs import calls, rewriting
from tests.mutants.transfers import DIAMOND, SHARED

_MOVES: Final = frozenset({"device_copy", "to_vdevice", "hint_on_device", "match_cast"})
HINT: Final = "placement/hint_saves_copies[plain,host=cpu:0,accel=sim:0,policy=copy]"
REPLICATED: Final = "placement/shared_input[plain,host=cpu:0,accel=sim:0,policy=replicate]"
PARTED: Final = (
    "bugs/c01_shared_value/sums_apart[plain,order=accel-first,host=cpu:0,accel=sim:0,policy=copy]"
)
SECOND: Final = "placement/two_accelerators[plain,host=cpu:0,accel=sim:0,other=sim:1,policy=copy]"
CROSSED: Final = "placement/outputs_crossed[plain,host=cpu:0,accel=sim:0,policy=copy]"


def to_host(module: Module) -> Module:
    """Let the first operator that was requested elsewhere run on the host."""
    host = next((v for v in module.vdevices if v.role == "host"), None)
    moved: list[nodes.Binding] = []

    def change(binding: nodes.Binding) -> Iterable[nodes.Binding]:
        call = isinstance(binding.value, nodes.Call) and binding.value.op not in _MOVES
        if call and host and not moved and binding.request not in (None, host):
            moved.append(binding)
            return (replace(binding, request=host),)
        return (binding,)

    return rewriting(change)(module)


def _without_hint(binding: nodes.Binding) -> Iterable[nodes.Binding]:
    value = binding.value
    if calls(binding, "hint_on_device") and isinstance(value, nodes.Call):
        (source,) = value.args
        assert isinstance(source, nodes.Var)
        return (replace(binding, value=nodes.Alias(source), request=None),)
    return (binding,)


def _request_ignored(binding: nodes.Binding) -> Iterable[nodes.Binding]:
    value = binding.value
    if isinstance(value, nodes.Call) and value.op not in _MOVES:
        return (replace(binding, request=None),)
    return (binding,)


def all_on_host(device_map: Mapping[str, str]) -> Mapping[str, str]:
    return dict.fromkeys(device_map, "cpu:0")


def _exchanged(device_map: Mapping[str, str]) -> Mapping[str, str]:
    return dict(zip(device_map, reversed(tuple(device_map.values())), strict=True))


def _first_reader_decides(module: Module) -> Module:
    """Let what reads a value run where the first of its readers was asked to."""
    wanted: dict[nodes.Var, VirtualDevice] = {}

    def change(binding: nodes.Binding) -> Iterable[nodes.Binding]:
        value, request = binding.value, binding.request
        if request is None or not isinstance(value, nodes.Call) or value.op in _MOVES:
            return (binding,)
        read = [a for a in value.args if isinstance(a, nodes.Var)]
        first = next((wanted[a] for a in read if a in wanted), request)
        for operand in read:
            wanted.setdefault(operand, first)
        return (replace(binding, request=first),)

    return rewriting(change)(module)


def _index_0(device_map: Mapping[str, str]) -> Mapping[str, str]:
    return {role: f"{device.partition(':')[0]}:0" for role, device in device_map.items()}


def _copying(options: Options) -> Options:
    return replace(options, policy="copy")


MUTANTS: Final = (
    Mutant(
        name="wrong-device",
        fault_class="C05",
        breaks="runs one requested operator on the host",
        kills=(
            kill(SHARED, "placement", "copies", "moved"),
            kill(DIAMOND, "placement", "copies", "moved"),
        ),
        module=to_host,
    ),
    Mutant(
        name="first-reader-decides",
        fault_class="C01",
        breaks="runs all readers of a value where the first of them was asked to run",
        kills=(
            kill(SHARED, "placement", "copies", "moved"),
            kill(PARTED, "placement"),
        ),
        module=_first_reader_decides,
    ),
    Mutant(
        name="uses-index-0",
        fault_class="C02",
        breaks="takes the first device of each kind, whichever index was asked for",
        kills=(kill(SECOND, "placement", "copies", "moved"),),
        device_map=_index_0,
    ),
    Mutant(
        name="falls-back-to-host",
        fault_class="C02",
        breaks="runs everything on the host, without a word",
        kills=(
            kill(SHARED, "placement", "copies", "moved"),
            kill(DIAMOND, "placement", "copies", "moved"),
        ),
        device_map=all_on_host,
    ),
    Mutant(
        name="exchanges-roles",
        fault_class="C02",
        breaks="binds the roles to each other's devices",
        kills=(kill(SHARED, "placement"), kill(DIAMOND, "placement", "moved")),
        device_map=_exchanged,
    ),
    Mutant(
        name="ignores-requests",
        fault_class="C05",
        breaks="plans as if no operator were requested anywhere",
        kills=(kill(DIAMOND, "placement", "copies", "moved"),),
        module=rewriting(_request_ignored),
    ),
    Mutant(
        name="ignores-hints",
        fault_class="C05",
        breaks="plans as if no value were hinted anywhere",
        kills=(kill(HINT, "copies", "moved"),),
        module=rewriting(_without_hint),
    ),
    Mutant(
        name="ignores-replicate",
        fault_class="C04",
        breaks="copies arguments that policy replicate sends to each reader",
        kills=(kill(REPLICATED, "copies"),),
        options=_copying,
    ),
)
