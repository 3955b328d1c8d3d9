"""Each way to break the native loop is seen when it is compared with the interpreter.

The loop is run as the Python that it is written in, so that a mutant needs no compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType

import pytest

from reference_vm.jit.words import load, store
from reference_vm.runtime.native import calling, entering, kernels, loop, memory, moves
from reference_vm.runtime.native.layout import WORD, Frame, Slot, State
from reference_vm.runtime.native.memory import entry_of, forget
from reference_vm.runtime.native.opcodes import Launch
from tests.unit.native.both import Both
from tests.unit.native.programs import SAMPLES

FEW = ("chain", "symbolic", "views", "shape of", "data", "branch", "condition of integers")
SHOWN = (
    *FEW,
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


def same_instance(instance: int, frame: int, pc: int) -> int:
    """Go on with the symbols of before."""
    to = _match_dims(instance, frame, pc)
    store(frame, Frame.INSTANCE, instance)
    return to


def any_call(instance: int, function: int, cell: int, frame: int, places: int) -> int:
    """Call with the symbols of the last call."""
    return load(instance, cell) or _callee_instance(instance, function, cell, frame, places)


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
        moves.copy(frame + load(pc, 2 + 2 * i) * WORD, frame + load(pc, 3 + 2 * i) * WORD)
    return pc + (2 + 2 * count) * WORD


_compute = kernels.compute
_match_dims = moves.match_dims
_callee_instance = calling.callee_instance


@dataclass(frozen=True)
class Mutant:
    """Functions of the loop in other forms."""

    changes: Mapping[tuple[ModuleType, str], Function]


MUTANTS = {
    "wrong branch": Mutant({(loop, "branch"): inverted}),
    "missed kill": Mutant({(loop, "kill"): kept}),
    "memory freed while it is shared": Mutant({(moves, "release"): killed_at_once}),
    "stale plan": Mutant({(loop, "launch_one"): kernels.launch, (kernels, "fits"): always}),
    "block not refreshed": Mutant(
        {(loop, "launch_one"): kernels.launch, (kernels, "compute"): as_last_time}
    ),
    "bad data passed over": Mutant({(kernels, "compute"): whatever_the_data}),
    "plan for other contents": Mutant({(kernels, "is_of"): always}),
    "launch not counted": Mutant({(loop, "launch_one"): uncounted, (loop, "launch"): uncounted}),
    "stale fact": Mutant({(moves, "find_memo"): first_memo}),
    "stale symbols": Mutant({(loop, "match_dims"): same_instance}),
    "stale call": Mutant({(calling, "callee_instance"): any_call}),
    "half of a scalar": Mutant({(moves, "load_byte"): one_byte}),
    "arrays not looked at": Mutant({(entering, "is_like"): unlike}),
    "slot left out": Mutant({(loop, "move_slots"): off_by_one}),
    "memory not given back": Mutant({(entering, "forget_all"): never}),
    "size not counted": Mutant({(memory, "size_class"): always}),
}


def differences(names: tuple[str, ...]) -> Iterator[str]:
    """Yield how both executors differ on samples; whatever the loop raises is a difference too."""
    for name in names:
        sample = SAMPLES[name]
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
