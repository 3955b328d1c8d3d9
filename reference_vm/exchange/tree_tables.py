"""The tables of ONNX's tree operators, brought into the one form that ``tree_ensemble`` takes.

The older operators list nodes and leaves together, by tree and node number; `TreeEnsemble` lists
inner nodes and leaves apart, and knows nodes that ask for membership in a set. Such a node becomes
a chain of nodes, each asking for one member.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np
import numpy.typing as npt

from reference_vm.exchange.node import OnnxNode
from reference_vm.ir.nodes import Var
from reference_vm.ops.trees import MODES
from reference_vm.types import DType
from reference_vm.types.arrays import to_numpy
from reference_vm.types.dtype import BOOL, I64, U8

_WORDS: Final = dict(zip(("LEQ", "LT", "GTE", "GT", "EQ", "NEQ"), range(len(MODES)), strict=True))
_EQUAL: Final = _WORDS["EQ"]
_MEMBER: Final = 6
"""What `TreeEnsemble` calls membership; its other numbers are ours."""


@final
@dataclass(slots=True)
class TreeTables:
    """Trees as ``tree_ensemble`` takes them, still lists."""

    features: list[int] = field(default_factory=list)
    thresholds: list[float] = field(default_factory=list)
    modes: list[int] = field(default_factory=list)
    yes: list[int] = field(default_factory=list)
    no: list[int] = field(default_factory=list)
    missing: list[bool] = field(default_factory=list)
    roots: list[int] = field(default_factory=list)
    leaf_starts: list[int] = field(default_factory=lambda: [0])
    leaf_targets: list[int] = field(default_factory=list)
    leaf_weights: list[float] = field(default_factory=list)

    certain: set[int] = field(default_factory=set)
    """The targets that every leaf of some tree votes for."""

    def leaf(self, votes: Sequence[tuple[int, float]]) -> int:
        """Add a leaf with weights for targets; return what points to it."""
        self.leaf_targets += [target for target, _ in votes]
        self.leaf_weights += [weight for _, weight in votes]
        self.leaf_starts.append(len(self.leaf_targets))
        return 1 - len(self.leaf_starts)

    def call(self, node: OnnxNode, x: Var, targets: int, aggregate: str) -> Var:
        """Append the operator's call on ``x``; it gives a column for each target.

        Raises:
            CompileError: ``invalid-model``: a target does not exist, or nodes form a cycle.
        """
        if any(not 0 <= target < targets for target in self.leaf_targets):
            raise node.invalid(f"a leaf votes for a target outside 0 to {targets - 1}")
        if aggregate in ("min", "max") and targets > 1 and len(self.certain) < targets:
            raise node.unsupported("engines read the extreme of no votes differently")
        self._check_order(node)
        dtype = node.tensor(x).dtype
        columns: tuple[tuple[Sequence[Any], DType], ...] = (
            *((self.features, I64), (self.thresholds, dtype), (self.modes, U8)),
            *((self.yes, I64), (self.no, I64), (self.missing, BOOL), (self.roots, I64)),
            *((self.leaf_starts, I64), (self.leaf_targets, I64), (self.leaf_weights, dtype)),
        )
        tables = [node.build.constant(_array(values, kind), kind) for values, kind in columns]
        operands = (x, *tables)
        return node.build.call("tree_ensemble", *operands, targets=targets, aggregate=aggregate)

    def _check_order(self, node: OnnxNode) -> None:
        """Refuse nodes that lead back to themselves: take away, in turn, what no node leads to."""
        children = [[n for n in pair if n >= 0] for pair in zip(self.yes, self.no, strict=True)]
        waiting = [0] * len(children)
        for child in (n for pair in children for n in pair):
            waiting[child] += 1
        free = [n for n, count in enumerate(waiting) if not count]
        for top in free:
            for child in children[top]:
                waiting[child] -= 1
                if not waiting[child]:
                    free.append(child)
        if len(free) < len(children):
            raise node.invalid("the nodes of a tree form a cycle")


def _array(values: Sequence[Any], kind: DType) -> npt.NDArray[Any]:
    return np.asarray(values, to_numpy(kind)).reshape(-1)


def classical(node: OnnxNode, votes: str, targets: str) -> TreeTables:
    """Return the trees of a `TreeEnsembleRegressor` or `TreeEnsembleClassifier`.

    Args:
        node: The node.
        votes: How the attributes of leaves begin: ``target`` or ``class``.
        targets: What the attribute is called that says whom a leaf votes for.

    Raises:
        CompileError: ``invalid-model``: the tables do not fit together.
    """
    return _Classical(node, votes, targets).tables()


def floats(node: OnnxNode, name: str) -> Sequence[float]:
    """Return numbers that stand in an attribute of f32, or in a tensor with a longer name."""
    if node.has(f"{name}_as_tensor"):
        constant = node.constant(f"{name}_as_tensor")
        if constant.data:
            return [float(v) for v in np.frombuffer(constant.data, to_numpy(constant.dtype))]
    return node.numbers(name) if node.has(name) else ()


@final
class _Classical:
    """Reads nodes and leaves that are listed together."""

    def __init__(self, node: OnnxNode, votes: str, targets: str) -> None:
        self.node = node
        self.keys = self._columns(("nodes_treeids", "nodes_nodeids"))
        self.place = {key: index for index, key in enumerate(self.keys)}
        if len(self.place) != len(self.keys):
            raise node.invalid("a node is listed twice")
        self.kinds = [self._mode(text) for text in node.texts("nodes_modes")]
        self.values = floats(node, "nodes_values")
        self.votes = self._votes(votes, targets)
        self.count = len(self.keys)
        self.made = TreeTables()
        self.number: dict[int, int] = {}
        """What points to each listed node."""

    def _columns(self, names: tuple[str, str]) -> list[tuple[int, int]]:
        left, right = map(self.node.integers, names)
        if len(left) != len(right):
            raise self.node.invalid(f"{names[0]} and {names[1]} have different lengths")
        return list(zip(left, right, strict=True))

    def _mode(self, text: str) -> int | None:
        if text == "LEAF":
            return None
        found = _WORDS.get(text.removeprefix("BRANCH_"))
        if found is None:
            raise self.node.invalid(f"a node has the mode {text!r}")
        return found

    def _votes(self, votes: str, targets: str) -> Mapping[tuple[int, int], list[tuple[int, float]]]:
        keys = self._columns((f"{votes}_treeids", f"{votes}_nodeids"))
        who, weights = self.node.integers(targets), floats(self.node, f"{votes}_weights")
        if not len(keys) == len(who) == len(weights):
            raise self.node.invalid(f"the attributes {votes}_… have different lengths")
        found: dict[tuple[int, int], list[tuple[int, float]]] = {}
        for key, target, weight in zip(keys, who, weights, strict=True):
            found.setdefault(key, []).append((target, weight))
        return found

    def tables(self) -> TreeTables:
        columns = [self.node.integers(f"nodes_{c}") for c in _INTEGERS]
        tracks = self._tracks()
        if any(len(c) != self.count for c in (*columns, self.kinds, self.values, tracks)):
            raise self.node.invalid("the attributes nodes_… have different lengths")
        features, yes, no = columns
        inner = [i for i, kind in enumerate(self.kinds) if kind is not None]
        self.number = {index: place for place, index in enumerate(inner)}
        for index, kind in enumerate(self.kinds):
            if kind is None:
                self.number[index] = self.made.leaf(self.votes.get(self.keys[index], ()))
        for index in inner:
            mode = self.kinds[index]
            assert mode is not None
            self.made.features.append(features[index])
            self.made.thresholds.append(self.values[index])
            self.made.modes.append(mode)
            self.made.yes.append(self._child(index, yes[index]))
            self.made.no.append(self._child(index, no[index]))
            self.made.missing.append(tracks[index] != 0)
        self.made.roots += self._roots(inner, yes, no)
        self.made.certain = self._certain()
        return self.made

    def _certain(self) -> set[int]:
        common: dict[int, set[int]] = {}
        for key, kind in zip(self.keys, self.kinds, strict=True):
            if kind is None:
                voted = {target for target, _ in self.votes.get(key, ())}
                common[key[0]] = common.get(key[0], voted) & voted
        return set().union(*common.values())

    def _tracks(self) -> Sequence[int]:
        name = "nodes_missing_value_tracks_true"
        return self.node.integers(name) if self.node.has(name) else (0,) * self.count

    def _child(self, index: int, number: int) -> int:
        key = (self.keys[index][0], number)
        if key not in self.place:
            raise self.node.invalid(f"tree {key[0]} has no node {number}")
        return self.number[self.place[key]]

    def _roots(self, inner: Sequence[int], yes: Sequence[int], no: Sequence[int]) -> list[int]:
        """Return for each tree, in the order of listing, the node that is no other's child."""
        children = {
            (self.keys[index][0], number) for index in inner for number in (yes[index], no[index])
        }
        roots: dict[int, int] = {}
        for index, key in enumerate(self.keys):
            if key in children:
                continue
            if key[0] in roots:
                raise self.node.invalid(f"tree {key[0]} has two roots")
            roots[key[0]] = self.number[index]
        if len(roots) != len({tree for tree, _ in self.keys}):
            raise self.node.invalid("the nodes of a tree form a cycle")
        return list(roots.values())


