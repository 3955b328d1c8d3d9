"""What was compiled before, on disk, by content: machine code, and whole programs.

An entry is a file named by the hash of what it was compiled from: one line of JSON, then what was
made of it. It is written under another name and moved into place, so readers never see half of
one, and processes may share the folder. An entry that was damaged is reported once and made anew.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import stat
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, final

from reference_vm.diagnostics import CompileError, catalog

VARIABLE: Final = "REFERENCE_VM_CACHE"
"""The environment variable that names the folder; ``off`` keeps nothing on disk."""

PROGRAMS: Final = "REFERENCE_VM_PROGRAMS"
"""The environment variable that may be ``off``: then whole programs are not kept (``on``)."""

_FORMAT: Final = 1
_LOG: Final = logging.getLogger(__name__)


def default_folder() -> Path | None:
    """Return where object code is kept for this user, or ``None`` if nowhere.

    Reads the environment when called: `VARIABLE`, else the platform's place for caches. A user
    without a home keeps nothing.
    """
    try:
        return _chosen_folder()
    except RuntimeError:  # there is no home
        return None


def programs_folder() -> Path | None:
    """Return where whole programs are kept for this user, or ``None`` if nowhere.

    Raises:
        CompileError: `PROGRAMS` is neither ``on`` nor ``off``.
    """
    chosen = os.environ.get(PROGRAMS, "").strip()
    if chosen not in ("", "on", "off"):
        how = f"unset it to keep them; {VARIABLE} names the folder"
        raise CompileError(catalog.invalid_option(PROGRAMS, chosen, "on or off", how))
    return None if chosen == "off" else default_folder()


def _chosen_folder() -> Path | None:
    chosen = os.environ.get(VARIABLE)
    if chosen is not None:
        return None if chosen in ("", "off") else Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "reference-vm"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "reference-vm"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "reference-vm"


@final
@dataclass
class ObjectCache:
    """Machine code, or something else that was compiled, by key, in a folder."""

    folder: Path | None
    """``None`` keeps nothing."""

    suffix: str = ".o"
    """How the names of entries end."""

    what: str = "kernel"
    """What messages call an entry."""

    notes: list[str] = field(default_factory=list)
    """One sentence for each damaged entry that was met, and one if the folder is not writable."""

    def get(self, key: str) -> bytes | None:
        """Return the code stored under ``key``; ``None`` if there is none that is whole."""
        if self.folder is None:
            return None
        path = self._path(key)
        try:
            found = _content(path)
        except OSError:
            return None
        header, newline, code = found.partition(b"\n")
        if newline and _matches(header, key, code):
            return code
        self._note(f"the cached {self.what} {path.name} is damaged and was compiled again")
        return None

    def put(self, key: str, code: bytes) -> None:
        """Store ``code``; a folder that cannot be written is noted, and nothing else happens."""
        if self.folder is None:
            return
        header = {"format": _FORMAT, "key": key, "sha256": hashlib.sha256(code).hexdigest()}
        try:
            self._write(self._path(key), json.dumps(header).encode() + b"\n" + code)
        except OSError as error:
            self._note(f"{self.what}s are not kept on disk: {error}")
            self.folder = None

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / key[:2] / f"{key}{self.suffix}"

    def _write(self, path: Path, content: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise

    def _note(self, text: str) -> None:
        self.notes.append(text)
        _LOG.warning(text)


def _content(path: Path) -> bytes:
    """Return what a regular file holds; of anything else nothing, without waiting for a writer."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return b""
        with open(handle, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(handle)


def _matches(header: bytes, key: str, code: bytes) -> bool:
    try:
        fields = json.loads(header)
    except ValueError:
        return False
    expected = {"format": _FORMAT, "key": key, "sha256": hashlib.sha256(code).hexdigest()}
    return bool(fields == expected)
