"""The page of trends works in a browser, from its file, in light and dark."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from hettest.bench.trend.history import series
from hettest.bench.trend.page import render, trends
from tests.browser.conftest import colors
from tests.browser.test_report_page import AXE, TAGS, ask, open_all, requests, width
from tests.unit.hettest.bench.runs import paired, plain, run


@pytest.fixture(scope="module")
def trend(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with a benchmark that changed, one that did not, and one with too few runs."""
    runs = [
        run(
            paired("test_it.py::test_slower", 0.9 if number < 7 else 1.2, seed=number),
            plain("test_it.py::test_same", seed=number),
            *([plain("test_it.py::test_new")] if number > 10 else []),
            number=number,
        )
        for number in range(14)
    ]
    path = tmp_path_factory.mktemp("trend") / "trend.html"
    path.write_text(render(trends(series(runs), 0.05), len(runs)), encoding="utf-8")
    return path


@pytest.fixture
def page(browser: Chrome, trend: Path) -> Chrome:
    colors("light", browser)
    browser.get("about:blank")
    for kind in ("browser", "performance"):
        browser.get_log(kind)  # type: ignore[no-untyped-call]
    browser.get(trend.as_uri())
    return browser


def test_it_opens_without_errors_and_asks_for_nothing_else(page: Chrome) -> None:
    open_all(page)

    assert page.get_log("browser") == []  # type: ignore[no-untyped-call]
    assert requests(page) == []
    assert page.title == "Benchmarks over 14 runs"
    assert ask(page, "return document.querySelectorAll('svg.trend circle').length") == 31


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_is_accessible(page: Chrome, theme: str) -> None:
    colors(theme, page)
    open_all(page)
    ask(page, AXE.read_text(encoding="utf-8"))

    result = page.execute_async_script(
        "const done = arguments[1]; axe.run({runOnly: arguments[0]}).then(done, done)", TAGS
    )

    wrong = [(v["id"], [n["html"][:160] for n in v["nodes"][:3]]) for v in result["violations"]]
    assert wrong == []
    assert len(result["passes"]) > 10


def test_light_and_dark_differ(page: Chrome) -> None:
    script = "return getComputedStyle(document.body).backgroundColor"
    light = ask(page, script)
    colors("dark", page)

    assert ask(page, script) != light


def test_a_narrow_page_scrolls_its_graphs_and_not_itself(page: Chrome) -> None:
    with width(page, 390):
        wide = ask(page, "return document.documentElement.scrollWidth")

    assert wide <= 390
