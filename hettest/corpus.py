"""Finds case files: those of a checkout, those in the wheel, or a folder of one's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from os import walk
from pathlib import Path
from typing import final

from hettest.case.clauses import TABLE
from hettest.case.expansion import Item, expand
from hettest.case.loader import load
from hettest.case.model import Case
from hettest.devicemap import Binding
from hettest.errors import UsageError
from hettest.patterns import fits

_HERE = Path(__file__).parent
CLAUSES = TABLE.name
"""The list of clauses that a folder of cases of one's own may have."""


def corpus_root() -> Path:
    """Return the folder of the cases that belong to this installation.

    Raises:
        UsageError: There is none; the installation is damaged.
    """
    for root in (_HERE / "_cases", _HERE.parent / "cases"):
        if root.is_dir():
            return root
    raise UsageError(f"found no cases beside {_HERE}; the installation is incomplete")


def case_files(root: Path) -> tuple[Path, ...]:
    """Return the case files under ``root``, sorted by id; a list of clauses there is none.

    Raises:
        PermissionError: A folder there cannot be looked into: its cases would go missing.
    """
    found = (
        Path(folder, name)
        for folder, folders, files in walk(root, onerror=_require_access)
        for name in (*folders, *files)
        if name.endswith(".toml")
    )
    return tuple(sorted(path for path in found if path != root / CLAUSES))


def _require_access(error: OSError) -> None:
    if isinstance(error, PermissionError):
        raise error


def case_ids(root: Path) -> tuple[str, ...]:
    """Return the id of every case file under ``root``; reads none of them."""
    return tuple(path.relative_to(root).with_suffix("").as_posix() for path in case_files(root))


def cases(root: Path) -> tuple[Case, ...]:
    """Return every case under ``root``, one for each combination of a file's sweep.

    Raises:
        CaseError: A file is malformed.
    """
    return tuple(case for path in case_files(root) for case in load(path, root))


@cache
def own_cases() -> tuple[Case, ...]:
    """Return every case that belongs to this installation, read once.

    Raises:
        UsageError: There is none; the installation is damaged.
        CaseError: A file is malformed.
    """
    return cases(corpus_root())


@final
@dataclass(frozen=True)
class Selection:
    """The items to run, and how many were left out before the run, by reason."""

    items: tuple[Item, ...]
    left_out: dict[str, int]


def select(
    found: Iterable[Case],
    devices: Sequence[str],
    *,
    binding: Binding | None = None,
    level: int | None = None,
    patterns: Sequence[str] = (),
) -> Selection:
    """Return the items of ``found`` for the named devices.

    Args:
        found: The cases.
        devices: What is named; the first is the host.
        binding: Binds roles by name, in place of what the cases wish.
        level: The highest level wanted.
        patterns: Ids of cases or items, or patterns of them; empty for all.
    """
    items: list[Item] = []
    left_out: dict[str, int] = {}
    for case in found:
        possible = expand(case, devices, binding)
        if possible and not any(matches(item, patterns) for item in possible):
            continue
        if not possible and not _named(case, patterns):
            continue
        expanded = [item for item in possible if matches(item, patterns)]
        if level is not None and case.level > level:
            reason = f"above level {level}"
            left_out[reason] = left_out.get(reason, 0) + len(expanded)
            continue
        if not expanded:
            reason = _too_few(binding)
            left_out[reason] = left_out.get(reason, 0) + max(1, len(case.runs)) * len(case.policies)
        items += expanded
    return Selection(tuple(items), {reason: count for reason, count in left_out.items() if count})


def _too_few(binding: Binding | None) -> str:
    if binding is None:
        return "need more devices than were named"
    return "have roles that the device map does not bind"


def matches(item: Item, patterns: Sequence[str]) -> bool:
    """Whether a pattern names the item, its case or its folder; without patterns all are."""
    return any(fits(item.id, pattern) for pattern in patterns) or _named(item.case, patterns)


def _named(case: Case, patterns: Sequence[str]) -> bool:
    if not patterns:
        return True
    return any(
        fits(case.id, pattern) or case.id.startswith(pattern.rstrip("/") + "/")
        for pattern in patterns
    )


def expected_items(root: Path, devices: Sequence[str]) -> tuple[Path, tuple[str, ...]] | None:
    """Return the committed list of item ids for these devices, and its file; ``None`` without one.

    The file is called after the devices: ``expected-cpu-sim.txt``, ``expected-cpu-sim-sim1.txt``.
    """
    words = (d.removesuffix(":0").replace(":", "") for d in devices)
    path = root / f"expected-{'-'.join(words)}.txt"
    if not path.is_file():
        return None
    return path, tuple(path.read_text(encoding="utf-8").split())
