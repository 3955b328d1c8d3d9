"""One Chromium for all tests, driven by the chromedriver that is installed; nothing is fetched."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

from hettest.report.html import render
from tests.unit.hettest.report.html.pages import everything, item
from tests.unit.hettest.report.made import content

FLAGS = (
    "--headless=new",
    "--no-sandbox",  # as root, which is how builds run
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1200,1400",
)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    binary = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        missing = "chromedriver" if binary else "Chromium"
        pytest.skip(f"{missing} is not installed: apt-get install chromium chromium-driver")
    options = Options()
    options.binary_location = binary
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    chrome = Chrome(options=options, service=Service(driver, port=port))
    yield chrome
    chrome.quit()


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with something of everything, and a former report."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render(everything(30), content([item(0), item(1)])), encoding="utf-8")
    return path


@pytest.fixture
def page(browser: Chrome, report: Path) -> Chrome:
    """The page, opened from its file as a reader opens it, with logs that begin here."""
    colors("light", browser)
    browser.get("about:blank")
    for kind in ("browser", "performance"):
        browser.get_log(kind)  # type: ignore[no-untyped-call]
    browser.get(report.as_uri())
    return browser


def colors(scheme: str, browser: Chrome) -> None:
    """Let the browser's user prefer ``light`` or ``dark``."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
