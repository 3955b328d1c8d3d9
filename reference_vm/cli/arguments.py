"""Arguments for a run from the command line, read from files or made up."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from reference_vm.bytecode.executable import FunctionCode, Parameter
from reference_vm.cli import onnx_data
from reference_vm.cli.unreadable import Unreadable
from reference_vm.diagnostics import ExecutionError, catalog
from reference_vm.types import (
    AdtType,
    FunctionType,
    Poly,
    ShapeType,
    TensorType,
    TupleType,
    Type,
)
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dim import evaluate

_DAMAGED: Final = (
    *(OSError, ValueError, EOFError, KeyError, RuntimeError, MemoryError),
    *(zipfile.BadZipFile, zlib.error),
)
"""What NumPy and zipfile raise on files that are not as they should be."""

_SIZE: Final = 4
"""What a symbol, and a dim that nothing is known of, is made up to be."""


def read(files: Sequence[Path], code: FunctionCode) -> list[Any]:
    """Return the arguments in files: one ``.npz``, one folder, or a ``.npy`` for each parameter.

    An ``.npz`` has them by parameter; an item of a tuple is ``t.0``. A folder is ONNX test data,
    ``input_0.pb`` and so on.

    Raises:
        ExecutionError: The files lack an argument, or hold another.
        Unreadable: A file cannot be read.
    """
    first = files[0]
    if len(files) == 1 and first.is_dir():
        return onnx_data.inputs(first)
    if all(file.suffix == ".npy" for file in files):
        return [_array(file) for file in files]
    if len(files) > 1:
        raise Unreadable(f"found {len(files)} files, expected one .npz, or .npy for each parameter")
    arrays = _stored(first)
    expected = [name for p in code.params for name in _names(p.name, p.type)]
    if sorted(arrays) != sorted(expected):
        raise ExecutionError(catalog.argument_names(code.name, tuple(arrays), expected))
    return [_gathered(p.name, p.type, arrays) for p in code.params]


def _array(file: Path) -> Any:
    try:
        found = np.load(file, allow_pickle=False)
    except FileNotFoundError as error:
        raise Unreadable(f"{file}: there is no such file") from error
    except _DAMAGED as error:
        raise Unreadable(f"{file}: the file is no array, or holds objects") from error
    if not isinstance(found, np.ndarray):
        raise Unreadable(f"{file}: found an archive, expected one array")
    return found


def _stored(file: Path) -> dict[str, Any]:
    """Return the arrays in an ``.npz`` file."""
    if not file.exists():
        raise Unreadable(f"{file}: there is no such file")
    if not file.is_file() or not zipfile.is_zipfile(file):
        form = "as numpy.savez writes it with arrays by parameter"
        raise Unreadable(f"{file}: found no .npz file, {form}")
    try:
        with np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except _DAMAGED as error:
        raise Unreadable(f"{file}: the file is damaged, or holds objects") from error
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise Unreadable(f"{file}: {name} is not an array")
    return arrays


def _names(name: str, type_: Type) -> list[str]:
    if not isinstance(type_, TupleType):
        return [name]
    return [n for i, item in enumerate(type_.items) for n in _names(f"{name}.{i}", item)]


def _gathered(name: str, type_: Type, arrays: Mapping[str, Any]) -> Any:
    if not isinstance(type_, TupleType):
        return arrays[name]
    return tuple(_gathered(f"{name}.{i}", t, arrays) for i, t in enumerate(type_.items))


def made_up(code: FunctionCode, sizes: Mapping[str, int], seed: int) -> list[Any]:
    """Return arguments that fit: floats drawn from 0 to 1, integers 0, bools false.

    ``sizes`` says what symbols are; the others are 4, or the bound that is nearest to it.

    Raises:
        ExecutionError: A parameter has an unknown rank, is of a data type or a function, or has of
            these sizes a shape that no array or memory has, so that nothing can be made up.
    """
    generator = np.random.default_rng(seed)
    values = {s: _size(code, s) for s in code.symbols} | dict(sizes)
    made = []
    for parameter in code.params:
        try:
            made.append(_made(parameter, parameter.type, values, generator))
        except (MemoryError, ValueError, ZeroDivisionError) as error:
            shown = ", ".join(f"{s}={n}" for s, n in values.items())
            why = f"{parameter.type} with {shown}" if shown else str(parameter.type)
            raise _cannot_make(parameter, why, _OTHER_SIZES) from error
    return made


_OTHER_SIZES: Final = "choose sizes that fit with --size, or hand it over with --args"
_NO_RANK: Final = "its rank is not known, so --size says nothing of it: hand it over with --args"
_NO_FILE: Final = "files hold tensors only: hand it over in Python, Session(load(file)).run(…)"
_NO_VALUE: Final = "only the program itself can make a function: choose another with --entry"


def _cannot_make(parameter: Parameter, found: str, hint: str) -> ExecutionError:
    diagnostic = catalog.cannot_make_up(parameter.name, found, parameter.span, hint)
    return ExecutionError(diagnostic)


def _size(code: FunctionCode, symbol: str) -> int:
    bound = code.bounds.get(symbol)
    if bound is None:
        return _SIZE
    return max(bound.lower, _SIZE if bound.upper is None else min(_SIZE, bound.upper))


def _made(
    parameter: Parameter, type_: Type, sizes: Mapping[str, int], generator: np.random.Generator
) -> Any:
    if isinstance(type_, TupleType):
        return tuple(_made(parameter, t, sizes, generator) for t in type_.items)
    if isinstance(type_, AdtType):
        raise _cannot_make(parameter, f"of the data type {type_}", _NO_FILE)
    if isinstance(type_, FunctionType):
        raise _cannot_make(parameter, f"a function, {type_}", _NO_VALUE)
    dims = type_.shape if isinstance(type_, TensorType) else type_.dims
    if dims is None:
        raise _cannot_make(parameter, str(type_), _NO_RANK)
    shape = tuple(evaluate(d, sizes) if isinstance(d, int | Poly) else _SIZE for d in dims)
    if any(d < 0 for d in shape):
        raise ValueError(f"{list(shape)} has a negative dim")
    if isinstance(type_, ShapeType):
        return shape
    if not type_.dtype.is_float:
        return np.zeros(shape, to_numpy(type_.dtype))
    return generator.random(shape).astype(to_numpy(type_.dtype))
