"""Neither sending nor receiving waits for ever on a process that does not keep up its end."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from hettest.isolation.channel import Channel
from hettest.isolation.frames import HEAD, MAGIC, pack


class TooLong(Exception):
    pass


class Look:
    """Looks a number of times, and then no more."""

    def __init__(self, times: int) -> None:
        self.left = times

    def __call__(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise TooLong


@pytest.fixture
def ends() -> Iterator[tuple[Channel, socket.socket]]:
    ours, theirs = socket.socketpair()
    yield Channel(ours), theirs
    ours.close()
    theirs.close()


def test_what_nobody_reads_is_not_sent_for_ever(ends: tuple[Channel, socket.socket]) -> None:
    with pytest.raises(TooLong):
        ends[0].send(b"x" * (64 << 20), Look(20))


@pytest.mark.parametrize("sent", [b"", HEAD.pack(MAGIC, 9, 9)[:7], HEAD.pack(MAGIC, 9, 0) + b"{"])
def test_what_is_never_finished_is_not_awaited_for_ever(
    ends: tuple[Channel, socket.socket], sent: bytes
) -> None:
    ends[1].sendall(sent)

    with pytest.raises(TooLong):
        ends[0].receive(Look(5))


def test_who_hangs_up_in_the_middle_has_hung_up(ends: tuple[Channel, socket.socket]) -> None:
    ends[1].sendall(HEAD.pack(MAGIC, 9, 0) + b"{")
    ends[1].close()

    with pytest.raises(EOFError):
        ends[0].receive(Look(99))


def test_answers_that_come_at_once_are_read_one_by_one(
    ends: tuple[Channel, socket.socket],
) -> None:
    ends[1].sendall(b"".join((*pack({"number": 1}), *pack({"number": 2}))))

    assert [ends[0].receive(Look(99)).data["number"] for _ in range(2)] == [1, 2]
    assert not ends[0].has_more()
