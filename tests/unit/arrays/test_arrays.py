"""What is written with ``device.xp`` computes there, as NumPy on the host, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from operator import add, eq, ge, gt, le, lt, mul, ne, sub, truediv
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hettest.backend.device import Device
from hettest.backend.protocol import DeviceInfo
from hettest.errors import UsageError
from reference_vm.arrays import DeviceArray, Namespace
from reference_vm.arrays.namespace import BINARY, FOLDS, UNARY
from reference_vm.conformance import DeviceAccess
from reference_vm.devices.catalog import open_device
from reference_vm.types import DeviceName
from tests.contract.fake_cupy import FakeCupy


def opened(name: str = "sim:0") -> DeviceAccess:
    return DeviceAccess(open_device(DeviceName.parse(name)))


def opened_cuda() -> DeviceAccess:
    from reference_vm.devices.cuda import CudaDevice

    return DeviceAccess(CudaDevice(DeviceName("cuda", 0), FakeCupy()))


SHAPES = ((3, 4), (4,), (1, 4), (3, 1), ())
NUMPY: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("exp", "sqrt", "abs", "negative", "floor", "tanh")},
    "square": np.square,
    "sign": np.sign,
    "isnan": np.isnan,
    "sin": np.sin,
}
OPERATORS = (add, sub, mul, truediv)
COMPARISONS = (lt, le, gt, ge, eq, ne)

Pair = tuple[Any, "DeviceArray"]


@st.composite
def leaves(draw: st.DrawFn, access: DeviceAccess) -> Pair:
    shape = draw(st.sampled_from(SHAPES))
    seed = draw(st.integers(0, 99))
    host = np.random.default_rng(seed).normal(0, 2, shape).astype(np.float32)
    return host, access.put(host)


@st.composite
def expressions(draw: st.DrawFn, access: DeviceAccess, depth: int = 3) -> Pair:
    """Draw an expression, as NumPy has it on the host and as the device has it."""
    if depth == 0:
        return draw(leaves(access))
    host, there = draw(expressions(access, depth - 1))
    kind = draw(st.sampled_from(["unary", "binary", "scalar", "where", "fold", "index", "move"]))
    xp = access.xp
    if kind == "unary":
        name = draw(st.sampled_from(sorted(NUMPY.keys() - {"isnan"})))
        return NUMPY[name](host), getattr(xp, name)(there)
    if kind == "binary":
        other, other_there = draw(expressions(access, depth - 1))
        operator = draw(st.sampled_from(OPERATORS))
        try:
            np.broadcast_shapes(host.shape, other.shape)
        except ValueError:
            return host, there
        return operator(host, other), operator(there, other_there)
    if kind == "scalar":
        operator, number = draw(st.sampled_from(OPERATORS)), draw(st.sampled_from([2, -0.5]))
        if draw(st.booleans()):
            return operator(np.float32(number), host), operator(number, there)
        return operator(host, np.float32(number)), operator(there, number)
    if kind == "where":
        compare = draw(st.sampled_from(COMPARISONS))
        return (
            np.where(compare(host, np.float32(0)), host, -host),
            xp.where(compare(there, 0), there, -there),
        )
    if kind == "fold":
        axis = draw(st.sampled_from([None, *range(host.ndim)]))
        name = draw(st.sampled_from(["max", "min", "sum", "mean"]))
        return getattr(np, name)(host, axis=axis), getattr(xp, name)(there, axis=axis)
    if kind == "index" and host.ndim:
        key = draw(st.sampled_from([0, -1, slice(None, None, -1), slice(1, None), None, ...]))
        if key == slice(1, None) and host.shape[0] < 2:
            return host, there
        return host[key], there[key]
    return np.reshape(host, (-1,)), xp.reshape(there, (-1,))


@given(st.data(), st.sampled_from(["sim:0", "sim:1", "cpu:0", "sim.timed:0", "cuda:0"]))
@settings(max_examples=120)
def test_expressions_are_as_numpys_and_run_on_the_device_alone(
    data: st.DataObject, name: str
) -> None:
    access = opened_cuda() if name == "cuda:0" else opened(name)
    other = opened("sim:2")
    with np.errstate(all="ignore"):
        host, there = data.draw(expressions(access))
        twice = there + there
    ledger = access.device.ledger
    launches, out = ledger.launches, ledger.copies["out"]

    doubled = there + there
    negated = -doubled

    assert ledger.launches == launches + 2
    assert ledger.copies["out"] == out, "nothing comes back until it is asked for"
    assert (other.device.ledger.launches, dict(other.device.ledger.copies)) == (0, {})
    assert there.device == name
    with np.errstate(all="ignore"):
        expected = np.asarray(host, np.float32)
        np.testing.assert_allclose(access.get(there), expected, rtol=2e-5, atol=1e-5)
        np.testing.assert_array_equal(access.get(negated), -access.get(twice))


def test_memory_is_that_of_the_device_and_is_given_back() -> None:
    access = opened()
    before = access.device.memory().current

    a = access.put(np.ones((8, 8), np.float32))
    b = a + a
    assert access.device.memory().current == before + 512
    del a, b

    assert access.device.memory().current == before


def test_two_devices_do_not_mix() -> None:
    one, two = opened("sim:0"), opened("sim:1")
    a, b = (access.put(np.ones(4, np.float32)) for access in (one, two))

    for attempt in (
        lambda: a + b,
        lambda: one.xp.maximum(a, b),
        lambda: one.xp.concat([a, b]),
        lambda: one.xp.where(a > 0, a, b),
        lambda: one.get(b),
        lambda: one.xp.asarray(b),
    ):
        with pytest.raises(TypeError, match=r"found an array of sim:., expected one of this sim:."):
            attempt()
    assert two.device.ledger.launches == 0


SILENT: dict[str, Callable[[Any], Any]] = {
    "asarray": np.asarray,
    "array": lambda a: np.array(a, np.float64),
    "of several": lambda a: np.asarray([a, a]),
    "ufunc": lambda a: np.add(a, a),
    "sum": np.sum,
    "function": np.concatenate,
    "operand": lambda a: np.ones(4) + a,
    "operand at the right": lambda a: a + np.ones(4),
    "written to": lambda a: np.ones(4).__setitem__(slice(None), a),
    "dlpack": np.from_dlpack,
    "float": float,
    "int": int,
    "bool": bool,
    "matmul": lambda a: np.ones((4, 4)) @ a,
    "compared": lambda a: a == np.ones(4),
    "assigned to": lambda a: a.__setitem__(0, 1.0),
    "hashed": lambda a: {a},
    "buffer": memoryview,
}


@pytest.mark.parametrize("name", ["sim:0", "cpu:0"])
@pytest.mark.parametrize("way", SILENT)
def test_nothing_is_copied_to_the_host_on_the_quiet(way: str, name: str) -> None:
    access = opened(name)
    array = access.put(np.ones(4, np.float32))

    with pytest.raises((TypeError, BufferError)):
        SILENT[way](array)

    assert access.device.ledger.copies["out"] == 0


def test_a_refusal_says_what_to_do() -> None:
    array = opened().put(np.ones(4, np.float32))

    with pytest.raises(TypeError, match=r"not copied to the host on the quiet; use device\.get"):
        np.asarray(array)
    with pytest.raises(TypeError, match=r"found ndarray, expected an array of sim:0; put it"):
        array + np.ones(4, np.float32)


def test_one_element_is_a_number() -> None:
    xp = opened().xp

    assert bool(xp.asarray(1.5) > 1)
    assert float(xp.asarray([2.5])) == 2.5
    assert int(xp.asarray([3], np.int32)) == 3
    assert [10, 20][xp.asarray(1, np.int64)] == 20


def test_what_an_array_says_of_itself() -> None:
    array = opened().put(np.ones((3, 4), np.float32))

    assert (array.shape, array.dtype, array.ndim, array.size, len(array)) == (
        (3, 4),
        np.dtype(np.float32),
        2,
        12,
        3,
    )
    assert repr(array) == "DeviceArray(sim:0, float32, shape=(3, 4))"
    assert [row.shape for row in array] == [(4,)] * 3
    assert array.__array_namespace__().name == "sim:0"


def test_every_name_of_the_namespace_is_there() -> None:
    xp = opened().xp

    for name in (*UNARY, *BINARY, *FOLDS):
        assert callable(getattr(xp, name)), name
    with pytest.raises(AttributeError, match="of sim:0 has no fft; it has abs"):
        xp.fft  # noqa: B018


FLOATS = np.array([[0.25, -0.5, 0.75], [0.125, 0.5, -0.25]], np.float32)
COUNTS = np.array([[1, 2, 3], [4, 5, 6]], np.int32)
TRUTHS = np.array([[True, False, True], [False, True, True]])
RENAMED = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh"}
RENAMED |= {"acosh": "arccosh", "atanh": "arctanh", "pow": "power"}
RENAMED |= {"bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift"}


@pytest.mark.parametrize("name", [*UNARY, *BINARY, *FOLDS])
def test_every_function_is_as_numpys(name: str) -> None:
    operands: list[Any] = [FLOATS + 2 if name == "acosh" else FLOATS, FLOATS + 1]
    if name.startswith("bitwise"):
        operands = [COUNTS, COUNTS]
    if name.startswith("logical") or name in ("all", "any"):
        operands = [TRUTHS, ~TRUTHS]
    if name == "matmul":
        operands[1] = operands[1].T.copy()
    operands = operands[: 2 if name in BINARY else 1]
    access = opened()

    with np.errstate(all="ignore"):
        expected = getattr(np, RENAMED.get(name, name))(*operands)
        found = access.get(getattr(access.xp, name)(*map(access.put, operands)))

    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-7)
    assert found.dtype == expected.dtype


MOVES: dict[str, tuple[Callable[[Namespace, Any], Any], Callable[[Any], Any]]] = {
    "reshape": (lambda xp, a: xp.reshape(a, (3, -1)), lambda a: a.reshape(3, -1)),
    "permute": (lambda xp, a: xp.permute_dims(a, (1, 0)), lambda a: a.T),
    "T": (lambda xp, a: a.T, lambda a: a.T),
    "expand": (lambda xp, a: xp.expand_dims(a, axis=1), lambda a: a[:, None]),
    "squeeze": (lambda xp, a: xp.squeeze(a[:1], 0), lambda a: a[0]),
    "broadcast": (lambda xp, a: xp.broadcast_to(a, (2, 2, 3)), lambda a: np.stack([a, a])),
    "flip": (lambda xp, a: xp.flip(a), lambda a: a[::-1, ::-1]),
    "tile": (lambda xp, a: xp.tile(a, (2, 1, 2)), lambda a: np.tile(a, (2, 1, 2))),
    "concat": (lambda xp, a: xp.concat([a, a], axis=1), lambda a: np.concatenate([a, a], 1)),
    "stack": (lambda xp, a: xp.stack([a, a], axis=1), lambda a: np.stack([a, a], 1)),
    "tril": (lambda xp, a: xp.tril(a, k=-1), lambda a: np.tril(a, -1)),
    "triu": (lambda xp, a: xp.triu(a, k=1), lambda a: np.triu(a, 1)),
    "take": (lambda xp, a: a[xp.asarray([1, 0])], lambda a: a[[1, 0]]),
    "argmax": (lambda xp, a: xp.argmax(a), np.argmax),
    "argmin": (lambda xp, a: xp.argmin(a, axis=1), lambda a: np.argmin(a, 1)),
    "running": (lambda xp, a: xp.cumulative_sum(a, axis=1), lambda a: np.cumsum(a, 1)),
    "clip": (lambda xp, a: xp.clip(a, -0.25, 0.5), lambda a: np.clip(a, -0.25, 0.5)),
    "finite": (lambda xp, a: xp.isfinite(a / (a - a)), lambda a: np.isfinite(a / (a - a))),
    "cast": (lambda xp, a: xp.astype(a * 8, xp.int32), lambda a: (a * 8).astype(np.int32)),
    "wide sum": (
        lambda xp, a: xp.sum(xp.astype(a * 8, xp.int32)),
        lambda a: (a * 8).astype(np.int32).sum(),
    ),
    "full": (lambda xp, a: xp.full((2, 3), 0.5) + a, lambda a: a + np.float32(0.5)),
    "ones": (lambda xp, a: xp.ones_like(a) - xp.zeros((2, 3)), np.ones_like),
    "range": (lambda xp, a: xp.arange(2, 5), lambda a: np.arange(2, 5)),
    "inverted": (lambda xp, a: ~(a > 0) | (a > 0.3), lambda a: ~(a > 0) | (a > 0.3)),
    "wider": (
        lambda xp, a: a + xp.astype(a, xp.float64),
        lambda a: a + a.astype(np.float64),
    ),
    "remainder": (
        lambda xp, a: (a % 0.3) // 0.1,
        lambda a: (a % np.float32(0.3)) // np.float32(0.1),
    ),
}


@pytest.mark.parametrize("way", MOVES)
def test_every_other_function_is_as_numpys(way: str) -> None:
    there, host = MOVES[way]
    access = opened()

    with np.errstate(all="ignore"):
        expected = np.asarray(host(FLOATS))
    found = access.get(there(access.xp, access.put(FLOATS)))

    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


@pytest.mark.parametrize("key", [0, -1, (1, 2), (slice(None), 0), (..., -1), None, (0, None, 1)])
@pytest.mark.parametrize(
    "turned", [slice(None, None, -1), slice(2, 0, -2), slice(5, None), slice(0)]
)
def test_indices_are_as_numpys(key: Any, turned: slice) -> None:
    access = opened()
    host = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    there = access.put(host)

    np.testing.assert_array_equal(access.get(there[key]), host[key])
    np.testing.assert_array_equal(access.get(there[:, turned, 1:]), host[:, turned, 1:])


@pytest.mark.parametrize(
    ("wrong", "error", "told"),
    [
        (lambda xp, a: a[5], IndexError, "found index 5 of axis 0, which has 2"),
        (lambda xp, a: a[0, 0, 0], IndexError, "found 3 indices of an array of rank 2"),
        (lambda xp, a: a[[0, 1]], TypeError, "expected integers, slices, ... or None"),
        (lambda xp, a: a[a > 0], TypeError, "found an index of bool, expected integers"),
        (lambda xp, a: a + xp.ones((5, 5)), ValueError, "on sim:0"),
        (lambda xp, a: a + xp.arange(3), TypeError, "cast one by xp.astype"),
        (lambda xp, a: xp.astype(a, xp.int32) + 0.5, TypeError, "found 0.5 beside int32"),
        (lambda xp, a: a + "x", TypeError, "found str, expected an array of sim:0"),
    ],
)
def test_what_cannot_be_is_told(wrong: Any, error: type[Exception], told: str) -> None:
    access = opened()

    with pytest.raises(error, match=told.replace(".", r"\.").replace("(", r"\(")):
        wrong(access.xp, access.put(FLOATS))


class Access:
    """A device of somebody else's backend."""

    def __init__(self, **more: Any) -> None:
        self.__dict__.update(more)


class Foreign:
    name = "theirs"

    def __init__(self, access: Access) -> None:
        self.access = access

    def open(self, device: str) -> Access:
        return self.access


@pytest.mark.parametrize(
    ("kind", "access", "told"),
    [
        ("npu", Access(), "backend theirs has no array namespace for npu:0"),
        ("cpu", Access(), "backend theirs has no array namespace for cpu:0"),
        (
            "npu",
            Access(xp=np),
            "gives NumPy as the array namespace of npu:0, which computes on the",
        ),
    ],
)
def test_a_backend_without_a_namespace_is_never_numpy(kind: str, access: Access, told: str) -> None:
    device = Device(DeviceInfo(f"{kind}:0", kind, 0), Foreign(access))  # type: ignore[arg-type]

    with pytest.raises(UsageError, match=told):
        device.xp  # noqa: B018


def test_numpy_is_a_namespace_of_the_host() -> None:
    device = Device(DeviceInfo("cpu:0", "cpu", 0), Foreign(Access(xp=np)))  # type: ignore[arg-type]

    assert device.xp is np
