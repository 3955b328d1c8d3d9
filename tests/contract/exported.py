"""Runs what ``hettest export --format=onnx`` writes through onnxruntime, from the files alone.

``python -m tests.contract.exported [DEVICES]`` exports the whole corpus to a temporary folder, runs
each item and prints how many ended how. An item is

* ``passed``: each output has the dtype and shape of its file, and is within the list's bound;
* ``unsupported``: the adapter of onnxruntime declares that it lacks a word which the item needs, or
  the engine says when it loads the model that it has no kernel for it;
* ``advisory``: other values, where only we have pinned these;
* ``waived``: a fault that is known, of ``benchmarks/conformance_table/onnxruntime.toml``;
* ``failed``: anything else.

Exit code: 1 if an item failed.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.conformance_table.findings import read
from hettest.adapters.child import Child, EngineDied, engine_errors
from hettest.adapters.onnxruntime import Backend
from hettest.backend.protocol import Rejected
from hettest.capability import missing
from hettest.case.expansion import Item
from hettest.corpus import Selection, own_cases, select
from hettest.devicemap import parse_devices
from hettest.export.as_onnx import export
from hettest.outcome import Outcome, Record
from hettest.runner.cases import CaseData

Array = npt.NDArray[Any]

FINDINGS = Path(__file__).parents[2] / "benchmarks" / "conformance_table"
_NOT_OF_FILES = ("device:", "observe:", "policy:")
"""Words of what a folder does not say, or an engine without devices does not need."""


class Ended(NamedTuple):
    """How one item ended."""

    item: str
    outcome: str
    detail: str = ""


class Models:
    """Lives in the engine's process, which a model may end."""

    def run(self, folder: str, allowed: list[Any]) -> str:
        """Return what differs from the folder's outputs; empty if nothing does."""
        import onnxruntime

        onnxruntime.set_default_logger_severity(4)
        with engine_errors("compile"):
            session = onnxruntime.InferenceSession(
                f"{folder}/model.onnx", providers=["CPUExecutionProvider"]
            )
        if not allowed:
            return ""
        data = Path(folder) / "test_data_set_0"
        names = [i.name for i in session.get_inputs()]
        feed = {name: _read(data / f"input_{i}.pb") for i, name in enumerate(names)}
        with engine_errors("run"):
            found = session.run(None, feed)
        wanted = [_read(data / f"output_{i}.pb") for i in range(len(allowed))]
        return next(filter(None, map(difference, found, wanted, allowed)), "")


def _read(path: Path) -> Array:
    from onnx import TensorProto, numpy_helper

    return numpy_helper.to_array(TensorProto.FromString(path.read_bytes()))


def difference(found: Array, wanted: Array, allowed: Any) -> str:
    """Return how an output differs by more than is allowed; empty if it does not."""
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        return f"{found.dtype}{found.shape}, expected {wanted.dtype}{wanted.shape}"
    if found.dtype.kind in "biu":
        apart = np.where(found == wanted, 0.0, np.inf)
    else:
        with np.errstate(all="ignore"):
            a, b = found.astype(np.longdouble), wanted.astype(np.longdouble)
            apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.abs(a - b))
            apart = np.where(np.isnan(apart), np.inf, apart)
    each = allowed if isinstance(allowed, list) else [allowed] * wanted.size
    bounds = np.array([np.inf if b == "any" else b for b in each]).reshape(wanted.shape)
    wrong = np.argwhere((apart > bounds) & ~np.isinf(bounds))
    if not wrong.size:
        return ""
    place = tuple(wrong[0].tolist())
    return f"element {list(place)} is {found[place]}, expected {wanted[place]}"


def ended(
    index: Mapping[str, Any], folder: Path, items: Iterable[Item], child: Child
) -> Iterator[Ended]:
    """Yield how each exported item ends."""
    (known,) = [engine for engine in read(FINDINGS) if engine.key == "onnxruntime"]
    by_id = {item.id: item for item in items}
    for model in index["models"]:
        item = by_id[model["item"]]
        lacking = lacks(item)
        if lacking:
            yield Ended(item.id, "unsupported", ", ".join(lacking))
            continue
        stage, detail = _run(model, folder, child)
        if not stage:
            yield Ended(item.id, "passed")
        elif stage == "no kernel":
            yield Ended(item.id, "unsupported", detail)
        elif stage == "values" and model["advisory"]:
            yield Ended(item.id, "advisory", detail)
        else:
            outcome = Outcome.CRASHED if stage == "crash" else Outcome.FAILED
            record = Record(item.id, outcome, detail, case=item.case.id, stage=stage)
            waived = known.waivers.applied(record, date.min).outcome is Outcome.WAIVED
            yield Ended(item.id, "waived" if waived else "failed", f"{stage}: {detail}")


def lacks(item: Item) -> tuple[str, ...]:
    """Return the words that the adapter does not declare, of those that an export says."""
    words = [w for w in _DATA.requires(item) if not w.startswith(_NOT_OF_FILES)]
    return missing(words, Backend().capabilities)


_DATA = CaseData()


def _run(model: Mapping[str, Any], folder: Path, child: Child) -> tuple[str, str]:
    """Return the stage at which a model ends wrongly, empty for none, and what is wrong."""
    try:
        found = child.ask("run", str(folder / model["folder"]), model["allowed"])
    except Rejected as error:
        if error.code == "NotImplemented":
            return "no kernel", str(error).splitlines()[0]
        return error.stage, str(error).splitlines()[0]
    except EngineDied as error:
        return "crash", str(error)
    return ("values", found) if found else ("", "")


def outcomes(selection: Selection, devices: tuple[str, ...]) -> list[Ended]:
    """Export the items to a temporary folder, run them, and return how each ended."""
    child = Child("tests.contract.exported:Models")
    with tempfile.TemporaryDirectory() as folder:
        index = export(selection, devices, Path(folder) / "models", lambda items: items)
        try:
            return list(ended(index, Path(folder) / "models", selection.items, child))
        finally:
            child.close()


def main(arguments: Sequence[str]) -> int:
    devices = parse_devices(arguments[0] if arguments else "cpu,sim")
    found = outcomes(select(own_cases(), devices), devices)
    for each in found:
        if each.outcome == "failed":
            print(f"{each.item}: {each.detail}")
    counts = Counter(each.outcome for each in found)
    print(f"{len(found)} models: {', '.join(f'{n} {word}' for word, n in counts.most_common())}")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
