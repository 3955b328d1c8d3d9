"""Reads a conformance report, a folder or an archive, as names and bytes; trusts neither.

A report is flat: plain files with plain names, few and of a bounded size. Whatever else is there
is refused before anything of it is used, and nothing is ever written to disk.
"""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from hettest.errors import UsageError

ENDING: Final = ".tar.gz"
MOST_FILES: Final = 32
MOST_BYTES: Final = 512 * 1024 * 1024
"""Of all files together, unpacked."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_BLOCK: Final = 1 << 20


def read(path: Path) -> dict[str, bytes]:
    """Return the files of the report at ``path``, by name.

    Raises:
        UsageError: There is none, it cannot be read, or it holds what no report holds; says what.
    """
    if path.is_dir():
        return _collected(path, _of_folder(path))
    if not path.is_file():
        raise UsageError(f"{path}: found no folder and no file, expected a conformance report")
    try:
        return _collected(path, _of_archive(path))
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(f"{path}: is no archive as hettest packs them: {error}") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error


_Member = tuple[str, int, Callable[[], bytes]]


def _collected(path: Path, members: Iterator[_Member]) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    total = 0
    for name, size, content in members:
        total += size
        if not _NAME.fullmatch(name):
            raise UsageError(f"{path}: holds {name!r}, expected plain names without folders")
        if name in files:
            raise UsageError(f"{path}: holds {name} twice")
        if len(files) == MOST_FILES:
            raise UsageError(f"{path}: holds more than {MOST_FILES} files")
        if total > MOST_BYTES:
            raise UsageError(f"{path}: holds more than {MOST_BYTES} bytes; {name} has {size}")
        files[name] = content()
    return files


def _of_folder(folder: Path) -> Iterator[_Member]:
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or not path.is_file():
            raise UsageError(f"{folder}: {path.name} is no plain file; a report is a flat folder")
        yield path.name, path.stat().st_size, path.read_bytes


def _of_archive(path: Path) -> Iterator[_Member]:
    with path.open("rb") as file, gzip.GzipFile(fileobj=file) as stream:
        bounded = io.BytesIO(_bounded(path, stream))
        with tarfile.open(fileobj=bounded, mode="r:") as archive:
            for member in archive:
                if not member.isreg() or member.issparse():
                    raise UsageError(f"{path}: {member.name!r} is no plain file")
                yield member.name, member.size, partial(_content, archive, member)
            if bounded.getvalue()[archive.offset :].strip(b"\0"):
                raise UsageError(f"{path}: has more behind the end of the archive")


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    found = archive.extractfile(member)
    assert found is not None
    data = found.read()
    if len(data) != member.size:
        raise tarfile.ReadError(f"{member.name} ends early")
    return data


def _bounded(path: Path, stream: gzip.GzipFile) -> bytes:
    """Return what the stream unpacks to, which a small file can make very large."""
    blocks: list[bytes] = []
    total = 0
    while block := stream.read(_BLOCK):
        total += len(block)
        if total > MOST_BYTES:
            raise UsageError(f"{path}: unpacks to more than {MOST_BYTES} bytes")
        blocks.append(block)
    return b"".join(blocks)
