"""Whatever an isolated process sends is an answer, or is said to be none at the door."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from hettest.backend import exact
from hettest.backend.facts import Facts
from hettest.backend.protocol import (
    Copy,
    DeviceInfo,
    Execution,
    Memory,
    Observation,
    Reading,
    Timing,
)
from hettest.errors import ProtocolBreach, UsageError
from hettest.isolation import introduction, observations
from hettest.isolation.frames import HEAD, MAGIC, Answer, Malformed, lengths, pack, unpack

DTYPES = (
    *("bool", "int8", "uint16", "int32", "int64", "uint64"),
    *("float16", "float32", "float64", ">f4", ">i8", "complex64"),
    *(ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4, ml_dtypes.uint4),
)
JUNK: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 7, 2**63, 10**30, 0.5, 1e308, "", "<f4", "|O", "V8", "bfloat16"),
    *("x" * 5000, "\\ud800", "\x00", [], [[]], [1, 2], {}, {"a": 1}, [None] * 9, ["<f4", [3]]),
)


def seen() -> Observation:
    """An observation with everything in it that one may show."""
    arrays: list[Any] = [np.arange(3).astype(dtype) for dtype in DTYPES]
    results: Any = (arrays[0], ("Cons", arrays[6], ("Nil",)), np.float32(2), ())
    return Observation(
        results=results,
        executions=(Execution("add", ("main/%s", "main/%t"), "cpu:0"),),
        copies=(Copy("cpu:0", "sim:0", "main/%s", 12, "read", "main/%t", 2), Copy("a:0", "b:0")),
        memory={"cpu:0": Memory(0, 1, 2)},
        intermediates={f"main/%{n}": array for n, array in enumerate(arrays)},
        profile=(Timing("cpu:0", 0.5, "kernel", "add", 3),),
        metered={"sim:0": Reading(1, None, 3, 4, 5)},
        spaces={"main/%s": "sim:0"},
    )


def sent(data: dict[str, Any], arrays: list[Any]) -> Answer:
    """Return what comes of an answer that crosses the pipe."""
    frame = b"".join(pack(data, arrays))
    text, size = lengths(frame[: HEAD.size])
    assert len(frame) == HEAD.size + text + size
    return unpack(frame[HEAD.size : HEAD.size + text], frame[HEAD.size + text :])


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray | np.generic):
        return (
            type(one) is type(other)
            and (one.dtype, one.shape) == (other.dtype, other.shape)
            and one.tobytes() == other.tobytes()
        )
    if isinstance(one, tuple):
        return isinstance(other, tuple) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other)


def test_an_observation_comes_back_as_it_was() -> None:
    back = observations.from_json(sent(*observations.to_json(seen())))

    for name in Observation.__dataclass_fields__:
        assert same(getattr(back, name), getattr(seen(), name)), name


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (2, 3), (1,) * 12])
def test_an_array_comes_back_to_the_bit(dtype: Any, shape: tuple[int, ...]) -> None:
    bits = np.random.default_rng(0).integers(0, 2, math.prod(shape)).astype(dtype)
    for array in (bits.reshape(shape), bits.reshape(shape).T):
        back = observations.from_json(sent(*observations.to_json(Observation(results=array))))
        assert same(back.results, array)
        assert isinstance(back.results, np.ndarray)
        assert back.results.flags.writeable


@pytest.mark.parametrize("depth", [0, 1, 5000])
def test_results_may_be_nested_as_deeply_as_a_list_is_long(depth: int) -> None:
    made: Any = ("Nil",)
    for _ in range(depth):
        made = ("Cons", np.ones(1, np.float32), made)
    back: Any = observations.from_json(sent(*observations.to_json(Observation(results=made))))

    found = back.results
    for _ in range(depth):
        assert found[0] == "Cons"
        found = found[2]
    assert found == ("Nil",)


def test_facts_come_back_as_they_were(tmp_path: Any) -> None:
    devices = (
        DeviceInfo("cpu:0", "cpu", 0, memory_space="host"),
        DeviceInfo("npu:0", "npu", 0, available=False, reason="no driver"),
    )
    facts = Facts("acme", frozenset({"op:*"}), devices, tmp_path / "waivers.toml")

    assert introduction.facts_of(sent({"facts": facts.to_json()}, [])) == facts


def places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each container and key in plain data, from the outside in."""
    waiting = [data]
    while waiting:
        top = waiting.pop()
        pairs = enumerate(top) if isinstance(top, list) else top.items()
        for key, value in list(pairs):
            yield top, key
            if isinstance(value, list | dict):
                waiting.append(value)


