"""Launches of kernels, in the language of words.

A launch is done by a plan for operands of its forms: the one in its cell, which was found last, one
that the kernel has already, or one that a recipe of the kernel makes. The plan's blocks get the
addresses of operands and results, and each of its stages runs, alone or on the pool's threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_vm.jit.words import apart, call, call_pair, load, load_byte, move, store, store_byte
from reference_vm.runtime.native.layout import (
    FOREIGN,
    OBJECT,
    WORD,
    BufferEntry,
    Form,
    Job,
    KernelRecord,
    Plan,
    Recipe,
    Slot,
    State,
)
from reference_vm.runtime.native.memory import allocate, entry_of, release
from reference_vm.runtime.native.opcodes import Launch, Result
from reference_vm.runtime.native.programs import evaluate, numbered_form
from reference_vm.runtime.native.records import find, link, take


def fits(plan: int, frame: int, places: int, operands: int) -> int:
    """Whether a plan is one for the operands in the slots listed at ``places``."""
    for i in range(operands):
        if load(frame, load(places, i) + Slot.FORM) != load(plan, Plan.FORMS + i):
            return 0
    return 1


def is_of(contents: int, frame: int, places: int) -> int:
    """Whether operands have the elements that a plan was made for."""
    if contents == 0:
        return 1
    at = contents + WORD
    for _ in range(load(contents, 0)):
        address = load(frame, load(places, load(at, 0)) + Slot.ADDRESS)
        nbytes = load(at, 1)
        at += 2 * WORD
        for i in range(nbytes):
            if load_byte(address + i) != load_byte(at + i):
                return 0
        at += (nbytes + WORD - 1) // WORD * WORD
    return 1


def count_reads(state: int, contents: int) -> int:
    """Count the operands that were looked at as what was read on the host."""
    if contents == 0:
        return 0
    at = contents + WORD
    for _ in range(load(contents, 0)):
        nbytes = load(at, 1)
        store(state, State.READS, load(state, State.READS) + 1)
        store(state, State.READS + 1, load(state, State.READS + 1) + nbytes)
        at += 2 * WORD + (nbytes + WORD - 1) // WORD * WORD
    return 0


def gives(plan: int, instance: int, pc: int) -> int:
    """Whether the results of a plan are of the forms that a launch promises."""
    operands = load(pc, Launch.OPERANDS)
    first = pc + (Launch.SLOTS + operands) * WORD
    for i in range(load(pc, Launch.RESULTS)):
        cell = load(first, i * Result.WORDS + Result.FORM)
        if cell != 0 and load(instance, cell) != load(plan, Plan.FORMS + operands + i):
            return 0
    return 1


def result_forms(state: int, results: int, target: int) -> int:
    """Write the forms of results whose dims are among the numbers; return 0 if there are none."""
    at = results + WORD
    for i in range(load(results, 0)):
        rank = load(at, 1)
        form = numbered_form(state, load(at, 0), rank, at + 2 * WORD)
        if form == 0:
            return 0
        store(target, i, form)
        at += (2 + rank) * WORD
    return 1


def gather(state: int, recipe: int, frame: int, places: int, operands: int) -> int:
    """Put the dims of operands first among the numbers.

    Return how many there are; -1 if a recipe is for operands of other kinds or ranks.
    """
    numbers = load(state, State.NUMBERS)
    given = 0
    for i in range(operands):
        form = load(frame, load(places, i) + Slot.FORM)
        if form == 0 or load(form, Form.KIND) != load(recipe, Recipe.OPERANDS + 2 * i):
            return -1
        rank = load(form, Form.RANK)
        if rank != load(recipe, Recipe.OPERANDS + 2 * i + 1):
            return -1
        for axis in range(rank):
            store(numbers, given, load(form, Form.DIMS + axis))
            given += 1
    return given


def has_memory(state: int, recipe: int) -> int:
    """Whether there is as much scratch memory and workspace as a plan will need."""
    numbers = load(state, State.NUMBERS)
    scratch = load(numbers, load(recipe, Recipe.SCRATCH))
    workspace = load(numbers, load(recipe, Recipe.WORKSPACE))
    enough = scratch <= load(state, State.SCRATCH_BYTES)
    return enough and workspace <= load(state, State.WORKSPACE_BYTES)


def plan_by(state: int, recipe: int, kernel: int, frame: int, places: int, operands: int) -> int:
    """Return a plan for the operands in the slots listed at ``places``; 0 if a recipe has none."""
    numbers = load(state, State.NUMBERS)
    given = gather(state, recipe, frame, places, operands)
    if given < 0 or evaluate(load(recipe, Recipe.PROGRAM), numbers, given) == 0:
        return 0
    if has_memory(state, recipe) == 0:
        return 0
    words = load(recipe, Recipe.WORDS)
    plan = take(state, words)
    if plan == 0:
        return 0
    move(plan, load(recipe, Recipe.TEMPLATE), words * WORD)
    store(plan, Plan.KERNEL, kernel)
    for i in range(operands):
        store(plan, Plan.FORMS + i, load(frame, load(places, i) + Slot.FORM))
    results = load(recipe, Recipe.RESULTS)
    if result_forms(state, results, plan + (Plan.FORMS + operands) * WORD) == 0:
        return 0
    moved = load(recipe, Recipe.NUMBERS)
    for i in range(load(moved, 0)):
        store(plan, load(moved, 1 + 2 * i), load(numbers, load(moved, 2 + 2 * i)))
    moved = load(recipe, Recipe.ADDRESSES)
    for i in range(load(moved, 0)):
        store(plan, load(moved, 1 + 2 * i), plan + load(moved, 2 + 2 * i) * WORD)
    return plan


def known_plan(state: int, kernel: int, frame: int, places: int, operands: int) -> int:
    """Return a kernel's plan for operands, which is made if that can be; else 0."""
    key = load(state, State.NUMBERS)
    store(key, 0, kernel)
    for i in range(operands):
        store(key, 1 + i, load(frame, load(places, i) + Slot.FORM))
    plan = find(load(state, State.PLANS), key, 1 + operands, Plan.KERNEL)
    recipe = load(kernel, KernelRecord.RECIPES)
    while plan == 0 and recipe != 0:
        plan = plan_by(state, recipe, kernel, frame, places, operands)
        if plan != 0:
            link(load(state, State.PLANS), plan, 1 + operands, Plan.KERNEL)
        recipe = load(recipe, Recipe.NEXT)
    return plan


