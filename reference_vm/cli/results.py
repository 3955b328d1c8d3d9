"""What a run gave: as lines of text, as JSON, and in files of NumPy's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import typer

from reference_vm.cli import outputs
from reference_vm.runtime.nesting import Inner, Leaf, rebuilt
from reference_vm.types import ShapeType, TensorType, TupleType, Type

_ENDINGS: Final = (".npz", ".npy")

_MOST: Final = 1000
"""How many values are printed."""


def check(out: Path, type_: Type) -> None:
    """Raise `typer.BadParameter` unless results of this type can be written to ``out``."""
    if out.suffix not in _ENDINGS:
        _refuse(out, "expected a name that ends in .npz or .npy")
    other = _other(type_)
    if other is not None:
        found = f"the result is {type_}" if other == type_ else f"a result is {other}"
        how = "leave it out to see it printed, or take it in Python: Session(load(file)).run(…)"
        _refuse(out, f"{found}, but such files hold tensors only; {how}")
    if out.suffix == ".npy" and isinstance(type_, TupleType):
        _refuse(out, f"found {len(type_.items)} results, expected one; write them as .npz")


def _other(type_: Type) -> Type | None:
    """Return the first type in ``type_`` that no array is of."""
    if isinstance(type_, TupleType):
        return next((o for t in type_.items if (o := _other(t)) is not None), None)
    return None if isinstance(type_, TensorType | ShapeType) else type_


def _refuse(out: Path, reason: str) -> None:
    raise typer.BadParameter(f"{out}: {reason}", param_hint="--out")


def write(out: Path, results: Any) -> None:
    """Write results: a tuple's items as ``result.0`` and so on to ``.npz``, one tensor as ``.npy``.

    Raises:
        typer.BadParameter: The file cannot be written.
    """

    def content(file: BinaryIO) -> None:
        if out.suffix == ".npy":
            np.save(file, results, allow_pickle=False)
        else:
            np.savez(file, **dict(_leaves("result", results)))

    outputs.write(out, "--out", content)


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _leaves(f"{name}.{index}", item)
    else:
        yield name, value


def shown(results: Any) -> Iterator[str]:
    """Yield lines with every value: where it is, what it is, and the elements.

    A value of a data type is the name of its constructor, and its fields at 1 and further on, as a
    run in Python gives it: ``result: Cons``, ``result[1]: float32[4]``.
    """
    stack: list[tuple[str, Any]] = [("result", results)]
    for _ in range(_MOST):
        if not stack:
            return
        name, value = stack.pop()
        if not isinstance(value, tuple):
            yield f"{name}: {value.dtype}{list(value.shape)}"
            yield np.array2string(value, threshold=64, edgeitems=3)
            continue
        named = bool(value) and isinstance(value[0], str)
        if named or not value:
            yield f"{name}: {value[0] if named else '()'}"
        items = [(f"{name}[{i}]", item) for i, item in enumerate(value)]
        stack.extend(reversed(items[named:]))
    if stack:
        yield f"… and more, of which only the first {_MOST} values are shown"


def as_json(results: Any) -> Any:
    """Return a tree for JSON: lists, names of constructors, and tensors as objects."""

    def look(value: Any) -> Leaf | Inner[Any]:
        if isinstance(value, tuple):
            return Inner(value, list)
        return Leaf(value if isinstance(value, str) else _tensor(value))

    return rebuilt(results, look)


def _tensor(value: Any) -> dict[str, Any]:
    data = value.astype(np.float64) if value.dtype.kind not in "biuf" else value
    return {"dtype": str(value.dtype), "shape": list(value.shape), "data": data.ravel().tolist()}


__all__ = ["as_json", "check", "shown", "write"]
