"""Which variable holds which face on which device, while ``insert-copies`` walks a function.

What is not held yet on a device is made there: by a ``device_copy``, or, of a view, by the same
view of what it shows. What is made inside a block is forgotten at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from reference_vm.analysis.faces import Faces
from reference_vm.analysis.values import COPY
from reference_vm.analysis.wants import First
from reference_vm.ir.nodes import Binding, Call, MakeTuple, Project, Var
from reference_vm.types import Attrs, TensorType, TupleType, Type, VirtualDevice

Key: TypeAlias = tuple[int, VirtualDevice]
"""A face and a device."""


class HeldValues:
    """What is held where; new bindings go to the end of ``out``."""

    def __init__(self, faces: Faces, relabelled: frozenset[int]) -> None:
        self.faces = faces
        self.relabelled = relabelled
        """The faces whose copies are transfers of arguments."""

        self.out: list[Binding] = []
        self.views: dict[int, Call] = {}
        """The call that makes a face that is a view, where it had to be rewritten."""

        self.copied: list[tuple[int, VirtualDevice, First]] = []
        """Every copy made for a reader, in program order: of what face, and where to."""

        self._held: dict[Key, Var] = {}
        self._undo: list[list[Key]] = [[]]

    def open(self) -> None:
        """Enter a block: what is made in it is forgotten by `close`."""
        self._undo.append([])

    def close(self) -> None:
        """Leave a block."""
        for key in self._undo.pop():
            del self._held[key]

    def hold(self, face: int, device: VirtualDevice, holder: Var) -> None:
        """Remember that ``holder`` is ``face`` on ``device``, unless another is known already."""
        key = (face, device)
        if key not in self._held:
            self._undo[-1].append(key)
            self._held[key] = holder

    def on(self, face: int, device: VirtualDevice, reader: First) -> Var:
        """Return a variable that is ``face`` on ``device``, made here if there is none yet."""
        views = []
        var = self._known(face, device)
        while var is None:
            shown = self.faces.shown[face]
            if shown == face:
                var = self._copy(face, device, reader)
                self.hold(face, device, var)
                break
            views.append(face)
            face = shown
            var = self._known(face, device)
        for view in reversed(views):
            var = self._view(view, device, var)
        return var

    def _known(self, face: int, device: VirtualDevice) -> Var | None:
        held = self._held.get((face, device))
        if held is not None or self.faces.home(face) != device:
            return held
        var = self._item(self.faces.holders[face], self.faces.paths[face])
        if self.faces.paths[face]:
            self.hold(face, device, var)
        return var

    def projected(self, source: Var, index: int) -> Var:
        """Add a binding for item ``index`` of a tuple, and return its variable."""
        assert isinstance(source.type, TupleType)
        item = Var(f"{source.name}.{index}", source.type.items[index])
        self.out.append(Binding(item, Project(source, index)))
        return item

    def _view(self, face: int, device: VirtualDevice, source: Var) -> Var:
        call = self.views.get(face) or self.faces.views[face]
        var = _placed(self.faces.holders[face], device)
        self.out.append(Binding(var, replace(call, args=(source, *call.args[1:]))))
        self.hold(face, device, var)
        return var

    def _copy(self, face: int, device: VirtualDevice, reader: First) -> Var:
        source = self._known(face, self.faces.home(face))
        assert source is not None
        renamed = face in self.relabelled and reader.cause != "explicit"
        attrs = Attrs(
            cause="argument" if renamed else reader.cause,
            reader=None if reader.binding is None else reader.binding.var.source,
            line=_line(reader.binding),
        )
        var = _placed(source, device)
        self.out.append(Binding(var, Call(COPY, (source,), attrs), device))
        self.copied.append((face, device, reader))
        return var

    def rebuilt(self, var: Var, items: Sequence[Var]) -> Var:
        """Return a variable of the form of ``var``, a tuple, whose tensors are ``items``."""
        rest = iter(items)

        def build(part: Type, label: str, path: tuple[int, ...]) -> Var:
            if isinstance(part, TensorType):
                return next(rest)
            if not isinstance(part, TupleType):
                return self._item(var, path)
            fields = [build(t, f"{label}.{i}", (*path, i)) for i, t in enumerate(part.items)]
            types = tuple(f.type for f in fields if f.type is not None)
            made = Var(label, TupleType(types))
            self.out.append(Binding(made, MakeTuple(tuple(fields))))
            return made

        assert var.type is not None
        return build(var.type, var.name, ())

    def _item(self, whole: Var, path: tuple[int, ...]) -> Var:
        """Return the item of a tuple, or of a tuple in it, at the end of ``path``."""
        for index in path:
            whole = self.projected(whole, index)
        return whole


def _placed(var: Var, device: VirtualDevice) -> Var:
    """Return a new variable like ``var`` on ``device``, named for both."""
    return Var(f"{var.name}.{device.role}", var.tensor.on(device))


def _line(binding: Binding | None) -> int | None:
    if binding is None:
        return None
    span = binding.value.span or binding.var.span
    return None if span is None else span.line


__all__ = ["HeldValues"]
