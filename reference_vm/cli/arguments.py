"""Arguments for a run from the command line: read from a file, or made up."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from reference_vm.bytecode.executable import FunctionCode, Parameter
from reference_vm.diagnostics import ExecutionError, catalog
from reference_vm.types import Poly, ShapeType, TensorType, TupleType, Type
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dim import evaluate

_DAMAGED: Final = (
    *(OSError, ValueError, EOFError, KeyError, RuntimeError, MemoryError),
    *(zipfile.BadZipFile, zlib.error),
)
"""What NumPy and zipfile raise on files that are not as they should be."""

_SIZE: Final = 4
"""What a symbol, and a dim that nothing is known of, is made up to be."""


class Unreadable(Exception):
    """Why a file of arguments cannot be read."""


def read(file: Path, code: FunctionCode) -> list[Any]:
    """Return the arguments in an ``.npz`` file, by parameter; an item of a tuple is ``t.0``.

    Raises:
        ExecutionError: The file lacks one, or holds another.
        Unreadable: The file cannot be read.
    """
    arrays = _stored(file)
    expected = [name for p in code.params for name in _names(p.name, p.type)]
    if sorted(arrays) != sorted(expected):
        raise ExecutionError(catalog.argument_names(code.name, tuple(arrays), expected))
    return [_gathered(p.name, p.type, arrays) for p in code.params]


def _stored(file: Path) -> dict[str, Any]:
    """Return the arrays in an ``.npz`` file."""
    if not file.exists():
        raise Unreadable("there is no such file")
    if not file.is_file() or not zipfile.is_zipfile(file):
        raise Unreadable("found no .npz file, as numpy.savez writes it with arrays by parameter")
    try:
        with np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except _DAMAGED as error:
        raise Unreadable("the file is damaged, or holds objects") from error
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise Unreadable(f"{name} is not an array")
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
        ExecutionError: A parameter has an unknown rank, or of these sizes a shape that no array or
            memory has, so that nothing can be made up.
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
            raise ExecutionError(
                catalog.cannot_make_up(parameter.name, why, parameter.span)
            ) from error
    return made


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
    assert isinstance(type_, TensorType | ShapeType), type_
    dims = type_.shape if isinstance(type_, TensorType) else type_.dims
    if dims is None:
        raise ExecutionError(catalog.cannot_make_up(parameter.name, str(type_), parameter.span))
    shape = tuple(evaluate(d, sizes) if isinstance(d, int | Poly) else _SIZE for d in dims)
    if any(d < 0 for d in shape):
        raise ValueError(f"{list(shape)} has a negative dim")
    if isinstance(type_, ShapeType):
        return shape
    if not type_.dtype.is_float:
        return np.zeros(shape, to_numpy(type_.dtype))
    return generator.random(shape).astype(to_numpy(type_.dtype))
