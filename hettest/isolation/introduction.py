"""What a backend says of itself, as it comes back from its process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from hettest.backend import exact
from hettest.backend.facts import Facts
from hettest.backend.listing import require
from hettest.backend.protocol import DeviceInfo
from hettest.errors import ProtocolBreach
from hettest.isolation.frames import Answer, Malformed, kind
from hettest.isolation.observations import maybe, part

_DEVICE: Final = frozenset(field.name for field in fields(DeviceInfo))
_LONGEST: Final = 4 << 20
"""Bytes of a file of waivers that a backend may bring."""


def facts_of(answer: Answer) -> Facts:
    """Return the facts that an answer says.

    Raises:
        Malformed: It says none.
        UsageError: The devices cannot be told apart or named.
    """
    data = part(answer.data, "facts", dict)
    name = part(data, "name", str)
    devices = tuple(_devices(part(data, "devices", list)))
    require(name, devices)
    claims = frozenset(texts("capabilities", part(data, "capabilities", list)))
    return Facts(name, claims, devices, _waivers(maybe(data, "waivers", str)))


def claims_of(answer: Answer) -> frozenset[str] | None:
    """Return what a backend claims by now, if the answer says so."""
    found = maybe(answer.data, "claims", list)
    return None if found is None else frozenset(texts("claims", found))


def texts(name: str, found: list[Any]) -> Iterator[str]:
    """Yield the texts of a list; raises `Malformed` where something else is among them."""
    for number, text in enumerate(found):
        if type(text) is not str:
            raise Malformed(f"answered {name}[{number}] as {kind(text)}, expected a text")
        yield text


def _devices(found: list[Any]) -> Iterator[DeviceInfo]:
    for number, device in enumerate(found):
        if not isinstance(device, Mapping) or device.keys() != _DEVICE:
            raise Malformed(f"answered devices[{number}] as {kind(device)}, expected a device")
        try:
            yield exact.device(DeviceInfo(**device))
        except ProtocolBreach as wrong:
            raise Malformed(f"answered devices[{number}], but {wrong}") from None


def _waivers(found: str | None) -> Path | None:
    """Return the file of waivers that a backend brings.

    Raises:
        Malformed: What is there is no plain file, or too long: reading it might never end.
    """
    if found is None:
        return None
    path = Path(found)
    try:
        if path.exists() and not (path.is_file() and path.stat().st_size <= _LONGEST):
            raise Malformed(f"answered waivers {found!r}, expected a file of less than 4 MiB")
    except (OSError, ValueError) as error:
        raise Malformed(f"answered waivers {found!r}: {error}") from None
    return path