def find_plan(state: int, instance: int, pc: int, frame: int) -> int:
    """Return the plan of a launch, remembered in its cell; 0 if there is none yet."""
    cell = load(pc, Launch.PLAN)
    plan = load(instance, cell)
    places = pc + Launch.SLOTS * WORD
    operands = load(pc, Launch.OPERANDS)
    fitting = plan != 0 and fits(plan, frame, places, operands)
    if fitting and is_of(load(plan, Plan.CONTENTS), frame, places):
        return plan
    if load(pc, Launch.LISTED) == 0:
        return 0
    kernel = load(pc, Launch.KERNEL)
    plan = load(kernel, KernelRecord.FIRST)
    if plan == 0 or fits(plan, frame, places, operands) == 0:
        plan = known_plan(state, kernel, frame, places, operands)
    if plan == 0 or gives(plan, instance, pc) == 0:
        return 0
    store(kernel, KernelRecord.FIRST, plan)
    store(instance, cell, plan)
    return plan


def all_live(state: int, frame: int, places: int, count: int) -> int:
    """Whether the buffers of slots have not been given back."""
    for i in range(count):
        if entry_of(state, load(frame, load(places, i) + Slot.REFERENCE)) == 0:
            return 0
    return 1


def take_back(state: int, first: int, frame: int, count: int) -> int:
    """Give back what the first results of a launch were given, since it was not done."""
    for i in range(count):
        result = first + i * Result.WORDS * WORD
        slot = frame + load(result, Result.SLOT) * WORD
        if load(result, Result.STORAGE) == 0:
            release(state, load(slot, Slot.REFERENCE))
        store(slot, Slot.ADDRESS, 0)
        store(slot, Slot.REFERENCE, 0)
        store(slot, Slot.FORM, 0)
    return 0


