"""``python -m hettest.levels.freeze``: make the profiles from the corpus, by rule.

Without ``--write`` it says how the published files differ from what the rules give now. A published
profile is never written again: add a version to `RULES` for what the corpus has gained. The tests
hold the digest of each.

* ``core@1``: every case of L0 to L4 that two devices are enough for. The words are those that a
  backend must declare; what it declares beyond them it is held to as well.
* ``dynamic@1``: the same of L5, in the groups data types, functions, control flow and dynamic
  shapes, by what a case's program needs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from hettest.case.expansion import Item, expand, least_devices, roles_of
from hettest.case.model import Case
from hettest.case.requirements import of_program
from hettest.corpus import own_cases
from hettest.files import json_text, write_text
from hettest.files.reading import parse_json, read_text
from hettest.language import DiagnosticError, parse
from hettest.levels.plan import variant
from hettest.levels.profile import EVERY_DEVICE, FOLDER, Profile, Step, from_json, published

PAIR: Final = ("cpu:0", "sim:0")
"""Devices that give every variant its items; which they are does not matter."""

_INPUT: Final = ("input:hir", "input:json", "input:onnx")
_FLOATING: Final = (
    *("abs", "add", "subtract", "multiply", "divide", "negative", "sqrt", "exp", "log", "tanh"),
    *("relu", "maximum", "minimum", "equal", "less", "greater", "sum", "mean", "max", "matmul"),
    *("reshape", "permute_dims", "concat", "cast"),
)
_INTEGER: Final = ("add", "subtract", "multiply", "maximum", "minimum", "equal", "less", "greater")
_BOOLEAN: Final = ("logical_and", "logical_or", "logical_not", "where")
_CORE: Final[Mapping[int, tuple[tuple[str, ...], ...]]] = {
    0: ((EVERY_DEVICE,), _INPUT),
    1: (
        *((f"dtype:{dtype}",) for dtype in ("f32", "i32", "i64", "bool")),
        *((f"op:identity:{dtype}",) for dtype in ("f32", "i32", "i64", "bool")),
    ),
    2: (
        *((f"op:{name}:f32",) for name in _FLOATING),
        *((f"op:{name}:{dtype}",) for name in _INTEGER for dtype in ("i32", "i64")),
        *((f"op:{name}:bool",) for name in _BOOLEAN),
    ),
    3: (("observe:placement",), ("observe:copies",)),
    4: (),
}
_COMMON: Final = (*_CORE[0], *_CORE[1], *_CORE[3])
_DYNAMIC: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "data types": (("construct:adt",), ("construct:match",)),
    "functions": (("construct:function",),),
    "control flow": (("construct:if",),),
    "dynamic shapes": (("shape:symbolic",), ("shape:unknown-dim",)),
}
_GROUP_OF: Final = {
    "construct:adt": "data types",
    "construct:match": "data types",
    "construct:closure": "functions",
    "construct:function": "functions",
    "construct:recursion": "functions",
    "construct:if": "control flow",
}
"""The group of a case that needs the word; of several the first here, of none dynamic shapes."""


def core(corpus: Sequence[Case]) -> Profile:
    """Return ``core@1`` as the rule makes it of ``corpus``."""
    steps = [
        Step(level, None, words, _cases(c for c in corpus if c.level == level))
        for level, words in _CORE.items()
    ]
    return Profile("core@1", "values, explicit placement and planning on two devices", tuple(steps))


def dynamic(corpus: Sequence[Case]) -> Profile:
    """Return ``dynamic@1`` as the rule makes it of ``corpus``."""
    dynamic_cases = [(case, _group(case)) for case in corpus if case.level == 5]
    steps = [
        Step(5, group, _COMMON + words, _cases(c for c, found in dynamic_cases if found == group))
        for group, words in _DYNAMIC.items()
    ]
    summary = "data types, functions, control flow and dynamic shapes, placed on two devices"
    return Profile("dynamic@1", summary, tuple(steps))


RULES: Final[Mapping[str, Callable[[Sequence[Case]], Profile]]] = {
    "core@1": core,
    "dynamic@1": dynamic,
}


def _cases(found: Iterator[Case]) -> dict[str, tuple[str, ...]]:
    """Return the variants of each case, sorted, of those that two devices are enough for."""
    variants: dict[str, set[str]] = {}
    for case in found:
        if least_devices(case, roles_of(case.program)) <= len(PAIR):
            items: tuple[Item, ...] = expand(case, PAIR)
            variants.setdefault(case.id, set()).update(map(variant, items))
    return {case: tuple(sorted(names)) for case, names in sorted(variants.items())}


def _group(case: Case) -> str:
    try:
        words = of_program(parse(case.text, case.id))
    except DiagnosticError:
        words = ()
    return next((g for word, g in _GROUP_OF.items() if word in words), "dynamic shapes")


def _compared(made: Profile) -> str:
    """Return how ``made`` differs from the file of its name."""
    if made.name not in published():
        return f"{len(_variants(made))} variants, not published"
    known = from_json(parse_json(read_text(path := FOLDER / f"{made.name}.json"), path))
    if known.digest == made.digest:
        return f"{len(_variants(made))} variants, as published"
    before, after = _variants(known), _variants(made)
    gained, lost = len(after - before), len(before - after)
    return f"{len(after)} variants; the published one lacks {gained} and has {lost} others"


def _variants(profile: Profile) -> set[tuple[str, str, str]]:
    return {
        (step.name, case, name)
        for step in profile.steps
        for case, names in step.cases.items()
        for name in names
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m hettest.levels.freeze", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the files")
    write = parser.parse_args().write
    for name, rule in RULES.items():
        made = rule(own_cases())
        if write:
            text = json_text(made.to_json())
            write_text(FOLDER / f"{name}.json", text + "\n")
        print(f"{name} {made.digest}: {_compared(made)}")


if __name__ == "__main__":
    main()
