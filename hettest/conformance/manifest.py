"""The manifest of a conformance report: what it is of, and the digest of every file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from hettest.files import json_text
from hettest.files.reading import DocumentError, decoded, parse_json, read_text

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

NAME: Final = "manifest.json"
SIGNATURE: Final = "manifest.json.sig"
REPORT: Final = "report.json"
PROFILE: Final = "profile.json"
WAIVERS: Final = "waivers.toml"
ENVIRONMENT: Final = "environment.json"
FORMAT: Final = "hettest-conformance-1"
SCHEMA: Final = Path(__file__).with_name("manifest.schema.json")


@final
@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of a report."""

    sha256: str
    bytes: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a conformance report holds."""

    backend: str
    """As the user named it."""

    devices: Sequence[str]
    profile: str
    profile_sha256: str
    """Of the profile's content, however its file is laid out."""

    hettest: str
    """The version of the kit."""

    partial: str
    """Why the run is no evidence, such as that it was of a sample; empty for a whole run."""

    packages: Mapping[str, str]
    """The SHA-256 of the source of the kit and of the backend's package."""

    suite: Mapping[str, str]
    """The SHA-256 of each case file, by its path below the corpus."""

    files: Mapping[str, FileEntry]

    def to_bytes(self) -> bytes:
        """Return the manifest's file; the same content gives the same bytes."""
        data = {"schema": FORMAT, **asdict(self), "devices": list(self.devices)}
        return f"{json_text(data, sort_keys=True)}\n".encode()


def digest(data: bytes) -> str:
    """Return the SHA-256 of ``data``; of a manifest it stands for the whole report."""
    return hashlib.sha256(data).hexdigest()


def entry(data: bytes) -> FileEntry:
    return FileEntry(digest(data), len(data))


def read(data: bytes) -> Manifest:
    """Return the manifest that a file holds.

    Raises:
        ValueError: It is none; says at which key, what was found and what was expected.
    """
    try:
        found = parse_json(decoded(data, NAME), NAME)
    except DocumentError as error:
        raise ValueError(str(error)) from error
    if not isinstance(found, dict) or found.get("schema") != FORMAT:
        raise ValueError(f"{NAME}: not a manifest of schema {FORMAT}")
    wrong = next(_validator().iter_errors(found), None)
    if wrong is not None:
        raise ValueError(f"{NAME}: {wrong.json_path}: {wrong.message}")
    fields = {name: value for name, value in found.items() if name != "schema"}
    files = {name: FileEntry(**value) for name, value in found["files"].items()}
    return Manifest(**{**fields, "files": files})


def mismatches(manifest: Manifest, files: Mapping[str, bytes]) -> Iterator[str]:
    """Yield where the files are not those that the manifest names."""
    for name, expected in manifest.files.items():
        if name not in files:
            yield f"{name}: is missing; the manifest names it"
        elif entry(files[name]) != expected:
            found = entry(files[name])
            yield (
                f"{name}: found sha256 {found.sha256} of {found.bytes} bytes, expected "
                f"{expected.sha256} of {expected.bytes}: it was edited"
            )
    for name in files:
        if name not in manifest.files and name not in (NAME, SIGNATURE):
            yield f"{name}: the manifest does not name it"


@cache
def _validator() -> Validator:
    from jsonschema import Draft202012Validator

    data: dict[str, Any] = parse_json(read_text(SCHEMA), SCHEMA)
    return Draft202012Validator(data)
