"""A plugin that fails the test that touches a file outside of its own folder.

A test may read the checkout, Python, and what belongs to the machine; it may write to `tmp_path`,
to the usual folder of temporary files, which is one of the test run's own, and to the caches. So
the tests pass on a machine where nothing else is there, or may be written. Processes that a test
starts are watched as well, by the `sitecustomize` in this folder.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import Final, final

import pytest

from reference_vm.jit.object_cache import default_folder
from tests.guards.places import SYSTEM, Places, places_of_python, watch

ROOT: Final = Path(__file__).parents[2]
CACHES: Final = (".cache", ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache")
VARIABLE: Final = "HETTEST_TESTS_PLACES"
ADVICE: Final = "use tmp_path, or a name in it, such as a missing one"


@final
class Watch:
    """What tests touched, of this process and of those that it started."""

    def __init__(self, own: Path) -> None:
        self.places = _places(own)
        self.touched: list[str] = []
        self.by_others = own / "touched.txt"
        self.read = 0
        self.testing = False

    def note(self, touched: str) -> None:
        if self.testing:
            self.touched.append(touched)

    def take(self) -> list[str]:
        """Return what was touched since this was asked."""
        found, self.touched = self.touched, []
        size = self.by_others.stat().st_size if self.by_others.exists() else 0
        if size > self.read:
            with self.by_others.open(encoding="utf-8") as file:
                file.seek(self.read)
                found.append(file.read())
            self.read = size
        return found


def _places(own: Path) -> Places:
    caches = [ROOT / name for name in CACHES]
    objects = default_folder()
    if objects is not None:
        caches.append(objects)
    written = {str(p) for path in (own, *caches) for p in (path.absolute(), path.resolve())}
    programs = os.environ.get("PATH", "").split(os.pathsep)
    read = {str(ROOT), str(ROOT.resolve()), *SYSTEM, *places_of_python(), *programs}
    return Places(tuple(sorted(read - {""})), tuple(sorted(written)))


KEY: Final = pytest.StashKey[Watch]()


@cache
def _watched() -> list[Watch]:
    """Watch this process, once; return the list whose last one is told."""
    watches: list[Watch] = []
    watch(lambda: watches[-1].places, lambda touched: watches[-1].note(touched))
    return watches


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Make a folder for temporary files within that of the tests, and tell the processes."""
    factory: pytest.TempPathFactory = session.config._tmp_path_factory  # type: ignore[attr-defined]
    own = factory.getbasetemp()
    temporary = own / "temporary"
    temporary.mkdir(exist_ok=True)
    found = session.config.stash[KEY] = Watch(own)
    _watched().append(found)
    tempfile.tempdir = str(temporary)
    os.environ["TMPDIR"] = str(temporary)
    told = {"read": found.places.read, "written": found.places.written, "to": str(found.by_others)}
    os.environ[VARIABLE] = json.dumps(told)
    paths = [str(Path(__file__).parent / "process"), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)


def _watch_while(item: pytest.Item) -> Generator[None, object, object]:
    found = item.config.stash[KEY]
    found.testing = True
    try:
        result = yield
    finally:
        found.testing = False
    touched = found.take()
    if touched:
        what = "\n  ".join(touched)
        pytest.fail(f"files outside of the test's own folder:\n  {what}\n{ADVICE}", pytrace=False)
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    return (yield from _watch_while(item))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    return (yield from _watch_while(item))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    return (yield from _watch_while(item))
