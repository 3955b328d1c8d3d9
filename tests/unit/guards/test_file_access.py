"""A test that touches a file outside of its own folder fails, and is told which and where."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

import pytest

from tests.guards.file_access import ADVICE, KEY, ROOT, VARIABLE

Ended = Callable[..., tuple[list[str], str]]

SUBPROCESS = "subprocess.run([sys.executable, '-c', {!r}], check=True)"
OFFENCES = {
    "open": "open(OUT / 'new', 'w').close()",
    "read": "(OUT / 'file').read_text()",
    "exists": "assert not (OUT / 'absent').exists()",
    "os.path.exists": "assert not os.path.exists(OUT / 'absent')",
    "is_dir": "assert OUT.is_dir()",
    "access": "os.access(OUT / 'file', os.R_OK)",
    "resolve": "(OUT / 'file').resolve()",
    "readlink": "(OUT / 'link').symlink_to(tmp_path); os.readlink(OUT / 'link')",
    "listdir": "os.listdir(OUT)",
    "glob": "list(OUT.glob('*'))",
    "walk": "list(os.walk(OUT))",
    "mkdir": "(OUT / 'new').mkdir()",
    "touch": "(OUT / 'file').touch()",
    "chmod": "(OUT / 'file').chmod(0o600)",
    "utime": "os.utime(OUT / 'file')",
    "unlink": "(OUT / 'file').unlink()",
    "rmdir": "(OUT / 'empty').rmdir()",
    "rename": "(OUT / 'file').rename(tmp_path / 'x')",
    "rename to": "(tmp_path / 'x').touch(); (tmp_path / 'x').rename(OUT / 'x')",
    "symlink": "(OUT / 'link').symlink_to(tmp_path)",
    "link": "(tmp_path / 'x').touch(); os.link(tmp_path / 'x', OUT / 'x')",
    "truncate": "os.truncate(OUT / 'file', 0)",
    "copy": "shutil.copy(README, OUT / 'x')",
    "relative": "open(os.path.relpath(OUT / 'new'), 'w').close()",
    "in a folder that is open": "os.open('x', os.O_CREAT, dir_fd=os.open(OUT.parent, 0))",
    "bytes": "open(os.fsencode(OUT / 'new'), 'w').close()",
    "in the checkout": "assert not hasattr(os, 'nothing'); open(README, 'a').close()",
    "a process that writes": SUBPROCESS.format("open('new', 'w').close()"),
    "a process that looks": SUBPROCESS.format("import os; os.path.exists('new')"),
    "in a thread": "t = threading.Thread(target=(OUT / 'x').exists); t.start(); t.join()",
}
ALLOWED = {
    "tmp_path": "(tmp_path / 'x').write_text(''); (tmp_path / 'x').rename(tmp_path / 'y')",
    "a temporary folder": "shutil.rmtree(tempfile.mkdtemp())",
    "the checkout": "README.read_text(); assert not (README.parent / 'absent').exists()",
    "a folder of its own": "os.open('x', os.O_CREAT, dir_fd=os.open(tmp_path, 0))",
    "the machine": "assert Path('/dev/null').exists(); open('/dev/null', 'w').close()",
    "what is above": "assert tmp_path.parent.parent.parent.exists(); tmp_path.resolve()",
    "a package of Python": "import importlib.metadata as m; assert m.version('pytest')",
    "a process": "subprocess.run([sys.executable, '-c', 'import json'], cwd=tmp_path, check=True)",
    "a program": "shutil.which('there-is-no-such-program')",
}
HEAD = """
import contextlib, os, shutil, subprocess, sys, tempfile, threading
from pathlib import Path

README = Path({readme!r})
"""
TEST = """
def test_{number}(tmp_path):
    OUT = Path({out!r})
    {body}
"""


@pytest.fixture
def ended(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Ended:
    """Run tests under the plugin, and say how each ended; what is outside lies beside theirs."""
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(name, raising=False)

    def run(bodies: Collection[str], *args: str) -> tuple[list[str], str]:
        texts = [HEAD.format(readme=str(ROOT / "README.md"))]
        for number, body in enumerate(bodies):
            out = pytester.mkdir(f"out{number}")
            (out / "file").touch()
            (out / "empty").mkdir()
            texts.append(TEST.format(number=number, out=str(out), body=body))
        pytester.makepyfile(test_it="\n".join(texts))
        plugins = ("-p", "tests.guards.file_access", "-p", "no:hypothesispytest")
        result = pytester.runpytest_subprocess(*plugins, "-p", "no:cacheprovider", "-rA", *args)
        lines = result.outlines
        found = [
            next(
                line.split()[0]
                for line in lines
                if re.match(rf"[A-Z]+ test_it.py::test_{n}\b", line)
            )
            for n in range(len(bodies))
        ]
        return found, result.stdout.str()

    return run


@pytest.mark.parametrize("args", [(), ("-n1",)], ids=["alone", "xdist"])
def test_a_test_that_touches_a_file_outside_fails(ended: Ended, args: tuple[str, ...]) -> None:
    outcomes, _ = ended(OFFENCES.values(), *args)

    assert dict(zip(OFFENCES, outcomes, strict=True)) == dict.fromkeys(OFFENCES, "FAILED")


def test_what_is_a_tests_own_or_everybodys_may_be_used(ended: Ended) -> None:
    outcomes, printed = ended(ALLOWED.values())

    assert dict(zip(ALLOWED, outcomes, strict=True)) == dict.fromkeys(ALLOWED, "PASSED"), printed


def test_it_says_what_was_done_to_which_file_and_where(
    ended: Ended, pytester: pytest.Pytester
) -> None:
    _, printed = ended([OFFENCES["mkdir"]])

    assert f"  changed (os.mkdir) {pytester.path}/out0/new" in printed
    assert f"{pytester.path}/test_it.py:9 in test_0" in printed
    assert ADVICE in printed


def test_these_tests_are_watched_themselves(request: pytest.FixtureRequest) -> None:
    assert request.config.stash[KEY].places.may_write("/dev/null")
