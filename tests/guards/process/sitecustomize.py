"""Watches what a process touches that a test started: see `tests.guards.file_access`."""

import json
import os
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

_TOLD = os.environ.get("HETTEST_TESTS_PLACES")


def _watch(told: str) -> None:
    file = Path(__file__).parents[1] / "places.py"
    spec = spec_from_file_location("hettest_tests_places", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    places = json.loads(told)

    def note(touched: str) -> None:
        with open(places["to"], "a", encoding="utf-8") as file:
            file.write(f"{touched}\n    in {' '.join(sys.argv)}\n")

    found = module.Places(tuple(places["read"]), tuple(places["written"]))
    module.watch(lambda: found, note)


if _TOLD:
    _watch(_TOLD)
