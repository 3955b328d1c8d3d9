"""Devices by name, and the roles that programs place values on.

A program names *roles* (``@host``, ``@accel``), a `VirtualDevice` each; a `DeviceMap` binds roles
to *devices* (``sim:0``). Both are equal by content: two parses of ``@accel`` are one virtual
device.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, final

_DEVICE = re.compile(r"(?P<kind>[a-z][a-z0-9_]*)(\.(?P<variant>[a-z0-9_-]+))?(:(?P<index>[0-9]+))?")
LAST_INDEX: Final = 9999
"""The highest index of a device; a name that asks for more is mistyped."""

LONGEST_WORD: Final = 64
"""Characters of a kind or a variant."""


@final
@dataclass(frozen=True, slots=True, order=True)
class DeviceName:
    """A device, written ``kind[.variant][:index]``: ``cpu:0``, ``sim.no-f64:1``."""

    kind: str
    index: int = 0
    variant: str | None = None

    @classmethod
    def parse(cls, text: str) -> DeviceName:
        """Read ``kind[.variant][:index]``; ``cpu`` is ``cpu:0``.

        Raises:
            ValueError: ``text`` is not a device name.
        """
        found = _DEVICE.fullmatch(text.strip())
        if found is None:
            shown = repr(text if len(text) <= LONGEST_WORD else f"{text[:LONGEST_WORD]}…")
            raise ValueError(f"found {shown}, expected a device such as cpu, sim:1 or sim.no-f64:0")
        kind, variant = found["kind"], found["variant"]
        if max(len(kind), len(variant or "")) > LONGEST_WORD:
            word = f"a word of more than {LONGEST_WORD} characters"
            raise ValueError(f"found a device {kind[:20]}… with {word}")
        digits = (found["index"] or "0").lstrip("0") or "0"
        if len(digits) > len(str(LAST_INDEX)) or int(digits) > LAST_INDEX:
            expected = f"expected one of 0 to {LAST_INDEX}"
            raise ValueError(f"found a device {kind} of the index {digits[:20]}, {expected}")
        return cls(kind, int(digits), variant)

    def __str__(self) -> str:
        variant = f".{self.variant}" if self.variant else ""
        return f"{self.kind}{variant}:{self.index}"


HOST: Final = DeviceName("cpu", 0)
"""The host: shape functions, conditions and tags live there, and arguments arrive there."""

GLOBAL_SCOPE: Final = "global"


@final
@dataclass(frozen=True, slots=True)
class VirtualDevice:
    """A role of a module, declared in its header: ``vdevice @gpu = "cuda:0" scope "texture"``."""

    role: str
    device: DeviceName | None = None
    """The concrete device, once the module says it or ``bind-vdevices`` has run."""

    scope: str = GLOBAL_SCOPE

    def __hash__(self) -> int:  # planners look devices up for every operator
        return hash(self.role)

    def __str__(self) -> str:
        return f"@{self.role}"


@final
@dataclass(frozen=True)
class DeviceMap(Mapping[str, DeviceName]):
    """Which device each role is: ``host=cpu:0,accel=sim:0``. In the order it was written."""

    bindings: tuple[tuple[str, DeviceName], ...] = ()

    @classmethod
    def parse(cls, text: str) -> DeviceMap:
        """Read ``role=device,role=device``.

        Raises:
            ValueError: A part has another form, or a role is bound twice.
        """
        bindings: dict[str, DeviceName] = {}
        for part in filter(None, (p.strip() for p in text.split(","))):
            role, equals, device = part.partition("=")
            role = role.strip().removeprefix("@")
            if not equals or not role:
                raise ValueError(f"found {part!r}, expected role=device such as accel=sim:0")
            if role in bindings:
                raise ValueError(f"role {role} is bound twice, to {bindings[role]} and to {device}")
            bindings[role] = DeviceName.parse(device)
        return cls(tuple(bindings.items()))

    @classmethod
    def of(cls, bindings: Mapping[str, DeviceName]) -> DeviceMap:
        return cls(tuple(bindings.items()))

    def __getitem__(self, role: str) -> DeviceName:
        for name, device in self.bindings:
            if name == role:
                return device
        raise KeyError(role)

    def __iter__(self) -> Iterator[str]:
        return (role for role, _ in self.bindings)

    def __len__(self) -> int:
        return len(self.bindings)

    def __str__(self) -> str:
        return ",".join(f"{role}={device}" for role, device in self.bindings)

    @property
    def devices(self) -> tuple[DeviceName, ...]:
        """The devices named, each once, in order."""
        return tuple(dict.fromkeys(device for _, device in self.bindings))
