"""Adds a waiver at the end of a file; what stands there already stays as it is."""

from __future__ import annotations

from pathlib import Path

from hettest.errors import UsageError
from hettest.files import toml_string, write_text
from hettest.files.reading import DocumentError, read_text
from hettest.waivers.loader import FORMAT, parse
from hettest.waivers.model import Waiver


def add(waiver: Waiver, path: Path) -> None:
    """Write ``waiver`` to a file, which is made if there is none.

    Raises:
        UsageError: The waiver is not whole or stands there already, or the file is malformed or
            cannot be written; the file is then as it was.
    """
    try:
        before = read_text(path, "the waivers") if path.exists() else f"format = {FORMAT}\n"
    except DocumentError as error:
        raise UsageError(str(error)) from error
    parse(before, str(path))
    text = f"{before.rstrip()}\n\n{render(waiver)}"
    parse(text, str(path))
    write_text(path, text, "the waivers")


def render(waiver: Waiver) -> str:
    """Return the waiver as a table of TOML."""
    lines = ["[[waiver]]"]
    for name in ("case", "stage", "kind", "reason", "issue", "owner"):
        value = getattr(waiver, name)
        if value:
            lines.append(f"{name} = {toml_string(value)}")
    lines.append(f"expires = {waiver.expires}")
    if waiver.devices:
        lines.append(f"devices = {toml_string(waiver.devices)}")
    return "\n".join(lines) + "\n"
