"""Every case comes out as the published schema says, the same each time, and judges as we do."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from hettest.backend.protocol import Options
from hettest.case.expansion import Item
from hettest.case.loader import load
from hettest.case.model import Case
from hettest.corpus import corpus_root, own_cases, select
from hettest.errors import UsageError
from hettest.export import as_json, writing
from hettest.export.document import Unsaid, document
from hettest.language import numpy_dtype, tree_schema
from hettest.runner.cases import CaseData, arguments
from reference_vm.conformance import Backend
from tests.contract.exported import difference
from tests.unit.hettest.case.written import load_text, text

DEVICES = ("cpu:0", "sim:0")


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def validator(programs: Any) -> jsonschema.Draft202012Validator:
    """Return the validator of cases, with ``programs`` for the schema of trees."""
    resource: Any = DRAFT202012.create_resource(programs)
    registry: Any = Registry().with_resource(as_json.PROGRAM_SCHEMA, resource)
    return jsonschema.Draft202012Validator(read(as_json.SCHEMA), registry=registry)


@cache
def corpus() -> tuple[tuple[Item, ...], list[dict[str, Any]], list[Unsaid]]:
    items = select(own_cases(), DEVICES).items
    data, unsaid = CaseData(), list[Unsaid]()
    made = [document(group, data, unsaid) for group in as_json.by_case(items)]
    return items, made, unsaid


def exported(*cases: Case) -> dict[str, Any]:
    """Return the document of one case file, as it is read back."""
    made = document(select(cases, DEVICES).items, CaseData(), [])
    found: dict[str, Any] = json.loads(writing.to_bytes(made))
    return found


def only(made: dict[str, Any], key: str) -> Any:
    (program,) = made["programs"]
    return program[key]


def array(value: dict[str, Any]) -> Any:
    """Return the tensor that the document writes down."""
    dtype, shape = numpy_dtype(value["dtype"]), value["shape"]
    if "hex" in value:
        return np.frombuffer(bytes.fromhex(value["hex"]), dtype).reshape(shape)
    numbers = [float(v) if isinstance(v, str) else v for v in value["data"]]
    return np.array(numbers).astype(dtype).reshape(shape)


def test_every_item_is_exported_as_the_schema_says() -> None:
    items, made, unsaid = corpus()
    shape = validator(
        {"type": "object"}
    )  # the trees are held to their schema by the tests of exchange

    wrong = [(d["id"], error.message) for d in made for error in shape.iter_errors(d)]

    assert wrong == []
    assert unsaid == []
    found = [i["id"] for d in made for p in d["programs"] for i in p["items"]]
    assert sorted(found) == sorted(item.id for item in items)


def test_trees_stand_where_the_schema_of_programs_wants_them() -> None:
    _, made, _ = corpus()
    whole = validator(read(tree_schema()))

    for each in made[::40]:
        assert list(whole.iter_errors({**each, "programs": each["programs"][:1]})) == []
    broken = json.loads(json.dumps(made[0]))
    broken["programs"][0]["tree"]["functions"][0]["body"] = 3
    assert list(whole.iter_errors(broken))


def test_arguments_come_back_to_the_bit() -> None:
    items, made, _ = corpus()
    runs = {
        (d["id"], *p["swept"], r["name"]): r for d in made for p in d["programs"] for r in p["runs"]
    }
    data = CaseData()
    for item in random.Random(3).sample(items, 200):
        module = data.module(item.case)
        if item.run is None or module is None:
            continue
        run = runs[item.case.id, *item.case.swept, item.run.name]
        given = arguments(item.case, item.run, module)
        for said, wanted in zip(run["args"], given, strict=True):
            if not isinstance(wanted, tuple | str):
                assert array(said["value"]).tobytes() == wanted.tobytes()


def test_the_reference_is_within_the_bounds_and_a_changed_result_is_not() -> None:
    items, made, _ = corpus()
    wanted = {
        i["id"]: r
        for d in made
        for p in d["programs"]
        for r in p["runs"]
        for i in p["items"]
        if i["run"] == r["name"] and isinstance(r["result"], dict) and r["after"] is None
    }
    chosen = [item for item in items if item.id in wanted and item.case.level == 2]
    backend, data, caught = Backend(), CaseData(), 0
    for item in random.Random(5).sample(chosen, 60):
        run, module = item.run, data.module(item.case)
        assert run is not None
        assert module is not None
        options = Options(item.policy, item.default, run.entry)
        executable = backend.compile(data.program(item.case), item.binding, options)
        found = executable.run(run.entry, arguments(item.case, run, module)).results
        said = wanted[item.id]["result"]
        assert not isinstance(found, tuple | str)
        assert difference(found, array(said), said["allowed"]) == "", item.id
        if found.size and found.dtype.kind in "iuf":
            other = found + np.ones((), found.dtype)
            caught += bool(difference(other, array(said), said["allowed"]))
    backend.close()
    assert caught > 30


def test_random_tensors_are_written_out(tmp_path: Path) -> None:
    run = """[[run]]
