"""Tensors side by side in one storage: the plan where all sizes are known before the run.

The tensors that a function makes for itself on one device and in one scope get parts of one storage
(`packing`), which is allocated once. A tensor is wanted from the binding that makes it to the last
one that reads it, in program order: the arms of a branch come one after the other, so what lives in
one arm only shares its bytes with what lives in the other. What a branch hands out has one part,
whichever arm makes it.

A function does without such a storage where it would hold more than a twentieth above what lives at
once on some path, where it calls other functions, which would have to run beside it, or where a
size on that device is not known, or a life: of what lies in data types and closures. Then, and for
what the function returns, storages are handed over one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, TypeAlias, final

from reference_vm.analysis.owners import START, Owner, Owners
from reference_vm.analysis.union_find import UnionFind
from reference_vm.ir.nodes import Binding, Block, Invoke, Var, blocks, operands
from reference_vm.passes.memory_plan import Plan, Slot, Work
from reference_vm.passes.packing import Piece, most_at_once, pack
from reference_vm.types import VirtualDevice, leaves

_ALIGNMENT: Final = 64

Spans: TypeAlias = list[tuple[int, int]]
"""From when to when something is wanted, both included."""

_SURPLUS: Final = 1.05
"""How many times what lives at once a packed plan may hold."""


def pack_static(body: Block, plan: Plan, work: Work) -> None:
    """Give what can lie side by side in one storage its place in ``plan``."""
    lives = _Lives(plan.owners, work)
    lives.block(body, top=True)
    lives.join()
    if lives.calls:
        return
    for vdevice in lives.vdevices():
        if vdevice not in lives.unknown | lives.counted:
            _pack(vdevice, lives, plan)


def _pack(vdevice: VirtualDevice, lives: _Lives, plan: Plan) -> None:
    groups = [g for g in lives.groups() if g.vdevice == vdevice]
    packed = [g for g in groups if g.size and not g.kept]
    if len(packed) < 2:
        return
    pieces = [Piece(g.size, g.first, g.last) for g in packed]
    offsets, size = pack(pieces)
    first, last = min(p.first for p in pieces), max(p.last for p in pieces)
    others = [Piece(g.size, g.first, g.last) for g in groups if g not in packed]
    held = most_at_once([Piece(size, *lives.whole(first, last)), *others])
    if held > _SURPLUS * most_at_once(list(lives.wanted(vdevice))):
        return
    storage = plan.storage(size, vdevice, (0, lives.top_at(first)))
    plan.kills[0, lives.top_at(last)].append(storage)
    for group, offset in zip(packed, offsets, strict=True):
        plan.slots.update(dict.fromkeys(group.owners, Slot(storage, offset)))
    inside = [g for g in groups if g in packed or (not g.kept and not g.owners)]
    plan.inside.update(o for g in inside for o in g.members)


@final
@dataclass(eq=False)
class _Group:
    """Tensors that may be one memory, and so have one part."""

    vdevice: VirtualDevice
    members: list[Owner] = field(default_factory=list)
    owners: list[Owner] = field(default_factory=list)
    """The members that the plan places; others are results of branches."""

    size: int = 0
    first: int = 0
    last: int = 0
    kept: bool = False
    """Whether it may be memory that the function returns, or that the plan does not place."""


@final
@dataclass
class _Lives:
    """When each owner is wanted, counted in bindings in program order."""

    found: Owners
    work: Work
    now: int = 0
    first: dict[Owner, int] = field(default_factory=dict)
    last: dict[Owner, int] = field(default_factory=dict)
    sizes: dict[Owner, int] = field(default_factory=dict)
    places: dict[Owner, VirtualDevice] = field(default_factory=dict)
    unknown: set[VirtualDevice] = field(default_factory=set)
    """Where something of unknown size is made."""

    counted: set[VirtualDevice] = field(default_factory=set)
    """Where something is made whose holds are counted: nothing here says how long it lives."""

    calls: bool = False
    """Whether the function calls another one."""

    tops: list[int] = field(default_factory=list)
    """When each binding of the body begins."""

    index: dict[Owner, int] = field(default_factory=dict)
    same: UnionFind = field(default_factory=lambda: UnionFind(0))
    """The owners that have one part."""

    linked: UnionFind = field(default_factory=lambda: UnionFind(0))
    """The owners that a branch's result may be: in the storage are all of them or none."""

    kept: set[int] = field(default_factory=set)
    """The linked owners that cannot be in it."""

    hulls: dict[int, tuple[int, int]] = field(default_factory=dict)
    """From when to when each group is wanted."""

    times: dict[int, tuple[int, int]] = field(default_factory=dict)
    """From when to when each block runs, by its number."""

    own_last: dict[Owner, int] = field(default_factory=dict)
    """When each owner is read last, or yielded: `last` may be later, for its part's sake."""

    unwanted: dict[Owner, Spans] = field(default_factory=lambda: defaultdict(list))
    """When arms run at whose start an owner dies."""

    overwriting: list[tuple[Binding, int]] = field(default_factory=list)
    """The bindings of kernels, and when they run."""

    def block(self, block: Block, top: bool = False) -> None:
        began = self.now + 1
        for binding in block.bindings():
            self.now += 1
            if top:
                self.tops.append(self.now)
            self._use(operands(binding.value))
            arms = blocks(binding.value)
            for inner in arms:
                self.block(inner)
            self.now += bool(arms)  # the result of a branch is there after what its last arm yields
            self._make(binding)
        self.now += 1
        self._use((block.result,))
        self.times[self.found.numbers[id(block)]] = (began, self.now)

    def _use(self, variables: tuple[Var, ...]) -> None:
        for owner in self.found.of(variables):
            self.last[owner] = self.now

    def _make(self, binding: Binding) -> None:
        var = binding.var
        if isinstance(binding.value, Invoke) and self.work.kernel(binding) is None:
            self.calls = True
        sizes = {owner: size for owner, _, size in self.work.results(binding)}
        for i, type_ in enumerate(leaves(var.type) if var.type is not None else ()):
            owner = (var, i)
            size = sizes.get(owner)
            if type_.vdevice is None:
                continue
            if self.work.is_placed(binding) and not isinstance(size, int):
                self.unknown.add(type_.vdevice)
            owned = owner in self.found.of((var,))
            if isinstance(size, int) and not owned:
                self.counted.add(type_.vdevice)
            if owned or isinstance(size, int):
                self.places[owner] = type_.vdevice
                self.first[owner] = self.last[owner] = self.now
            if isinstance(size, int):
                self.sizes[owner] = -(-size // _ALIGNMENT) * _ALIGNMENT
        if self.work.is_placed(binding):
            self.overwriting.append((binding, self.now))

    def join(self) -> None:
        """Find out which owners have one part."""
        self.index = {owner: i for i, owner in enumerate(self.first)}
        self.own_last = dict(self.last)
        for (number, position), dying in self.found.deaths.items():
            for owner in dying if position == START else ():
                self.unwanted[owner].append(self.times[number])
        self.same, self.linked = UnionFind(len(self.index)), UnionFind(len(self.index))
        spans: dict[int, Spans] = {
            i: [(self.first[o], self.last[o])] for o, i in self.index.items()
        }
        for branch, sources in reversed(self.found.branches.items()):
            known = [s for s in sources if s is not None and s in self.index]
            for source in known:
                if branch in self.index:
                    self._join_yielded(branch, source, spans)
        self.kept = {self.linked.find(i) for o, i in self.index.items() if self._is_kept(o)}
        self._measure()
        for binding, now in self.overwriting:
            self._join_overwritten(binding, now)

    def _is_kept(self, owner: Owner) -> bool:
        placed = owner in self.sizes or owner in self.found.branches
        owned = owner in self.found.roots[owner[0]]
        sources = self.found.branches.get(owner, ())
        given = any(s is not None and s not in self.index for s in sources)
        return not placed or not owned or given or owner in self.found.returned

    def _measure(self) -> None:
        for owner, i in self.index.items():
            group = self.same.find(i)
            first, last = self.hulls.get(group, (self.first[owner], self.last[owner]))
            self.hulls[group] = min(first, self.first[owner]), max(last, self.last[owner])

    def _join_yielded(self, branch: Owner, source: Owner, spans: dict[int, Spans]) -> None:
        """Let what an arm yields live as long as the branch's result, in one part if it can."""
        self.linked.union(self.index[branch], self.index[source])
        one, other = (self.same.find(self.index[o]) for o in (branch, source))
        if one == other:
            return
        both = sorted((*spans[one], *spans[other]))
        if all(before[1] < after[0] for before, after in pairwise(both)):
            self.same.union(one, other)
            spans[self.same.find(one)] = both
        self.last[source] = max(self.last[source], self.last[branch])

    def _join_overwritten(self, binding: Binding, now: int) -> None:
        for owner, _, _ in self.work.results(binding):
            if owner not in self.index:
                continue
            made = self.same.find(self.index[owner])
            for other in self.work.overwritten(binding, self.found, owner[1]):
                if other not in self.index:
                    continue
                read = self.same.find(self.index[other])
                touching = self.hulls[read][1] == now == self.hulls[made][0]
                free = not {self.linked.find(g) for g in (read, made)} & self.kept
                if read != made and free and touching and self._is_one(binding, read):
                    joined = self.hulls[read][0], self.hulls[made][1]
                    self.same.union(read, made)
                    self.hulls[self.same.find(read)] = joined
                    break

    def _is_one(self, binding: Binding, group: int) -> bool:
        """Whether a binding reads a group by one operand only."""
        read = [o for v in operands(binding.value) for o in self.found.of((v,))]
        known = [self.index[o] for o in read if o in self.index]
        return sum(self.same.find(i) == group for i in known) == 1

    def groups(self) -> Iterator[_Group]:
        found: dict[int, _Group] = {}
        for owner, i in self.index.items():
            root = self.same.find(i)
            group = found.setdefault(root, _Group(self.places[owner]))
            group.members.append(owner)
            group.first, group.last = self.hulls[root]
            group.size = max(group.size, self.sizes.get(owner, 0))
            if owner in self.sizes:
                group.owners.append(owner)
            group.kept |= self.linked.find(i) in self.kept
        yield from found.values()

    def wanted(self, vdevice: VirtualDevice) -> Iterator[Piece]:
        """Yield what lives on a device, each for as long as a path there may still read it.

        A group is wanted for longer where it has to be in one part: what an arm yields beside the
        branch's result, what only one arm reads in the arms before that one.
        """
        spans: dict[int, Spans] = defaultdict(list)
        sizes: dict[int, int] = defaultdict(int)
        for owner, i in self.index.items():
            if self.places[owner] == vdevice:
                group = self.same.find(i)
                spans[group] += self._on_paths(owner)
                sizes[group] = max(sizes[group], self._size(owner))
        for group, found in spans.items():
            yield from (Piece(sizes[group], *span) for span in _merged(found))

    def _size(self, owner: Owner) -> int:
        """Return the bytes of an owner; of a branch's result, of the largest that it may be."""
        sources = self.found.branches.get(owner, ())
        inner = (self._size(s) for s in sources if s is not None)
        return max(self.sizes.get(owner, 0), *inner, 0)

    def _on_paths(self, owner: Owner) -> Spans:
        """Return when an owner is wanted, without the arms at whose start it dies."""
        spans = [(self.first[owner], self.own_last[owner])]
        for began, ended in self.unwanted.get(owner, ()):
            before = [(f, min(t, began - 1)) for f, t in spans]
            after = [(max(f, ended + 1), t) for f, t in spans]
            spans = [(f, t) for f, t in (*before, *after) if f <= t]
        return spans

    def vdevices(self) -> tuple[VirtualDevice, ...]:
        return tuple(dict.fromkeys(self.places.values()))

    def whole(self, first: int, last: int) -> tuple[int, int]:
        """Return the times of the body's bindings that run then: a storage is theirs all along."""
        began, ended = self.top_at(first), self.top_at(last) + 1
        after = self.tops[ended] if ended < len(self.tops) else self.now + 1
        return self.tops[began], after - 1

    def top_at(self, now: int) -> int:
        """Return which binding of the body is running at a time."""
        found = 0
        for position, begins in enumerate(self.tops):
            if begins <= now:
                found = position
        return found


def _merged(spans: Spans) -> Iterator[tuple[int, int]]:
    """Yield spans that do not overlap and cover the same times."""
    merged: Spans = []
    for began, ended in sorted(spans):
        if merged and began <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], ended)
        else:
            merged.append((began, ended))
    yield from merged


__all__ = ["pack_static"]
