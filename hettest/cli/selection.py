"""What the commands share that choose conformance items: their options, and the choice."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import Annotated, TypeAlias

import typer

from hettest.case.model import Case
from hettest.corpus import Selection, case_files, cases, corpus_root, matches, own_cases, select
from hettest.devicemap import parse_binding
from hettest.errors import UsageError
from hettest.patterns import fits

PATTERNS: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(metavar="[CASE]...", help="ids of cases, items or folders, or patterns"),
]
DEVICES: TypeAlias = Annotated[str, typer.Option("--devices", help="devices, the host first")]
MAP: TypeAlias = Annotated[
    str | None, typer.Option("--device-map", help="which device each role is: accel=sim:0")
]
LEVEL: TypeAlias = Annotated[
    int | None, typer.Option("--level", min=0, max=6, help="the highest level")
]
REQUIRE: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--require",
        metavar="PROFILE:LEVEL",
        help="fail unless this level is reached on every device, or on PROFILE:LEVEL:DEVICES; "
        "repeatable",
    ),
]
DIR: TypeAlias = Annotated[
    Path | None, typer.Option("--cases", help="a folder of cases of one's own")
]


def selected(
    devices: Sequence[str],
    patterns: Sequence[str] | None,
    device_map: str | None,
    level: int | None,
    folder: Path | None,
) -> Selection:
    """Return the items that the options choose.

    Raises:
        UsageError: There are no cases, or nothing is chosen.
        CaseError: A case file is malformed.
    """
    binding = None if device_map is None else parse_binding(device_map)
    root = corpus_root() if folder is None else folder
    if not root.is_dir():
        raise UsageError(f"found no folder {root}")
    if not case_files(root):
        raise UsageError(f"found no case files under {root}")
    corpus = own_cases() if folder is None else cases(root)
    found = select(corpus, devices, binding=binding, level=level, patterns=patterns or ())
    for pattern in patterns or ():
        if not any(matches(item, (pattern,)) for item in found.items):
            where = _with(devices, device_map, level)
            raise UsageError(f"no item matches {pattern} {where}{_meant(pattern, corpus, devices)}")
    if not found.items:
        reasons = ", ".join(f"{count} {reason}" for reason, count in found.left_out.items())
        raise UsageError(f"there is no item to run: {reasons}")
    return found


def _meant(pattern: str, corpus: Sequence[Case], devices: Sequence[str]) -> str:
    """Return what to try in place of a pattern that matches nothing here."""
    name, bracket, _ = pattern.rstrip("/").partition("[")
    ids = [case.id for case in corpus]
    if any(fits(known, name) or known.startswith(f"{name}/") for known in ids):
        if not bracket:
            return f"; {name} is there, but has no item for this choice of devices, roles and level"
        return f"; hettest list {name} --devices={','.join(devices)} prints the items that it has"
    folders = {folder.as_posix() for known in ids for folder in PurePosixPath(known).parents}
    near = get_close_matches(name, [*sorted(folders - {"."}), *ids], n=2)
    return f"; did you mean {' or '.join(near)}?" if near else "; hettest list prints what there is"


def _with(devices: Sequence[str], device_map: str | None, level: int | None) -> str:
    bound = "" if device_map is None else f", bound as {device_map}"
    upto = "" if level is None else f", up to level {level}"
    return f"on {', '.join(devices)}{bound}{upto}"
