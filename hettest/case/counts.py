"""How many transfers a fully explicit program makes, recomputed from the definition.

For a value v with home h(v), need(v) is the set of devices on which an executed operator, a host
read or a placed result reads its data. Then::

    copies(v) = the number of devices in need(v) other than h(v)
    moved(v)  = copies(v), and 1 more if v is a parameter and h(v) is not where it arrived

Nothing here is shared with the compiler, so that the corpus does not repeat the compiler's faults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from hettest.case.explicit import HOST, Key, NotExplicit, Program, Step, read
from hettest.devicemap import Binding
from hettest.language import Module, bytes_of


@final
@dataclass(frozen=True, slots=True)
class Transfers:
    """The transfers of one run."""

    copies: int
    moved: int
    copied_bytes: int
    moved_bytes: int
    by_value: Mapping[str, tuple[int, int]]
    """The number of copies and of moves of each variable, ``main/%s``; explicit ones apart."""


@final
@dataclass(frozen=True, slots=True)
class _Moves:
    """The transfers of one value."""

    name: str | None
    """Of the variable; ``None`` for an explicit copy, which has the name of either of two."""

    copies: int
    arguments: int
    size: int


def transfers(
    module: Module,
    entry: str,
    binding: Binding,
    default: str,
    policy: str,
    sizes: Mapping[str, int],
) -> Transfers:
    """Return the transfers of one run of ``entry``, whose symbols have these ``sizes``.

    Raises:
        NotExplicit: The program leaves something to the planner.
    """
    if entry not in module.by_name:
        raise NotExplicit(f"there is no function @{entry}")
    program = read(module.by_name[entry], binding)
    order = (*dict.fromkeys(binding.values()), default)
    moves = list(_all_moves(program, order, policy, sizes))
    by_value: dict[str, tuple[int, int]] = {}
    for m in moves:
        if m.name is not None:
            copies, moved = by_value.get(f"{entry}/%{m.name}", (0, 0))
            by_value[f"{entry}/%{m.name}"] = copies + m.copies, moved + m.copies + m.arguments
    return Transfers(
        copies=sum(m.copies for m in moves),
        moved=sum(m.copies + m.arguments for m in moves),
        copied_bytes=sum(m.copies * m.size for m in moves),
        moved_bytes=sum((m.copies + m.arguments) * m.size for m in moves),
        by_value=by_value,
    )


def _all_moves(
    program: Program, order: Sequence[str], policy: str, sizes: Mapping[str, int]
) -> Iterator[_Moves]:
    for key, pin in program.params.items():
        size = _size(program, key, sizes)
        need = _need(program, key)
        home = pin or _home(_readers(program, key), order)
        yield from _explicit(program, key, size)
        if policy == "replicate":
            yield _replicated(key, need, pin, size)
        else:
            yield _Moves(key[0].name, len(need | {home}) - 1, int(home != HOST), size)
    for step in program.steps:
        for key in step.writes:
            size = _size(program, key, sizes)
            need = _need(program, key) - {step.device}
            if step.is_view and need:
                raise NotExplicit(f"%{key[0].name} is a view that is read on another device")
            yield from _explicit(program, key, size)
            yield _Moves(key[0].name, len(need), 0, size)


def _size(program: Program, key: Key, sizes: Mapping[str, int]) -> int:
    size = bytes_of(program.types[key], sizes)
    if size is None:
        raise NotExplicit(f"the size of %{key[0].name} is not known before the run")
    return size


def _is_copy(step: Step) -> bool:
    return step.op == "device_copy"


def _explicit(program: Program, key: Key, size: int) -> Iterator[_Moves]:
    """Yield one copy for each ``device_copy`` of the value; it counts for itself."""
    for step in program.steps:
        if _is_copy(step):
            yield from (_Moves(None, 1, 0, size) for read_key, _ in step.reads if read_key == key)


def _need(program: Program, key: Key) -> frozenset[str]:
    """Return the devices on which the value must be, and no explicit copy has brought it."""
    need: set[str] = set()
    brought: set[str] = set()
    for step in program.steps:
        for read_key, device in step.reads:
            if read_key != key:
                continue
            if _is_copy(step):
                brought.add(device)
            elif device not in brought:
                need.add(device)
    pins = (pin for k, pin in program.results if k == key and pin is not None)
    need.update(pin for pin in pins if pin not in brought)
    return frozenset(need)


def _readers(program: Program, key: Key) -> frozenset[str]:
    """Return the devices that read the value at all, which decides a parameter's home."""
    reads = (r for step in program.steps if not _is_copy(step) for r in step.reads)
    devices = {device for read_key, device in reads if read_key == key}
    devices.update(pin for k, pin in program.results if k == key and pin is not None)
    return frozenset(devices)


def _home(readers: frozenset[str], order: Sequence[str]) -> str:
    """Return where a parameter without pin lives: rule 7 of the placement rules."""
    default = order[-1]
    if HOST in readers or not readers:
        return HOST
    return default if default in readers else next(d for d in order if d in readers)


def _replicated(key: Key, need: frozenset[str], pin: str | None, size: int) -> _Moves:
    if pin is not None and pin != HOST and HOST in need:
        raise NotExplicit(f"%{key[0].name} is pinned away from the host and read there")
    wanted = need if pin is None else need | {pin}
    return _Moves(key[0].name, 0, len(wanted - {HOST}), size)
