"""What the pages name is there: items, links, options, clauses, codes and variables."""

from __future__ import annotations

import os
import re
import resource
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import typer

from hettest import manual
from hettest.case.clauses import published
from hettest.case.expansion import expand
from hettest.case.loader import load
from hettest.cli.main import application as hettest_commands
from hettest.corpus import case_ids
from hettest.errors import UsageError
from hettest.language import CODES
from hettest.patterns import fits
from reference_vm.cli.main import application as reference_commands
from tests.contract.pages import FENCE, PAGES, ROOT, name_of, prose, spans, text_of

CASES: Final = ROOT / "cases"
AREAS: Final = "|".join(sorted(path.name for path in CASES.iterdir() if path.is_dir()))
ITEM: Final = re.compile(rf"(?<![\w/.@-])(?:{AREAS})/[\w/*.…-]*\w[\w/*…]*(?:\[[^\]\n]*\])?")
BOUND: Final = re.compile(r"=([a-z]\w*(?:[.-]\w+)*:\d+)")
OPTION: Final = re.compile(r"(?<![\w-])--[a-z][\w-]*")
VARIABLE: Final = re.compile(r"(?<![\w.])[A-Z][A-Z0-9]*_[A-Z0-9_]+")
COMMAND: Final = re.compile(r"^(?:\$ )?(?:pytest|hettest|reference-vm|python) .*$", re.MULTILINE)
KEBAB: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+")

PLACEHOLDERS: Final = frozenset({"planning/x"})
"""What the page itself calls a form."""

ATTRIBUTES: Final = frozenset({"policy.copy", "policy.replicate"})
"""Attributes of functions that look like clauses."""

OTHERS: Final = frozenset({"--quiet", "--xla_force_host_platform_device_count"})
"""Options of programs that no test loads: of pip and of XLA."""


@cache
def case_names() -> tuple[str, ...]:
    return case_ids(CASES)


@cache
def items() -> frozenset[str]:
    """Return the ids of all items on two devices, whatever these are called."""
    listed = (CASES / "expected-cpu-sim.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(BOUND.sub("=*", line) for line in listed)


def exists(name: str) -> bool:
    """Whether a page's name is one of a case, an item, a folder of cases, or a pattern of one."""
    pattern = name.replace("…", "*")
    if "[" not in name:
        begun = (f"{name}/", f"{name}_")
        return any(fits(case, pattern) or case.startswith(begun) for case in case_names())
    if BOUND.sub("=*", name) in items():
        return True
    if "*" in pattern:
        return any(fits(item, pattern) for item in items())
    case = name.partition("[")[0]
    if case not in case_names():
        return False
    devices = list(dict.fromkeys(BOUND.findall(name)))  # of an item that needs more than two
    return any(
        item.id == name
        for loaded in load(CASES / f"{case}.toml", CASES)
        for item in expand(loaded, devices)
    )


def named_items(text: str) -> Iterator[str]:
    for name in ITEM.findall(text):
        if name not in PLACEHOLDERS:
            yield name


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_cases_and_items_that_are_named_are_there(page: Path) -> None:
    assert [name for name in dict.fromkeys(named_items(text_of(page))) if not exists(name)] == []


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("ops/add", True),
        ("ops/a*", True),
        ("bugs/c01", True),
        ("bugs/c0", False),
        ("placement/given", False),
        ("placement/shared_input[plain,host=cpu:0,accel=acme:0,policy=copy]", True),
        ("placement/shared_input[plain,host=cpu:0,accel=acme:0,policy=clone]", False),
        ("placement/two_accelerators[plain,host=cpu:0,accel=a:0,other=b:1,policy=copy]", True),
        ("placement/two_accelerators[plain,host=cpu:0,accel=a:0,third=b:1,policy=copy]", False),
    ],
)
def test_a_name_that_is_not_there_is_seen(name: str, there: bool) -> None:
    assert list(named_items(f"see {name} and")) == [name]
    assert exists(name) is there


