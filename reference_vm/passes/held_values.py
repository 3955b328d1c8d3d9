"""Which variable holds which value on which device, while ``insert-copies`` walks a function.

What is not held yet on a device is made there: by a ``device_copy``, or, of a view, by the same
view of what it shows. What is made inside a block is forgotten at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, final

from reference_vm.analysis.function_values import FunctionValues
from reference_vm.analysis.locality import First
from reference_vm.analysis.values import Means, Value
from reference_vm.ir.nodes import Binding, Call, MakeTuple, Project, Var
from reference_vm.types import Attrs, TensorType, TupleType, Type, VirtualDevice

Key: TypeAlias = tuple[int, VirtualDevice]
"""A face and a device."""


@final
@dataclass(frozen=True, slots=True)
class _Part:
    """A face that so far only an item of a tuple holds."""

    whole: Var
    path: tuple[int, ...]


class HeldValues:
    """What is held where; new bindings go to the end of ``out``."""

    def __init__(self, graph: FunctionValues, relabelled: frozenset[int]) -> None:
        self.graph = graph
        self.relabelled = relabelled
        """The values whose copies are transfers of arguments."""

        self.out: list[Binding] = []
        self.views: dict[int, Call] = {}
        """The rewritten call that makes each face that is a view."""

        self.copied: list[tuple[Value, VirtualDevice, First]] = []
        """Every copy made for a reader, in program order."""

        self._held: dict[Key, Var | _Part] = {}
        self._undo: list[list[tuple[Key, Var | _Part | None]]] = [[]]

    def open(self) -> None:
        """Enter a block: what is made in it is forgotten by `close`."""
        self._undo.append([])

    def close(self) -> None:
        """Leave a block."""
        for key, before in reversed(self._undo.pop()):
            if before is None:
                del self._held[key]
            else:
                self._held[key] = before

    def hold(self, face: int, device: VirtualDevice, holder: Var) -> None:
        """Remember that ``holder`` is ``face`` on ``device``, unless another is known already."""
        if not isinstance(self._held.get((face, device)), Var):
            self._set((face, device), holder)

    def _set(self, key: Key, holder: Var | _Part) -> None:
        self._undo[-1].append((key, self._held.get(key)))
        self._held[key] = holder

    def hold_leaves(self, faces: Sequence[int], var: Var) -> None:
        """Remember that the leaves of ``var`` are ``faces``, each where it lives."""
        if isinstance(var.type, TensorType):
            self.hold(faces[0], var.vdevice, var)
        elif isinstance(var.type, TupleType):
            for face, path in zip(faces, _paths(var.type), strict=True):
                if (face, self.home(face)) not in self._held:
                    self._set((face, self.home(face)), _Part(var, path))

    def knows(self, face: int) -> bool:
        """Whether ``face`` has been made before this point."""
        return (face, self.home(face)) in self._held

    def home(self, face: int) -> VirtualDevice:
        """Return where the value of ``face`` lives."""
        pin = self.graph.values[self.graph.faces[face].value].pin
        assert pin is not None, "the function is not placed yet"
        return pin

    def root(self, face: int) -> int:
        """Return the face that ``face`` is a view of, through any number of views."""
        while (view := self.graph.faces[face].view) is not None:
            face = view.face
        return face

    def on(self, face: int, device: VirtualDevice, reader: First) -> Var:
        """Return a variable that is ``face`` on ``device``, made here if there is none yet."""
        views = []
        while (face, device) not in self._held:
            view = self.graph.faces[face].view
            if view is None:
                self.hold(face, device, self._copy(face, device, reader))
                break
            views.append(face)
            face = view.face
        var = self._var(face, device)
        for view_face in reversed(views):
            var = self._view(view_face, device, var)
        return var

    def _var(self, face: int, device: VirtualDevice) -> Var:
        holder = self._held[face, device]
        if isinstance(holder, Var):
            return holder
        var = self._item(holder.whole, holder.path)
        self.hold(face, device, var)
        return var

    def projected(self, source: Var, index: int) -> Var:
        """Add a binding for item ``index`` of a tuple, and return its variable."""
        assert isinstance(source.type, TupleType)
        item = Var(f"{source.name}.{index}", source.type.items[index])
        self.out.append(Binding(item, Project(source, index)))
        return item

    def _view(self, face: int, device: VirtualDevice, source: Var) -> Var:
        call = self.views[face]
        var = _placed(self._var(face, self.home(face)), device)
        self.out.append(Binding(var, replace(call, args=(source, *call.args[1:]))))
        self.hold(face, device, var)
        return var

    def _copy(self, face: int, device: VirtualDevice, reader: First) -> Var:
        source = self._var(face, self.home(face))
        value = self.graph.values[self.graph.faces[face].value]
        renamed = value.index in self.relabelled and reader.cause != "explicit"
        attrs = Attrs(
            cause="argument" if renamed else reader.cause,
            reader=None if reader.binding is None else reader.binding.var.source,
            line=_line(reader.binding),
        )
        var = _placed(source, device)
        self.out.append(Binding(var, Call(Means.COPY.value, (source,), attrs), device))
        self.copied.append((value, device, reader))
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


def _paths(type_: Type) -> list[tuple[int, ...]]:
    """Return the way to each tensor inside a tuple, in order."""
    if isinstance(type_, TensorType):
        return [()]
    if not isinstance(type_, TupleType):
        return []
    return [(i, *path) for i, item in enumerate(type_.items) for path in _paths(item)]


def _placed(var: Var, device: VirtualDevice) -> Var:
    """Return a new variable like ``var`` on ``device``, named for both."""
    return Var(f"{var.name}.{device.role}", var.tensor.on(device))


def _line(binding: Binding | None) -> int | None:
    if binding is None:
        return None
    span = binding.value.span or binding.var.span
    return None if span is None else span.line


__all__ = ["HeldValues"]