name   = "plain"
args.a = { dtype = "f32", shape = [4], random = { seed = 7, low = -1, high = 1 } }
args.b = { dtype = "f32", shape = [4], fill = 2 }
result = "oracle"
"""
    made = exported(*load_text(tmp_path, text(run=run)))

    (found,) = only(made, "runs")
    a, b, result = (
        array(found["args"][0]["value"]),
        array(found["args"][1]["value"]),
        array(found["result"]),
    )
    assert len(set(a.tolist())) == 4
    assert b.tolist() == [2, 2, 2, 2]
    np.testing.assert_allclose(result, (a + b) - a * b, rtol=1e-6)
    assert found["judge"] == "oracle"
    assert all(0 < bound < 1e-5 for bound in found["result"]["allowed"])


def test_integers_and_moved_data_are_exact(tmp_path: Path) -> None:
    made = exported(*load_text(tmp_path, text().replace("f32", "i32")))

    assert only(made, "runs")[0]["result"]["allowed"] == 0


def test_a_loosened_bound_says_why(tmp_path: Path) -> None:
    tail = '[expect.values]\nulps = 3\nreason = "a table of the vendor"\n'
    made = exported(*load_text(tmp_path, text(tail=tail)))

    (run,) = only(made, "runs")
    assert run["loosened"] == "a table of the vendor"
    assert run["result"]["allowed"][3] == pytest.approx(3 * np.spacing(np.float32(20)))


def test_what_must_be_seen_is_said_of_devices(tmp_path: Path) -> None:
    made = exported(*load_text(tmp_path, text(tail="[expect.moved]\nexact = 3\n")))

    (item,) = only(made, "items")
    assert item["placement"] == {"main/%s": "cpu:0", "main/%t": "sim:0", "main/%d": "cpu:0"}
    assert item["executed"] == [["main/%s"], ["main/%t"], ["main/%d"]]
    assert item["moved"]["number"] == {"exact": 3}
    assert "observe:copies" in item["requires"]


def test_programs_to_be_refused_and_runs_that_fail_have_no_result() -> None:
    root = corpus_root()
    refused = exported(*load(root / "diagnostics" / "unknown_vdevice.toml", root))
    failing = next(r for d in corpus()[1] for p in d["programs"] for r in p["runs"] if r["error"])

    assert only(refused, "refused")
    assert only(refused, "diagnostics")[0]["code"] == "unknown-vdevice"
    assert only(refused, "runs") == []
    assert failing["result"] is None
    assert failing["judge"] is None


def test_elements_that_hang_on_rounding_may_be_anything() -> None:
    (powers,) = [d for d in corpus()[1] if d["id"] == "dtypes/division_and_powers"]
    (program,) = [p for p in powers["programs"] if p["swept"] == ["op=pow", "dtype=f32"]]

    bounds = program["runs"][0]["result"]["allowed"]

    assert (len(bounds), bounds.count("any")) == (256, 2)


def test_the_files_are_the_same_each_time(tmp_path: Path) -> None:
    cases = [c for c in own_cases() if c.id.startswith("ops/add/")]
    for name in ("one", "two"):
        as_json.export(select(cases, DEVICES), DEVICES, tmp_path / name, lambda groups: groups)

    one, two = (
        {p.relative_to(tmp_path / n): p.read_bytes() for p in (tmp_path / n).rglob("*.json")}
        for n in ("one", "two")
    )
    assert one == two
    assert {"index.json", "case.schema.json", "program.schema.json"} <= {str(p) for p in one}
    jsonschema.Draft202012Validator(read(writing.SCHEMA)).validate(
        read(tmp_path / "one" / "index.json")
    )


def test_lists_of_numbers_stand_on_one_line_and_texts_stay() -> None:
    data = {"a": [1, 2.5, "nan"], "text": "[ 1,\n 2 ]", "nested": [[1, 2], [3]], "none": []}

    written = writing.to_bytes(data)

    assert json.loads(written) == data
    assert b'"a": [1, 2.5, "nan"]' in written


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")

    with pytest.raises(UsageError, match=r"found mine\.txt there, expected an empty folder"):
        as_json.export(select(own_cases()[:1], DEVICES), DEVICES, tmp_path, lambda groups: groups)