def place_results(state: int, pc: int, frame: int, plan: int) -> int:
    """Let the result slots of a launch name the memory to write to; return 0 if Python must."""
    operands = load(pc, Launch.OPERANDS)
    results = load(pc, Launch.RESULTS)
    first = pc + (Launch.SLOTS + operands) * WORD
    for i in range(results):
        result = first + i * Result.WORDS * WORD
        form = load(plan, Plan.FORMS + operands + i)
        slot = frame + load(result, Result.SLOT) * WORD
        storage = load(result, Result.STORAGE)
        if storage != 0:
            store(slot, Slot.ADDRESS, load(frame, storage) + load(result, Result.OFFSET))
            store(slot, Slot.REFERENCE, load(frame, storage + Slot.REFERENCE))
        else:
            reference = allocate(state, load(form, Form.NBYTES))
            if reference == 0:
                take_back(state, first, frame, i)
                return 0
            store(slot, Slot.ADDRESS, load(entry_of(state, reference), BufferEntry.ADDRESS))
            store(slot, Slot.REFERENCE, reference)
        store(slot, Slot.FORM, form)
    return 1


def reads(pc: int, frame: int, slot: int, operands: int) -> int:
    """Whether an operand of a launch overlaps the tensor in ``slot``."""
    begin = load(slot, Slot.ADDRESS)
    end = begin + load(load(slot, Slot.FORM), Form.NBYTES)
    for i in range(operands):
        other = frame + load(pc, Launch.SLOTS + i) * WORD
        form = load(other, Slot.FORM)
        if form != 0 and load(other, Slot.REFERENCE) == load(slot, Slot.REFERENCE):
            start = load(other, Slot.ADDRESS)
            if start < end and begin < start + load(form, Form.NBYTES):
                return 1
    return 0


def spoil(address: int, nbytes: int, pattern: int) -> int:
    """Fill memory with eight bytes, again and again."""
    words = nbytes >> 3
    for i in range(words):
        store(address, i, pattern)
    for i in range(words << 3, nbytes):
        store_byte(address + i, pattern >> ((i & 7) << 3))
    return 0


def poison_results(pc: int, frame: int) -> int:
    """Make what a launch overwrites unreadable, unless it reads it itself."""
    operands = load(pc, Launch.OPERANDS)
    first = pc + (Launch.SLOTS + operands) * WORD
    for i in range(load(pc, Launch.RESULTS)):
        slot = frame + load(first, i * Result.WORDS + Result.SLOT) * WORD
        form = load(slot, Slot.FORM)
        pattern = load(form, Form.POISON)
        if pattern != 0 and reads(pc, frame, slot, operands) == 0:
            spoil(load(slot, Slot.ADDRESS), load(form, Form.NBYTES), pattern)
    return 0


def poison(state: int, frame: int, pc: int) -> int:
    """Make tensors unreadable whose memory is the run's; those that are not here are Python's."""
    count = load(pc, 1)
    elsewhere = 0
    for i in range(count):
        slot = frame + load(pc, 2 + i) * WORD
        entry = entry_of(state, load(slot, Slot.REFERENCE))
        form = load(slot, Slot.FORM)
        if load(slot, Slot.REFERENCE) == OBJECT:
            elsewhere = 1
        elif entry != 0 and form != 0 and load(entry, BufferEntry.CLASS) > 0:
            pattern = load(form, Form.POISON)
            if pattern != 0:
                spoil(load(slot, Slot.ADDRESS), load(form, Form.NBYTES), pattern)
        elif entry != 0 and load(entry, BufferEntry.CLASS) == FOREIGN:
            elsewhere = 1
    return 0 if elsewhere else pc + (2 + count) * WORD