def spoiled(data: dict[str, Any], chosen: Random) -> dict[str, Any]:
    """Return an answer with one to three things in it exchanged, left out or doubled."""
    changed = copy.deepcopy(data)
    for _ in range(chosen.randint(1, 3)):
        where, key = chosen.choice(list(places(changed)))
        match chosen.randrange(4):
            case 0:
                del where[key]
            case 1 if isinstance(where, list):
                where.insert(key, copy.deepcopy(where[key]))
            case _:
                where[key] = copy.deepcopy(chosen.choice(JUNK))
        if not changed:
            break
    return changed


def taken_apart() -> tuple[dict[str, Any], bytes]:
    """Return the JSON of an answer, with its arrays' forms, and the arrays' bytes."""
    frame = b"".join(pack(*observations.to_json(seen())))
    text, _ = lengths(frame[: HEAD.size])
    data: dict[str, Any] = json.loads(frame[HEAD.size : HEAD.size + text])
    return data, frame[HEAD.size + text :]


@pytest.mark.parametrize("seed", range(20))
def test_a_spoiled_observation_is_none_or_a_plain_one(seed: int) -> None:
    chosen = Random(seed)
    data, block = taken_apart()
    for _ in range(100):
        text = json.dumps(spoiled(data, chosen)).encode()
        cut = chosen.choice((block, block, block[: chosen.randrange(len(block))], block * 2))
        try:
            found = exact.observation(observations.from_json(unpack(text, cut)))
        except (Malformed, ProtocolBreach):
            continue
        assert isinstance(found, Observation)
        observations.to_json(found)


@pytest.mark.parametrize("seed", range(10))
def test_spoiled_facts_are_none_or_plain_ones(seed: int) -> None:
    chosen = Random(seed)
    devices = (DeviceInfo("cpu:0", "cpu", 0), DeviceInfo("npu:0", "npu", 0, reason="none"))
    facts = Facts("acme", frozenset({"op:*", "device:cpu"}), devices).to_json()
    for _ in range(200):
        answer = unpack(json.dumps(spoiled({"facts": facts}, chosen)).encode(), b"")
        try:
            found = introduction.facts_of(answer)
        except (Malformed, UsageError):
            continue
        found.unavailable(("cpu:0", "sim:0"))
        found.check(("cpu:0",))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", "answered what is no JSON"),
        (b"[]", "answered a list, expected an object"),
        (b'{"a": NaN}', "NaN is no number"),
        (b'{"a": -Infinity}', "-Infinity is no number"),
        (b'{"a": ' + b"9" * 5000 + b"}", "answered what is no JSON"),
        (b"[" * 200_000, "answered what is no JSON"),
        (b"\xff\xfe\xfd", "answered what is no JSON"),
        (b'{"arrays": 3}', "arrays is a number, expected a list"),
        (b'{"arrays": [["<f4", [1000000000000]]]}', "which is more than was sent"),
        (b'{"arrays": [["|O", [1]]]}', "'|O', which is no dtype"),
        (b'{"arrays": [["<f4", [true]]]}', "expected a dtype and a shape"),
        (b'{"arrays": [["finfo", [0]]]}', "'finfo', which is no dtype"),
        (b'{"arrays": [["__class__", [0]]]}', "'__class__', which is no dtype"),
    ],
)
def test_what_is_no_answer_is_told_by_its_fault(text: bytes, told: str) -> None:
    with pytest.raises(Malformed, match=told.replace("|", r"\|")):
        unpack(text, b"")


@pytest.mark.parametrize(
    ("head", "told"),
    [
        (HEAD.pack(b"\x00\x00\x00\x04oops", 0, 0), "wrote into the kit's own pipe"),
        (HEAD.pack(MAGIC, 2**32 - 1, 0), "announced an answer of 4294967295 bytes"),
        (HEAD.pack(MAGIC, 2, 2**63), "and arrays of 9223372036854775808 bytes"),
    ],
)
def test_a_frame_is_refused_before_it_is_read(head: bytes, told: str) -> None:
    with pytest.raises(Malformed, match=told):
        lengths(head)


def test_half_a_character_is_shown_by_its_number() -> None:
    assert unpack(b'{"name": "\\ud800x", "list": ["\\uDC00"]}', b"").data == {
        "name": "\\ud800x",
        "list": ["\\udc00"],
    }


@pytest.mark.parametrize("make", ["folder", "device", "fifo", "long"])
def test_waivers_that_cannot_be_read_to_their_end_are_not_begun(tmp_path: Any, make: str) -> None:
    import os

    path = tmp_path / "waivers.toml"
    makers: dict[str, Callable[[], Any]] = {
        "folder": path.mkdir,
        "device": lambda: path.symlink_to("/dev/zero"),
        "fifo": lambda: os.mkfifo(path),
        "long": lambda: path.write_bytes(b" " * (5 << 20)),
    }
    makers[make]()
    facts = Facts("acme", frozenset(), (DeviceInfo("cpu:0", "cpu", 0),), path)

    with pytest.raises(Malformed, match="expected a file of less than 4 MiB"):
        introduction.facts_of(sent({"facts": facts.to_json()}, []))
