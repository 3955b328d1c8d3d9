"""Writes files whole or not at all: the one door through which the kit writes to a disk.

A file is written beside the one that it takes the place of, brought to the disk, and moved there.
Until then, and if anything fails, the former file stays as it was: a full disk, a text that cannot
be encoded or an interrupt never leaves half a report.

* What a symlink leads to is replaced, never the link.
* The file that is replaced keeps its mode; a new one has the mode that the user's mask gives.
* What is no plain file, such as ``/dev/stdout``, is written to as it is.
* Several files are all written before the first one is moved.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from hettest.errors import UsageError

PREFIX: Final = ".hettest-"
"""What the names of files begin with that are not in their place yet."""

ENDING: Final = ".part"
_PATIENCE: Final = 2.0
"""Seconds that a pipe may be without a reader."""

_REPAIRS: Final = {
    errno.ENOSPC: "make room there, or name another folder",
    errno.EFBIG: "make room there, or name another folder",
    errno.EDQUOT: "make room there, or name another folder",
    errno.EACCES: "name a folder that you may write to",
    errno.EPERM: "name a folder that you may write to",
    errno.EROFS: "name a folder that can be written to",
    errno.EBUSY: "name a file that nothing is mounted on",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EISDIR: "name a file, not a folder",
    errno.ENOTDIR: "name a folder that is one",
    errno.ENXIO: "let somebody read the pipe first",
    errno.ELOOP: "name a file that no circle of links leads to",
}


def write_text(path: Path, text: str, what: str = "") -> None:
    r"""Write ``text`` in UTF-8, lines as they are; half a surrogate pair becomes ``\ud800``.

    Raises:
        UsageError: It cannot be written; says why, and what stood there is as it was.
    """
    write_bytes(path, text.encode("utf-8", "backslashreplace"), what)


def write_bytes(path: Path, data: bytes, what: str = "") -> None:
    """Write one file, and make the folders above it.

    Args:
        path: Where to.
        data: All of it.
        what: What messages call it: ``the report``.

    Raises:
        UsageError: It cannot be written; says why, and what stood there is as it was.
    """
    write_files({path: data}, what)


def write_files(
    files: Mapping[Path, bytes], what: str = "", *, without: Sequence[Path] = ()
) -> None:
    """Write several files, all or, but for a fault while they are moved, none.

    Args:
        files: What to write, by path.
        what: What messages call each.
        without: Files to remove that would not go with the new ones.

    Raises:
        UsageError: One cannot be written; says which and why.
    """
    written: list[tuple[Path, Path]] = []
    try:
        for path, data in files.items():
            with _located(path, what):
                target = _target(path)
                if _is_special(target):
                    _write_through(target, data)
                else:
                    written.append((_beside(target, data), target))
        for path in without:
            remove(path, what)
        while written:
            part, target = written[0]
            with _located(target, what):
                part.replace(target)
                _sync_folder(target.parent)
            written.pop(0)
    finally:
        for part, _ in written:
            with suppress(OSError):
                part.unlink()


def write_folder(root: Path, files: Mapping[str, bytes]) -> tuple[Path, ...]:
    """Write a new folder that is there whole or not at all, and return its files.

    Args:
        root: The folder, which must not be there.
        files: What it holds, by path below it.

    Raises:
        UsageError: It cannot be written.
    """
    part = root.with_name(f"{PREFIX}{secrets.token_hex(8)}{ENDING}")
    try:
        with _located(root, ""):
            part.mkdir(parents=True)
        write_files({part / name: data for name, data in files.items()})
        with _located(root, ""):
            part.rename(root)
            _sync_folder(root.parent)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return tuple(root / name for name in files)


def remove(path: Path, what: str = "") -> None:
    """Remove a file if it is there.

    Raises:
        UsageError: It cannot be removed.
    """
    with _located(path, what):
        path.unlink(missing_ok=True)


def require_writable(path: Path, what: str = "") -> None:
    """Find out whether `write_bytes` can write to ``path``; makes the folders above it.

    Raises:
        UsageError: It cannot; says why.
    """
    with _located(path, what):
        target = _target(path)
        if not _is_special(target):
            _beside(target, b"").unlink()


@contextmanager
def _located(path: Path, what: str) -> Iterator[None]:
    """Say of an error of the system which file it is about, and what to do."""
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:  # ValueError: a null byte in the name
        told = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        repair = _REPAIRS.get(getattr(error, "errno", None) or 0, "")
        name = f"{what} {path}" if what else str(path)
        raise UsageError(
            f"{name} cannot be written: {told}" + (repair and f"; {repair}")
        ) from error


def _target(path: Path) -> Path:
    """Return the file that ``path`` means, in a folder that is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    target = Path(os.path.realpath(path)) if path.is_symlink() else path
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if target.is_dir():
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def _is_special(target: Path) -> bool:
    """Whether there is something that is no plain file, such as a pipe."""
    try:
        return not stat.S_ISREG(target.stat().st_mode)
    except FileNotFoundError:
        return False


def _write_through(target: Path, data: bytes) -> None:
    """Write to a device or a pipe; for a pipe's reader it is waited a while, and not forever."""
    end = time.monotonic() + _PATIENCE
    while (handle := _open_if_read(target)) is None:
        if time.monotonic() >= end:
            raise OSError(errno.ENXIO, "it is a pipe, and nobody reads it")
        time.sleep(0.01)
    with os.fdopen(handle, "wb") as file:
        os.set_blocking(handle, True)
        file.write(data)


def _open_if_read(target: Path) -> int | None:
    try:
        return os.open(target, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return None


def _beside(target: Path, data: bytes) -> Path:
    """Return a new file in the folder of ``target``, with its mode, that is on the disk."""
    part = target.with_name(f"{PREFIX}{secrets.token_hex(8)}{ENDING}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(part, flags | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            _keep_mode(target, file.fileno())
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
    return part


def _keep_mode(target: Path, handle: int) -> None:
    try:
        mode = stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        return
    if not os.access(target, os.W_OK):
        raise OSError(errno.EACCES, "it is there and may not be written to")
    if hasattr(os, "fchmod"):
        os.fchmod(handle, mode)


def _sync_folder(folder: Path) -> None:
    """Bring to the disk which files a folder has; where folders cannot be opened, nothing."""
    if os.name != "posix":
        return
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


__all__ = [
    *("remove", "require_writable"),
    *("write_bytes", "write_files", "write_folder", "write_text"),
]
