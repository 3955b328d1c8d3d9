"""Content with something of everything that the page shows."""

from __future__ import annotations

from hettest.levels.coverage import Cell, Coverage, Part
from hettest.levels.standing import Reach
from hettest.outcome import Clause, Evidence, Measure, Outcome, Record, Seen, Status, Transfer
from hettest.report import ReportContent
from tests.unit.hettest.report.made import content, core, rung

PAIR = ("cpu:0", "sim:0")
SEEN = Seen(
    {"main/%s": ("cpu:0",), "main/%t": ("sim:0",)},
    (Transfer("main/%s", "cpu:0", "sim:0", 16, "read", "main/%t"),),
    {"main/%s": ("main/%a",), "main/%t": ("main/%s",)},
    ("main/%t",),
)


def measured(worst: float, status: str = "holds") -> Clause:
    return Clause(
        "values",
        Status.FAILED if status == "fails" else Status.PROVEN,
        "form holds",
        measures=(Measure("form", "holds"), Measure("local", status, worst)),
    )


def item(number: int, outcome: Outcome = Outcome.PASSED, **more: object) -> Record:
    clauses = (
        measured(0.1 * (number % 9)),
        Clause("placement", Status.PROVEN, "", evidence=Evidence.METERED),
    )
    known: dict[str, object] = {"level": 3, "clauses": clauses, "case": f"placement/c{number // 4}"}
    known |= {"devices": PAIR, "seen": SEEN, "seconds": 0.25, **more}
    case = known["case"]
    name = f"{case}[run{number},host=cpu:0,accel=sim:0,policy=copy]"
    return Record(name, outcome, **known)  # type: ignore[arg-type]


def everything(more: int = 0) -> ReportContent:
    """Return a report with every outcome, and ``more`` items that passed."""
    records = [
        item(0),
        item(1, Outcome.FAILED, reason="values: local fails", text="the whole story\nof a failure"),
        item(2, Outcome.CRASHED, reason="ValueError: no", text="Traceback"),
        item(3, Outcome.NOT_RUN, reason="missing device", clauses=(), seen=None),
        item(4, Outcome.UNSUPPORTED, reason="not claimed: op:det", lacks=("op:det",)),
        item(5, Outcome.WAIVED, waiver="pending: NaN is lost (me, until 2027-03-01)"),
        item(6, clauses=(measured(2.5, "fails"), measured(0.0))),
        *(item(7 + number) for number in range(more)),
    ]
    coverage = Coverage(
        clauses=Part(proven=("ops.add",), gaps=("ops.sub",)),
        operators=Part(proven=("add",)),
        dtypes=Part(proven=("f32",), gaps=("i4",)),
        matrix=(
            Cell("add", "f32", "cpu:0", "passed", 2),
            Cell("add", "f32", "sim:0", "failed", 2),
            Cell("neg", "f32", "cpu:0", "passed", 1),
        ),
    )
    standing = core(
        rung(0, Reach.REACHED), rung(1, Reach.BLOCKED, "a/b[x] failed"), placement="metered"
    )
    return content(
        records,
        standings=(standing,),
        coverage=coverage,
        problems=("waivers.toml:3: expired",),
        claims=("op:add", "device:cpu"),
        suite={"files": "584", "sha256": "f" * 64},
        packages={"hettest": "a" * 64},
        environment={"python": "3.11", "hettest": "0.1.0"},
        models=({"model": "m.onnx", "items": 3},),
        started=1.9e9 + 0.7,
        seconds=95.4996,
        seed=7,
    )
