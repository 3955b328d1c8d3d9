"""The guide for authors of backends shows commands that there are, and links that lead on."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from hettest.cli.main import application
from hettest.levels.profile import FOLDER
from hettest.probing.support import Colour

GUIDE = Path(__file__).parents[4] / "docs/guides/backend-author.md"
PAGE = GUIDE.read_text(encoding="utf-8")
SHOWN = re.findall(r"^\$ (?:.* && )?hettest (.*)$", PAGE.replace("\\\n", " "), re.MULTILINE)


@pytest.mark.parametrize("line", SHOWN)
def test_each_command_takes_what_is_shown(line: str) -> None:
    words, command = shlex.split(line), get_command(application())
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]

    made = command.make_context("hettest", words)

    assert made.params


def test_the_whole_journey_is_shown() -> None:
    assert {line.split()[0] for line in SHOWN} >= {
        *("backend", "run", "probe", "waive", "conformance"),
    }


def test_each_link_leads_to_a_page() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (GUIDE.parent / target).is_file(), target


def test_it_speaks_of_levels_and_colours_as_the_kit_does() -> None:
    assert (FOLDER / "core@1.json").is_file()
    assert all(colour.value in PAGE.replace("*", "").lower() for colour in Colour)
