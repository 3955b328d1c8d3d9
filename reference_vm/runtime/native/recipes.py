"""The words of plans, and recipes by which the loop makes more of them without Python.

A kernel says how it runs on operands of certain dims (`Kernel.native`). Asked with dims that are
`Traced`, it says in passing how that depends on them, and the same words become a recipe.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, Union, final

from reference_vm.bytecode.kernel import NativeCall, Stage
from reference_vm.runtime.native.forms import Known
from reference_vm.runtime.native.heap import Heap
from reference_vm.runtime.native.layout import WORD, Job, Plan, Recipe
from reference_vm.runtime.native.programs import MOST_NUMBERS
from reference_vm.runtime.native.tracing import Number, Recording, Traced, worth

_LINE: Final = 64

_SITES: Final = 4
"""Places in the loop that kernels are called from."""


@final
@dataclass(frozen=True, slots=True)
class Inside:
    """The address of a word of the plan itself."""

    word: int


Word: TypeAlias = Union[int, Traced, Inside]


@final
@dataclass(frozen=True, slots=True)
class Written:
    """A plan in words, all but the forms of operands and results."""

    words: tuple[Word, ...]
    operands: int
    scratch: Number
    """Bytes of memory that each part of a stage needs for itself."""

    workspace: Number
    is_large: bool
    """Whether a stage is worth the pool of threads."""

    def at(self, address: int) -> list[int]:
        """Return the words of a plan that lies at an address."""
        return [address + WORD * w.word if isinstance(w, Inside) else worth(w) for w in self.words]


def written(call: NativeCall, operands: int, number: int, worthwhile: int) -> Written:
    """Return the plan of kernel number ``number`` that runs ``call``.

    ``worthwhile`` is the work from which on a stage goes to the pool of threads.
    """
    forms = operands + len(call.shapes)
    chosen = int(Plan.FORMS) + forms
    jobs = chosen + max(1, len(call.inputs))
    block = _aligned(jobs + Job.WORDS * len(call.stages))
    tail: list[Word] = []
    blocks: list[Word] = []
    for stage in call.stages:
        tail += _job(call, stage, block + len(blocks))
        blocks += [*_words_of(stage.block)]
        blocks += [0] * (_aligned(len(blocks)) - len(blocks))
    is_empty = all(math.prod(shape) == 0 for shape in call.shapes)
    head: list[Word] = [0, int(is_empty), len(call.inputs), len(call.stages)]
    head += [Inside(jobs), Inside(chosen)]
    simple = not is_empty and _is_simple(call, operands, worthwhile)
    head += [tail[j] for j in (Job.ENTRY, Job.BLOCK, Job.LOW, Job.HIGH)] if simple else [0] * 4
    head += [number % _SITES, 0, 0, *[0] * forms, *(call.inputs or [0]), *tail]
    return Written(
        (*head, *[0] * (block - len(head)), *blocks),
        operands,
        max((_lines(s.scratch) for s in call.stages), default=0),
        call.workspace,
        any(s.work >= worthwhile for s in call.stages),
    )


def _words_of(block: Sequence[Number]) -> Iterator[Number]:
    """Yield the words of an argument block."""
    for word in block:
        yield word if isinstance(word, Traced) else int(word)


def _aligned(words: int) -> int:
    return -(-words // 8) * 8


def _lines(nbytes: Number) -> Number:
    return -(-nbytes // _LINE) * _LINE


def _is_simple(call: NativeCall, operands: int, worthwhile: int) -> bool:
    """Whether a plan is of the kind that `Plan.ENTRY` says."""
    if len(call.stages) != 1 or call.inputs != tuple(range(operands)) or call.workspace:
        return False
    (stage,) = call.stages
    needs = stage.scratch or stage.fault_word
    return not needs and stage.work < worthwhile


def _job(call: NativeCall, stage: Stage, block: int) -> list[Word]:
    words: list[Word] = [stage.entry, Inside(block), len(stage.block), stage.low, stage.high]
    words += [stage.grain, stage.work, 0, _lines(stage.scratch), stage.scratch_word]
    return [*words, stage.workspace_word if call.workspace else 0, stage.fault_word]


def recipe(
    heap: Heap,
    recording: Recording,
    plan: Written,
    operands: Sequence[Known],
    results: Sequence[tuple[int, Sequence[Number]]],
) -> int:
    """Return the address of a recipe in ``heap`` for plans like this one; 0 if it is too long.

    ``results`` has the kind and the dims of each.
    """
    template, numbers, addresses = [], [], []
    for place, word in enumerate(plan.words):
        if isinstance(word, Traced):
            numbers += [place, word.place]
        elif isinstance(word, Inside):
            addresses += [place, word.word]
        template.append(0 if isinstance(word, Traced | Inside) else word)
    about = [len(results)]
    for kind, dims in results:
        about += [kind, len(dims), *map(recording.place, dims)]
    needs = [recording.place(plan.scratch), recording.place(plan.workspace)]
    if recording.numbers > MOST_NUMBERS:
        return 0
    words = [0] * Recipe.OPERANDS
    words[Recipe.PROGRAM] = heap.put(recording.words())
    words[Recipe.SCRATCH], words[Recipe.WORKSPACE] = needs
    words[Recipe.WORDS] = len(template)
    words[Recipe.TEMPLATE] = heap.put(template)
    words[Recipe.NUMBERS] = heap.put([len(numbers) // 2, *numbers])
    words[Recipe.ADDRESSES] = heap.put([len(addresses) // 2, *addresses])
    words[Recipe.RESULTS] = heap.put(about)
    kinds = [w for known in operands for w in (known.kind, len(known.dims))]
    return heap.put([*words, *kinds])


__all__ = ["Inside", "Written", "recipe", "written"]
