"""One archive of a conformance report: the same report gives the same bytes."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from hettest.conformance import manifest
from hettest.files import write_bytes


def pack(files: Mapping[str, bytes], path: Path) -> str:
    """Write the files of a report as one archive and return the report's digest.

    Names are sorted and times, owners and modes fixed.

    Raises:
        UsageError: The archive cannot be written.
    """
    buffer = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", filename="", mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name, data in sorted(files.items()):
            archive.addfile(_member(name, len(data)), io.BytesIO(data))
    write_bytes(path, buffer.getvalue())
    return manifest.digest(files[manifest.NAME])


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = size, 0o644, 0
    return member
