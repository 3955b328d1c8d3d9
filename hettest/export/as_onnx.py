"""Cases in ONNX's test-data layout: one folder for each item.

A folder holds ``model.onnx`` and ``test_data_set_0`` with ``input_0.pb``, ``output_0.pb`` and so
on. The list of the export says for each item how far off its outputs may be, and what the folder
leaves out; items that ONNX cannot express stand there with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

import numpy as np

from hettest.case.expansion import Item
from hettest.case.model import Run
from hettest.corpus import Selection
from hettest.errors import UsageError
from hettest.export import writing
from hettest.export.answer import Answer, Unanswered, answer_of
from hettest.export.document import bounds
from hettest.files import write_bytes
from hettest.judge.nesting import leaves
from hettest.language import DiagnosticError, Module, to_placed_onnx
from hettest.runner.cases import CaseData, arguments

if TYPE_CHECKING:
    from onnx import ModelProto

    from hettest.backend.protocol import Array

Progress: TypeAlias = Callable[[Sequence[Item]], Iterable[Item]]
_FOREIGN: Final = re.compile(r"[^\w.,=+/-]")


class NotExported(Exception):
    """ONNX, or its test-data layout, cannot express the item; says why."""


@final
@dataclass(frozen=True)
class Placed:
    """The model of one item, and what it cannot say."""

    serialized: bytes
    unsaid: tuple[str, ...]


@final
@dataclass(frozen=True)
class Exported:
    """One item, ready to be written."""

    item: Item
    model: bytes
    inputs: tuple[Array, ...]
    answer: Answer | None
    """``None`` for a program that only compiles."""

    missing: tuple[str, ...]
    """What the item says and its folder does not."""

    @property
    def outputs(self) -> list[Array]:
        return [] if self.answer is None else [e.value for e in self.answer.elements]


@final
@dataclass
class Exporter:
    """Exports items; a model that several share is made once."""

    data: CaseData = field(default_factory=CaseData)
    _made: dict[object, Placed | NotExported] = field(default_factory=dict)
    _answers: dict[object, Answer] = field(default_factory=dict)

    def export(self, item: Item) -> Exported:
        """Return the item in ONNX's form.

        Raises:
            NotExported: There is none.
            CaseError: The case is at fault.
        """
        case, run, module = item.case, item.run, self.data.module(item.case)
        if case.refused or module is None:
            raise NotExported("the layout has no word for programs that must be refused")
        if run is not None and run.error is not None:
            raise NotExported(f"the layout has no word for errors: the run ends in {run.error}")
        model = self._model(item, module)
        if run is None:
            return Exported(item, model.serialized, (), None, (*model.unsaid, *_missing(item)))
        args = arguments(case, run, module)
        answer = self._answer(item, run, module, args)
        missing = (*model.unsaid, *_missing(item, answer))
        return Exported(item, model.serialized, tuple(leaves(args)), answer, missing)

    def _model(self, item: Item, module: Module) -> Placed:
        everywhere = None if module.vdevices else item.default
        entry = "main" if item.run is None else item.run.entry
        key = (item.case.text, entry, tuple(item.binding.items()), item.devices, everywhere)
        if key not in self._made:
            try:
                made = to_placed_onnx(module, entry, item.devices, item.binding, everywhere)
                self._made[key] = Placed(*made)
            except DiagnosticError as error:
                self._made[key] = NotExported(error.diagnostics[0].message)
        found = self._made[key]
        if isinstance(found, NotExported):
            raise found
        return found

    def _answer(self, item: Item, run: Run, module: Module, args: Sequence[Any]) -> Answer:
        key = (item.case.id, item.case.swept, run.name)
        if key not in self._answers:
            try:
                self._answers[key] = answer_of(item.case, run, module, args)
            except Unanswered as error:
                raise NotExported(str(error)) from error
        return self._answers[key]


def _missing(item: Item, answer: Answer | None = None) -> Iterator[str]:
    """Yield what ONNX and its layout have no place for."""
    expect = item.case.expect
    if item.policy != "copy":
        yield f"the copy policy: {item.policy}"
    if item.binding and item.default != item.host:
        yield f"the device of what nothing places: {item.default}"
    if expect.copies is not None or expect.moved is not None:
        yield "the numbers of transfers"
    if item.run is None:
        yield "data, since the program only has to compile"
    elif item.run.after is not None:
        yield f"the run before it: {item.run.after}"
    if expect.values.signed_zeros:
        yield "that zeros differ by their sign"
    if answer is not None and answer.vacuous:
        yield "bounds that tell a wrong result"


def export(
    selection: Selection, devices: tuple[str, ...], folder: Path, progress: Progress
) -> dict[str, Any]:
    """Write the items to ``folder``, and return the list of what was written and what was not.

    Raises:
        UsageError: onnx is not installed; the folder is not empty, or cannot be written.
        CaseError: A case is at fault.
    """
    _require_onnx()
    writing.require_empty(folder)
    exporter, models, refused = Exporter(), [], []
    for item in progress(selection.items):
        try:
            made = exporter.export(item)
        except NotExported as reason:
            refused.append({"item": item.id, "reason": str(reason)})
            continue
        models.append(listed(made))
        for name, data in files(made):
            write_bytes(folder / models[-1]["folder"] / name, data)
    more = {"models": models, "not_exported": refused, "left_out": dict(selection.left_out)}
    index = writing.index("onnx", devices, **more)
    write_bytes(folder / writing.INDEX, writing.to_bytes(index))
    return index


def _require_onnx() -> None:
    try:
        import onnx  # noqa: F401
    except ModuleNotFoundError as error:
        raise UsageError(
            "--format=onnx: the package onnx is not installed: pip install 'hettest[onnx]'"
        ) from error


def listed(made: Exported) -> dict[str, Any]:
    """Return what the list of an export says of one item."""
    item, answer = made.item, made.answer
    return {
        "item": item.id,
        "level": item.case.level,
        "folder": folder_of(item),
        "binding": dict(item.binding),
        "default": item.default,
        "policy": item.policy,
        "judge": None if answer is None else answer.judge,
        "advisory": None if item.run is None else item.run.advisory,
        "allowed": [] if answer is None else [_widest(e.allowed) for e in answer.elements],
        "missing": list(made.missing),
    }


def folder_of(item: Item) -> str:
    """Return the item's folder: its id as a path, ``:`` as ``.`` for file systems without it."""
    path = item.id.removesuffix("]").replace("[", "/", 1).replace(":", ".")
    return f"cases/{_FOREIGN.sub('_', path)}"


def _widest(allowed: Any) -> Any:
    """Return the widest bound, or all of them where elements are undecided."""
    return float(np.max(allowed, initial=0.0)) if np.all(np.isfinite(allowed)) else bounds(allowed)


def files(made: Exported) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each file in the item's folder."""
    from onnx import load_model_from_string, numpy_helper

    yield "model.onnx", made.model
    model: ModelProto = load_model_from_string(made.model)
    if made.answer is None:
        return
    for word, infos, arrays in (
        ("input", model.graph.input, made.inputs),
        ("output", model.graph.output, made.outputs),
    ):
        for number, (info, array) in enumerate(zip(infos, arrays, strict=True)):
            data = numpy_helper.from_array(array, info.name).SerializeToString(deterministic=True)
            yield f"test_data_set_0/{word}_{number}.pb", data
