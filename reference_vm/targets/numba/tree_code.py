"""Decision trees as machine code: the tables checked, rows sent down, leaves joined.

Three pieces over one workspace, whose first word says whether the tables are good and whose others
are the leaves that are reached, one for each row and tree. What is out of range, and a walk that
does not end, are noted as faults; nothing foreign is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, final

from reference_vm.ops.trees import MODES
from reference_vm.targets.numba.assembly import Assembly, Value
from reference_vm.targets.numba.blocks import Words

FEATURES, THRESHOLDS, NODE_MODES, YES, NO, MISSING, ROOTS = range(1, 8)
LEAF_STARTS, LEAF_TARGETS, LEAF_WEIGHTS, RESULT = range(8, 12)
"""Where addresses stand; the rows' is the first."""

WORDS: Final = Words(
    12, ("fault", "scratch", "nodes", "leaves", "entries", "width", "trees", "targets")
)

_LESS, _EQUAL, _GREATER, _UNORDERED = 1, 2, 4, 8
"""How a feature compares with a threshold."""

_HOLDS: Final = dict(
    zip(
        MODES,
        (
            _LESS | _EQUAL,
            _LESS,
            _GREATER | _EQUAL,
            _GREATER,
            _EQUAL,
            _LESS | _GREATER | _UNORDERED,
        ),
        strict=True,
    )
)
"""The comparisons of which each mode is."""


@final
@dataclass(frozen=True, slots=True)
class TreeForm:
    """What is compiled for."""

    kind: str
    """``float`` or ``double``."""

    aggregate: str

    @property
    def itemsize(self) -> int:
        return 4 if self.kind == "float" else 8


def print_check(_: TreeForm) -> str:
    """Return what looks through the tables; its range is one round.

    At the begin of the workspace it says whether all is well.
    """
    out = Assembly()
    with out.kernel():
        read = {name: WORDS.read(out, name) for name in WORDS.names[2:]}
        places = out.add(read["nodes"], read["leaves"])
        starts = out.word(LEAF_STARTS, "ptr")

        def is_place(index: Value) -> Value:
            return out.compare("uge", out.add(index, read["leaves"]), places)

        def falls(i: Value) -> Value:
            first, second = (
                out.load("i64", out.at(starts, "i64", j)) for j in (i, out.add(i, "1"))
            )
            return out.compare("sgt", first, second)

        def each(place: int, bad: Callable[[Value], Value]) -> Callable[[Value], Value]:
            pointer = out.word(place, "ptr")
            return lambda i: bad(out.load("i64", out.at(pointer, "i64", i)))

        modes = out.word(NODE_MODES, "ptr")

        def is_no_mode(i: Value) -> Value:
            mode = out.load("i8", out.at(modes, "i8", i))
            return out.step(f"icmp uge i8 {mode}, {len(MODES)}")

        first = out.load("i64", starts)
        last = out.load("i64", out.at(starts, "i64", read["leaves"]))
        found = [
            out.compare("ne", first, "0"),
            out.compare("ne", last, read["entries"]),
            _any(
                out, read["nodes"], each(FEATURES, lambda v: out.compare("uge", v, read["width"]))
            ),
            _any(out, read["nodes"], is_no_mode),
            *(_any(out, read["nodes"], each(place, is_place)) for place in (YES, NO)),
            _any(out, read["trees"], each(ROOTS, is_place)),
            _any(out, read["leaves"], falls),
            _any(
                out,
                read["entries"],
                each(LEAF_TARGETS, lambda v: out.compare("uge", v, read["targets"])),
            ),
        ]
        bad = found[0]
        for other in found[1:]:
            bad = out.step(f"or i1 {bad}, {other}")
        good = out.step(f"select i1 {bad}, i64 0, i64 1")
        out.store("i64", good, out.word(WORDS.workspace, "ptr"))
        out.choose(bad, lambda: _fault(out))
    return out.text


def _any(out: Assembly, count: Value, bad: Callable[[Value], Value]) -> Value:
    """Write a loop; return whether something in it is bad."""

    def one(i: Value, so_far: Sequence[Value]) -> Sequence[Value]:
        return [out.step(f"or i1 {so_far[0]}, {bad(i)}")]

    (found,) = out.loop("0", count, "1", [("i1", "false")], one)
    return found


def _fault(out: Assembly) -> None:
    out.store("i64", "1", out.at("%block", "i64", str(WORDS.position("fault"))))


