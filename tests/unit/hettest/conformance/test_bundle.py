"""Archives come from strangers: what no report holds is refused before it is used."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hettest.conformance import bundle
from hettest.conformance.packing import pack
from hettest.errors import UsageError

FILES = {"manifest.json": b"{}", "report.json": b"[]"}


def member(name: str, data: bytes = b"x", **more: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in more.items():
        setattr(info, key, value)
    return info, data


def archive(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as made:
        for info, data in members:
            made.addfile(info, io.BytesIO(data))
    return path


def test_what_was_packed_is_read_and_packed_alike(tmp_path: Path) -> None:
    first, second = tmp_path / "a.tar.gz", tmp_path / "b.tar.gz"

    digest = pack(FILES, first)
    again = pack(dict(reversed(FILES.items())), second)

    assert bundle.read(first) == FILES
    assert digest == again
    assert first.read_bytes() == second.read_bytes()


def test_a_folder_is_read(tmp_path: Path) -> None:
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)

    assert bundle.read(tmp_path) == FILES


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ([member("../evil")], "holds '../evil', expected plain names"),
        ([member("/etc/passwd")], "expected plain names"),
        ([member("a/b")], "holds 'a/b', expected plain names"),
        ([member(".hidden")], "expected plain names"),
        ([member("a\nb")], "expected plain names"),
        ([member("link", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd")], "is no plain file"),
        ([member("link", b"", type=tarfile.LNKTYPE, linkname="x")], "is no plain file"),
        ([member("pipe", b"", type=tarfile.FIFOTYPE)], "is no plain file"),
        ([member("disk", b"", type=tarfile.BLKTYPE)], "is no plain file"),
        ([member("folder", b"", type=tarfile.DIRTYPE)], "is no plain file"),
        ([member("twice"), member("twice")], "holds twice twice"),
        ([member(f"f{i}") for i in range(33)], "holds more than 32 files"),
    ],
)
def test_what_no_report_holds_is_refused(
    tmp_path: Path, members: list[tuple[tarfile.TarInfo, bytes]], told: str
) -> None:
    path = archive(tmp_path / "x.tar.gz", *members)

    with pytest.raises(UsageError, match=told):
        bundle.read(path)

    assert sorted(tmp_path.iterdir()) == [path]


def test_an_archive_that_unpacks_to_very_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "MOST_BYTES", 1 << 20)
    path = tmp_path / "x.tar.gz"
    path.write_bytes(gzip.compress(bytes(3 << 20)))

    with pytest.raises(UsageError, match="unpacks to more than 1048576 bytes"):
        bundle.read(path)


def test_a_header_that_promises_more_than_there_is_is_refused(tmp_path: Path) -> None:
    info, data = member("big")
    info.size = 1 << 40
    path = tmp_path / "x.tar.gz"
    path.write_bytes(gzip.compress(info.tobuf() + data))

    with pytest.raises(UsageError, match=r"holds more than|is no archive"):
        bundle.read(path)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: b"PK\x03\x04 not a tar",
        lambda data: data[:40],
        lambda data: data[:-9] + bytes(9),
        lambda data: gzip.compress(b"no tar at all" * 99),
    ],
)
def test_a_damaged_archive_is_told(tmp_path: Path, spoil: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "x.tar.gz"
    pack(FILES, path)
    path.write_bytes(spoil(path.read_bytes()))

    with pytest.raises(UsageError, match=r"x\.tar\.gz: is no archive as hettest packs them"):
        bundle.read(path)


@pytest.mark.parametrize(
    "more", [b"more", bytes(1024) + b"more", member("late")[0].tobuf()], ids=["text", "far", "file"]
)
def test_what_is_behind_the_end_is_refused(tmp_path: Path, more: bytes) -> None:
    path = archive(tmp_path / "r.tar.gz", member("report.json"))
    path.write_bytes(path.read_bytes() + gzip.compress(more))

    with pytest.raises(UsageError, match="has more behind the end of the archive"):
        bundle.read(path)


def test_links_and_folders_in_a_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "link").symlink_to("/etc/passwd")
    (tmp_path / "b" / "inner").mkdir(parents=True)

    for folder in ("a", "b"):
        with pytest.raises(UsageError, match="is no plain file; a report is a flat folder"):
            bundle.read(tmp_path / folder)


def test_nothing_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="found no folder and no file"):
        bundle.read(tmp_path / "nothing")
