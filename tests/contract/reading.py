"""A page as a reader meets it who works from top to bottom: what to do, file by file, line by line.

* A ``console`` block holds commands, ``$ command``, and under each what it prints.
* A ``python`` block whose first line is a comment with a file's name, ``# test_mine.py``, is that
  file, or more of it; any other one is typed in, after those before it.
* Another block is a file: its first line names it, in a comment, or the sentence before it does,
  which ends in the name and a colon. A ``text`` block is what was printed last.
* A comment right above a block says why nobody is held to it: ``<!-- not run: needs a GPU -->``,
  or ``<!-- an example: … -->`` of what is printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

from tests.contract.pages import FENCE, ROOT, Block, blocks_in

READ: Final = [ROOT / "README.md", *sorted((ROOT / "docs/guides").glob("*.md"))]
MARKER: Final = re.compile(r"<!-- (not run|an example)(?:: ([^\n]+?))? -->\n")
_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)
_NAMED: Final = re.compile(r"(?:#|//) ([\w./-]+\.\w+)(?:, further down)?\n")
_SENTENCE: Final = re.compile(r"`([\w./-]+\.\w+)`:\s*\Z")


@final
@dataclass(frozen=True)
class Command:
    """A line for the shell, and what the page shows of what it prints."""

    line: str
    output: str | None
    """``None`` where the page shows none."""


@final
@dataclass(frozen=True)
class File:
    """What a page says to write."""

    name: str
    text: str


@final
@dataclass(frozen=True)
class Snippet:
    """Python without a file."""

    text: str


@final
@dataclass(frozen=True)
class Output:
    """What was printed last."""

    text: str


Act = Command | File | Snippet | Output


@final
@dataclass(frozen=True)
class Step:
    """A block of a page with its marker, or with what is to be done."""

    block: Block
    reason: str | None
    acts: tuple[Act, ...]


class UnreadableError(Exception):
    """A block that says neither what it is nor why it is not run."""


def commands(text: str) -> Iterator[Command]:
    """Yield the commands of a block in order."""
    if not text.startswith("$ "):
        raise UnreadableError("a console block begins with a command, `$ …`")
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        said = re.match(r"(?:[^\n]*\\\n)*[^\n]*\n", part)
        assert said is not None
        yield Command(said[0].strip(), part[said.end() :] or None)


def acts(block: Block, before: str) -> Iterator[Act]:
    """Yield what a block without a marker asks for; ``before`` is the page up to it."""
    named = _NAMED.match(block.text)
    sentence = _SENTENCE.search(before)
    match block.language:
        case "console":
            yield from commands(block.text)
        case "text":
            yield Output(block.text)
        case "python" if named is None:
            yield Snippet(block.text)
        case "python" | "hir" | "toml" | "yaml" | "json" if named or sentence:
            name = (named or sentence)[1]  # type: ignore[index] # one of them is there
            yield File(name, block.text)
        case _:
            raise UnreadableError(f"nothing says which file this {block.language or 'block'} is")


def steps(text: str, name: str) -> list[Step]:
    """Return the blocks of a page in order.

    Raises:
        UnreadableError: One of them does not say what it is, or a marker has no block; says where.
    """
    found, markers = [], 0
    for block, fence in zip(blocks_in(text, name), FENCE.finditer(text), strict=True):
        before = text[: fence.start()]
        marker = next((m for m in MARKER.finditer(before) if m.end() == len(before)), None)
        try:
            if marker is None:
                found.append(Step(block, None, tuple(acts(block, before))))
            else:
                markers += 1
                found.append(Step(block, reason_of(marker, block), ()))
        except UnreadableError as error:
            raise UnreadableError(f"{block}: {error}") from error
    if markers != len(_COMMENT.findall(FENCE.sub("", text))):
        raise UnreadableError(f"{name}: a comment is no marker right above a block")
    return found


def reason_of(marker: re.Match[str], block: Block) -> str:
    if marker[1] == "not run" and not marker[2]:
        raise UnreadableError("say why it is not run: <!-- not run: needs a GPU -->")
    if marker[1] == "an example" and block.language not in ("text", "js", "yaml"):
        raise UnreadableError(f"a {block.language} block is run, or has its reason: not run: …")
    return marker[2] or marker[1]


def matches(expected: str, actual: str) -> bool:
    """Whether ``actual`` is as expected: ``…`` is anything, white space any white space."""
    parts = [re.escape(" ".join(part.split())) for part in expected.split("…")]
    return re.fullmatch(".*".join(parts), " ".join(actual.split())) is not None
