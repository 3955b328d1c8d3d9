"""Around each call into an implementation: whatever it raises is its crash, not the kit's end."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from hettest.backend.protocol import Rejected
from hettest.errors import BackendCrash, ProtocolBreach
from hettest.files import encodable


@contextmanager
def crashes(doing: str, *, may_refuse: bool = False) -> Iterator[None]:
    """Let a `BackendCrash` come of what the implementation raises inside, ``SystemExit`` too.

    A crash or a breach that is already known to be one, and the user's interrupt pass as they are.
    An implementation that ends the process (``os._exit``, a signal) cannot be held
    from within.

    Args:
        doing: What it was asked to do, for the message: ``devices()``.
        may_refuse: Whether a rejection passes too, since a program or its data may be at fault.
    """
    try:
        yield
    except (KeyboardInterrupt, BackendCrash, ProtocolBreach):
        raise
    except BaseException as error:
        if may_refuse and isinstance(error, Rejected):
            raise
        raise BackendCrash(f"{doing} raised {named(error)}") from error


def named(error: BaseException) -> str:
    """Return the kind and the message of an error in one line."""
    text = f"{_kind(error)}: {message_of(error)}"
    return next(iter(text.splitlines())).rstrip(": ")


def message_of(error: BaseException) -> str:
    """Return the message of an error, whose ``__str__`` may do anything, as a plain text."""
    try:
        return plain(str(error))
    except KeyboardInterrupt:
        raise
    except BaseException as worse:
        return f"(its __str__ raised {_kind(worse)})"


def plain(text: str) -> str:
    """Return a text of Python's own class that can be encoded, half a character by its number."""
    return encodable(str.__str__(text))


def frames_of(error: BaseException) -> str:
    """Return the traceback of an error, of which any part may do anything when it is printed."""
    try:
        return plain("".join(traceback.format_exception(error)).rstrip())
    except KeyboardInterrupt:
        raise
    except BaseException as worse:
        return f"{named(error)} (its traceback cannot be printed: {_kind(worse)})"


def _kind(error: BaseException) -> str:
    """Return the name of an error's class, whatever the class itself says."""
    return str(type.__dict__["__name__"].__get__(type(error)))


def raised_at(error: BaseException, caller: str) -> str:
    """Return where an error was raised, after a comma: ``, raised at acme.py:12 in __init__``.

    Args:
        error: What was caught.
        caller: The file that called; empty comes back for what was raised there, or by the import.
    """
    frames = traceback.extract_tb(error.__traceback__)
    there = [f for f in frames if f.filename != caller and not f.filename.startswith("<frozen")]
    if not there:
        return ""
    return f", raised at {there[-1].filename}:{there[-1].lineno} in {there[-1].name}"
