"""A program as a tree, changed anyhow, is a module, or is refused by a diagnostic."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hettest.corpus import own_cases
from hettest.language import parse, to_json
from reference_vm.diagnostics import DiagnosticError
from reference_vm.exchange import from_json
from reference_vm.ir import verify
from tests.property.test_foreign_documents import QUICK, changed


@cache
def trees() -> tuple[str, ...]:
    """Return the programs of every fortieth case, as JSON."""
    return tuple(
        json.dumps(to_json(parse(case.text, case.id)))
        for case in own_cases()[::40]
        if not case.refused
    )


@given(st.data())
@settings(QUICK, max_examples=300)
def test_a_tree_is_a_module_or_refused(data: st.DataObject) -> None:
    tree: Any = changed(json.loads(data.draw(st.sampled_from(trees()))), data.draw)

    try:
        verify.verify(from_json(tree))
    except DiagnosticError as error:
        found = error.diagnostics
    else:
        found = ()
    assert all(each.message for each in found)
