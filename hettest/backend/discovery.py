"""Loads backends by name, and asks them for their devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from importlib import import_module
from itertools import groupby
from typing import Any, cast

from hettest.backend.calls import name_of
from hettest.backend.guard import crashes, named, raised_at
from hettest.backend.naming import arguments, installed, parse_name
from hettest.backend.protocol import Backend, DeviceInfo
from hettest.devicemap import canonical, kind_of
from hettest.errors import UsageError

__all__ = ["devices_of", "info", "installed", "load", "mistyped", "ranges"]

_METHODS = ("devices", "compile", "close")


def load(name: str) -> Backend:
    """Return the backend called ``name``, ready for use.

    Args:
        name: As `naming` says: the name of an entry point, or ``module:attribute`` of a class or
            function that returns a backend; options of its own after a further colon.

    Raises:
        UsageError: There is none, it cannot be made, or it is no backend; says why.
    """
    called = parse_name(name)
    what = f"backend {name}" + (f" ({called.place})" if called.place != name else "")
    try:
        make = getattr(import_module(called.module), called.attribute)
        if not callable(make):
            kind = type(make).__name__
            raise UsageError(f"{what} is a {kind}, not a class or a function")
        backend = make(**arguments(called, make))
        wrong = _wrong(backend)
    except (ImportError, AttributeError) as error:
        at = raised_at(error, __file__)
        where = "" if called.is_installed else _where_modules_are(error, called.module)
        raise UsageError(f"{what} cannot be loaded: {error}{where or at}") from error
    except (KeyboardInterrupt, UsageError):
        raise
    except BaseException as error:  # a backend's module and constructor may do anything
        at = raised_at(error, __file__)
        raise UsageError(f"{what} cannot be loaded: {named(error)}{at}") from error
    if wrong is not None:
        raise UsageError(f"{what} is no backend: {wrong}")
    return cast("Backend", backend)


def _where_modules_are(error: Exception, module: str) -> str:
    """Return what to do where a backend's own module is not found."""
    if not isinstance(error, ModuleNotFoundError) or not module.startswith(error.name or "?"):
        return ""
    return "; the current folder is not searched unless it is on PYTHONPATH: PYTHONPATH=. hettest …"


def _wrong(backend: Any) -> str | None:
    """Return what a would-be backend lacks, or ``None``."""
    if isinstance(backend, type):
        return f"found the class {backend.__name__}, expected a backend that was made of one"
    missing = [method for method in _METHODS if not callable(getattr(backend, method, None))]
    if missing:
        return f"it has no method {', '.join(missing)}"
    for attribute in ("name", "capabilities"):
        if not hasattr(backend, attribute):
            return f"it has no {attribute}"
    if not isinstance(backend.name, str):
        return f"its name is {backend.name!r}, expected a string"
    claims = backend.capabilities
    if not isinstance(claims, frozenset | set):
        return f"its capabilities are a {type(claims).__name__}, expected a frozenset of words"
    other = next((claim for claim in claims if not isinstance(claim, str)), None)
    return None if other is None else f"its capabilities hold {other!r}, expected words"


def devices_of(backend: Backend) -> tuple[DeviceInfo, ...]:
    """Return the devices that ``backend`` lists.

    Raises:
        BackendCrash: It raised something instead.
    """
    name = name_of(backend)
    with crashes(f"{name}.devices()"):
        return tuple(backend.devices())


def info(backend: str, device: str, known: Sequence[DeviceInfo]) -> DeviceInfo:
    """Return what a backend says of ``device``; one it does not list is unavailable.

    Args:
        backend: Its name, for the reason.
        device: A name in canonical form.
        known: The backend's devices.
    """
    for found in known:
        if canonical(found.name) == device:
            return found
    names = ", ".join(ranges([d.name for d in known])) or "none"
    kind, _, index = device.partition(":")
    reason = f"{backend} has no device {device}; it has {names}"
    return DeviceInfo(device, kind.partition(".")[0], int(index), available=False, reason=reason)


def ranges(names: Sequence[str]) -> Iterator[str]:
    """Yield the devices in short: ``cpu:0 to 3`` for four that follow one another."""
    for kind, same in groupby(names, key=lambda name: name.rpartition(":")[0]):
        first, *others = (name.rpartition(":")[2] for name in same)
        yield f"{kind}:{first} to {others[-1]}" if others else f"{kind}:{first}"


def mistyped(device: str, known: Sequence[DeviceInfo]) -> str | None:
    """Return the device that ``device`` is a slip of: of a kind that is spelled nearly so."""
    kind, _, index = device.partition(":")
    kinds = dict.fromkeys(canonical(info.name).partition(":")[0] for info in known)
    if kind in kinds or kind_of(device) in map(kind_of, kinds):
        return None
    near = [known for known in kinds if sorted(known) == sorted(kind)]  # smi: letters swapped
    near = near or get_close_matches(kind, kinds, n=1, cutoff=0.7)
    return f"{near[0]}:{index}" if near else None