def _if_good(out: Assembly, then: Callable[[], None]) -> None:
    flag = out.load("i64", out.word(WORDS.workspace, "ptr"))
    out.choose(out.compare("ne", flag, "0"), then)


def print_walk(form: TreeForm) -> str:
    """Return what finds the leaves; its range counts rows."""
    out = Assembly()
    with out.kernel():
        _if_good(out, lambda: _Walk(form, out).rows())
    return out.text


@final
class _Walk:
    """Sends rows down the trees."""

    def __init__(self, form: TreeForm, out: Assembly) -> None:
        self.form = form
        self.out = out
        self.tables = {i: out.word(i, "ptr") for i in range(LEAF_STARTS)}
        self.nodes, self.width, self.trees = (
            WORDS.read(out, name) for name in ("nodes", "width", "trees")
        )
        self.reached = out.at(out.word(WORDS.workspace, "ptr"), "i64", "1")

    def rows(self) -> None:
        out = self.out

        def one(row: Value) -> None:
            x = out.at(self.tables[0], self.form.kind, out.mul(row, self.width))
            reached = out.at(self.reached, "i64", out.mul(row, self.trees))
            out.each("0", self.trees, "1", lambda tree: self._tree(x, tree, reached))

        out.each("%low", "%high", "1", one)

    def _tree(self, x: Value, tree: Value, reached: Value) -> None:
        """Write the leaf that a row reaches in a tree; -1 if it reaches none."""
        out = self.out
        at, _ = out.repeat(
            [("i64", self._integer(ROOTS, tree)), ("i64", "0")],
            lambda now: out.both(
                out.compare("sge", now[0], "0"), out.compare("sle", now[1], self.nodes)
            ),
            lambda now: [self._following(x, now[0]), out.add(now[1], "1")],
        )
        out.store("i64", out.sub("-1", at), out.at(reached, "i64", tree))
        out.choose(out.compare("sge", at, "0"), lambda: self._endless(tree, reached))

    def _endless(self, tree: Value, reached: Value) -> None:
        self.out.store("i64", "-1", self.out.at(reached, "i64", tree))
        _fault(self.out)

    def _integer(self, table: int, index: Value) -> Value:
        return self.out.load("i64", self.out.at(self.tables[table], "i64", index))

    def _following(self, x: Value, node: Value) -> Value:
        """Return where a row goes from a node."""
        out, kind = self.out, self.form.kind
        value = out.load(kind, out.at(x, kind, self._integer(FEATURES, node)))
        threshold = out.load(kind, out.at(self.tables[THRESHOLDS], kind, node))
        mode = self._byte(NODE_MODES, node)
        code = str(_UNORDERED)
        for how, result in (("olt", _LESS), ("oeq", _EQUAL), ("ogt", _GREATER)):
            so = out.step(f"fcmp {how} {kind} {value}, {threshold}")
            code = out.step(f"select i1 {so}, i64 {result}, i64 {code}")
        packed = sum(holds << 4 * i for i, holds in enumerate(_HOLDS.values()))
        mine = out.step(f"lshr i64 {packed}, {out.step(f'shl i64 {mode}, 2')}")
        holds = out.compare("ne", out.step(f"and i64 {mine}, {code}"), "0")
        is_nan = out.step(f"fcmp uno {kind} {value}, {value}")
        goes = out.both(is_nan, out.compare("ne", self._byte(MISSING, node), "0"))
        answer = out.step(f"or i1 {holds}, {goes}")
        yes, no = self._integer(YES, node), self._integer(NO, node)
        return out.step(f"select i1 {answer}, i64 {yes}, i64 {no}")

    def _byte(self, table: int, index: Value) -> Value:
        byte = self.out.load("i8", self.out.at(self.tables[table], "i8", index))
        return self.out.step(f"zext i8 {byte} to i64")


def print_join(form: TreeForm) -> str:
    """Return what joins the weights of leaves; its range counts rows."""
    out = Assembly()
    with out.kernel():
        _if_good(out, lambda: _Join(form, out).rows())
    return out.text


