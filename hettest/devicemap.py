"""The devices that a run names, and the ways to bind a program's roles to them.

Devices are plain names in canonical form, ``kind[.variant]:index``; ``cpu`` is ``cpu:0``. The first
one named is the host of the run: the default device and that of the CPU-only run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import permutations
from typing import Final, TypeAlias

from hettest.errors import UsageError

LAST_INDEX: Final = 9999
"""The highest index of a device; a name that asks for more is mistyped."""

LONGEST_WORD: Final = 64
"""Characters of a kind or a variant, which name files and lines of reports."""

_DEVICE: Final = re.compile(r"([a-z][a-z0-9_]*)(?:\.([a-z0-9_-]+))?(?::([0-9]+))?")

Binding: TypeAlias = Mapping[str, str]
"""Which device each role is, in the order in which the roles are declared."""


class Bind(StrEnum):
    """How a case wants its roles bound."""

    HOST_FIRST = "host-first"
    """The first role to the first device, the others to the rest, in every order."""

    EVERY = "every"
    """The roles to every ordered choice of distinct devices."""

    ONE_DEVICE = "one-device"
    """All roles to one device: each kind of device once."""


def canonical(text: str) -> str:
    """Return the device's name with its index: ``sim`` gives ``sim:0``.

    Raises:
        UsageError: ``text`` is not a device name.
    """
    found = _DEVICE.fullmatch(text.strip())
    if found is None:
        shown = repr(text if len(text) <= LONGEST_WORD else f"{text[:LONGEST_WORD]}…")
        raise UsageError(f"found {shown}, expected a device such as cpu, sim:1 or sim.no-f64:0")
    kind, variant, index = found.groups()
    if max(len(kind), len(variant or "")) > LONGEST_WORD:
        raise UsageError(
            f"found a device {kind[:20]}… with a word of more than {LONGEST_WORD} characters"
        )
    digits = (index or "0").lstrip("0") or "0"
    if len(digits) > len(str(LAST_INDEX)) or int(digits) > LAST_INDEX:
        raise UsageError(
            f"found a device {kind} of the index {digits[:20]}, expected one of 0 to {LAST_INDEX}"
        )
    return f"{kind}{'.' + variant if variant else ''}:{digits}"


def kind_of(device: str) -> str:
    """Return the device's kind: ``sim`` of ``sim.no-f64:1``."""
    return re.split(r"[.:]", device, maxsplit=1)[0]


def index_of(device: str) -> int:
    """Return the device's index: 1 of ``sim:1``."""
    return int(device.rpartition(":")[2])


def parse_devices(text: str) -> tuple[str, ...]:
    """Read ``cpu,sim:0,sim:1``.

    Raises:
        UsageError: None is named, one twice, or the first is not of kind ``cpu``.
    """
    devices = tuple(canonical(part) for part in text.split(",") if part.strip())
    if not devices:
        raise UsageError("--devices names no device; name at least one, such as --devices=cpu,sim")
    twice = next((d for d in devices if devices.count(d) > 1), None)
    if twice is not None:
        raise UsageError(f"--devices={text} names {twice} twice")
    if kind_of(devices[0]) != "cpu":
        raise UsageError(
            f"--devices={text} begins with {devices[0]}; the first device is the host and must be "
            "of kind cpu"
        )
    return devices


def parse_binding(text: str) -> dict[str, str]:
    """Read ``host=cpu:0,accel=sim:0``.

    Raises:
        UsageError: No role is bound, a part has another form, or a role is bound twice.
    """
    binding: dict[str, str] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        role, equals, device = part.partition("=")
        role = role.strip().removeprefix("@")
        if not equals or not role:
            raise UsageError(f"found {part!r}, expected role=device such as accel=sim:0")
        if role in binding:
            raise UsageError(f"role {role} is bound twice, to {binding[role]} and to {device}")
        binding[role] = canonical(device)
    if not binding:
        raise UsageError(
            "the device map binds no role; bind each to a device, such as host=cpu,accel=sim"
        )
    return binding


def show(binding: Binding) -> str:
    """Return ``host=cpu:0,accel=sim:0``."""
    return ",".join(f"{role}={device}" for role, device in binding.items())


def is_straight(binding: Binding, host: str) -> bool:
    """Whether the first role is the host and every role has a device of its own.

    The numbers that a case states hold for such bindings.
    """
    devices = list(binding.values())
    return bool(devices) and devices[0] == host and len(set(devices)) == len(devices)


def first_of_each_kind(devices: Sequence[str]) -> tuple[str, ...]:
    """Return the devices without a second one of any kind."""
    return tuple({kind_of(d): d for d in reversed(devices)}[k] for k in _kinds(devices))


def _kinds(devices: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(kind_of, devices)))


def bindings(
    roles: Sequence[str], devices: Sequence[str], bind: Bind, least: int
) -> tuple[Binding, ...]:
    """Return the ways to bind ``roles`` to ``devices``, at least ``least`` of them distinct.

    Without enough devices for ``least`` there is none. Where roles may share a device and there
    are more roles than devices, the last roles share the last device.
    """
    if len(devices) < least:
        return ()
    if not roles:
        return ({},)
    if bind is Bind.ONE_DEVICE:
        return tuple(dict.fromkeys(roles, d) for d in first_of_each_kind(devices))
    if len(devices) < len(roles):
        shared = [devices[min(i, len(devices) - 1)] for i in range(len(roles))]
        return (dict(zip(roles, shared, strict=True)),)
    chosen = permutations(devices, len(roles))
    return tuple(
        dict(zip(roles, choice, strict=True))
        for choice in chosen
        if bind is Bind.EVERY or choice[0] == devices[0]
    )
