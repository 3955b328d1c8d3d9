"""Around each call into an implementation: whatever it raises is its crash, not the kit's end."""

from __future__ import annotations

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
