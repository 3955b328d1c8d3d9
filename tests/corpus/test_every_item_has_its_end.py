"""A report says of each item how it ended and why; what is not supported is counted and named.

The backend of these tests claims less than the corpus asks for. No item vanishes for it: each is in
the report once, and an unsupported one says which word is missing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hettest.backend.protocol import DeviceInfo, Executable, Options, Program
from hettest.cli.main import application
from hettest.corpus import cases, corpus_root, select
from hettest.outcome import Outcome
from reference_vm.conformance import Backend as Reference

NARROW = f"{__name__}:Narrow"
MISSING = ("-op:matmul", "-op:add:f32", "-dtype:f16", "-policy:replicate", "-construct:if")
DEVICES = ("cpu:0", "sim:0")
AREAS = ("bugs/c0*", "bugs/c25*")


@dataclass
class Narrow:
    """The reference, which says that it lacks a few things."""

    reference: Reference = field(default_factory=Reference)
    name: str = "narrow"

    @property
    def capabilities(self) -> frozenset[str]:
        return self.reference.capabilities | set(MISSING)

    def devices(self) -> Sequence[DeviceInfo]:
        return self.reference.devices()

    def compile(
        self, program: Program, device_map: Mapping[str, str], options: Options
    ) -> Executable:
        return self.reference.compile(program, device_map, options)

    def close(self) -> None:
        self.reference.close()


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, str, dict[str, Any]]:
    """Return the exit code, the text and the report of a run of some areas."""
    report: Path = tmp_path_factory.mktemp("report") / "report.json"
    arguments = ["run", *AREAS, f"--backend={NARROW}", f"--devices={','.join(DEVICES)}"]
    ended = CliRunner().invoke(application(), [*arguments, f"--report={report}"])
    return ended.exit_code, ended.output, json.loads(report.read_text(encoding="utf-8"))


def test_every_selected_item_is_in_the_report_once(
    printed: tuple[int, str, dict[str, Any]],
) -> None:
    wanted = [i.id for i in select(cases(corpus_root()), DEVICES, patterns=AREAS).items]
    found = Counter(record["id"] for record in printed[2]["items"])

    assert found == Counter(wanted)
    assert {record["outcome"] for record in printed[2]["items"]} <= {o.value for o in Outcome}


def test_what_is_not_supported_names_the_missing_word(
    printed: tuple[int, str, dict[str, Any]],
) -> None:
    unsupported = [r for r in printed[2]["items"] if r["outcome"] == "unsupported"]
    lacks = {word for record in unsupported for word in record["lacks"]}

    assert all(r["lacks"] and r["reason"].startswith("not claimed: ") for r in unsupported)
    assert {"policy:replicate", "construct:if", "op:add:f32"} <= lacks
    assert not any(record["clauses"] for record in unsupported)


def test_unsupported_is_neither_passed_nor_silent(
    printed: tuple[int, str, dict[str, Any]],
) -> None:
    code, text, report = printed
    counts = Counter(record["outcome"] for record in report["items"])

    assert code == 0
    assert counts["passed"] > 0
    assert counts["unsupported"] > 0
    assert f"{len(report['items'])} items: {counts['passed']} passed" in text
    assert f"{counts['unsupported']} unsupported" in text
