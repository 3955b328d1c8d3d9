"""Each word of the case format is held to: a backend that breaks it alone fails by its clause.

The words are those of the schema, so that one without a backend that breaks it is found. Words that
ask nothing of a backend are shown to stand in what reports say.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from hettest.backend.protocol import Rejected
from hettest.case.expansion import Item, expand
from hettest.case.model import Case
from hettest.case.schema import SCHEMA
from hettest.errors import CaseError
from hettest.levels.coverage import Published, coverage
from hettest.outcome import Outcome, Record, Status
from hettest.runner.run import Environment, run_item
from tests.contract.case_words import LOOSE, MOVED, ONE, UNBOUND, WORDS, WRONG, Word
from tests.mutants.mutant import PAIR, Mutant, only_reporting
from tests.unit.hettest.case.written import load_text, text

TOLD: Final = {
    *("format", "summary", "level", "clauses", "origin", "fault", "run.name"),
    *("expect.values.reason", "tensor.random.seed", "tensor.random.low", "tensor.random.high"),
}
"""Words that ask nothing of a backend by themselves; each has a test below."""

TABLES: Final = {"expect", "expect.copies", "expect.moved", "expect.values", "run.args"}
"""Tables, whose keys are words."""


def words(schema: Mapping[str, Any], part: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """Yield each word that a part of the schema has, with those above it."""
    if "$ref" in part:
        part = schema["$defs"][part["$ref"].rpartition("/")[2]]
    for name, inner in part.get("properties", {}).items():
        yield f"{above}{name}"
        target = inner.get("items", inner)
        if target.get("$ref", "").rpartition("/")[2] not in ("value", "limit", "policy", "count"):
            yield from words(schema, target, f"{above}{name}.")


def every_word() -> set[str]:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    tensor = words(schema, schema["$defs"]["tensor"], "tensor.")
    return {*words(schema, schema), *tensor}


def _item(folder: Path, word: Word) -> Item:
    np.save(_made(folder / "area") / "input.npy", np.array([1, 2, 3, 4], np.float32))
    cases: tuple[Case, ...] = load_text(folder, word.case)
    items = [item for case in cases for item in expand(case, PAIR)]
    return next(item for item in items if word.item in item.id)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _ended(item: Item, **changes: Any) -> Record:
    backend = Mutant(name="broken", breaks="one word", kills=(), **changes).backend()
    return run_item(item, Environment(backend, backend.name, PAIR, {}))


def test_every_word_of_the_schema_is_here() -> None:
    tables = {word.rpartition(".")[0] for word in every_word()} & every_word()

    assert every_word() - set(WORDS) - TOLD - tables - TABLES == set()
    assert (set(WORDS) | TOLD) - every_word() == set()


CASES: Final = [(name, word) for name, found in WORDS.items() for word in found]
IDS: Final = [f"{name}-{number}" for name, ws in WORDS.items() for number in range(len(ws))]


@pytest.mark.parametrize(("name", "word"), CASES, ids=IDS)
def test_whoever_breaks_the_word_fails_by_its_clause(tmp_path: Path, name: str, word: Word) -> None:
    item = _item(tmp_path, word)
    honest = _ended(item)
    assert honest.outcome is word.honest, honest.text

    broken = _ended(item, **word.broken)

    if word.by == "unsupported":
        assert broken.outcome is Outcome.UNSUPPORTED
        return
    assert broken.outcome is Outcome.FAILED, broken.text or broken.reason
    assert word.by in {c.name for c in broken.clauses if c.status is Status.FAILED}, broken.text


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        ("seed = 7, low = -1, high = 1", "seed = 8, low = -1, high = 1"),
        ("seed = 7, low = -1, high = 1", "seed = 7, low = -2, high = 1"),
        ("seed = 7, low = -1, high = 1", "seed = 7, low = -1, high = 2"),
    ],
)
def test_each_number_of_random_elements_decides_them(
    tmp_path: Path, changed: str, wrong: str
) -> None:
    random = f'args.x = {{ dtype = "f32", shape = [4], random = {{ {changed} }} }}\n'
    same = f'result = {{ dtype = "f32", shape = [4], random = {{ {changed} }} }}\n'
    program = MOVED.replace("abs(%x)", "reshape(%x, %z)").replace(
        "    %r", "    %z = shape [4]\n    %r"
    )
    one = text(program, f'[[run]]\nname = "plain"\n{random}{same}')

    assert _ended(_item(tmp_path, Word(one, {}, ""))).outcome is Outcome.PASSED
    other = one.replace(same, same.replace(changed, wrong))
    assert _ended(_item(tmp_path, Word(other, {}, ""))).outcome is Outcome.FAILED


def test_advice_binds_only_who_claims_our_pins(tmp_path: Path) -> None:
    (word,) = WORDS["run.advisory"]
    free = {**word.broken, "claims": lambda claims: only_reporting(claims) - {"semantics:pinned"}}

    record = _ended(_item(tmp_path, word), **free)

    assert record.outcome is Outcome.PASSED
    assert Status.ADVISORY in {clause.status for clause in record.clauses}


def test_what_asks_nothing_is_told(tmp_path: Path) -> None:
    head = 'origin = "owner/repository#7"\nfault = "C07"\n'
    item = _item(tmp_path, Word(text(head=head, tail=""), {}, ""))
    record = _ended(item)
    failed = _ended(item, **WRONG)

    assert (item.case.origin, item.case.fault) == ("owner/repository#7", "C07")
    assert (record.level, record.proves) == (3, ("placement.operands",))
    assert record.id.startswith("area/name[plain,")
    assert failed.text.startswith(f"{record.id}: two operators placed apart")
    covered = coverage([record], Published(faults=("C07",), fault_of={"area/name": "C07"}))
    assert covered.faults.proven == ("C07",)
    loose = _ended(_item(tmp_path, Word(text(MOVED, ONE, tail=LOOSE), {}, "")))
    assert "since the last digits are open" in loose.clauses[0].detail


def test_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match=r"format: found 2, expected 1"):
        load_text(tmp_path, text().replace("format  = 1", "format  = 2"))


def test_refusals_are_compared_by_line_and_code(tmp_path: Path) -> None:
    word = Word(text(UNBOUND, "", 'unbound = ["accel"]'), {}, "")
    item = _item(tmp_path, word)

    for change in ({"code": "overflow"}, {"line": 1}):

        def other(found: Rejected, change: Mapping[str, Any] = change) -> Rejected:
            known = {"stage": found.stage, "code": found.code, "line": found.line}
            return Rejected(**{**known, **change})

        broken = _ended(item, refusal=other)
        assert [c.name for c in broken.clauses if c.status is Status.FAILED] == ["diagnostics"]


@pytest.mark.parametrize("devices", [("cpu:0",), PAIR])
@pytest.mark.parametrize("bind", ["host-first", "every", "one-device"])
def test_roles_are_bound_as_the_case_says(
    tmp_path: Path, bind: str, devices: tuple[str, ...]
) -> None:
    (case,) = load_text(tmp_path, text(head=f'bind = "{bind}"'))
    host, accel = devices[0], devices[-1]
    expected = {
        "host-first": [(host, accel)],
        "every": [(host, accel), (accel, host)] if len(devices) > 1 else [(host, host)],
        "one-device": [(device, device) for device in devices],
    }

    found = [tuple(item.binding.values()) for item in expand(case, devices)]

    assert found == expected[bind]