@final
class _Join:
    """Joins what the leaves say that rows reached.

    The scratch memory has an element for each target: of sums, what one leaf says in all; else not
    0 where something was said before.
    """

    def __init__(self, form: TreeForm, out: Assembly) -> None:
        self.form = form
        self.out = out
        self.sums = form.aggregate in ("sum", "average")
        self.starts, self.places, self.weights, self.result = (
            out.word(i, "ptr") for i in (LEAF_STARTS, LEAF_TARGETS, LEAF_WEIGHTS, RESULT)
        )
        self.scratch = WORDS.pointer(out, "scratch")
        self.trees, self.targets = (WORDS.read(out, name) for name in ("trees", "targets"))
        self.reached = out.at(out.word(WORDS.workspace, "ptr"), "i64", "1")

    def rows(self) -> None:
        self.out.each("%low", "%high", "1", self._row)

    def _row(self, row: Value) -> None:
        out, kind = self.out, self.form.kind
        total = out.at(self.result, kind, out.mul(row, self.targets))
        reached = out.at(self.reached, "i64", out.mul(row, self.trees))

        def clear(target: Value) -> None:
            for memory in (total, self.scratch):
                out.store(kind, "0.0", out.at(memory, kind, target))

        def tree(number: Value) -> None:
            leaf = out.load("i64", out.at(reached, "i64", number))
            out.choose(out.compare("sge", leaf, "0"), lambda: self._leaf(leaf, total))

        out.each("0", self.targets, "1", clear)
        out.each("0", self.trees, "1", tree)
        if self.form.aggregate == "average":
            out.each("0", self.targets, "1", lambda target: self._divide(total, target))

    def _leaf(self, leaf: Value, total: Value) -> None:
        out = self.out
        first, end = (
            out.load("i64", out.at(self.starts, "i64", i)) for i in (leaf, out.add(leaf, "1"))
        )
        if not self.sums:
            out.each(first, end, "1", lambda entry: self._pick(entry, total))
            return
        one = out.compare("eq", out.sub(end, first), "1")
        out.choose(
            one,
            lambda: self._add(first, total),
            lambda: self._several(first, end, total),
        )

    def _several(self, first: Value, end: Value, total: Value) -> None:
        """Add what a leaf says, summed for each target before it is added."""
        out, kind = self.out, self.form.kind
        out.each(first, end, "1", lambda entry: self._add(entry, self.scratch))

        def move(entry: Value) -> None:
            said, sum_ = (self._target(entry, memory) for memory in (self.scratch, total))
            out.store(kind, self._plus(out.load(kind, sum_), out.load(kind, said)), sum_)
            out.store(kind, "0.0", said)

        out.each(first, end, "1", move)

    def _add(self, entry: Value, to: Value) -> None:
        out, kind = self.out, self.form.kind
        place = self._target(entry, to)
        out.store(kind, self._plus(out.load(kind, place), self._weight(entry)), place)

    def _plus(self, x: Value, y: Value) -> Value:
        return self.out.step(f"fadd {self.form.kind} {x}, {y}")

    def _pick(self, entry: Value, total: Value) -> None:
        """Keep the more extreme of what was said and a weight; what is no number stays."""
        out, kind = self.out, self.form.kind
        place, said = (self._target(entry, memory) for memory in (total, self.scratch))
        old, new = out.load(kind, place), self._weight(entry)
        how = "olt" if self.form.aggregate == "min" else "ogt"
        known = out.step(f"fcmp one {kind} {out.load(kind, said)}, 0.0")
        extreme = out.step(f"fcmp {how} {kind} {old}, {new}")
        is_nan = out.step(f"fcmp uno {kind} {old}, {old}")
        stays = out.both(known, out.step(f"or i1 {extreme}, {is_nan}"))
        out.store(kind, out.step(f"select i1 {stays}, {kind} {old}, {kind} {new}"), place)
        out.store(kind, "1.0", said)

    def _divide(self, total: Value, target: Value) -> None:
        out, kind = self.out, self.form.kind
        place = out.at(total, kind, target)
        count = out.step(f"sitofp i64 {self.trees} to {kind}")
        least = out.step(f"fcmp olt {kind} {count}, 1.0")
        count = out.step(f"select i1 {least}, {kind} 1.0, {kind} {count}")
        out.store(kind, out.step(f"fdiv {kind} {out.load(kind, place)}, {count}"), place)

    def _target(self, entry: Value, memory: Value) -> Value:
        target = self.out.load("i64", self.out.at(self.places, "i64", entry))
        return self.out.at(memory, self.form.kind, target)

    def _weight(self, entry: Value) -> Value:
        return self.out.load(self.form.kind, self.out.at(self.weights, self.form.kind, entry))


__all__ = ["WORDS", "TreeForm", "print_check", "print_join", "print_walk"]
