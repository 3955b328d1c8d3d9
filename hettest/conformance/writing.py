"""Writes the folder of a conformance report: each form of it, what it rests on, and digests."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Final

from hettest.conformance import manifest
from hettest.conformance.manifest import Manifest
from hettest.corpus import case_files, corpus_root
from hettest.errors import UsageError
from hettest.files import cleaned, json_text, write_files
from hettest.levels.profile import Profile
from hettest.report import FORMATS, makeable
from hettest.report.content import ReportContent, environment
from hettest.report.provenance import packages

_STEM: Final = "report"


def write(
    folder: Path, content: ReportContent, profile: Profile, waivers: Path | None = None
) -> str:
    """Write the report of a run and return its digest.

    Args:
        folder: Where to; made if it is not there. What else lies in it stays out of the manifest,
            so it must be empty or hold a former report.
        content: The run.
        profile: What it was judged by.
        waivers: The file of waivers that was in force.

    Raises:
        UsageError: The folder holds other things, or cannot be written.
    """
    files = _files(content, profile, waivers)
    made = Manifest(
        backend=content.backend,
        devices=content.devices,
        profile=profile.name,
        profile_sha256=profile.digest,
        hettest=version("hettest"),
        partial=content.partial,
        packages=packages(content.backend) if content.packages is None else content.packages,
        suite=suite_digests(),
        files={name: manifest.entry(data) for name, data in files.items()},
    )
    files[manifest.NAME] = made.to_bytes()
    require_free(folder)
    named = {folder / name: data for name, data in files.items()}
    write_files(named, without=[folder / manifest.SIGNATURE])
    return manifest.digest(files[manifest.NAME])


def require_free(folder: Path) -> None:
    """Find out whether a report may be written to ``folder``.

    Raises:
        UsageError: Something else lies there.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise UsageError(f"--out={folder}: is no folder")
    known = {*_names(), manifest.NAME, manifest.SIGNATURE}
    other = sorted(path.name for path in folder.iterdir() if path.name not in known)
    if other:
        raise UsageError(
            f"--out={folder}: holds {other[0]}, which is no part of a report; name an empty folder"
        )


def suite_digests() -> dict[str, str]:
    """Return the SHA-256 of each case file of this installation, by its path below the corpus."""
    root = corpus_root()
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in case_files(root)
    }


def _names() -> tuple[str, ...]:
    forms = tuple(f"{_STEM}{ending}" for ending in FORMATS)
    return (*forms, manifest.PROFILE, manifest.ENVIRONMENT, manifest.WAIVERS)


def _files(content: ReportContent, profile: Profile, waivers: Path | None) -> dict[str, bytes]:
    files = {f"{_STEM}{end}": form(content, None).encode() for end, form in makeable().items()}
    files[manifest.PROFILE] = _json(profile.to_json())
    files[manifest.ENVIRONMENT] = _json(cleaned(_environment(content)))
    if waivers is not None:
        files[manifest.WAIVERS] = waivers.read_bytes()
    return files


def _environment(content: ReportContent) -> Mapping[str, object]:
    """Return what it takes to set up such a run again."""
    installed = {found.name: found.version for found in distributions()}
    return {
        "environment": dict(content.environment or environment()),
        "installed": dict(sorted(installed.items())),
    }


def _json(data: Mapping[str, object]) -> bytes:
    return f"{json_text(data)}\n".encode()
