"""The pages for people, and the blocks and pieces of code on them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = sorted(
    [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"],
    key=lambda p: p.as_posix(),
)
FENCE: Final = re.compile(r"^( *)```(\w*)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
CODE: Final = re.compile(r"`([^`\n]+)`")


@final
@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks_in(text: str, name: str) -> list[Block]:
    """Return the blocks of a page's text in order."""
    return [
        Block(
            name,
            text[: fence.start()].count("\n") + 1,
            fence[2],
            re.sub(rf"^{fence[1]}", "", fence[3], flags=re.MULTILINE),
        )
        for fence in FENCE.finditer(text)
    ]


def blocks(*languages: str) -> list[Block]:
    """Return the blocks of all pages that are in one of the languages."""
    return [
        b
        for page in PAGES
        for b in blocks_in(text_of(page), name_of(page))
        if b.language in languages
    ]


def prose(page: Path) -> str:
    """Return a page without its blocks, which are blank lines."""
    return FENCE.sub(lambda fence: "\n" * fence[0].count("\n"), text_of(page))


def spans(page: Path) -> list[str]:
    """Return the pieces of code in the running text of a page."""
    return CODE.findall(prose(page))
