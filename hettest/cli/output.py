"""What commands print: the one door to the terminal.

Lines for people hold nothing that a terminal would obey. What its encoding lacks is written as both
JSON and Python write it. Documents and JSON are printed whole.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import Any, Final

import typer

from hettest.errors import UsageError
from hettest.files import cleaned, finite, json_text, printable

_NO_READER: Final = (BrokenPipeError, ConnectionResetError)


def echo(text: object = "", *, err: bool = False) -> None:
    """Print text for people, of one line or several.

    Raises:
        UsageError: It cannot be written, for want of room, say.
    """
    echo_document(f"{printable(str(text))}\n", err=err)


def echo_json(data: Any, *, indent: int | None = 1) -> None:
    """Print plain data as JSON.

    Raises:
        UsageError: It cannot be written.
    """
    echo_document(f"{json_text(cleaned(finite(data)), indent=indent)}\n")


def echo_document(text: str, *, err: bool = False) -> None:
    """Print a whole document that holds nothing else than what may leave.

    Raises:
        UsageError: It cannot be written.
    """
    stream = sys.stderr if err else sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        typer.echo(_encodable(text, encoding), nl=False, err=err)
    except _NO_READER:
        raise  # the reader has seen enough; the command line ends quietly
    except OSError as error:
        name = "the terminal" if err else "the output"
        raise UsageError(f"{name} cannot be written: {error.strerror}") from error


def flush() -> None:
    """Write out what is left of the output; a reader that has seen enough is no fault.

    Raises:
        OSError: There is no room for it.
    """
    if sys.stdout is None or sys.stdout.closed:
        return
    try:
        sys.stdout.flush()
    except _NO_READER:
        discard()


def discard() -> None:
    """Drop what is left of the output, which the interpreter would try to write as it ends."""
    with suppress(OSError, ValueError):  # it is no file
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)


def _encodable(text: str, encoding: str) -> str:
    try:
        text.encode(encoding)
    except UnicodeEncodeError as error:
        lacking = json.dumps(text[error.start])[1:-1]
        return _encodable(text.replace(text[error.start], lacking), encoding)
    return text