def compute(state: int, pc: int, frame: int, plan: int) -> int:
    """Run the stages of a plan; return something other than 0 if the data was bad."""
    faults = 0
    operands = load(pc, Launch.OPERANDS)
    places = pc + Launch.SLOTS * WORD
    results = pc + (Launch.SLOTS + operands) * WORD
    count = load(plan, Plan.ADDRESSES)
    chosen = load(plan, Plan.MAP)
    job = load(plan, Plan.FIRST)
    left = load(plan, Plan.STAGES)
    while left > 0:
        block = load(job, Job.BLOCK)
        for i in range(count):
            store(block, i, load(frame, load(places, load(chosen, i))))
        for i in range(load(pc, Launch.RESULTS)):
            store(block, count + i, load(frame, load(results, i * Result.WORDS)))
        workspace = load(job, Job.WORKSPACE_WORD)
        if workspace != 0:
            store(block, workspace, load(state, State.WORKSPACE))
        fault = load(job, Job.FAULT_WORD)
        if fault != 0:
            store(block, fault, 0)
        if load(job, Job.WORK) >= load(state, State.WORTH):
            store(job, Job.SCRATCH, load(state, State.SCRATCH))
            call_pair(load(state, State.POOL_RUN), load(state, State.POOL_STATE), job)
        else:
            if load(job, Job.SCRATCH_BYTES) != 0:
                store(block, load(job, Job.SCRATCH_WORD), load(state, State.SCRATCH))
            call(load(job, Job.ENTRY), block, load(job, Job.LOW), load(job, Job.HIGH))
        if fault != 0:
            faults |= load(block, fault)
        job += Job.WORDS * WORD
        left -= 1
    return faults


def launch(state: int, instance: int, frame: int, pc: int) -> int:
    """Run a kernel; return where to go on, 0 if Python must do something first."""
    plan = find_plan(state, instance, pc, frame)
    if plan == 0:
        return 0
    checked = load(state, State.CHECKED)
    operands = load(pc, Launch.OPERANDS)
    if checked != 0 and all_live(state, frame, pc + Launch.SLOTS * WORD, operands) == 0:
        return 0
    notes = load(state, State.NOTES) if load(plan, Plan.CONTENTS) != 0 else 0
    if notes != 0 and notes == load(state, State.NOTES_END):
        return 0
    if place_results(state, pc, frame, plan) == 0:
        return 0
    if load(plan, Plan.EMPTY) == 0:
        if checked != 0:
            poison_results(pc, frame)
        if compute(state, pc, frame, plan) != 0:
            results = pc + (Launch.SLOTS + operands) * WORD
            take_back(state, results, frame, load(pc, Launch.RESULTS))
            return 0
        store(state, State.LAUNCHES, load(state, State.LAUNCHES) + 1)
    count_reads(state, load(plan, Plan.CONTENTS))
    if notes != 0:
        store(notes, 0, plan)
        store(state, State.NOTES, notes + WORD)
    return pc + load(pc, Launch.LENGTH) * WORD


def call_from(site: int, plan: int, block: int) -> int:
    """Call the entry of a plan from one of four places.

    Processors that only know where a place last led foresee few calls of a chain in which kernels
    take turns, if all are made from one place.
    """
    entry = load(plan, Plan.ENTRY)
    low = load(plan, Plan.LOW)
    high = load(plan, Plan.HIGH)
    if site == 0:
        call(entry, block, low, high)
        apart(0)
    elif site == 1:
        call(entry, block, low, high)
        apart(1)
    elif site == 2:
        call(entry, block, low, high)
        apart(2)
    else:
        call(entry, block, low, high)
        apart(3)
    return 0


def run_simple(state: int, frame: int, plan: int, operands: int, result: int) -> int:
    """Run the one stage of a plan; its block has the operands' addresses already.

    At ``result`` are the slots of result and storage, and the offset.
    """
    storage = frame + load(result, Result.STORAGE) * WORD
    address = load(storage, Slot.ADDRESS) + load(result, Result.OFFSET)
    block = load(plan, Plan.BLOCK)
    store(block, operands, address)
    target = frame + load(result, Result.SLOT) * WORD
    store(target, Slot.ADDRESS, address)
    store(target, Slot.REFERENCE, load(storage, Slot.REFERENCE))
    store(target, Slot.FORM, load(plan, Plan.FORMS + operands))
    call_from(load(plan, Plan.SITE), plan, block)
    store(state, State.LAUNCHES, load(state, State.LAUNCHES) + 1)
    return 0


