"""What a kernel needs for operands of given forms, made once and kept.

A kernel's record is the head of its list of plans, the last found first. A kernel without a native
form for some operands has no plan for them, and is left to Python.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

import numpy as np

from reference_vm.bytecode.instructions import Launch
from reference_vm.bytecode.kernel import Kernel, NativeCall, Stage
from reference_vm.jit.words import load, store
from reference_vm.runtime.native.forms import Forms
from reference_vm.runtime.native.heap import Heap, address_of, aligned_words
from reference_vm.runtime.native.layout import WORD, Form, Job, Plan, State
from reference_vm.types.arrays import to_numpy

if TYPE_CHECKING:  # it loads LLVM, which need not be installed
    from reference_vm.jit.pool import Pool

KEPT: Final = 4096
"""Plans of a session; beyond, all are forgotten."""

LISTED: Final = 16
"""Plans of one kernel that the loop looks through; older ones are found in Python."""

Contents: TypeAlias = tuple[tuple[int, bytes], ...]
"""The elements of operands that a kernel reads on the host, by their place."""

_LINE: Final = 64

_SITES: Final = 4
"""Places in the loop that kernels are called from."""


@final
class Plans:
    """The plans of a session's kernels."""

    def __init__(self, state: int, forms: Forms, kernels: Sequence[Kernel], pool: Pool) -> None:
        self._state = state
        self._forms = forms
        self._kernels = kernels
        self._pool = pool
        self._heap = Heap()
        self._records = Heap()
        self.records = tuple(0 if k.library else self._records.put([0]) for k in kernels)
        """The address of each kernel's record; 0 for one that is Python's always."""

        self._found: dict[tuple[object, ...], int] = {}
        self._kept: list[object] = []
        self._scratch: Any = None
        self._workspace: Any = None
        self.refused: set[tuple[object, ...]] = set()

    def find(self, launch: Launch, operands: Sequence[int], contents: Contents = ()) -> int:
        """Return the plan of a kernel for operands of these forms and contents; 0: none.

        One that is for no contents is then the first in the kernel's list.

        Raises:
            DataError: The operands do not fit one another.
        """
        key = (launch.kernel, *operands, *contents)
        if key in self.refused:
            return 0
        plan = self._found.get(key)
        if plan is None:
            plan = self._made(launch, operands, contents)
            if not plan:
                self.refused.add(key)
                return 0
            self._found[key] = plan
        if not contents:
            self._list_first(self.records[launch.kernel], plan)
        return plan

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
    def is_full(self) -> bool:
        return len(self._found) >= KEPT

    def clear(self) -> None:
        """Forget all plans; no cell may hold one any more."""
        for record in self.records:
            if record:
                store(record, 0, 0)
        self._found.clear()
        self._kept.clear()
        self.refused.clear()
        self._heap = Heap()

    def _list_first(self, record: int, plan: int) -> None:
        listed = [plan]
        at = load(record, 0)
        while at and len(listed) < LISTED:
            if at != plan:
                listed.append(at)
            at = load(at, Plan.NEXT)
        store(record, 0, plan)
        for one, following in zip(listed, [*listed[1:], 0], strict=True):
            store(one, Plan.NEXT, following)

    def _made(self, launch: Launch, operands: Sequence[int], contents: Contents) -> int:
        known = [self._forms[f] for f in operands]
        if any(k.scalar for k in known):
            return 0
        given: list[Any] = [k.dims for k in known]
        for place, data in contents:
            dtype = known[place].dtype
            assert dtype is not None
            given[place] = np.frombuffer(data, to_numpy(dtype)).reshape(known[place].dims)
        call = self._kernels[launch.kernel].native(given)
        if call is None:
            return 0
        results = [
            self._forms.tensor(t.dtype, dims)
            for t, dims in zip(launch.targets, call.shapes, strict=True)
        ]
        if not all(results):
            return 0
        told = self._heap.put(_words(contents)) if contents else 0
        return self._written(call, launch.kernel, told, operands, results)

    def _written(
        self,
        call: NativeCall,
        kernel: int,
        contents: int,
        operands: Sequence[int],
        results: Sequence[int],
    ) -> int:
        """Write a plan to memory; return its address."""
        chosen = self._heap.put(call.inputs or [0])
        jobs = [w for stage in call.stages for w in self._job(call, stage)]
        first = self._heap.put(jobs)
        empty = not any(load(f, Form.NBYTES) for f in results)
        self._reserve(call)
        self._kept.append(call)
        head = [0, len(self._kept), int(empty), len(call.inputs), len(call.stages), first, chosen]
        simple = not (empty or contents) and self._is_simple(call, len(operands))
        stage = [jobs[j] for j in (Job.ENTRY, Job.BLOCK, Job.LOW, Job.HIGH)] if simple else [0] * 4
        return self._heap.put([*head, *stage, kernel % _SITES, contents, *operands, *results])

    def _is_simple(self, call: NativeCall, operands: int) -> bool:
        """Whether a plan is of the kind that `Plan.ENTRY` says."""
        if len(call.stages) != 1 or call.inputs != tuple(range(operands)) or call.workspace:
            return False
        (stage,) = call.stages
        needs = stage.scratch or stage.fault_word
        return not needs and stage.work < load(self._state, State.WORTH)

    def _job(self, call: NativeCall, stage: Stage) -> list[int]:
        block = aligned_words(len(stage.block))
        block[:] = stage.block
        self._kept.append(block)
        each = -(-stage.scratch // _LINE) * _LINE
        if stage.work >= load(self._state, State.WORTH):
            self._pool.start()
        words = [stage.entry, address_of(block), len(block), stage.low, stage.high, stage.grain]
        words += [stage.work, 0, each, stage.scratch_word]
        return [*words, stage.workspace_word if call.workspace else 0, stage.fault_word]

    def _reserve(self, call: NativeCall) -> None:
        """Make sure that there is as much scratch memory and workspace as a call needs."""
        scratch = max((-(-s.scratch // _LINE) * _LINE for s in call.stages), default=0)
        self._scratch = self._grown(State.SCRATCH, self._scratch, scratch * self._pool.threads)
        self._workspace = self._grown(State.WORKSPACE, self._workspace, call.workspace)

    def _grown(self, word: int, memory: Any, nbytes: int) -> Any:
        if nbytes == 0 or (memory is not None and memory.nbytes >= nbytes + _LINE):
            return memory
        memory = np.empty(nbytes + _LINE, dtype=np.uint8)
        store(self._state, word, address_of(memory) + -address_of(memory) % _LINE)
        return memory


def _words(contents: Contents) -> list[int]:
    """Return the words of `layout.Plan.CONTENTS`."""
    found = [len(contents)]
    for place, data in contents:
        padded = data + bytes(-len(data) % WORD)
        found += [place, len(data), *np.frombuffer(padded, np.int64).tolist()]
    return found


Maker = Callable[[Launch, Sequence[int]], int]