def anchor_of(heading: str) -> str:
    """Return what a link to a heading ends in, as the site's generator makes it."""
    shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.replace("`", "").replace("*", ""))
    plain = unicodedata.normalize("NFKD", shown).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of a page; headings of one name are numbered from the second on."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE):
        anchor = anchor_of(heading)
        found.add(f"{anchor}_{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
    return frozenset(found)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    wrong = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            wrong.append(link)
    assert wrong == []


def options_of(command: Any) -> set[str]:
    own = {o for p in command.params for o in (*p.opts, *p.secondary_opts)}
    inner = getattr(command, "commands", {}).values()
    return own.union(*map(options_of, inner))


@cache
def sources() -> str:
    """Return all sources, for what they name in quotes."""
    folders = ("hettest", "reference_vm", "benchmarks", "tests", "cases", "runners", ".ci")
    endings = (".py", ".toml", ".mjs", ".j2", ".html", ".css", ".js")
    files = (f for folder in folders for f in (ROOT / folder).rglob("*") if f.suffix in endings)
    read = [*sorted(f for f in files if f != Path(__file__)), ROOT / "Makefile"]
    return "\n".join(map(text_of, read))


@cache
def quoted_words() -> frozenset[str]:
    return frozenset(re.findall(r"[\"']([\w./-]+)[\"']", sources()))


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> frozenset[str]:
    """All options of our commands, of pytest with its plugins, and of the scripts."""
    ours = [typer.main.get_command(app()) for app in (hettest_commands, reference_commands)]
    config = pytest.Config.fromdictargs({}, [str(tmp_path_factory.mktemp("empty"))])
    groups = [config._parser._anonymous, *config._parser._groups]
    pytests = {name for group in groups for option in group.options for name in option.names()}
    return frozenset(pytests.union({"--help"}, OTHERS, *map(options_of, ours)))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_options_that_are_named_are_there(page: Path, options: frozenset[str]) -> None:
    shown = "\n".join(fence[3] for fence in FENCE.finditer(text_of(page)))
    lines = COMMAND.findall(shown.replace("\\\n", " "))
    named = {option for text in (*spans(page), *lines) for option in OPTION.findall(text)}
    assert (
        sorted(o for o in named - options if o not in quoted_words() and not is_parameter(o)) == []
    )


def is_parameter(option: str) -> bool:
    """Whether a script takes the option as a parameter of its function."""
    return re.search(rf"\n    {option[2:].replace('-', '_')}: Annotated\[", sources()) is not None


def unexplained(name: str) -> Iterator[str]:
    try:
        manual.explain(name)
    except UsageError as error:
        yield str(error)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_clauses_and_codes_that_are_named_are_explained(page: Path) -> None:
    shown = re.findall(r"hettest explain ([a-z][\w.#-]*\w)", text_of(page))
    areas = {clause.partition(".")[0] for clause in published() if "." in clause}
    clauses = [
        span
        for span in spans(page)
        if span.partition(".")[0] in areas
        and re.fullmatch(r"[a-z]+\.[a-z-]+", span)
        and span not in ATTRIBUTES
    ]
    codes = re.findall(r"error\[([\w-]+)\]", text_of(page))
    named = dict.fromkeys((*shown, *clauses, *codes))
    assert [said for name in named for said in unexplained(name)] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_words_with_hyphens_are_words_of_the_code(page: Path) -> None:
    """Codes of errors, passes, mutants, capability words, properties of cases."""
    named = dict.fromkeys(span for span in spans(page) if KEBAB.fullmatch(span))
    assert [
        n for n in named if n not in CODES and n not in published() and n not in quoted_words()
    ] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_environment_variables_that_are_named_are_there(page: Path) -> None:
    known = text_of(ROOT / "docs/reference/environment.md")
    shown = "\n".join([*spans(page), *(fence[3] for fence in FENCE.finditer(text_of(page)))])
    wrong = [
        name
        for name in dict.fromkeys(VARIABLE.findall(shown))
        if f"`{name}`" not in known
        and name not in sources()
        and not hasattr(os, name)
        and not hasattr(resource, name)
    ]
    assert wrong == []
