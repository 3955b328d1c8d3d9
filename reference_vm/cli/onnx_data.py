"""Inputs in ONNX's own layout: a folder of ``input_0.pb``, ``input_1.pb`` and so on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reference_vm.cli.unreadable import Unreadable


def inputs(folder: Path) -> list[Any]:
    """Return the arrays in a folder of test data, in the order of their numbers.

    Raises:
        Unreadable: A number is missing, a file holds no tensor, or onnx is not installed.
    """
    try:
        import onnx
        from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
        from onnx import numpy_helper
    except ModuleNotFoundError as error:
        raise Unreadable(f"{folder}: ONNX needs onnx; pip install 'hettest[onnx]'") from error
    files = sorted(folder.glob("input_*.pb"), key=lambda f: (len(f.name), f.name))
    expected = [f"input_{i}.pb" for i in range(len(files))]
    if not files or [f.name for f in files] != expected:
        found = ", ".join(f.name for f in files) or "none"
        raise Unreadable(f"{folder}: found {found}, expected input_0.pb and so on")
    arrays: list[Any] = []
    for file in files:
        try:
            arrays.append(numpy_helper.to_array(onnx.load_tensor(str(file))))
        except (DecodeError, OSError, TypeError, ValueError) as error:
            raise Unreadable(f"{file}: the file holds no tensor") from error
    return arrays
