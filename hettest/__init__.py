"""Tests tensor compilers and runtimes on several devices: a pytest plugin and conformance kit.

The names here are the types of the plugin's fixtures, and of what they return, for annotations in
tests of one's own::

    def test_my_program(het: hettest.Het, device_pair: hettest.DevicePair) -> None: ...

They are loaded when they are first used: ``import hettest`` loads nothing else of the kit.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from hettest.backend.device import Device, DevicePair
    from hettest.bench.measurement import Paired
    from hettest.bench.paired import PairedBenchmark
    from hettest.case.expansion import Item
    from hettest.devicemap import Binding as DeviceMap
    from hettest.golden import Golden
    from hettest.runner.het import Het, HetFailure, Report

__all__ = [
    "Device",
    "DeviceMap",
    "DevicePair",
    "Golden",
    "Het",
    "HetFailure",
    "Item",
    "Paired",
    "PairedBenchmark",
    "Report",
]

_HOME: Final = {
    "Device": "hettest.backend.device:Device",
    "DeviceMap": "hettest.devicemap:Binding",
    "DevicePair": "hettest.backend.device:DevicePair",
    "Golden": "hettest.golden:Golden",
    "Het": "hettest.runner.het:Het",
    "HetFailure": "hettest.runner.het:HetFailure",
    "Item": "hettest.case.expansion:Item",
    "Paired": "hettest.bench.measurement:Paired",
    "PairedBenchmark": "hettest.bench.paired:PairedBenchmark",
    "Report": "hettest.runner.het:Report",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _HOME[name].partition(":")
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
