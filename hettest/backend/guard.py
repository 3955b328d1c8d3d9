"""Around each call into an implementation: whatever it raises is its crash, not the kit's end."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from hettest.backend.protocol import Rejected
from hettest.errors import BackendCrash, HettestError


@contextmanager
def crashes(doing: str) -> Iterator[None]:
    """Let a `BackendCrash` come of what the implementation raises inside, ``SystemExit`` too.

    A rejection, the kit's own errors and the user's interrupt pass as they are. An implementation
    that ends the process (``os._exit``, a signal) cannot be held from within.

    Args:
        doing: What it was asked to do, for the message: ``devices()``.
    """
    try:
        yield
    except (KeyboardInterrupt, Rejected, HettestError):
        raise
    except BaseException as error:
        raise BackendCrash(f"{doing} raised {named(error)}") from error


def named(error: BaseException) -> str:
    """Return the kind and the message of an error in one line."""
    text = f"{type(error).__name__}: {error}"
    return next(iter(text.splitlines())).rstrip(": ")


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
