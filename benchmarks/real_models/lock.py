"""The models of the lock file ``models.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, final

LOCK_FILE: Final = Path(__file__).parent / "models.toml"


@final
@dataclass(frozen=True, slots=True)
class Package:
    """A package of the Python package index, one version of it."""

    name: str
    version: str
    licence: str

    @property
    def requirement(self) -> str:
        return f"{self.name}=={self.version}"


@final
@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model inside a package's wheel."""

    package: Package
    member: str
    """Its path in the wheel."""

    bytes: int
    sha256: str
    input: str
    """Which input it gets, a key of `inputs.RECIPES`, perhaps with a number: ``voice-16000``."""

    extra: str = ""
    """Why the main job leaves it out unless it is asked for; empty if it does not."""

    @property
    def id(self) -> str:
        """The name that reports use: ``silero_vad/silero_vad_half``; unique."""
        path = PurePosixPath(self.member)
        folder = path.parent.name.removesuffix("_models")
        stem = f"{folder}/{path.stem}" if self.package.name == "speechmos" else path.stem
        return f"{self.package.name}/{stem}"


def models(lock_file: Path = LOCK_FILE) -> tuple[ModelFile, ...]:
    """Return every model of the lock file, in its order."""
    with lock_file.open("rb") as file:
        packages = tomllib.load(file)["package"]
    return tuple(
        ModelFile(Package(entry["name"], entry["version"], entry["licence"]), **model)
        for entry in packages
        for model in entry["model"]
    )


def model(id_: str, lock_file: Path = LOCK_FILE) -> ModelFile:
    """Return the model called ``id_``.

    Raises:
        KeyError: There is none.
    """
    return {m.id: m for m in models(lock_file)}[id_]


__all__ = ["LOCK_FILE", "ModelFile", "Package", "model", "models"]
