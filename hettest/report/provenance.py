"""Digests of what a run came from: the source of packages, and the corpus."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path

from hettest.corpus import case_files, corpus_root
from hettest.errors import UsageError


def packages(backend: str) -> dict[str, str]:
    """Return the SHA-256 of the source of the kit and of the backend's own package.

    Args:
        backend: As the user named it; an installed one is looked up.
    """
    from hettest.backend.discovery import installed

    place = installed().get(backend.partition(":")[0], backend)
    tops = dict.fromkeys(("hettest", place.partition(":")[0].partition(".")[0]))
    found = {top: _source(top) for top in tops}
    return {top: digest for top, digest in found.items() if digest is not None}


def _source(top: str) -> str | None:
    """Return the digest of a package's Python files; ``None`` if it has none to be read."""
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if spec.submodule_search_locations:
        root = Path(next(iter(spec.submodule_search_locations)))
        return digest_of({str(p.relative_to(root)): p for p in root.rglob("*.py")})
    if spec.origin and Path(spec.origin).is_file():
        return digest_of({Path(spec.origin).name: Path(spec.origin)})
    return None


def suite() -> dict[str, str]:
    """Return the number of this installation's case files and one digest of them all.

    Raises:
        UsageError: There are none; the installation is damaged.
    """
    root = corpus_root()
    files = {path.relative_to(root).as_posix(): path for path in case_files(root)}
    if not files:
        raise UsageError(f"found no case files under {root}")
    return {"files": str(len(files)), "sha256": digest_of(files)}


def digest_of(files: Mapping[str, Path]) -> str:
    """Return one SHA-256 over names and contents, whatever the order."""
    return combined((name, hashlib.sha256(p.read_bytes()).hexdigest()) for name, p in files.items())


def combined(digests: Iterable[tuple[str, str]]) -> str:
    """Return one SHA-256 over pairs of a name and a digest, whatever the order."""
    whole = hashlib.sha256()
    for name, digest in sorted(digests):
        whole.update(f"{digest}  {name}\n".encode())
    return whole.hexdigest()
