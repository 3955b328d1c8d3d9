"""Runs ONNX's node tests and says how each ends.

``python -m tests.contract.onnx_nodes`` writes the file that the test compares with. An outcome is

* ``passed``: every output has the expected dtype, shape and values, by the suite's own tolerance;
* ``close``: as passed, but for floats that differ by no more than the rounding of their dtype
  relative to the greatest expected magnitude, where the suite asks for more than the dtype has
  (a thousandth of a bf16) or where the expected data hold rounding noise beside a large peak;
* ``refused``: with the code of the diagnostic;
* ``wrong``: anything else.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import numpy.typing as npt
from onnx import TensorProto, numpy_helper

from reference_vm.diagnostics import DiagnosticError
from reference_vm.interop.onnx_backend import OnnxBackend

EXPECTED = Path(__file__).parent / "onnx_node_tests.tsv"


class Result(NamedTuple):
    """How one node test ended."""

    name: str
    outcome: str
    detail: str
    """The code of a refusal; what is wrong; empty otherwise."""


def results() -> Iterator[Result]:
    """Yield the result of every node test of the installed onnx package, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # making the tests divides by zero and more
        from onnx.backend.test.loader import load_model_tests

        cases = load_model_tests(kind="node")
    for case in sorted(cases, key=lambda c: str(c.name)):
        yield result(case)


def result(case: Any) -> Result:
    outcomes = [_outcome(case, inputs, outputs) for inputs, outputs in case.data_sets]
    worst = max(outcomes, key=lambda o: ("passed", "close", "refused", "wrong").index(o[0]))
    return Result(case.name, *worst)


def _outcome(case: Any, inputs: Any, outputs: Any) -> tuple[str, str]:
    try:
        found = OnnxBackend.run_model(case.model, [_array(i) for i in inputs])
    except DiagnosticError as error:
        return "refused", error.diagnostics[0].code
    expected = [_array(o) for o in outputs]
    if len(found) != len(expected):
        return "wrong", f"{len(found)} outputs, expected {len(expected)}"
    pairs = [_compared(f, e, case) for f, e in zip(found, expected, strict=True)]
    return max(pairs, key=lambda o: ("passed", "close", "wrong").index(o[0]))


def _array(value: Any) -> Any:
    """Return a tensor as an array; sequences and optionals stay what they are."""
    if isinstance(value, TensorProto):
        return numpy_helper.to_array(value)
    return value if value is None or isinstance(value, list) else np.asarray(value)


def _compared(found: Any, expected: Any, case: Any) -> tuple[str, str]:
    if not isinstance(expected, np.ndarray):
        return "wrong", "the expected output is no tensor"
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return "wrong", f"{found.dtype}{found.shape}, expected {expected.dtype}{expected.shape}"
    if not _is_float(found):
        return ("passed", "") if np.array_equal(found, expected) else ("wrong", "values differ")
    wide, wanted = found.astype(np.float64), expected.astype(np.float64)
    if np.allclose(wide, wanted, rtol=case.rtol, atol=case.atol, equal_nan=True):
        return "passed", ""
    return ("close", "") if _is_close(wide, wanted, found.dtype) else ("wrong", "values differ")


def _is_float(array: npt.NDArray[Any]) -> bool:
    return array.dtype.kind == "f" or array.dtype == ml_dtypes.bfloat16


def _is_close(found: npt.NDArray[Any], wanted: npt.NDArray[Any], dtype: np.dtype[Any]) -> bool:
    finite = np.isfinite(wanted)
    if not np.array_equal(found[~finite], wanted[~finite], equal_nan=True):
        return False
    scale = float(np.abs(wanted[finite]).max(initial=0))
    limit = 4 * float(ml_dtypes.finfo(dtype).eps) * scale
    return bool((np.abs(found[finite] - wanted[finite]) <= limit).all())


def listed(path: Path) -> list[Result]:
    """Return the ends that a file lists."""
    with path.open(encoding="utf-8", newline="") as file:
        return [Result(*row) for row in csv.reader(file, delimiter="\t")]


def lines(found: Iterable[Result]) -> Iterator[str]:
    """Yield the lines of a file that lists results."""
    for name, outcome, detail in found:
        yield f"{name}\t{outcome}\t{detail}\n"


if __name__ == "__main__":
    EXPECTED.write_text("".join(lines(results())), encoding="utf-8")
