"""Faces: which variables of a placed function are the same tensor, or a view of it.

A *face* is one way to see a tensor. An alias, a projection and an item of a tuple share the face of
what they name, unless they live elsewhere: those that live on one device are one face there. A
view, such as a reshape, is a face of its own that knows which one it shows. For the body::

    %p = (%a, %b)
    %q = %p[0]
    %v = reshape(%q, %shape)

``%a``, the first item of ``%p`` and ``%q`` are one face; ``%v`` is a view of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reference_vm.analysis.values import COPY, MOVES, Reading
from reference_vm.ir.nodes import (
    Alias,
    Binding,
    Block,
    Call,
    Constant,
    Function,
    MakeTuple,
    Project,
    Var,
    Weight,
    blocks,
)
from reference_vm.ir.rewrite import introduced
from reference_vm.ops.definition import OpDef
from reference_vm.types import TensorType, TupleType, Type, VirtualDevice, leaves


class Faces:
    """The faces of one placed function, numbered in program order."""

    def __init__(self, function: Function, ops: Mapping[str, OpDef]) -> None:
        self.of: dict[Var, tuple[int, ...]] = {}
        """The faces of each variable's leaves; tensors in data types and functions have none."""

        self.holders: list[Var] = []
        """The variable that first has each face."""

        self.paths: list[tuple[int, ...]] = []
        """Where in that variable, a tuple, it is; ``()``: the variable itself."""

        self.shown: list[int] = []
        """The face that each is a view of; itself, if of none."""

        self.roots: list[int] = []
        """The face at the end of the chain of views."""

        self.views: dict[int, Call] = {}
        """The call that makes each face that is a view."""

        self.before: dict[Var, int] = {}
        """How many faces there are before the blocks in each binding, by its variable."""

        self.constants: set[int] = set()
        self._moved: dict[tuple[int, VirtualDevice | None], int] = {}
        """The face of what is seen on another device, in the blocks that are open."""

        self._ops = ops
        self._readings: dict[str, Reading | None] = {}
        self.plain: dict[str, bool] = {}
        """For each operator that occurs, whether it reads all its operands where it runs."""

        for param in function.params:
            self.add(param)
        self._block(function.body)

    def home(self, face: int) -> VirtualDevice:
        """Return where ``face`` lives."""
        var, path = self.holders[face], self.paths[face]
        type_: Type | None = var.type
        for index in path:
            assert isinstance(type_, TupleType)
            type_ = type_.items[index]
        assert isinstance(type_, TensorType)
        assert type_.vdevice is not None, f"%{var.name} is not placed yet"
        return type_.vdevice

    def reading(self, op: str) -> Reading | None:
        """Return how ``op`` reads its operands; ``None`` for what was lowered before."""
        if op not in self._readings:
            found = self._ops.get(op)
            reading = self._readings[op] = None if found is None else Reading.of(found)
            self.plain[op] = reading is not None and reading.is_plain and op != COPY
        return self._readings[op]

    def add(self, var: Var) -> tuple[int, ...]:
        """Give ``var`` faces of its own, and return them."""
        type_ = var.type
        if type(type_) is TensorType:
            self.of[var] = (self._face(var, ()),)
            return self.of[var]
        assert type_ is not None, f"%{var.name} has no type: run infer-types first"
        self.of[var] = tuple(self._face(var, path) for path in leaf_paths(type_))
        return self.of[var]

    def _face(self, var: Var, path: tuple[int, ...]) -> int:
        face = len(self.holders)
        self.holders.append(var)
        self.paths.append(path)
        self.shown.append(face)
        self.roots.append(face)
        return face

    def _block(self, block: Block) -> None:
        outside = len(self._moved)
        for binding in block.bindings():
            value = binding.value
            if type(value) is Call:
                self._call(binding, value)
                continue
            self.before[binding.var] = len(self.holders)
            for var in introduced(value):
                self.add(var)
            for inner in blocks(value):
                self._block(inner)
            self._other(binding)
        for key in list(self._moved)[outside:]:
            del self._moved[key]

    def _call(self, binding: Binding, call: Call) -> None:
        reading = self.reading(call.op)
        if call.op in MOVES and call.op != COPY:
            (source,) = call.args
            assert isinstance(source, Var)
            self._share(binding.var, self.of[source])
            return
        made = self.add(binding.var)
        if not made or reading is None or not reading.shows:
            return
        shown = call.args[0]
        if binding.request is not None and call.op != "match_cast":
            return
        if isinstance(shown, Var) and shown.vdevice == binding.var.vdevice:
            (face,) = made
            self.shown[face] = self.of[shown][0]
            self.roots[face] = self.roots[self.shown[face]]
            self.views[face] = call

    def _other(self, binding: Binding) -> None:
        value = binding.value
        if isinstance(value, Alias):
            self._share(binding.var, self.of[value.var])
        elif isinstance(value, Project):
            self._share(binding.var, self.projected(value))
        elif isinstance(value, MakeTuple):
            self._share(binding.var, [f for item in value.items for f in self.of[item]])
        else:
            made = self.add(binding.var)
            if isinstance(value, Constant | Weight):
                self.constants.update(made)

    def _share(self, var: Var, sources: Sequence[int]) -> None:
        """Give ``var`` the faces of what it names, but for leaves that live elsewhere."""
        assert var.type is not None
        paths = leaf_paths(var.type)
        self.of[var] = tuple(
            source if self.home(source) == leaf.vdevice else self._seen(source, leaf, var, path)
            for leaf, path, source in zip(leaves(var.type), paths, sources, strict=True)
        )

    def _seen(self, source: int, leaf: TensorType, var: Var, path: tuple[int, ...]) -> int:
        """Return the face of ``source`` where ``leaf`` lives: that of ``var`` if there is none."""
        key = (source, leaf.vdevice)
        if key not in self._moved:
            self._moved[key] = self._face(var, path)
        return self._moved[key]

    def projected(self, project: Project) -> tuple[int, ...]:
        """Return the faces of the item that ``project`` takes."""
        type_ = project.tuple.type
        assert isinstance(type_, TupleType)
        start = sum(1 for item in type_.items[: project.index] for _ in leaves(item))
        count = sum(1 for _ in leaves(type_.items[project.index]))
        return self.of[project.tuple][start : start + count]


def leaf_paths(type_: Type) -> list[tuple[int, ...]]:
    """Return the way to each tensor inside a tuple, in order."""
    if isinstance(type_, TensorType):
        return [()]
    if not isinstance(type_, TupleType):
        return []
    return [(i, *path) for i, item in enumerate(type_.items) for path in leaf_paths(item)]


__all__ = ["Faces", "leaf_paths"]
