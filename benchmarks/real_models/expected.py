"""What the models gave under onnxruntime on the inputs of `inputs`, by summary.

``python -m benchmarks.real_models.expected`` writes ``expected.json`` anew, with the version of
the engine. A summary is compared with a run by `agrees`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import numpy as np
import numpy.typing as npt

from benchmarks.real_models.fetch import Unavailable, fetch
from benchmarks.real_models.inputs import inputs_for
from benchmarks.real_models.lock import ModelFile, models
from benchmarks.real_models.shapes import declared_shapes

Array: TypeAlias = npt.NDArray[Any]

FILE: Final = Path(__file__).parent / "expected.json"


@final
@dataclass(frozen=True, slots=True)
class Summary:
    """An output in a few numbers."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    mean: float
    std: float
    first: tuple[float, ...]
    """The first elements, at most four."""


def summarize(name: str, array: Array) -> Summary:
    """Return the summary of an output."""
    wide = array.astype(np.float64).reshape(-1)
    first = tuple(float(x) for x in wide[:4])
    mean, std = (float(wide.mean()), float(wide.std())) if wide.size else (0.0, 0.0)
    return Summary(name, str(array.dtype), tuple(array.shape), mean, std, first)


def agrees(expected: Summary, array: Array, tolerance: float = 1e-3) -> bool:
    """Whether an output has the expected dtype and shape, and its numbers agree.

    ``tolerance`` is relative to the largest of the summary's numbers, so that elements near zero
    beside large ones do not decide.
    """
    found = summarize(expected.name, array)
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        return False
    wanted = np.array([expected.mean, expected.std, *expected.first])
    numbers = np.array([found.mean, found.std, *found.first])
    scale = max(1e-6, float(np.abs(wanted).max()))
    return bool(np.all(np.abs(wanted - numbers) <= tolerance * scale))


def expectations(path: Path = FILE) -> tuple[str, Mapping[str, tuple[Summary, ...]]]:
    """Return the engine that the summaries come from, and the summaries by model."""
    recorded = json.loads(path.read_text(encoding="utf-8"))
    return recorded["engine"], {
        id_: tuple(_summary(entry) for entry in outputs)
        for id_, outputs in recorded["models"].items()
    }


def _summary(entry: Mapping[str, Any]) -> Summary:
    return Summary(**{**entry, "shape": tuple(entry["shape"]), "first": tuple(entry["first"])})


def onnxruntime_outputs(path: Path, inputs: Mapping[str, Array]) -> Sequence[tuple[str, Array]]:
    """Return what onnxruntime makes of a model, by name of output; two threads."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    options.log_severity_level = 3
    providers = ["CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(str(path), options, providers=providers)
    names = [output.name for output in session.get_outputs()]
    return list(zip(names, session.run(names, dict(inputs)), strict=True))


def record(chosen: Sequence[ModelFile]) -> dict[str, Any]:
    """Return the contents of ``expected.json``; models that cannot be had are left out."""
    import onnxruntime

    found: dict[str, Any] = {}
    for model in chosen:
        try:
            path = fetch(model, chosen)
        except Unavailable as error:
            print(f"{model.id}: not recorded: {error}")
            continue
        outputs = onnxruntime_outputs(path, inputs_for(model, declared_shapes(path)))
        found[model.id] = [asdict(summarize(name, array)) for name, array in outputs]
    return {"engine": f"onnxruntime {onnxruntime.__version__}", "models": found}


if __name__ == "__main__":
    FILE.write_text(json.dumps(record(models()), indent=1) + "\n", encoding="utf-8")
