"""Writes the files of an export, the same bytes for the same cases."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from hettest.errors import UsageError
from hettest.files import json_text

INDEX: Final = "index.json"
FORMAT: Final = "hettest-export-1"
SCHEMA: Final = Path(__file__).with_name("index.schema.json")

_FLAT_LIST: Final = re.compile(r"\[\n\s*([^\[\]{}]*?)\n\s*\]")
_BREAK: Final = re.compile(r"\n\s*")


def require_empty(folder: Path) -> None:
    """Find out whether an export may be written to ``folder``; makes it if it is not there.

    Raises:
        UsageError: Something lies there, or it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = next(iter(sorted(folder.iterdir())), None)
    except OSError as error:
        raise UsageError(f"--out={folder}: cannot be written: {error.strerror}") from error
    if found is not None:
        raise UsageError(
            f"--out={folder}: found {found.name} there, expected an empty folder or none"
        )


def to_bytes(data: Any) -> bytes:
    """Return plain data as JSON, lists of numbers on one line each."""
    text = json_text(data)
    flat = _FLAT_LIST.sub(lambda found: f"[{_BREAK.sub(' ', found[1])}]", text)
    return f"{flat}\n".encode()


def index(form: str, devices: tuple[str, ...], **more: Any) -> dict[str, Any]:
    """Return the list of an export."""
    head = {"format": FORMAT, "form": form, "hettest": version("hettest")}
    return {**head, "devices": list(devices), **more}
