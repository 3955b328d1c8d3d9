"""Running single items of the corpus on a backend."""

from __future__ import annotations

from functools import lru_cache

from hettest.backend.protocol import Backend
from hettest.case.expansion import Item
from hettest.corpus import cases, corpus_root, select
from hettest.outcome import Record
from hettest.runner.cases import CaseData
from hettest.runner.run import Environment, run_item
from tests.mutants.mutant import PAIR, TRIO


@lru_cache(maxsize=1)
def _items() -> dict[str, tuple[Item, tuple[str, ...]]]:
    """Return each item by its id, with the devices that were named for it."""
    corpus = cases(corpus_root())
    named = ((item, devices) for devices in (TRIO, PAIR) for item in select(corpus, devices).items)
    return {item.id: (item, devices) for item, devices in named}


@lru_cache(maxsize=1)
def _data() -> CaseData:
    return CaseData()


def ended(backend: Backend, item: str) -> Record:
    """Return how an item of the corpus ends on ``backend``.

    Raises:
        KeyError: The corpus has no such item.
    """
    found, devices = _items()[item]
    return run_item(found, Environment(backend, backend.name, devices, {}, data=_data()))
