"""Running single items of the corpus on a backend."""

from __future__ import annotations

from functools import lru_cache

from hettest.backend.protocol import Backend
from hettest.case.expansion import Item
from hettest.corpus import cases, corpus_root, select
from hettest.outcome import Record
from hettest.runner.cases import CaseData
from hettest.runner.run import Environment, run_item
from tests.mutants.mutant import PAIR


@lru_cache(maxsize=1)
def _items() -> dict[str, Item]:
    return {item.id: item for item in select(cases(corpus_root()), PAIR).items}


@lru_cache(maxsize=1)
def _data() -> CaseData:
    return CaseData()


def ended(backend: Backend, item: str) -> Record:
    """Return how an item of the corpus ends on ``backend``.

    Raises:
        KeyError: The corpus has no such item.
    """
    environment = Environment(backend, backend.name, PAIR, {}, data=_data())
    return run_item(_items()[item], environment)
