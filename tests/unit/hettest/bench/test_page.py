"""The page of the reference shows limits that can be read, and has every option of the gate."""

from __future__ import annotations

import re
from pathlib import Path

from typer.main import get_command

from hettest.bench.gate.limits_file import load
from hettest.cli.main import application

PAGE = (Path(__file__).parents[4] / "docs/reference/bench.md").read_text(encoding="utf-8")


def test_the_limits_shown_can_be_read(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "limits.toml").write_text(text)

    found = load(tmp_path / "limits.toml")

    assert found.slower("tests/bench/test_conv.py::test_wide[cpu:0-sim:0]") == 1.25


def test_every_option_of_the_commands_is_there() -> None:
    group = get_command(application()).commands["bench"]  # type: ignore[attr-defined] # a group
    options = {
        option
        for command in group.commands.values()
        for parameter in command.params
        for option in parameter.opts
        if option.startswith("--") and option != "--help"
    }

    assert len(options) > 15
    assert [o for o in options if not re.search(rf"{o}[=`, ]", PAGE)] == []
