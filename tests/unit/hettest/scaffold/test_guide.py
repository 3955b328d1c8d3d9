"""The guide for authors of backends shows the whole way, in the words of the kit."""

from __future__ import annotations

import re
from pathlib import Path

from hettest.levels.profile import FOLDER
from hettest.probing.support import Colour

GUIDE = Path(__file__).parents[4] / "docs/guides/backend-author.md"
PAGE = GUIDE.read_text(encoding="utf-8")
SHOWN = re.findall(r"^\$ (?:.* && )?hettest (.*)$", PAGE.replace("\\\n", " "), re.MULTILINE)


def test_the_whole_journey_is_shown() -> None:
    assert {line.split()[0] for line in SHOWN} >= {
        *("backend", "run", "probe", "waive", "conformance"),
    }


def test_it_speaks_of_levels_and_colours_as_the_kit_does() -> None:
    assert (FOLDER / "core@1.json").is_file()
    assert all(colour.value in PAGE.replace("*", "").lower() for colour in Colour)
