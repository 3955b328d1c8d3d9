"""Checks of tiny programs that a backend is asked to run: the form of what it returns."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from hettest.backend.protocol import Observation
from hettest.capability import missing
from hettest.language import numpy_dtype
from hettest.probing.examples import (
    Example,
    one_operator,
    returned,
    tuple_taken,
    two_results,
)
from hettest.probing.finding import Failed, NotApplicable
from hettest.probing.specimen import Specimen, result_leaves

_RUNS = 6
"""Runs of one program after which what was in use must be given back."""


def runs(specimen: Specimen) -> str:
    """Run the smallest program on each device."""
    example = _simplest(specimen)
    for device in specimen.usable:
        specimen.first_run(example, device)
    return f"{example.name}, on {', '.join(specimen.usable)}"


def _simplest(specimen: Specimen) -> Example:
    """Return a program of one operator, or one that returns its argument if none is claimed."""
    try:
        return one_operator(specimen.dtype, specimen.operator)
    except NotApplicable:
        return returned(specimen.dtype)


def results(specimen: Specimen) -> str:
    """Check count, dtype and shape of results, with axes, without any, and of no elements."""
    return _each_form(specimen, _plain(specimen))


def tuples(specimen: Specimen) -> str:
    """Check results and arguments that are tuples."""
    return _each_form(specimen, [two_results(specimen.dtype), tuple_taken(specimen.dtype)])


def _plain(specimen: Specimen) -> Iterator[Example]:
    yield returned(specimen.dtype)
    for shape in ((2, 3), (), (0, 2)):
        yield one_operator(specimen.dtype, specimen.operator, shape)


def _each_form(specimen: Specimen, examples: Iterable[Example]) -> str:
    """Run the examples that can be asked for on each device.

    Raises:
        NotApplicable: None can.
    """
    done: list[str] = []
    lacking: list[str] = []
    for example in _until_inapplicable(examples, lacking):
        try:
            for device in specimen.usable:
                found = specimen.first_run(example, device).results
                _check_form(example, found, device)
            done.append(example.name)
        except NotApplicable as reason:
            lacking.append(str(reason))
    if not done:
        raise NotApplicable("; ".join(lacking))
    return ", ".join(done)


def _until_inapplicable(examples: Iterable[Example], lacking: list[str]) -> Iterator[Example]:
    try:
        yield from examples
    except NotApplicable as reason:
        lacking.append(str(reason))


def _check_form(example: Example, found: Any, device: str) -> None:
    wants_tuple = bool(example.returns) and isinstance(example.returns[0], tuple)
    shapes = example.returns if wants_tuple else (example.returns,)
    if isinstance(found, tuple) != wants_tuple:
        expected = f"a tuple of {len(shapes)} results" if wants_tuple else "one array, no tuple"
        raise Failed(f"{example.name} on {device} returned {_form(found)}, expected {expected}")
    leaves = result_leaves(found)
    if len(leaves) != len(shapes):
        raise Failed(
            f"{example.name} on {device} returned {len(leaves)} results, expected {len(shapes)}"
        )
    for number, (leaf, shape) in enumerate(zip(leaves, shapes, strict=True)):
        _check_array(f"{example.name} on {device}: result {number}", leaf, example.dtype, shape)


def _check_array(what: str, found: Any, dtype: str, shape: Any) -> None:
    import numpy as np

    if not isinstance(found, np.ndarray):
        raise Failed(
            f"{what} is {_form(found)}, expected an array: numpy.asarray() makes one of a scalar"
        )
    if found.dtype != numpy_dtype(dtype):
        raise Failed(f"{what} is of {found.dtype}, expected {dtype}")
    if found.shape != shape:
        raise Failed(f"{what} has the shape {found.shape}, expected {shape}")


def _form(found: Any) -> str:
    if isinstance(found, tuple):
        return f"a tuple of {len(found)}"
    return f"a {type(found).__name__}"


def arguments(specimen: Specimen) -> str:
    """Check that arguments are left as they were, and that results lie elsewhere."""
    import numpy as np

    for example in (returned(specimen.dtype), _simplest(specimen)):
        for device in specimen.usable:
            try:
                executable = specimen.compile(example, device)
            except NotApplicable:
                break
            handed, before = example.arrays(), example.arrays()
            found = result_leaves(specimen.run(executable, example, handed).results)
            for name, now, old in zip("xy", handed, before, strict=False):
                if now.tobytes() != old.tobytes():
                    raise Failed(f"{example.name} on {device} wrote to its argument %{name}")
                if any(np.may_share_memory(now, leaf) for leaf in found):
                    raise Failed(
                        f"the result of {example.name} on {device} lies in the memory of its "
                        f"argument %{name}; return a copy"
                    )
    return "left as they were, and no result lies in their memory"


def stays(specimen: Specimen) -> str:
    """Check that a result is not overwritten by the next run."""
    example = _simplest(specimen)
    for device in specimen.usable:
        executable = specimen.compile(example, device)
        first = result_leaves(specimen.run(executable, example, example.arrays(1)).results)
        kept = [leaf.tobytes() for leaf in first]
        specimen.run(executable, example, example.arrays(4))
        if [leaf.tobytes() for leaf in first] != kept:
            raise Failed(
                f"the first result of {example.name} on {device} changed when it ran again; "
                "results are the caller's: return fresh memory"
            )
    return "results of earlier runs stay as they are"


def references(specimen: Specimen) -> str:
    """Check that arguments and results are let go of after a run."""
    example = _simplest(specimen)
    for device in specimen.usable:
        executable = specimen.compile(example, device)
        handed = example.arrays()
        watched = [
            (f"its argument %{n}", weakref.ref(a)) for n, a in zip("xy", handed, strict=False)
        ]
        seen = specimen.run(executable, example, handed)
        watched += [(f"result {n}", ref) for n, ref in enumerate(_refs(seen))]
        del handed, seen
        gc.collect()
        held = [what for what, ref in watched if ref() is not None]
        if held:
            raise Failed(
                f"{example.name} on {device}: after the run something still holds "
                f"{', '.join(held)}; keep copies, or let go"
            )
    return "arguments and results are let go of"


def _refs(seen: Observation) -> list[weakref.ref[Any]]:
    return [weakref.ref(leaf) for leaf in result_leaves(seen.results)]


def again(specimen: Specimen) -> str:
    """Check that a program runs twice, and that two programs live side by side."""
    example, other = _simplest(specimen), returned(specimen.dtype)
    for device in specimen.usable:
        first = specimen.compile(example, device)
        one = _bytes(specimen.run(first, example, example.arrays()))
        try:
            second = specimen.compile(other, device)
            specimen.run(second, other, other.arrays())
        except NotApplicable:
            second = specimen.compile(example, device)
        two = _bytes(specimen.run(first, example, example.arrays()))
        if one != two:
            raise Failed(
                f"{example.name} on {device} gave other results when it ran again with the same "
                "arguments, after another program was compiled and run"
            )
    return "the same results, with another program compiled in between"


def _bytes(seen: Observation) -> list[bytes]:
    return [leaf.tobytes() for leaf in result_leaves(seen.results)]


def memory(specimen: Specimen) -> str:
    """Check by what the backend reports that runs give back what they took."""
    if missing(["observe:memory"], specimen.claims):
        raise NotApplicable("observe:memory is not claimed")
    example = _simplest(specimen)
    for device in specimen.usable:
        executable = specimen.compile(example, device)
        ends: list[dict[str, int]] = []
        for _ in range(_RUNS):
            seen = specimen.run(executable, example, example.arrays())
            ends.append({name: m.end for name, m in (seen.memory or {}).items()})
        _require_level(example, ends)
    return f"the same in use after each of {_RUNS} runs"


def _require_level(example: Example, ends: Sequence[dict[str, int]]) -> None:
    for name in ends[-1]:
        levels = [end.get(name, 0) for end in ends[1:]]
        if levels[-1] > levels[0]:
            raise Failed(
                f"{example.name}: {name} has {levels[-1] - levels[0]} bytes more in use after "
                f"{_RUNS} runs than after 2; each run must give back what it took"
            )
