"""The versions that `.ci/lowest` tries are the least that the package asks for."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def bounds(lines: list[str]) -> Iterator[tuple[str, Version]]:
    """Yield each package that is asked for, with its least version; those of our extras too."""
    for line in lines:
        asked = Requirement(line)
        if asked.name == PROJECT["name"]:
            for extra in asked.extras:
                yield from bounds(PROJECT["optional-dependencies"][extra])
        else:
            (least,) = (s.version for s in asked.specifier if s.operator in (">=", "=="))
            yield asked.name, Version(least)


def test_the_constraints_are_the_least_versions() -> None:
    least: dict[str, Version] = {}
    for name, version in bounds([*PROJECT["dependencies"], "hettest[all]"]):
        least[name] = max(version, least.get(name, version))

    lines = (ROOT / ".ci/lowest.txt").read_text(encoding="utf-8").splitlines()
    held = dict(line.split("==") for line in lines if line and not line.startswith("#"))

    assert {name: Version(version) for name, version in held.items()} == least


def test_the_job_installs_them_and_is_part_of_the_whole() -> None:
    assert "-c .ci/lowest.txt" in (ROOT / ".ci/lowest").read_text(encoding="utf-8")
    assert ".ci/lowest" in (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
