"""Writes the reference page of the clauses: ``python -m tests.contract.clauses_page``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hettest.case.clauses import Clause, published, titles

PAGE: Final = Path(__file__).parents[2] / "docs" / "reference" / "clauses.md"

INTRODUCTION: Final = """\
# Clauses

Written by `python -m tests.contract.clauses_page` from `hettest/case/clauses.toml` and the
definitions of the operators; a test holds the two equal.

A clause is one thing that must hold. Each case names the clauses that it proves, and a report says
which were proven. What a clause means in full stands on the page that defines it. `hettest case
check` refuses a clause that is not listed here in the kit's own cases; a folder of cases of one's
own may list more in a `clauses.toml` beside its areas, and may name any as long as it has none:

```toml
[streams]
title = "Streams of ours"
order = { says = "Results come in the order of submission.", defined = "streams.md#order" }
```
"""

GAPS: Final = """\
## Without a case

What must hold as well, and no case proves yet:

| clause | what must hold | why no case |
|---|---|---|
"""


def page() -> str:
    """Return the page's text."""
    proven = [clause for clause in published().values() if clause.gap is None]
    gaps = [clause for clause in published().values() if clause.gap is not None]
    parts = [INTRODUCTION, *_areas(proven)]
    rows = (f"| `{c.id}` | {c.says} {_link(c)} | {c.gap} |" for c in gaps)
    return "\n".join(parts) + "\n" + GAPS + "\n".join(rows) + "\n"


def _areas(clauses: list[Clause]) -> Iterator[str]:
    for area, title in titles().items():
        found = [clause for clause in clauses if clause.id.partition(".")[0] == area]
        if found:
            yield f"## {title}\n\n| clause | what must hold | defined in |\n|---|---|---|"
            yield "".join(f"| `{c.id}` | {c.says} | {_link(c)} |\n" for c in found)


def _link(clause: Clause) -> str:
    page_, _, heading = clause.defined.partition("#")
    return f"[{page_.removesuffix('.md')}: {heading.replace('-', ' ')}]({clause.defined})"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
