"""A file of named members, each stored as it is: a zip archive of one exact form.

Equal members make equal bytes: the order is the writer's, times and attributes are fixed, nothing
is compressed. A reader takes no other form, so there is nothing to unpack that is larger than the
file, and no name is ever used as a path.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Final, TypeAlias, Union, final

_TIME: Final = (1980, 1, 1, 0, 0, 0)

_DAMAGED: Final = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError),
    *(NotImplementedError, OverflowError, RuntimeError, KeyError, MemoryError),
)
"""What `zipfile` raises on bytes that are no archive, or a damaged one."""


Part: TypeAlias = Union[bytes, memoryview]
"""Some bytes of a member."""


class ContainerError(Exception):
    """A file is no container of the form that is expected."""


class NoContainer(ContainerError):
    """A file is no archive at all."""


def write(file: BinaryIO, members: Mapping[str, Iterable[Part]]) -> None:
    """Write an archive of these members, each given in parts."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, parts in members.items():
            with archive.open(_header(name), "w", force_zip64=True) as member:
                for part in parts:
                    member.write(part)


def _header(name: str) -> zipfile.ZipInfo:
    header = zipfile.ZipInfo(name, _TIME)
    header.create_system = 3
    header.external_attr = 0o644 << 16
    return header


@final
@dataclass(frozen=True)
class Container:
    """An open archive whose members are the ones expected."""

    file: BinaryIO
    sizes: Mapping[str, int]
    """The bytes of each member."""

    starts: Mapping[str, int]
    """Where in the file each member's own header begins."""

    checksums: Mapping[str, int]

    def read(self, name: str, most: int, *, checked: bool) -> bytes:
        """Return a member whole, held to the archive's checksum if it is to be ``checked``.

        Raises:
            ContainerError: It has more than ``most`` bytes, or is not where it should be.
        """
        size = self.sizes[name]
        if size > most:
            raise ContainerError(f"{name} has {size} bytes, expected {most} at most")
        self.file.seek(self.starts[name])
        lead = self.file.read(_LEAD)
        if len(lead) < _LEAD or lead[:4] != b"PK\3\4":
            raise ContainerError(f"{name} is damaged")
        named, extra = struct.unpack("<HH", lead[-4:])
        self.file.seek(named + extra, 1)
        content = self.file.read(size)
        if len(content) < size:
            raise ContainerError(f"{name} is truncated")
        if checked and zlib.crc32(content) != self.checksums[name]:
            raise ContainerError(f"{name} is damaged")
        return content


def opened(file: BinaryIO, names: Sequence[str]) -> Container:
    """Return an archive that has exactly these members, in this order.

    Raises:
        NoContainer: It is no archive, or one that is cut short.
        ContainerError: It is another archive, or damaged.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
    except _DAMAGED as error:
        raise NoContainer("the file is no program that was saved, or is damaged") from error
    _check(members, names, file.seek(0, 2))
    return Container(
        file,
        {m.filename: m.file_size for m in members},
        {m.filename: m.header_offset for m in members},
        {m.filename: m.CRC for m in members},
    )


def _check(members: Sequence[zipfile.ZipInfo], names: Sequence[str], available: int) -> None:
    found = [m.filename for m in members]
    if found != list(names):
        shown = ", ".join(repr(n) for n in found[:8]) + (", …" if len(found) > 8 else "")
        raise ContainerError(f"found the members {shown or 'none'}, expected {', '.join(names)}")
    for member in members:
        stored = member.compress_type == zipfile.ZIP_STORED and not member.flag_bits & ~_FLAGS
        if not stored or member.compress_size != member.file_size:
            raise ContainerError(f"{member.filename} is packed, expected it stored as it is")
    starts = [m.header_offset for m in members]
    if starts[:1] != [0] or starts != sorted(starts):
        raise ContainerError("the members do not lie one after the other")
    total = sum(m.file_size for m in members)
    if total > available:
        raise ContainerError(f"the members take {total} bytes, but the file has {available}")


_LEAD: Final = 30
"""Bytes of a member's header before its name."""

_FLAGS: Final = 0x800
"""Names may be marked as UTF-8; a member must not be encrypted, or of a size told later."""

__all__ = ["Container", "ContainerError", "NoContainer", "opened", "write"]
