"""The plugin's fixtures. Each builds a plain object; the objects know no pytest."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from hettest.golden import Golden, file_name
from hettest.session import KEY, Chosen, KitSession

if TYPE_CHECKING:
    from hettest.backend.device import Device, DevicePair
    from hettest.bench.measurement import Paired
    from hettest.bench.paired import PairedBenchmark
    from hettest.case.expansion import Item
    from hettest.devicemap import Binding as DeviceMap
    from hettest.runner.het import Het


def _chosen(request: pytest.FixtureRequest) -> Chosen:
    """Return what the kit parametrized the fixture with."""
    chosen = getattr(request, "param", None)
    if not isinstance(chosen, Chosen):
        pytest.fail(_why_not_chosen(request), pytrace=False)
    return chosen


def _why_not_chosen(request: pytest.FixtureRequest) -> str:
    """Return why a test is not run once for each device, and what to do."""
    name, kit = request.fixturename, request.config.stash[KEY]
    if not kit.options.devices:
        return f"the fixture {name} needs devices to be named: pytest --devices=cpu,sim"
    from unittest import TestCase

    group = getattr(kit.running, "cls", None)
    if isinstance(group, type) and issubclass(group, TestCase):
        return (
            f"the fixture {name} runs a test once for each device, which pytest does not do with "
            "methods of unittest.TestCase; write a function, or a class without that base"
        )
    return (
        f"the fixture {name} was asked for while the test ran (request.getfixturevalue), too late "
        f"to run the test once for each device; take {name} as an argument, or mark the test with "
        f'@pytest.mark.usefixtures("{name}")'
    )


@pytest.fixture(scope="session")
def _het_session(request: pytest.FixtureRequest) -> KitSession:
    """What all fixtures of the kit depend on; that it is there shows that they are ours."""
    return request.config.stash[KEY]


@pytest.fixture(scope="session")
def _het_device(_het_session: KitSession) -> None:
    """Is there if ``device`` is ours."""


@pytest.fixture(scope="session")
def _het_accelerator(_het_session: KitSession) -> None:
    """Is there if ``accelerator`` is ours."""


@pytest.fixture(scope="session")
def _het_device_pair(_het_session: KitSession) -> None:
    """Is there if ``device_pair`` is ours."""


@pytest.fixture(scope="session")
def _het_device_map(_het_session: KitSession) -> None:
    """Is there if ``device_map`` is ours."""


@pytest.fixture(scope="session")
def _het_case(_het_session: KitSession) -> None:
    """Is there if ``het_case`` is ours."""


@pytest.fixture(scope="session")
def device(request: pytest.FixtureRequest, _het_session: KitSession, _het_device: None) -> Device:
    """Each device named by ``--devices``, in turn.

    It has ``name``, ``kind``, ``index``, ``put(array)``, ``get(buffer)``, ``synchronize()`` and
    ``xp``; ``str(device)`` is its name.
    """
    (name,) = _chosen(request).devices
    return _het_session.tested.device(name)


@pytest.fixture(scope="session")
def accelerator(
    request: pytest.FixtureRequest, _het_session: KitSession, _het_accelerator: None
) -> Device:
    """Each device named by ``--devices`` that is not a CPU, in turn."""
    (name,) = _chosen(request).devices
    return _het_session.tested.device(name)


@pytest.fixture(scope="session")
def device_pair(
    request: pytest.FixtureRequest, _het_session: KitSession, _het_device_pair: None
) -> DevicePair:
    """Each ordered pair of the devices named by ``--devices``, in turn."""
    first, second = _chosen(request).devices
    return _het_session.tested.device(first), _het_session.tested.device(second)


@pytest.fixture(scope="session")
def device_map(_het_session: KitSession, _het_device_map: None) -> DeviceMap:
    """Which device each role is: ``--het-device-map``, else ``host`` and ``accel`` in order."""
    return _het_session.binding_of(_het_session.options.devices)


@pytest.fixture(scope="session")
def het(_het_session: KitSession) -> Het:
    """Compiles, runs and checks programs: ``het.check(PROGRAM, args, on=device_pair)``.

    Runs the program CPU-only and placed; checks values, placement and copies; raises a located
    report if anything does not hold, and returns it otherwise.
    """
    return _het_session.het


@pytest.fixture(scope="session")
def het_case(request: pytest.FixtureRequest, _het_session: KitSession, _het_case: None) -> Item:
    """Each item of the conformance corpus, in turn; for suites that run the corpus."""
    item = _chosen(request).item
    assert item is not None
    return item


@pytest.fixture
def het_golden(request: pytest.FixtureRequest, _het_session: KitSession) -> Golden:
    """The golden text of this test: ``het_golden.check(text)`` fails if it changed.

    The file lies in a folder named after the test module, beside it; its name is the test's own,
    with its class and parameters; characters that file names lack are replaced, and a part of the
    name's digest is added then. Run pytest with ``--het-update-golden`` to write it, and read the
    diff before you commit it.
    """
    folder = request.path.with_suffix(".golden")
    chain = request.node.listchain()
    names = [node.name for node in chain if isinstance(node, pytest.Class | pytest.Item)]
    return Golden(folder / f"{file_name('.'.join(names))}.txt", _het_session.options.update_golden)


@pytest.fixture
def het_benchmark(request: pytest.FixtureRequest, _het_session: KitSession) -> PairedBenchmark:
    """Times a program CPU-only and placed, in turn, after checking that it is right.

    ``het_benchmark(PROGRAM, args, on=device_pair)`` says whether the placed program is faster,
    slower, the same, or that it is ambiguous; needs pytest-benchmark and scipy.
    """
    found = {"pytest-benchmark": request.config.pluginmanager.hasplugin("benchmark")}
    found["scipy"] = find_spec("scipy") is not None
    if not all(found.values()):
        lacking = ", ".join(name for name, there in found.items() if not there)
        message = f"het_benchmark needs {lacking}: pip install 'hettest[bench]'"
        pytest.fail(message, pytrace=False)
    from hettest.bench.hooks import MEASURED, clock, why_off
    from hettest.bench.paired import PairedBenchmark

    measured: list[Paired] = []
    request.node.stash[MEASURED] = measured
    return PairedBenchmark(
        _het_session.het,
        lambda: request.getfixturevalue("benchmark"),
        clock(request.node),
        why_off(request.config),
        measured,
    )
