"""The kinds of fault that cases are written against, and which of them a case belongs to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, final

from hettest.files.reading import parse_toml, read_text

TABLE: Final = Path(__file__).with_name("fault_classes.toml")
_FOLDER: Final = re.compile(r"bugs/c([0-9]{2})_[a-z0-9_]+/")


@final
@dataclass(frozen=True, slots=True)
class FaultClass:
    """One kind of fault: ``C24``, shapes foretold that the run does not have."""

    id: str
    name: str
    feature: str | None = None
    """What does not exist yet, so that no case can be of this class; ``None`` if it exists."""

    tests: tuple[str, ...] = ()
    """The tests of the reference that hold it, where a case has no words for it."""

    @property
    def has_cases(self) -> bool:
        """Whether cases can be of this class."""
        return self.feature is None and not self.tests


@cache
def fault_classes() -> Mapping[str, FaultClass]:
    """Return every class by its id, in order."""
    table = parse_toml(read_text(TABLE), TABLE)
    return MappingProxyType({id_: _fault_class(id_, **entry) for id_, entry in table.items()})


def _fault_class(
    id_: str, name: str, feature: str | None = None, tests: Sequence[str] = ()
) -> FaultClass:
    return FaultClass(id_, name, feature, tuple(tests))


def fault_of(case_id: str, key: str | None = None) -> str | None:
    """Return the class of a case: its key ``fault``, else that of its folder under ``bugs``."""
    if key is not None:
        return key
    folder = _FOLDER.match(case_id)
    return f"C{folder[1]}" if folder else None
