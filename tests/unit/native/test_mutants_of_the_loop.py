"""Each way to break the native loop is seen when it is compared with the interpreter.

The loop is run as the Python that it is written in, so that a mutant needs no compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType

import pytest

from reference_vm.jit.words import load, store
from reference_vm.runtime.native import (
    calling,
    cells,
    entering,
    handing,
    instances,
    kernels,
    loop,
    memory,
    moves,
    programs,
)
from reference_vm.runtime.native.layout import (
    SLOT,
    WORD,
    Cell,
    Entry,
    Frame,
    FunctionRecord,
    Gate,
    Maker,
    Slot,
    State,
    Way,
)
from reference_vm.runtime.native.memory import entry_of, forget
from reference_vm.runtime.native.opcodes import Launch
from tests.unit.native.both import Both
from tests.unit.native.data_programs import DATA
from tests.unit.native.programs import SAMPLES

FEW = ("chain", "symbolic", "views", "shape of", "data", "branch", "condition of integers")
SHOWN = (
    *FEW,
    "new sizes",
    *DATA,
    "argument given back",
    "many results",
    "broadcast",
    "sums of rows",
    "handed twice",
    "error of data",
    "slices where the run says",
)

Function = Callable[..., int]


def inverted(frame: int, pc: int) -> int:
    """Take the other branch."""
    slot = frame + load(pc, 1) * WORD
    return load(pc, 2) if load(slot, Slot.ADDRESS) != 0 else pc + 3 * WORD


def kept(state: int, frame: int, pc: int) -> int:
    """Kill nothing."""
    return pc + (2 + load(pc, 1)) * WORD


def killed_at_once(state: int, reference: int) -> int:
    """Give memory back whoever else holds it."""
    entry = entry_of(state, reference)
    return forget(state, entry) if entry and load(entry, 3) > 0 else 0


def always(*_: int) -> int:
    return 1


def never(*_: int) -> int:
    return 0


def uncounted(state: int, instance: int, frame: int, pc: int) -> int:
    """Launch, but do not count it."""
    to = kernels.launch(state, instance, frame, pc)
    if to > 0:
        store(state, State.LAUNCHES, 0)
    return to


def as_last_time(state: int, pc: int, frame: int, plan: int) -> int:
    """Run the stages on the addresses that are in their blocks."""
    operands = store(pc, Launch.OPERANDS, 0)
    return _compute(state, pc, frame, plan) + operands


def whatever_the_data(state: int, pc: int, frame: int, plan: int) -> int:
    """Pass over bad data."""
    return _compute(state, pc, frame, plan) * 0


def first_memo(memo_: int, frame: int, places: int, operands: int) -> int:
    """Take what is remembered of other operands."""
    return memo_


def same_instance(state: int, instance: int, frame: int, pc: int) -> int:
    """Go on with the symbols of before."""
    to = _match_dims(state, instance, frame, pc)
    store(frame, Frame.INSTANCE, instance)
    return to


def any_call(state: int, function: int, frame: int) -> int:
    """Call with the symbols of the last call."""
    way = load(function, FunctionRecord.WAYS)
    return load(way, Way.INSTANCE) if way else _find_instance(state, function, frame)


def one_byte(address: int) -> int:
    """Read less of a scalar."""
    return 0


def unlike(state: int, array: int, description: int, form: int) -> int:
    """Take any array for one that was given before."""
    return 1


def off_by_one(frame: int, pc: int) -> int:
    """Copy all slots but the last."""
    count = load(pc, 1)
    for i in range(count - 1):
        cells.copy(frame + load(pc, 2 + 2 * i) * WORD, frame + load(pc, 3 + 2 * i) * WORD)
    return pc + (2 + 2 * count) * WORD


def freed_at_once(state: int, cell: int) -> int:
    """Free a cell whoever else holds it."""
    store(cell, Cell.HOLDS, 1)
    return _release_cell(state, cell)


def buffers_only(state: int, slot: int) -> int:
    """Share no cells."""
    return memory.share(state, load(slot, Slot.REFERENCE))


def kept_inside(state: int, cell: int, dead: int) -> int:
    """Keep the holds that a dead cell has."""
    return dead


def any_tag(frame: int, pc: int) -> int:
    """Take a value for one of any constructor."""
    return pc + 4 * WORD


def first_field(frame: int, pc: int) -> int:
    """Read the first field always."""
    cell = cells.cell_of(frame + load(pc, 2) * WORD)
    cells.copy(frame + load(pc, 1) * WORD, cell + Cell.SLOTS * WORD)
    return pc + 6 * WORD


def shared_again(state: int, cell: int) -> int:
    """Share what a closure captured, and keep it too."""
    for i in range(load(load(cell, Cell.MAKER), Maker.SLOTS)):
        cells.share_slot(state, cell + (Cell.SLOTS + i * SLOT) * WORD)
    return 0


def nowhere(look: int, base: int, depth: int) -> int:
    """Find no size in any data type."""
    return calling.NOWHERE


def nothing_captured(inner: int, cell: int) -> int:
    """Put nothing before the arguments."""
    return int(Frame.SLOTS)


def all_but_one(state: int, frame: int, pc: int) -> int:
    """Make a cell without its last field."""
    to = cells.make(state, frame, pc)
    if to > 0 and load(pc, 3):
        cell = load(frame, load(pc, 1))
        cells.hold(cell + (Cell.SLOTS + (load(pc, 3) - 1) * SLOT) * WORD, 0, 0, 0)
    return to


def last_instance(state: int, function: int, forms: int) -> int:
    """Go on with the sizes that the function was called with first."""
    gate = load(state, State.ENTRY)
    entry = load(gate, Gate.ENTRIES)
    return load(entry, Entry.INSTANCE) if entry else instances.bind(state, function, forms)


def mixed_up(state: int, maker: int, fields: int) -> int:
    """Let all slots of a cell hold what the first one is to hold."""
    cell = _put_in(state, maker, fields)
    for i in range(1, load(maker, Maker.SLOTS)):
        cells.copy(cell + (Cell.SLOTS + i * SLOT) * WORD, fields)
    return cell


def lost(address: int, nbytes: int, size: int) -> int:
    """Copy nothing."""
    return 0


_compute = kernels.compute
_put_in = handing.put_in
_match_dims = moves.match_dims
_find_instance = calling.find_instance
_release_cell = cells.release_cell


@dataclass(frozen=True)
class Mutant:
    """Functions of the loop in other forms."""

    changes: Mapping[tuple[ModuleType, str], Function]


MUTANTS = {
    "decisions of other sizes": Mutant({(programs, "holds"): always}),
    "instance of other sizes": Mutant({(entering, "bind"): last_instance}),
    "wrong branch": Mutant({(loop, "branch"): inverted}),
    "missed kill": Mutant({(loop, "kill"): kept}),
    "memory freed while it is shared": Mutant({(cells, "release"): killed_at_once}),
    "cell freed while it is shared": Mutant({(cells, "release_cell"): freed_at_once}),
    "hold on a cell not taken": Mutant({(moves, "share_slot"): buffers_only}),
    "what is in a dead cell kept": Mutant({(cells, "release_inside"): kept_inside}),
    "wrong constructor": Mutant({(loop, "tag"): any_tag}),
    "wrong field": Mutant({(loop, "field"): first_field}),
    "captured values not shared": Mutant({(calling, "take_apart"): never}),
    "closure kept for good": Mutant({(calling, "take_apart"): shared_again}),
    "arguments before what is captured": Mutant({(calling, "put_captured"): nothing_captured}),
    "what is on other devices not left to Python": Mutant({(moves, "is_pythons"): never}),
    "field of a cell left out": Mutant({(loop, "make"): all_but_one}),
    "fields handed in mixed up": Mutant({(handing, "put_in"): mixed_up}),
    "tensors handed out left out": Mutant({(handing, "move"): lost}),
    "stale plan": Mutant({(loop, "launch_one"): kernels.launch, (kernels, "fits"): always}),
    "block not refreshed": Mutant(
        {(loop, "launch_one"): kernels.launch, (kernels, "compute"): as_last_time}
    ),
    "bad data passed over": Mutant({(kernels, "compute"): whatever_the_data}),
    "plan for other contents": Mutant({(kernels, "is_of"): always}),
    "launch not counted": Mutant({(loop, "launch_one"): uncounted, (loop, "launch"): uncounted}),
    "stale fact": Mutant({(moves, "find_memo"): first_memo}),
    "stale symbols": Mutant({(loop, "match_dims"): same_instance}),
    "hidden sizes not looked at": Mutant({(calling, "is_of_sizes"): always}),
    "hidden size not found": Mutant({(calling, "find_size"): nowhere}),
    "stale call": Mutant({(calling, "find_instance"): any_call}),
    "half of a scalar": Mutant({(moves, "load_byte"): one_byte}),
    "arrays not looked at": Mutant({(entering, "is_like"): unlike}),
    "slot left out": Mutant({(loop, "move_slots"): off_by_one}),
    "memory not given back": Mutant({(cells, "forget_all"): never}),
    "size not counted": Mutant({(memory, "size_class"): always}),
}


def differences(names: tuple[str, ...]) -> Iterator[str]:
    """Yield how both executors differ on samples; whatever the loop raises is a difference too."""
    for name in names:
        sample = (SAMPLES | DATA)[name]
        both = Both(sample.compiled())
        native = both.native._native
        assert native is not None
        native._native = loop.native
        for args in (*sample.calls, *sample.calls):
            try:
                yield from (f"{name}: {line}" for line in both.differences("main", *args))
            except (
                AssertionError,
                KeyError,
                IndexError,
                ValueError,
                AttributeError,
                TypeError,
            ) as error:
                yield f"{name}: {error!r}"
                return


def test_the_loop_as_python_is_right() -> None:
    assert list(differences(SHOWN)) == []


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_loop_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for (module, function), wrong in MUTANTS[name].changes.items():
        monkeypatch.setattr(module, function, wrong)

    assert next(differences((*SHOWN, "growing", "loop", "call of any dims")), None)
