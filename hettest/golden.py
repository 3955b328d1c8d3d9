"""Golden texts: what a test's text was when someone last read and accepted it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import final


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
        expected = self.path.read_text(encoding="utf-8") if self.path.exists() else None
        if actual == expected:
            return
        if self.update:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(actual, encoding="utf-8")
            return
        before, after = (expected or "").splitlines(), actual.splitlines()
        diff = difflib.unified_diff(before, after, str(self.path), "this run", lineterm="")
        raise AssertionError(
            "golden text differs; rerun with --het-update-golden to accept it\n" + "\n".join(diff)
        )