def launch_with(state: int, instance: int, frame: int, record: int, to: int) -> int:
    """Do a launch whose words stand elsewhere; return ``to``, or 0 if it was not done."""
    return to if launch(state, instance, frame, record) != 0 else 0


def launch_1(state: int, instance: int, frame: int, pc: int) -> int:
    """Run a kernel on one operand whose form is sure."""
    plan = load(instance, load(pc, 1))
    if plan == 0:
        plan = find_plan(state, instance, load(pc, 6), frame)
    if plan == 0 or load(plan, Plan.ENTRY) == 0:
        return launch_with(state, instance, frame, load(pc, 6), pc + 7 * WORD)
    store(load(plan, Plan.BLOCK), 0, load(frame, load(pc, 2)))
    run_simple(state, frame, plan, 1, pc + 3 * WORD)
    return pc + 7 * WORD


def launch_2(state: int, instance: int, frame: int, pc: int) -> int:
    """Run a kernel on two operands whose forms are sure."""
    plan = load(instance, load(pc, 1))
    if plan == 0:
        plan = find_plan(state, instance, load(pc, 7), frame)
    if plan == 0 or load(plan, Plan.ENTRY) == 0:
        return launch_with(state, instance, frame, load(pc, 7), pc + 8 * WORD)
    block = load(plan, Plan.BLOCK)
    store(block, 0, load(frame, load(pc, 2)))
    store(block, 1, load(frame, load(pc, 3)))
    run_simple(state, frame, plan, 2, pc + 4 * WORD)
    return pc + 8 * WORD


def launch_3(state: int, instance: int, frame: int, pc: int) -> int:
    """Run a kernel on three operands whose forms are sure."""
    plan = load(instance, load(pc, 1))
    if plan == 0:
        plan = find_plan(state, instance, load(pc, 8), frame)
    if plan == 0 or load(plan, Plan.ENTRY) == 0:
        return launch_with(state, instance, frame, load(pc, 8), pc + 9 * WORD)
    block = load(plan, Plan.BLOCK)
    store(block, 0, load(frame, load(pc, 2)))
    store(block, 1, load(frame, load(pc, 3)))
    store(block, 2, load(frame, load(pc, 4)))
    run_simple(state, frame, plan, 3, pc + 5 * WORD)
    return pc + 9 * WORD


def launch_one(state: int, instance: int, frame: int, pc: int) -> int:
    """Run a kernel that has one result, in a storage, if its plan is simple and as last time."""
    plan = load(instance, load(pc, Launch.PLAN))
    if plan == 0 or load(plan, Plan.ENTRY) == 0:
        return launch(state, instance, frame, pc)
    operands = load(pc, Launch.OPERANDS)
    block = load(plan, Plan.BLOCK)
    for i in range(operands):
        slot = frame + load(pc, Launch.SLOTS + i) * WORD
        if load(slot, Slot.FORM) != load(plan, Plan.FORMS + i):
            return launch(state, instance, frame, pc)
        store(block, i, load(slot, Slot.ADDRESS))
    result = pc + (Launch.SLOTS + operands) * WORD
    run_simple(state, frame, plan, operands, result)
    return result + Result.WORDS * WORD


FUNCTIONS: Final[tuple[Callable[..., int], ...]] = (
    fits,
    is_of,
    count_reads,
    gives,
    result_forms,
    gather,
    has_memory,
    plan_by,
    known_plan,
    find_plan,
    all_live,
    take_back,
    place_results,
    reads,
    spoil,
    poison_results,
    poison,
    compute,
    launch,
    call_from,
    run_simple,
    launch_with,
    launch_1,
    launch_2,
    launch_3,
    launch_one,
)
"""In the order of their use."""
