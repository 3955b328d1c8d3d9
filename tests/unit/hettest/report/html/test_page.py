"""The page is made of the content alone, needs nothing else, and lets no name act in it."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import pytest

from hettest.errors import UsageError
from hettest.options import require_ending
from hettest.outcome import Outcome, Record, Seen, Transfer
from hettest.report import FORMATS, json_report, makeable, write
from hettest.report.html import render
from hettest.report.html.items import WHOLE, endings
from tests.unit.hettest.report.html.pages import PAIR, SEEN, everything, item
from tests.unit.hettest.report.made import content

EVIL = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7 * 7 }}"


class Tree(HTMLParser):
    """The page's tags, with what stands in them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def count(self, name: str) -> int:
        return sum(tag == name for tag, _ in self.tags)


def words(page: str) -> str:
    return " ".join(" ".join(Tree(page).text).split())


def test_the_first_page_answers_the_five_questions() -> None:
    former = replace(everything(), records=[item(0)], seed=6)

    page = words(render(everything(), former))

    for answer in (
        "core@1: L0 reached on cpu:0, sim:0; placement metered",
        "cpu:0 (6 items), sim:0 (6 items)",
        "7 items: 2 passed, 1 failed, 1 crashed, 1 not run, 1 unsupported, 1 waived",
        "pending: NaN is lost (me, until 2027-03-01)",
        "absent -> failed (worse)",
        "waivers.toml:3: expired",
    ):
        assert answer in page


def test_it_shows_blockers_failures_lacks_coverage_and_environment() -> None:
    page = words(render(everything()))

    for shown in (
        "docs/reference/semantics.md",
        "the whole story of a failure",
        "op:det",
        "i4",
        "m.onnx",
        "2030-03-17 17:46:40 UTC",
        "cpu:0 → sim:0; 16 B, read, for main/%t",
    ):
        assert shown in page


def test_the_same_content_gives_the_same_page_also_when_read_again() -> None:
    once = everything(40)

    page = render(once)

    assert page == render(once)
    assert page == render(json_report.read(json_report.render(once)))


def test_nothing_is_loaded_and_the_policy_lets_nothing_in() -> None:
    tree = Tree(render(everything()))

    for tag, attrs in tree.tags:
        assert tag not in ("iframe", "object", "embed", "base", "form", "img")
        assert not any(name.startswith("on") or name == "style" for name in attrs)
        for name in ("src", "href", "xlink:href", "srcset"):
            assert (attrs.get(name) or "#").startswith(("#", "data:,")), attrs
    policy = next(a["content"] for t, a in tree.tags if t == "meta" and "http-equiv" in a)
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"url\(|@import|fetch\(|https?:", render(everything()))


def test_what_a_backend_writes_stays_text() -> None:
    seen = Seen({EVIL: (EVIL,)}, (Transfer(EVIL, EVIL, PAIR[1], 1, EVIL, EVIL),), {EVIL: (EVIL,)})
    failed = Record(EVIL, Outcome.FAILED, EVIL, 3, case=EVIL, text=EVIL, devices=(EVIL,))
    lacking = Record(f"a{EVIL}", Outcome.UNSUPPORTED, EVIL, 3, case=EVIL, lacks=(EVIL,))
    waived = replace(item(2), id=f"b{EVIL}", outcome=Outcome.WAIVED, seen=seen, waiver=EVIL)
    records = [failed, lacking, waived]
    evil = replace(
        content(records),
        backend=EVIL,
        devices=(EVIL,),
        problems=(EVIL,),
        claims=(EVIL,),
        environment={EVIL: EVIL, "hettest": EVIL},
        models=({EVIL: EVIL},),
        partial=EVIL,
        suite={"sha256": EVIL},
    )
    usual = Tree(render(everything()))

    tree = Tree(render(evil))

    assert tree.count("script") == usual.count("script") == 1
    assert tree.count("img") == 0
    assert EVIL in "".join(tree.text)


def test_graphs_of_one_case_that_differ_in_sizes_alone_are_drawn_once() -> None:
    moved = [(replace(SEEN.transfers[0], bytes=4 * number),) for number in range(4)]
    one = Tree(render(content([item(0)])))
    four = Tree(
        render(content([item(n, seen=replace(SEEN, transfers=t)) for n, t in enumerate(moved)]))
    )

    def graphs(tree: Tree) -> int:
        return sum(attrs.get("class") == "graph" for _, attrs in tree.tags)

    assert graphs(one) == graphs(four) == 1
    assert "0 B to 12 B" in " ".join(four.text)


def test_tests_of_ones_own_get_what_concerns_them() -> None:
    tree = Tree(render(content([Record("test_it.py::test_it[cpu:0]", Outcome.PASSED)])))

    ids = {attrs.get("id") for _, attrs in tree.tags}
    assert {"summary", "waivers", "environment", "items"} <= ids
    assert not ids & {"levels", "operators", "devices", "errors", "coverage"}


def test_links_within_the_page_lead_somewhere_and_ids_are_unique() -> None:
    tags = Tree(render(everything(), content([item(0)]))).tags
    ids = [attrs["id"] for _, attrs in tags if "id" in attrs]

    assert len(ids) == len(set(ids))
    links = [a.get("href") or "" for t, a in tags if t == "a"]
    assert {link.removeprefix("#") for link in links} <= set(ids)


def test_a_page_of_six_thousand_items_is_small() -> None:
    """Though each fourth item is of another case, with a graph of its own."""
    assert len(render(everything(6000)).encode()) < 6_000_000


def test_whole_stories_are_left_out_when_they_are_too_many() -> None:
    failures = [
        item(n, Outcome.FAILED, reason=f"reason {n}", text="x" * (WHOLE // 3)) for n in range(5)
    ]

    (ending,) = endings(failures)

    assert [story.cut for story in ending.stories] == [False, False, False, True, True]
    assert "The whole story is in the JSON report" in words(render(content(failures)))


def test_many_items_of_one_reason_are_told_as_one() -> None:
    missing = [item(n, Outcome.NOT_RUN, reason="no driver", clauses=()) for n in range(100)]

    (ending,) = endings(missing)

    (story,) = ending.stories
    assert (ending.count, story.count, len(story.ids)) == (100, 100, 60)


def test_without_the_extra_it_says_what_to_install_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        "hettest.options.find_spec", lambda name: None if name == "jinja2" else find_spec(name)
    )
    told = r"--het-report=r\.html: .*needs jinja2: pip install 'hettest\[report\]'"

    with pytest.raises(UsageError, match=told):
        require_ending(Path("r.html"), "--het-report=r.html")
    with pytest.raises(UsageError, match="needs jinja2"):
        write(tmp_path / "r.html", everything())
    assert set(FORMATS) - set(makeable()) == {".html"}
