"""A file is written whole or not at all, and what stood there stays until then."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from hettest.errors import UsageError
from hettest.files import (
    require_writable,
    write_bytes,
    write_files,
    write_folder,
    write_text,
    writing,
)

SAYS_NO = [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG]

NOBODY = 65534

needs_posix = pytest.mark.skipif(os.name != "posix", reason="modes and links are those of POSIX")


def entries(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


def fail(name: str, code: int, monkeypatch: pytest.MonkeyPatch, after: int = 0) -> None:
    """Let a call of the system fail, from the one after so many on."""
    calls: list[object] = []
    real = getattr(os, name)

    def failing(*args: Any, **more: Any) -> Any:
        calls.append(args)
        if len(calls) > after:
            raise OSError(code, os.strerror(code))
        return real(*args, **more)

    monkeypatch.setattr(os, name, failing)


def test_folders_are_made_and_lines_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "new.txt"

    write_text(path, "one\r\ntwo\n")

    assert path.read_bytes() == b"one\r\ntwo\n"
    assert entries(path.parent) == ["new.txt"]


def test_half_a_surrogate_pair_can_be_written(tmp_path: Path) -> None:
    write_text(tmp_path / "new.txt", "a\ud800b")

    assert (tmp_path / "new.txt").read_text() == r"a\ud800b"


@pytest.mark.parametrize("code", SAYS_NO)
@pytest.mark.parametrize("call", ["fsync", "open", "fchmod"])
def test_a_disk_that_says_no_leaves_the_former_file(
    call: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.json"
    path.write_text("former")
    fail(call, code, monkeypatch)

    with pytest.raises(UsageError, match=r"the report .*report\.json cannot be written: "):
        write_text(path, "new", "the report")

    assert path.read_text() == "former"
    assert entries(tmp_path) == ["report.json"]


def test_a_full_disk_is_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail("fsync", errno.ENOSPC, monkeypatch)

    with pytest.raises(UsageError, match="No space left on device; make room there, or name"):
        write_text(tmp_path / "report.json", "new")


@needs_posix
def test_a_limit_of_the_system_on_sizes_leaves_the_former_file(tmp_path: Path) -> None:
    """The kernel itself says no, in the midst of writing."""
    path = tmp_path / "report.json"
    path.write_text("former")
    code = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "from hettest.errors import UsageError\n"
        "from hettest.files import write_bytes\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try:\n"
        "    write_bytes(Path(sys.argv[1]), b'x' * 100_000)\n"
        "except UsageError as error:\n"
        "    print(error)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True
    )

    assert "File too large; make room there" in done.stdout
    assert path.read_text() == "former"
    assert entries(tmp_path) == ["report.json"]


def test_an_interrupt_in_the_midst_leaves_the_former_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.json"
    path.write_text("former")

    def interrupted(handle: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)

    with pytest.raises(KeyboardInterrupt):
        write_text(path, "new")

    assert path.read_text() == "former"
    assert entries(tmp_path) == ["report.json"]


def test_of_several_files_none_is_moved_before_all_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {tmp_path / name: b"new" for name in ("a", "b", "c")}
    signature = tmp_path / "signature"
    for path in (*files, signature):
        path.write_text("former")
    fail("fsync", errno.ENOSPC, monkeypatch, after=2)

    with pytest.raises(UsageError, match="c cannot be written"):
        write_files(files, without=[signature])

    assert {path.read_text() for path in tmp_path.iterdir()} == {"former"}
    assert entries(tmp_path) == ["a", "b", "c", "signature"]


def test_what_does_not_go_with_the_new_files_is_removed(tmp_path: Path) -> None:
    (tmp_path / "signature").write_text("former")

    write_files({tmp_path / "a": b"new"}, without=[tmp_path / "signature", tmp_path / "absent"])

    assert entries(tmp_path) == ["a"]


@needs_posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_the_mode_is_kept(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("former")
    path.chmod(mode)

    write_text(path, "new")

    assert stat.S_IMODE(path.stat().st_mode) == mode


@needs_posix
def test_a_new_file_has_the_mode_of_the_mask(tmp_path: Path) -> None:
    former = os.umask(0o027)
    try:
        write_text(tmp_path / "new.txt", "text")
    finally:
        os.umask(former)

    assert stat.S_IMODE((tmp_path / "new.txt").stat().st_mode) == 0o640


@needs_posix
@pytest.mark.parametrize("there", [True, False])
def test_what_a_link_leads_to_is_replaced_and_the_link_stays(there: bool, tmp_path: Path) -> None:
    target = tmp_path / "kept" / "real.txt"
    target.parent.mkdir()
    if there:
        target.write_text("former")
    middle = tmp_path / "middle"
    middle.symlink_to("kept/real.txt")
    link = tmp_path / "link.txt"
    link.symlink_to(middle)

    write_text(link, "new")

    assert link.is_symlink()
    assert middle.is_symlink()
    assert target.read_text() == "new"
    assert entries(target.parent) == ["real.txt"]


@needs_posix
def test_a_circle_of_links_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")

    with pytest.raises(UsageError, match=r"a cannot be written: .*circle of links"):
        write_text(tmp_path / "a", "new")


@needs_posix
def test_a_pipe_is_written_to_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()

    require_writable(path)
    write_bytes(path, b"text")
    reader.join()

    assert read == [b"text"]
    assert stat.S_ISFIFO(path.stat().st_mode)


@needs_posix
def test_a_pipe_that_nobody_reads_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_PATIENCE", 0)
    path = tmp_path / "pipe"
    os.mkfifo(path)

    with pytest.raises(UsageError, match=r"pipe cannot be written: .*let somebody read the pipe"):
        write_bytes(path, b"text")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("folder", "name a file, not a folder"),
        ("file/below", "File exists|Not a directory"),
        ("x" * 300, "choose a shorter name"),
        ("null\0byte", "embedded null"),
    ],
)
def test_a_path_that_cannot_be_is_told_before_and_at_the_end(
    name: str, told: str, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("a file")
    path = tmp_path / name

    with pytest.raises(UsageError, match=told):
        require_writable(path)
    with pytest.raises(UsageError, match=told):
        write_text(path, "new")

    assert (tmp_path / "file").read_text() == "a file"


@needs_posix
@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_may_not_be_written_to_is_told(what: str, tmp_path: Path) -> None:
    """Root may write everywhere, so that it becomes somebody else before it tries."""
    path = tmp_path / "report.json"
    path.write_text("former")
    for each in (tmp_path, path):
        os.chown(each, NOBODY, NOBODY) if os.geteuid() == 0 else None
    (path if what == "file" else tmp_path).chmod(0o500)
    code = (
        "import os\n"
        "from pathlib import Path\n"
        "from hettest.errors import UsageError\n"
        "from hettest.files import require_writable, write_text\n"
        f"if os.geteuid() == 0: os.setuid({NOBODY})\n"
        "for attempt in (require_writable, lambda path: write_text(path, 'new')):\n"
        "    try:\n"
        "        attempt(Path('report.json'))\n"
        "    except UsageError as error:\n"
        "        print(error)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    tmp_path.chmod(0o700)

    assert done.stdout.count("report.json cannot be written: ") == 2
    assert done.stdout.count("name a folder that you may write to") == 2
    assert path.read_text() == "former"
    assert entries(tmp_path) == ["report.json"]


def test_finding_out_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("former")

    require_writable(tmp_path / "there")
    require_writable(tmp_path / "made" / "absent")

    assert entries(tmp_path) == ["made", "there"]
    assert (tmp_path / "there").read_text() == "former"


def test_a_folder_is_there_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"a.txt": b"a", "inner/b.txt": b"b"}

    assert write_folder(tmp_path / "whole", files) == (
        tmp_path / "whole" / "a.txt",
        tmp_path / "whole" / "inner" / "b.txt",
    )
    assert entries(tmp_path) == ["a.txt", "b.txt", "inner", "whole"]

    fail("fsync", errno.ENOSPC, monkeypatch, after=1)
    with pytest.raises(UsageError, match="No space left"):
        write_folder(tmp_path / "half", files)
    assert entries(tmp_path) == ["a.txt", "b.txt", "inner", "whole"]
