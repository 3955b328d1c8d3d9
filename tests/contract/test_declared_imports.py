"""What the sources import is installed by what pyproject.toml asks for, not by chance."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
SOURCES = ("hettest", "reference_vm", "tests", "benchmarks", "conftest.py")
OURS = {"hettest", "reference_vm", "tests", "benchmarks"}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def imported() -> dict[str, str]:
    """Return each package that is imported, with one file that does."""
    found: dict[str, str] = {}
    for top in SOURCES:
        path = ROOT / top
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                match node:
                    case ast.Import(names=names):
                        modules = [alias.name for alias in names]
                    case ast.ImportFrom(module=str(module), level=0):
                        modules = [module]
                    case _:
                        continue
                for module in modules:
                    found.setdefault(module.partition(".")[0], str(file.relative_to(ROOT)))
    return found


def required(lines: list[str], extras: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield the distributions that requirements install here, those of theirs included."""
    waiting = [(line, extras) for line in lines]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        line, extras = waiting.pop()
        asked = Requirement(line)
        if asked.marker and not any(asked.marker.evaluate({"extra": e}) for e in {"", *extras}):
            continue
        name = normal(asked.name)
        wanted = frozenset(asked.extras)
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        if name == PROJECT["name"]:
            own = [*PROJECT["dependencies"]]
            own += [line for e in wanted for line in PROJECT["optional-dependencies"][e]]
            waiting += [(line, frozenset[str]()) for line in own]
        else:
            yield name
            waiting += [(line, wanted) for line in metadata.requires(name) or []]


def test_every_import_is_of_a_package_that_the_developers_extra_installs() -> None:
    installed = set(required(["hettest[dev]"]))
    providers = metadata.packages_distributions()
    (overrides,) = PYPROJECT["tool"]["mypy"]["overrides"]
    optional = {pattern.partition(".")[0] for pattern in overrides["module"]}

    missing = {
        module: file
        for module, file in imported().items()
        if module not in sys.stdlib_module_names | OURS | optional
        and not {normal(d) for d in providers.get(module, ())} & installed
    }

    assert missing == {"no_such_npu_library": "tests/unit/hettest/moody.py"}


def test_a_package_for_other_systems_is_not_counted_here() -> None:
    assert list(required(["numpy; os_name == 'no-such-system'"])) == []
    assert "numpy" in set(required(["ml-dtypes"]))
