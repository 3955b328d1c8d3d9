"""Programs of the corpus, saved and loaded: nothing is refused or lost, nearly all are proven."""

from __future__ import annotations

from collections.abc import Iterator

import reference_vm as rv
from hettest.corpus import cases, corpus_root, select
from hettest.language import parse
from reference_vm.program.program import Program
from tests.unit.program.files import loaded, saved

EVERY = 31
"""One program of so many is tried."""


def programs() -> Iterator[tuple[str, Program]]:
    """Yield programs of the corpus, compiled as their cases say."""
    seen: set[object] = set()
    for item in select(cases(corpus_root()), ("cpu:0", "sim:0")).items:
        case = item.case
        key = (case.program, str(item.binding), item.policy, item.default)
        if key in seen:
            continue
        seen.add(key)
        if len(seen) % EVERY:
            continue
        try:
            module = parse(case.program, case.id)
            where = dict(item.binding)
            yield case.id, rv.compile(module, where, policy=item.policy, default=item.default)
        except rv.CompileError:
            continue


def test_programs_of_the_corpus_are_saved_and_loaded() -> None:
    count, unproven = 0, []
    for name, program in programs():
        content = saved(program)
        found = loaded(content)
        count += 1
        assert saved(found) == content, name
        if not found.proven:
            unproven.append(name)

    assert count > 50
    assert len(unproven) <= count / 25, unproven
