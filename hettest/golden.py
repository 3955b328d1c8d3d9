"""Golden texts: what a test's text was when someone last read and accepted it."""

from __future__ import annotations

import difflib
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import final

from hettest.files import escaped, write_bytes

_LONGEST = 100
"""Characters of a test's name that are kept."""


def file_name(test: str) -> str:
    """Return a file's name for a test's; no two tests have one.

    A name of letters, digits, dots, hyphens and underscores stays as it is.
    """
    clean = re.sub(r"[^\w.-]+", "_", test, flags=re.ASCII).strip("_")[:_LONGEST]
    if clean == test:
        return test
    return f"{clean}-{hashlib.sha256(test.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}"


@final
@dataclass(frozen=True)
class Golden:
    """The golden file of one test."""

    path: Path
    update: bool
    """Whether to write what differs instead of failing."""

    def check(self, actual: str) -> None:
        """Fail unless ``actual`` is what the file holds.

        Raises:
            AssertionError: The texts differ, or there is no file yet. The message is a unified diff
                and names the option that accepts the new text.
        """
        __tracebackhide__ = True
        expected = self._read()
        if actual == expected:
            return
        if self.update:
            write_bytes(self.path, self._encoded(actual), "the golden text")
            return
        before, after = (escaped(text or "").split("\n") for text in (expected, actual))
        diff = difflib.unified_diff(before, after, str(self.path), "this run", lineterm="")
        raise AssertionError(
            "golden text differs; rerun with --het-update-golden to accept it\n" + "\n".join(diff)
        )

    def _read(self) -> str | None:
        """Return the golden text with its ends of lines as they are; ``None`` if there is none."""
        __tracebackhide__ = True
        if not self.path.exists():
            return None
        data = self.path.read_bytes()
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise AssertionError(
                f"{self.path}:{line}: byte {data[error.start]:#04x} is not UTF-8, which golden "
                "texts are in"
            ) from error

    def _encoded(self, actual: str) -> bytes:
        __tracebackhide__ = True
        try:
            return actual.encode()
        except UnicodeEncodeError as error:
            line = actual.count("\n", 0, error.start) + 1
            found = ascii(actual[error.start])
            raise AssertionError(
                f"line {line} of the text holds {found}, half of a surrogate pair, which no golden "
                "text can hold; write it as an escape before it is compared"
            ) from error
