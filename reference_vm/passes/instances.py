"""Plan the functions of a module, each for the devices that its calls decide.

A function is planned once for each signature that a call asks for, an *instance*; calls that ask
for the same share one. After `LIMIT` instances a call goes to the one that differs least, and
``insert-copies`` moves what differs. A call of a function that is being planned, which is
recursion, goes to the instance being planned; so that its devices are known from the start, a
recursive function is looked at twice, first as if its calls of itself were not there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, final

from reference_vm.analysis.data_types import direct_leaves
from reference_vm.analysis.function_values import FunctionValues
from reference_vm.analysis.recursion import cycles
from reference_vm.analysis.signature import Pin, Signature
from reference_vm.analysis.values import FunctionCall, FunctionName
from reference_vm.ir import trampoline
from reference_vm.ir.names import FreshNames
from reference_vm.ir.nodes import Function, Module
from reference_vm.ir.trampoline import Steps
from reference_vm.passes.context import PassContext
from reference_vm.passes.placement import Callee, Placement, Places, placing
from reference_vm.passes.trip_homes import Member, TripHomes, trip_homes
from reference_vm.types import TensorType, VirtualDevice, tensors

LIMIT: Final = 16
"""How many instances of one function there may be."""


@final
@dataclass(eq=False)
class Instance:
    """A function, planned for one signature; `graph` and `placement` are set when that is done."""

    function: Function
    signature: Signature
    graph: FunctionValues = field(init=False, repr=False)
    placement: Placement = field(init=False, repr=False)
    calls: dict[int, Instance] = field(default_factory=dict, repr=False)
    """Where each call, by its operation, goes to."""

    names: list[tuple[FunctionName, Instance]] = field(default_factory=list, repr=False)
    """What each function that is named as a value is."""

    following: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())
    """Of a function that may call itself: which leaves of the parameters and the result are read
    nowhere, and so are wherever a call has them."""

    done: bool = False

    def follows_param(self, leaf: int) -> bool:
        """Whether leaf ``leaf`` of the parameters is wherever a call has it."""
        return leaf in self.following[0]

    def follows_result(self, leaf: int) -> bool:
        """Whether leaf ``leaf`` of the result is wherever a call has it."""
        return leaf in self.following[1]

    def param(self, leaf: int) -> VirtualDevice | None:
        """Return where leaf ``leaf`` of the parameters lives; ``None``: not known yet."""
        if self.done:
            return self.placement.devices[self._params[leaf]]
        pin = self.signature.param(leaf)
        return _leaves(self.function)[0][leaf].vdevice or (None if pin is None else pin.device)

    def result(self, leaf: int) -> VirtualDevice:
        """Return where leaf ``leaf`` of the result is handed over."""
        asked = _leaves(self.function)[1][leaf].vdevice or self.signature.result(leaf)
        if asked is not None:
            return asked
        assert self.done, f"@{self.function.name} is still being planned"
        return self.placement.devices[self.graph.result[leaf]]

    @property
    def _params(self) -> list[int]:
        return [v for p in self.function.params for v in self.graph.indices[p]]

    def devices(self) -> tuple[str, ...]:
        """Return a key that tells apart the instances of a function."""
        signature = self.signature
        params = ("" if p is None else f"{p.device.role}{'!' * p.pulls}" for p in signature.params)
        results = ("" if r is None else r.role for r in signature.results)
        default = signature.default.role if signature.default is not None else ""
        return (*params, "->", *results, "/", default)


def _leaves(function: Function) -> tuple[list[TensorType], list[TensorType]]:
    """Return the leaves of the parameters, and of the result."""
    params = [leaf for p in function.params if p.type is not None for leaf in tensors(p.type)]
    return params, list(tensors(function.result))


class InstancePlanner:
    """Plans the functions of one module as their calls ask for them."""

    def __init__(self, module: Module, ctx: PassContext, places: Places) -> None:
        self.module = module
        self.ctx = ctx
        self.places = places
        self.instances: dict[str, dict[Signature, Instance]] = {}
        """All instances, by function and by what is asked for."""

        self.roots: list[Instance] = []
        """What is called from outside."""

        self._cycles = cycles(module)
        self._decided: dict[str, TripHomes] = {}
        """Where the parameters live of functions that call a function that is being planned."""

        self._open: dict[str, Instance] = {}

    def plan(self, name: str) -> Instance:
        """Return the instance of a function that is called from outside."""
        found = trampoline.run(self._instance(name, Signature(default=self.places.default)))
        assert isinstance(found, Instance)
        self.roots.append(found)
        return found

    def give_up(self) -> None:
        """Forget the functions that were being planned when an error was found."""
        for name, instance in self._open.items():
            known = self.instances[name]
            self.instances[name] = {s: i for s, i in known.items() if i is not instance}
        self._open.clear()
        self._decided.clear()

    def instance(self, name: str, signature: Signature) -> Steps[Instance]:
        """Return the instance of ``@name`` for a call that decides ``signature``."""
        return self._instance(name, signature)

    def _instance(self, name: str, signature: Signature) -> Steps[Instance]:
        if name in self._open:
            return self._open[name]
        function = self.module.by_name[name]
        asked = _reduced(function, signature)
        known = self.instances.setdefault(name, {})
        if asked in known:
            return known[asked]
        if len(known) >= LIMIT and (nearest := _nearest(known.values(), asked)) is not None:
            return nearest
        instance = Instance(function, asked)
        known[asked] = instance
        first = False
        if name in self._cycles:
            first = name not in self._decided
            closed: _Closed = yield self._closed(function, asked)
            instance.signature, instance.following = closed.signature, closed.following
        self._open[name] = instance
        yield self._planned(instance)
        del self._open[name]
        if first:
            for other in self._cycles[name]:
                self._decided.pop(other, None)
        return instance

    def _planned(self, instance: Instance) -> Steps[None]:
        function, signature = instance.function, instance.signature
        graph = FunctionValues(function, self.ctx.ops, self.module, signature, self._settled())
        instance.graph = graph
        calls = _Calls(self, instance)
        instance.placement = yield placing(
            graph, self._places(signature), function.bounds, self.ctx.nominal, calls
        )
        for name in sorted(graph.names, key=lambda n: (n.binding.var.name, n.operand or 0)):
            named: Instance = yield self._instance(name.callee, self._of_cells(instance, name))
            instance.names.append((name, named))
        instance.done = True

    def _places(self, signature: Signature) -> Places:
        return replace(self.places, default=signature.default or self.places.default)

    def _settled(self) -> Mapping[str, Signature]:
        """Return what is decided about the functions that are being planned."""
        return {name: instance.signature for name, instance in self._open.items()}

    def _of_cells(self, instance: Instance, name: FunctionName) -> Signature:
        """Return the signature of a function named as a value: all of its devices are known."""
        devices = [instance.placement.devices[cell] for cell in name.cells]
        count = len(_leaves(self.module.by_name[name.callee])[0])
        pulls = [instance.graph.values[cell].pin is not None for cell in name.cells]
        params = tuple(map(Pin, devices[:count], pulls[:count]))
        return Signature(params, tuple(devices[count:]), instance.signature.default)

    def _closed(self, function: Function, signature: Signature) -> Steps[_Closed]:
        """Return ``signature`` with everything decided, as the function without its cycle has it.

        A parameter lives where the trips move the least, so that what all of them read on a device
        is copied there once, by the caller, and not by each call of the function by itself.
        """
        name = function.name
        if name in self._decided:
            member: Member = yield self._member(name, signature)
        else:
            members: list[Member] = []
            for other in self._cycles[name]:
                own = signature if other == name else Signature(default=signature.default)
                one: Member = yield self._member(other, own)
                members.append(one)
            found = trip_homes(members, self._places(signature), self.ctx.nominal)
            self._decided.update(dict.fromkeys(self._cycles[name], found))
            member = members[self._cycles[name].index(name)]
        return _decided_signature(member, signature, self._decided[name])

    def _member(self, name: str, signature: Signature) -> Steps[Member]:
        """Return a function of a cycle, placed as if its calls in the cycle read nothing.

        Arguments that do not pull come from anywhere: where their parameters live is the question.
        """
        function = self.module.by_name[name]
        direct = [d for p in function.params if p.type is not None for d in direct_leaves(p.type)]
        kept = tuple(
            pin if pin is not None and (pin.pulls or not is_direct) else None
            for pin, is_direct in zip(signature.params, direct, strict=False)
        )
        given = replace(signature, params=kept if any(kept) else ())
        graph = FunctionValues(function, self.ctx.ops, self.module, given, self._settled())
        calls = _OutsideCalls(self, frozenset(self._cycles[name]))
        placement: Placement = yield placing(
            graph, self._places(signature), function.bounds, self.ctx.nominal, calls, wait=False
        )
        return Member(function, graph, placement, calls.called, self._entered(name, signature))

    def _entered(self, name: str, signature: Signature) -> Mapping[int, VirtualDevice]:
        """Return where the arguments of a call come from that decides ``signature``."""
        if name in {f.name for f in self.module.entries} and signature.is_open:
            count = len(_leaves(self.module.by_name[name])[0])
            return dict.fromkeys(range(count), self.places.host)
        pins = enumerate(signature.params)
        return {leaf: pin.device for leaf, pin in pins if pin is not None}


@final
@dataclass(frozen=True, slots=True)
class _Closed:
    """All that is decided about a function that may call itself."""

    signature: Signature
    following: tuple[frozenset[int], frozenset[int]]


def _decided_signature(member: Member, signature: Signature, found: TripHomes) -> _Closed:
    """Return what is decided about each leaf that the function does not place itself."""
    function, graph, name = member.function, member.graph, member.function.name
    values = [v for p in function.params for v in graph.indices[p]]
    leaves, returned = _leaves(function)
    devices = member.placement.devices
    params: list[Pin | None] = []
    for leaf, (type_, value) in enumerate(zip(leaves, values, strict=True)):
        asked = signature.param(leaf)
        home = found.params.get((name, leaf), devices[value])
        pulls = asked is not None and asked.pulls and asked.device == home
        params.append(None if type_.vdevice is not None else Pin(home, pulls))
    results = (
        None
        if type_.vdevice is not None
        else (signature.result(leaf) or found.results.get((name, leaf)) or devices[value])
        for leaf, (type_, value) in enumerate(zip(returned, graph.result, strict=True))
    )
    decided = Signature(tuple(params), tuple(results), signature.default)
    free = (found.free_params, found.free_results)
    following = tuple(frozenset(leaf for owner, leaf in leaves if owner == name) for leaves in free)
    return _Closed(decided, (following[0], following[1]))


@final
@dataclass(frozen=True)
class _OutsideCalls:
    """Plans what a function of a cycle calls outside of the cycle, and leaves other calls open."""

    planner: InstancePlanner
    cycle: frozenset[str]
    called: dict[int, Callee] = field(default_factory=dict)

    def callee(self, call: FunctionCall, signature: Signature) -> Steps[Callee | None]:
        """Return the instance that ``call`` goes to, if it leaves the cycle."""
        if call.callee in self.cycle:
            return None
        instance: Instance = yield self.planner.instance(call.callee, signature)
        self.called[call.operation] = instance
        return instance


@final
@dataclass(frozen=True)
class _Calls:
    """Plans what one instance calls, and notes it there."""

    planner: InstancePlanner
    caller: Instance

    def callee(self, call: FunctionCall, signature: Signature) -> Steps[Callee]:
        """Return the instance that ``call`` goes to."""
        instance: Instance = yield self.planner.instance(call.callee, signature)
        self.caller.calls[call.operation] = instance
        return instance


def _reduced(function: Function, signature: Signature) -> Signature:
    """Return ``signature`` without what the function places itself."""
    params, results = _leaves(function)
    return Signature(
        tuple(None if p.vdevice else signature.param(i) for i, p in enumerate(params)),
        tuple(None if r.vdevice else signature.result(i) for i, r in enumerate(results)),
        signature.default,
    )


def _nearest(known: Iterable[Instance], asked: Signature) -> Instance | None:
    """Return the instance with the fewest leaves elsewhere; what is in data types must be equal."""
    fitting = [i for i in known if _fits(i, asked)]
    return min(fitting, key=lambda i: (_distance(i.signature, asked), i.devices()), default=None)


def _fits(instance: Instance, asked: Signature) -> bool:
    function, own = instance.function, instance.signature
    params = [d for p in function.params if p.type is not None for d in direct_leaves(p.type)]
    return all(
        direct or _device(own.param(i)) == _device(asked.param(i))
        for i, direct in enumerate(params)
    ) and all(
        direct or own.result(i) == asked.result(i)
        for i, direct in enumerate(direct_leaves(function.result))
    )


def _distance(left: Signature, right: Signature) -> int:
    pairs = (*zip(left.params, right.params, strict=True),)
    params = sum(1 for a, b in pairs if _device(a) != _device(b))
    return params + sum(1 for a, b in zip(left.results, right.results, strict=True) if a != b)


def _device(pin: Pin | None) -> VirtualDevice | None:
    return None if pin is None else pin.device


def named_instances(
    planner: InstancePlanner,
) -> Iterator[tuple[str, Instance, dict[Instance, str]]]:
    """Yield each instance that is kept, with its name, and the names of all instances.

    Instances of one function that came out alike are one. One alone, or the one that is called
    from outside, has the function's own name.
    """
    reached = _reached(planner.roots)
    alike = _alike(sorted(reached, key=lambda i: (i.function.name, i.devices())))
    names: dict[Instance, str] = {}
    kept: list[tuple[str, Instance]] = []
    fresh = FreshNames({f.name for f in planner.module.functions})
    for function in planner.module.functions:
        ordered = sorted(
            (
                (signature, instance)
                for signature, instance in planner.instances.get(function.name, {}).items()
                if instance in reached
            ),
            key=lambda item: (not item[0].is_open, item[1].devices()),
        )
        classes: dict[int, str] = {}
        for _, instance in ordered:
            if alike[instance] not in classes:
                name = function.name if not classes else fresh.fresh(function.name)
                classes[alike[instance]] = name
                kept.append((name, instance))
            names[instance] = classes[alike[instance]]
    for name, instance in kept:
        yield name, instance, names


def _reached(roots: Iterable[Instance]) -> set[Instance]:
    """Return the instances that are called or named from ``roots``, through others too.

    Others were planned to see where a cycle of calls had better live.
    """
    found = set(roots)
    stack = list(found)
    while stack:
        top = stack.pop()
        for other in (*top.calls.values(), *(named for _, named in top.names)):
            if other not in found:
                found.add(other)
                stack.append(other)
    return found


def _alike(instances: list[Instance]) -> dict[Instance, int]:
    """Return a number for each instance, equal for those that nothing tells apart."""
    classes = _numbered({i: (i.function.name, i.placement.devices, _handed(i)) for i in instances})
    while True:
        finer = _numbered({i: (classes[i], *_called(i, classes)) for i in instances})
        if len(set(finer.values())) == len(set(classes.values())):
            return finer
        classes = finer


def _handed(instance: Instance) -> tuple[VirtualDevice, ...]:
    return tuple(instance.result(leaf) for leaf in range(len(instance.graph.result)))


def _called(instance: Instance, classes: Mapping[Instance, int]) -> Iterator[int]:
    yield from (classes[callee] for _, callee in sorted(instance.calls.items(), key=_operation))
    yield from (classes[named] for _, named in instance.names)


def _operation(item: tuple[int, Instance]) -> int:
    return item[0]


def _numbered(keys: Mapping[Instance, object]) -> dict[Instance, int]:
    numbers: dict[object, int] = {}
    return {i: numbers.setdefault(key, len(numbers)) for i, key in keys.items()}


__all__ = ["LIMIT", "Instance", "InstancePlanner", "named_instances"]
