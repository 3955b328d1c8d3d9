"""What a kernel needs for operands of given forms, made once and kept.

Plans are found by the kernel and the operands' forms (`records`). The first is made here, and
leaves a recipe, by which the loop makes those for other sizes. A kernel without a native form for
some operands has no plan for them, and is left to Python.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

import numpy as np

from reference_vm.bytecode.instructions import Launch
from reference_vm.bytecode.kernel import Kernel, NativeCall, ShapeFunction
from reference_vm.diagnostics import DataError
from reference_vm.jit.words import load, store
from reference_vm.runtime.native.forms import Forms, Known
from reference_vm.runtime.native.heap import Heap, address_of, write
from reference_vm.runtime.native.layout import WORD, KernelRecord, Plan, State
from reference_vm.runtime.native.layout import Recipe as RecipeWords
from reference_vm.runtime.native.recipes import Written, recipe, written
from reference_vm.runtime.native.records import find, link
from reference_vm.runtime.native.room import Room
from reference_vm.runtime.native.tracing import Recording, Untraceable, given, worth
from reference_vm.types.arrays import to_numpy

if TYPE_CHECKING:  # it loads LLVM, which need not be installed
    from reference_vm.jit.pool import Pool

KEPT: Final = 4096
"""Plans made by Python, and refused, that outlive a run; there are more only while it lasts."""

RECIPES: Final = 8
"""Recipes of one kernel; of one whose plans need more, Python makes the others."""

Contents: TypeAlias = tuple[tuple[int, bytes], ...]
"""The elements of operands that a kernel reads on the host, by their place."""

_LINE: Final = 64


@final
class Plans:
    """The plans of a session's kernels."""

    def __init__(
        self,
        state: int,
        room: Room,
        forms: Forms,
        kernels: Sequence[Kernel],
        shape_functions: Callable[[int], ShapeFunction],
        pool: Pool,
    ) -> None:
        self._state = state
        self._room = room
        self._forms = forms
        self._kernels = kernels
        self._shape_functions = shape_functions
        self._pool = pool
        self._records = Heap()
        words = [0] * KernelRecord.WORDS
        self.records = tuple(0 if k.library else self._records.put(words) for k in kernels)
        """The address of each kernel's record; 0 for one that is Python's always."""

        self._learnt = [0] * len(kernels)
        """How many recipes were tried to be made of each kernel's plans."""

        self._of_contents: dict[tuple[object, ...], int] = {}
        self._calls: list[NativeCall] = []
        self._kept: list[NativeCall] = []
        """What plans that are not forgotten yet run, and what recipes do."""

        self._scratch: Any = None
        self._workspace: Any = None
        self.refused: set[tuple[object, ...]] = set()

    def find(self, launch: Launch, operands: Sequence[int], contents: Contents = ()) -> int:
        """Return the plan of a kernel for operands of these forms and contents; 0: none.

        Raises:
            DataError: The operands do not fit one another.
        """
        key = (launch.kernel, *operands, *contents)
        if key in self.refused:
            return 0
        plan = self._of_contents.get(key, 0) if contents else self._linked(launch, operands)
        if not plan:
            plan = self._made(launch, operands, contents)
            if not plan:
                self.refused.add(key)
        return plan

    def _linked(self, launch: Launch, operands: Sequence[int]) -> int:
        key = (ctypes.c_int64 * (1 + len(operands)))(self.records[launch.kernel], *operands)
        table = load(self._state, State.PLANS)
        return find(table, ctypes.addressof(key), len(key), Plan.KERNEL)

    def contents(self, plan: int) -> list[Any]:
        """Return the arrays that a plan is for the elements of, in the order of the operands."""
        at = load(plan, Plan.CONTENTS)
        left, at, found = load(at, 0), at + WORD, []
        for _ in range(left):
            place, nbytes = load(at, 0), load(at, 1)
            known = self._forms[load(plan, Plan.FORMS + place)]
            assert known.dtype is not None
            data = ctypes.string_at(at + 2 * WORD, nbytes)
            found.append(np.frombuffer(data, to_numpy(known.dtype)).reshape(known.dims))
            at += (2 + -(-nbytes // WORD)) * WORD
        return found

    @property
    def are_many(self) -> bool:
        return len(self._calls) + len(self.refused) > KEPT

    def clear(self) -> None:
        """Forget all plans; no cell may hold one any more."""
        for record in self.records:
            if record:
                store(record, KernelRecord.FIRST, 0)
        self._of_contents.clear()
        self._calls.clear()
        self.refused.clear()

    def _made(self, launch: Launch, operands: Sequence[int], contents: Contents) -> int:
        known = [self._forms[f] for f in operands]
        if any(k.scalar for k in known):
            return 0
        told, inputs = self._shape_functions(launch.kernel), _given(known, contents)
        if not told.is_certain:
            told(inputs)
        call = self._kernels[launch.kernel].native(inputs)
        if call is None:
            return 0
        results = [
            self._forms.tensor(t.dtype, dims)
            for t, dims in zip(launch.targets, call.shapes, strict=True)
        ]
        if not all(results):
            return 0
        plan = self._written(call, len(operands), launch.kernel)
        address = self._placed(call, plan, launch.kernel, [*operands, *results])
        if contents:
            write(address + Plan.CONTENTS * WORD, [self._room.put(_words(contents))])
            write(address + Plan.ENTRY * WORD, [0])
            self._of_contents[launch.kernel, *operands, *contents] = address
        else:
            link(load(self._state, State.PLANS), address, 1 + len(operands), Plan.KERNEL)
            self._learn(launch, known, plan)
        return address

    def _written(self, call: NativeCall, operands: int, kernel: int) -> Written:
        return written(call, operands, kernel, load(self._state, State.WORTH))

    def _placed(self, call: NativeCall, plan: Written, kernel: int, forms: Sequence[int]) -> int:
        """Write a plan to memory; return its address."""
        if plan.is_large:
            self._pool.start()
        self._reserve(plan)
        self._calls.append(call)
        address = self._room.take(len(plan.words))
        write(address, plan.at(address))
        write(address + Plan.KERNEL * WORD, [self.records[kernel], *forms])
        return address

    def _learn(self, launch: Launch, operands: Sequence[Known], plan: Written) -> None:
        """Keep a recipe for plans like this one, for operands of other dims.

        A kernel may say something else at every call (the address of a table that it makes, say);
        then there is none.
        """
        if self._learnt[launch.kernel] >= RECIPES or not any(k.dims for k in operands):
            return
        self._learnt[launch.kernel] += 1
        recording = Recording()
        dims = [given(recording, k.dims) for k in operands]
        try:
            call = self._traced(launch.kernel, dims)
        except (DataError, Untraceable):
            return
        if call is None:
            return
        same = self._written(call, len(operands), launch.kernel)
        if same.at(0) != plan.at(0):
            return
        kinds = [Known(t.dtype, ()).kind for t in launch.targets]
        results = list(zip(kinds, call.shapes, strict=True))
        found = recipe(self._records, recording, same, operands, results)
        if found:
            record = self.records[launch.kernel]
            store(found, RecipeWords.NEXT, load(record, KernelRecord.RECIPES))
            store(record, KernelRecord.RECIPES, found)
            self._kept.append(call)

    def _traced(self, kernel: int, dims: Sequence[Any]) -> NativeCall | None:
        """Return what a kernel does with such dims, after the shape function let them pass."""
        told = self._shape_functions(kernel)
        shapes = None if told.is_certain else told(dims)
        call = self._kernels[kernel].native(dims)
        fits = call is None or shapes is None or tuple(shapes) == call.shapes
        return call if fits else None

    def _reserve(self, plan: Written) -> None:
        """Make sure that there is as much scratch memory and workspace as a plan needs."""
        scratch, workspace = worth(plan.scratch), worth(plan.workspace)
        if scratch > load(self._state, State.SCRATCH_BYTES):
            scratch = _generously(scratch)
            self._scratch = self._memory(State.SCRATCH, scratch * self._pool.threads)
            store(self._state, State.SCRATCH_BYTES, scratch)
        if workspace > load(self._state, State.WORKSPACE_BYTES):
            workspace = _generously(workspace)
            self._workspace = self._memory(State.WORKSPACE, workspace)
            store(self._state, State.WORKSPACE_BYTES, workspace)

    def _memory(self, word: int, nbytes: int) -> Any:
        memory = np.empty(nbytes + _LINE, dtype=np.uint8)
        store(self._state, word, address_of(memory) + -address_of(memory) % _LINE)
        return memory


def _generously(nbytes: int) -> int:
    """Return bytes that are enough for sizes which grow little by little, too."""
    return 1 << (nbytes - 1).bit_length()


def _given(known: Sequence[Known], contents: Contents) -> list[Any]:
    """Return operands as a kernel is told of them: their dims, or what they hold."""
    found: list[Any] = [k.dims for k in known]
    for place, data in contents:
        dtype = known[place].dtype
        assert dtype is not None
        found[place] = np.frombuffer(data, to_numpy(dtype)).reshape(known[place].dims)
    return found


def _words(contents: Contents) -> list[int]:
    """Return the words of `layout.Plan.CONTENTS`."""
    found = [len(contents)]
    for place, data in contents:
        padded = data + bytes(-len(data) % WORD)
        found += [place, len(data), *np.frombuffer(padded, np.int64).tolist()]
    return found
