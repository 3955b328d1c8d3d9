"""The page of options has every option and ini key; that of waivers shows one that can be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.main import get_command

from hettest.cli.main import application
from hettest.waivers.loader import parse

DOCS = Path(__file__).parents[2] / "docs/reference"
OPTIONS = (DOCS / "options.md").read_text(encoding="utf-8")
WAIVERS = (DOCS / "waivers.md").read_text(encoding="utf-8")


def test_every_option_of_the_plugin_is_there(pytester: pytest.Pytester) -> None:
    shown = pytester.runpytest_inprocess("--help").stdout.str()

    options = set(re.findall(r"--het-[a-z-]+", shown))
    keys = set(re.findall(r"^  (het_[a-z_]+) \(", shown, re.MULTILINE))
    assert len(options) > 12
    assert len(keys) > 8
    assert {o for o in options if f"`{o}" not in OPTIONS} == set()
    assert {key for key in keys if f"`{key}`" not in OPTIONS} == set()


def test_every_option_of_the_command_is_there() -> None:
    group = get_command(application())
    command = group.commands["run"]  # type: ignore[attr-defined] # a command of several
    options = {o for p in command.params for o in (*p.opts, *p.secondary_opts) if o[0] == "-"}

    assert len(options) > 12
    assert {o for o in options if o not in OPTIONS and f"--het{o[1:]}" not in OPTIONS} == set()


def test_the_waiver_shown_can_be_read() -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", WAIVERS, re.DOTALL)

    (waiver,) = parse(text, "waivers.md").entries

    assert (waiver.stage, waiver.devices) == ("values", "accel=cuda:*")


def test_every_stage_is_told() -> None:
    from hettest.waivers.model import STAGES

    assert [stage for stage in STAGES if f"`{stage}`" not in WAIVERS] == []
