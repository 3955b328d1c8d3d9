"""Checks of what a backend says of itself: its name, its claims, its devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from hettest.backend.discovery import devices_of
from hettest.backend.guard import crashes
from hettest.backend.listing import foreign, unsaid, wrong_devices
from hettest.backend.protocol import OpensDevices
from hettest.capability import missing
from hettest.probing.finding import Failed, NotApplicable, NotRun
from hettest.probing.specimen import Specimen
from hettest.probing.vocabulary import wrong_claims

if TYPE_CHECKING:
    from hettest.backend.protocol import DeviceAccess

_LONGEST = 60


def loads(specimen: Specimen) -> str:
    """Load the backend; what is wrong is a `UsageError`."""
    backend = specimen.backend
    return f"{type(backend).__module__}.{type(backend).__name__}"


def name(specimen: Specimen) -> str:
    """Check that the name can stand in a line of a report."""
    called = specimen.backend.name
    if not called.strip() or not called.isprintable() or len(called) > _LONGEST:
        raise Failed(
            f"the name is {called[:_LONGEST]!r}, expected one line of 1 to {_LONGEST} characters"
        )
    if called != specimen.backend.name:
        raise Failed("the name is another one each time it is asked for")
    return called


def capabilities(specimen: Specimen) -> str:
    """Check that the claims are words there are."""
    claims = specimen.claims
    wrong = list(wrong_claims(claims))
    if wrong:
        raise Failed("\n".join([f"{len(wrong)} of {len(claims)} claims cover nothing:", *wrong]))
    if claims != specimen.claims:
        raise Failed("the claims are others each time they are asked for; they must not change")
    if not claims:
        raise Failed('there are none; claim at least a device and a dtype: "device:cpu"')
    return f"{len(claims)} claims"


def devices(specimen: Specimen) -> str:
    """Check the list of devices, and that those asked for are in it."""
    listed = specimen.listed
    other = foreign(listed)
    if other is not None:
        raise Failed(f"devices() {other}")
    wrong = [*wrong_devices(listed), *unsaid(listed)]
    names = [info.name for info in listed]
    wrong += [f"{device} is asked for and not listed" for device in _unlisted(specimen)]
    if wrong:
        raise Failed("\n".join(wrong))
    there = sum(1 for info in listed if info.available)
    return f"{len(names)} listed, {there} available"


def available_devices(specimen: Specimen) -> str:
    """Find out whether the devices that are to be checked are there."""
    if specimen.missing:
        raise NotRun(specimen.absence)
    return ", ".join(specimen.usable)


def _unlisted(specimen: Specimen) -> list[str]:
    known = {info.name for info in specimen.listed}
    return [device for device in specimen.asked if device not in known]


def same_devices(specimen: Specimen) -> str:
    """Check that the devices are equal whenever they are asked for."""
    first, again = list(specimen.listed), list(devices_of(specimen.backend))
    if first != again:
        changed = [info.name for info in first if info not in again] or ["the order"]
        raise Failed(f"a second call of devices() differs: {', '.join(changed)}")
    return "equal when asked for again"


def claimed_devices(specimen: Specimen) -> str:
    """Check that the kinds of available devices are claimed."""
    kinds = dict.fromkeys(info.kind for info in specimen.listed if info.available)
    unclaimed = missing([f"device:{kind}" for kind in kinds], specimen.claims)
    if unclaimed:
        raise Failed(
            f"not claimed: {', '.join(unclaimed)}; each item on such a device is unsupported"
        )
    return ", ".join(kinds) or "none is available"


def opens(specimen: Specimen) -> str:
    """Check memory round trips of devices that can be opened by themselves."""
    if not callable(getattr(specimen.backend, "open", None)):
        raise NotApplicable("it has no method open(device)")
    for device in specimen.usable:
        with crashes(f"open({device!r})"):
            access = cast("OpensDevices", specimen.backend).open(device)
            _round_trip(device, access)
    return f"round trips on {', '.join(specimen.usable)}"


def _round_trip(device: str, access: DeviceAccess) -> None:
    import numpy as np

    for array in (np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((0, 2), np.float32)):
        expected = array.copy()
        buffer = access.put(array)
        array += 1
        access.synchronize()
        found = access.get(buffer)
        if not isinstance(found, np.ndarray) or found.dtype != expected.dtype:
            raise Failed(f"{device}: get() returned {type(found).__name__}, expected an f32 array")
        if found.shape != expected.shape or not np.array_equal(found, expected):
            raise Failed(
                f"{device}: get(put(array)) returned {found!r}, expected a copy of what was put: "
                f"{expected!r}"
            )
