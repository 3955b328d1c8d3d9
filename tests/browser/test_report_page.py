"""The HTML report works in a browser, from its file, for the keyboard, in light and dark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

import pytest
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from tests.browser.conftest import colors

AXE = files("axe_core_python") / "axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]


def ask(browser: Chrome, script: str, *args: object) -> Any:
    return browser.execute_script(script, *args)


def requests(browser: Chrome) -> list[str]:
    """Return the addresses that were asked for since the page was opened, the page's left out."""
    entries: list[dict[str, str]] = browser.get_log("performance")  # type: ignore[no-untyped-call]
    messages = (json.loads(entry["message"])["message"] for entry in entries)
    sent = (m["params"] for m in messages if m["method"] == "Network.requestWillBeSent")
    urls = [params["request"]["url"] for params in sent]
    return [url for url in urls if url != browser.current_url and not url.startswith("data:")]


def open_all(browser: Chrome) -> None:
    ask(browser, "document.querySelectorAll('details').forEach(d => { d.open = true; })")


def rows(browser: Chrome) -> int:
    shown = ".items tbody tr:not([hidden]) td:first-child"
    return int(ask(browser, "return document.querySelectorAll(arguments[0]).length", shown))


def found(browser: Chrome) -> str:
    return browser.find_element(By.ID, "found").text


@contextmanager
def width(browser: Chrome, pixels: int) -> Iterator[None]:
    size = {"width": pixels, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    yield
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_it_opens_without_errors_and_asks_for_nothing_else(page: Chrome) -> None:
    open_all(page)

    assert page.get_log("browser") == []  # type: ignore[no-untyped-call]
    assert requests(page) == []
    assert page.title == "fake on cpu:0, sim:0: conformance report"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_is_accessible(page: Chrome, theme: str) -> None:
    colors(theme, page)
    open_all(page)
    ask(page, AXE.read_text(encoding="utf-8"))

    result = page.execute_async_script(
        "const done = arguments[1]; axe.run({runOnly: arguments[0]}).then(done, done)", TAGS
    )

    wrong = [
        (v["id"], [node["html"][:160] for node in v["nodes"][:3]]) for v in result["violations"]
    ]
    assert wrong == []
    assert len(result["passes"]) > 20


def test_the_toggle_changes_colors_and_says_so(page: Chrome) -> None:
    toggle = page.find_element(By.ID, "theme")
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = ask(page, ground)
    assert toggle.get_attribute("aria-pressed") == "false"

    toggle.send_keys(Keys.ENTER)

    assert toggle.get_attribute("aria-pressed") == "true"
    assert ask(page, ground) != light
    toggle.click()
    assert ask(page, ground) == light


def test_the_users_own_preference_comes_first_of_itself(page: Chrome) -> None:
    ask(page, "localStorage.clear()")
    colors("dark", page)
    page.refresh()

    assert page.find_element(By.ID, "theme").get_attribute("aria-pressed") == "true"
    assert ask(page, "return getComputedStyle(document.body).colorScheme") == "dark"


def test_the_filter_finds_by_words_outcome_and_level(page: Chrome) -> None:
    page.find_element(By.CSS_SELECTOR, "#all > summary").click()
    everything = rows(page)

    Select(page.find_element(By.ID, "outcome")).select_by_value("failed")
    assert (rows(page), found(page)) == (1, f"1 of {everything} items")
    Select(page.find_element(By.ID, "outcome")).select_by_value("!")
    assert rows(page) == 5
    Select(page.find_element(By.ID, "outcome")).select_by_value("")
    Select(page.find_element(By.ID, "level")).select_by_visible_text("L3")
    assert rows(page) == everything

    page.find_element(By.ID, "find").send_keys("placement/c2 run11,")
    WebDriverWait(page, 5).until(lambda _: rows(page) == 1)
    assert found(page) == f"1 of {everything} items"
    cases = page.find_elements(By.CSS_SELECTOR, ".items tbody:not([hidden]) th")
    assert [case.text for case in cases] == ["placement/c2"]


def test_a_failure_opens_by_keyboard_and_tells_its_whole_story(page: Chrome) -> None:
    summary = page.find_element(By.CSS_SELECTOR, "details.story > summary")
    story = page.find_element(By.CSS_SELECTOR, "details.story pre")
    assert not story.is_displayed()

    summary.send_keys(Keys.ENTER)

    assert story.is_displayed()
    assert "of a failure" in story.text


def test_the_first_stop_of_the_keyboard_leads_past_the_head(page: Chrome) -> None:
    ActionChains(page).send_keys(Keys.TAB).perform()
    focused = page.switch_to.active_element

    assert focused.text == "Skip to the report"
    assert (focused.get_attribute("href") or "").endswith("#main")
    assert focused.is_displayed()


def test_a_narrow_window_scrolls_no_further_than_down(page: Chrome) -> None:
    with width(page, 400):
        open_all(page)
        assert ask(page, "return document.documentElement.scrollWidth") <= 400


def test_without_scripts_everything_is_there(page: Chrome) -> None:
    page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page.refresh()
        assert not page.find_element(By.ID, "filter").is_displayed()
        page.find_element(By.CSS_SELECTOR, "#all > summary").send_keys(Keys.ENTER)
        cells = page.find_elements(By.CSS_SELECTOR, ".items td:first-child")
        assert cells[0].is_displayed()
    finally:
        page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_a_graph_draws_what_it_says(page: Chrome) -> None:
    page.find_element(By.CSS_SELECTOR, "details.case > summary").click()
    graph = page.find_element(By.CSS_SELECTOR, "svg.graph")

    assert graph.is_displayed()
    label = graph.get_attribute("aria-label")
    assert label == (
        "cpu:0 computed main/%s. sim:0 computed main/%t. "
        "main/%s: cpu:0 → sim:0; 16 B, read, for main/%t"
    )
