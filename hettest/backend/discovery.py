"""Finds backends: by the name of an entry point, or as ``module:attribute``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from typing import cast

from hettest.backend.protocol import Backend, DeviceInfo
from hettest.devicemap import canonical
from hettest.errors import UsageError

GROUP = "hettest.backends"


def installed() -> Mapping[str, str]:
    """Return the installed backends: by name, where each is, ``module:attribute``."""
    return {point.name: point.value for point in sorted(entry_points(group=GROUP))}


def load(name: str) -> Backend:
    """Return the backend called ``name``, ready for use.

    Args:
        name: The name of an entry point, or ``module:attribute`` of a class or function that takes
            nothing and returns a backend.

    Raises:
        UsageError: There is none, or it cannot be imported; says why.
    """
    place = name if ":" in name else installed().get(name)
    if place is None:
        listed = ", ".join(installed()) or "none"
        raise UsageError(
            f"found no backend {name}; installed are {listed}. "
            "Another one is named as module:attribute"
        )
    module, _, attribute = place.partition(":")
    try:
        make = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"backend {name} ({place}) cannot be loaded: {error}") from error
    return cast("Backend", make())


def info(backend: Backend, device: str, known: Sequence[DeviceInfo] | None = None) -> DeviceInfo:
    """Return what ``backend`` says of ``device``; one it does not list is unavailable.

    Args:
        backend: Who is asked.
        device: A name in canonical form.
        known: The backend's devices, if the caller has them already.
    """
    listed = backend.devices() if known is None else known
    for found in listed:
        if canonical(found.name) == device:
            return found
    names = ", ".join(d.name for d in listed) or "none"
    kind, _, index = device.partition(":")
    reason = f"{backend.name} has no device {device}; it has {names}"
    return DeviceInfo(device, kind.partition(".")[0], int(index), available=False, reason=reason)