_INTEGERS: Final = ("featureids", "truenodeids", "falsenodeids")


def modern(node: OnnxNode) -> TreeTables:
    """Return the trees of a `TreeEnsemble`.

    Raises:
        CompileError: ``invalid-model``: the tables do not fit together.
    """
    return _Modern(node).tables()


@final
class _Modern:
    """Reads inner nodes and leaves that are listed apart."""

    def __init__(self, node: OnnxNode) -> None:
        self.node = node
        self.made = TreeTables()
        self.modes = [int(m) for m in self._tensor("nodes_modes")]
        self.splits = [float(v) for v in self._tensor("nodes_splits")]
        self.features = node.integers("nodes_featureids")
        self.sets = iter(self._sets())

    def _tensor(self, name: str) -> npt.NDArray[Any]:
        constant = self.node.constant(name)
        return np.frombuffer(constant.data, to_numpy(constant.dtype))

    def _sets(self) -> list[list[float]]:
        """Return the sets of members; NaN ends each."""
        found: list[list[float]] = [[]]
        values = self._tensor("membership_values") if self.node.has("membership_values") else ()
        for value in values:
            if np.isnan(value):
                found.append([])
            else:
                found[-1].append(float(value))
        return found

    def tables(self) -> TreeTables:
        node, made, count = self.node, self.made, len(self.modes)
        columns = [node.integers(f"nodes_{name}") for name in _POINTERS]
        tracks = self._tracks(count)
        if any(len(c) != count for c in (*columns, self.splits, self.features, tracks)):
            raise node.invalid("the attributes nodes_… have different lengths")
        leaves = self._leaves()
        asked = [self._asked(index) for index in range(count)]
        made.features, made.missing = list(self.features), [t != 0 for t in tracks]
        made.thresholds = [values[0] for _, values in asked]
        made.modes = [mode for mode, _ in asked]
        made.yes = [self._child(i, leaf, leaves) for i, leaf in zip(*columns[:2], strict=True)]
        made.no = [self._child(i, leaf, leaves) for i, leaf in zip(*columns[2:], strict=True)]
        for index, (_, values) in enumerate(asked):
            self._chain(index, values[1:])
        made.roots = [self._child(root, 0, leaves) for root in node.integers("tree_roots")]
        return made

    def _tracks(self, count: int) -> Sequence[int]:
        name = "nodes_missing_value_tracks_true"
        return (self.node.integers(name) if self.node.has(name) else ()) or (0,) * count

    def _leaves(self) -> list[int]:
        weights = [float(v) for v in self._tensor("leaf_weights")]
        targets = self.node.integers("leaf_targetids")
        if len(weights) != len(targets):
            raise self.node.invalid("leaf_weights and leaf_targetids have different lengths")
        return [self.made.leaf([vote]) for vote in zip(targets, weights, strict=True)]

    def _asked(self, index: int) -> tuple[int, Sequence[float]]:
        """Return the mode of a node, and with what its feature is compared."""
        mode = self.modes[index]
        if mode != _MEMBER:
            if mode not in _WORDS.values():
                raise self.node.invalid(f"node {index} has the mode {mode}")
            return mode, (self.splits[index],)
        members = next(self.sets, [])
        if not members:
            raise self.node.invalid(f"node {index} asks for membership in no set")
        return _EQUAL, members

    def _chain(self, index: int, members: Sequence[float]) -> None:
        """Let a node that is not answered yes ask for further members."""
        made, last = self.made, index
        for member in members:
            made.features.append(made.features[index])
            made.thresholds.append(member)
            made.modes.append(_EQUAL)
            made.yes.append(made.yes[index])
            made.no.append(made.no[last])
            made.missing.append(False)
            made.no[last] = len(made.features) - 1
            last = made.no[last]

    def _child(self, index: int, is_leaf: int, leaves: Sequence[int]) -> int:
        limit = len(leaves) if is_leaf else len(self.modes)
        if not 0 <= index < limit:
            raise self.node.invalid(f"a node points to {index}, of {limit} there")
        return leaves[index] if is_leaf else index


_POINTERS: Final = ("truenodeids", "trueleafs", "falsenodeids", "falseleafs")


__all__ = ["TreeTables", "classical", "floats", "modern"]
