"""The agent's side of the desk: connections in, frames out, and the way back."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from wanlab.agent.desk import MOST_REQUEST_BYTES, Desk
from wanlab.agent.messages import Frame, FrameReader, Kind


def double(number: int) -> int:
    return 2 * number


class Room:
    """A desk, those who come to it, and what it has sent."""

    def __init__(self, address: Path) -> None:
        self.sent: list[Frame] = []
        self._address = str(address)
        self._poll = select.epoll()
        self._reader = FrameReader()
        self.desk = Desk(self._poll, self._send, {"double": double}, address=self._address)

    def _send(self, data: bytes) -> None:
        self.sent += self._reader.feed(data)

    def come(self, said: bytes = b"") -> socket.socket:
        visitor = socket.socket(socket.AF_UNIX)
        visitor.connect(self._address)
        visitor.sendall(said)
        self.serve()
        return visitor

    def close(self) -> None:
        self.desk._socket.close()
        self._poll.close()

    def serve(self) -> None:
        while ready := self._poll.poll(0):
            for descriptor, events in ready:
                assert self.desk.owns(descriptor)
                self.desk.ready(descriptor, events)


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    made = Room(tmp_path / "desk")
    yield made
    made.close()


def test_a_request_is_passed_on_when_its_line_is_complete(room: Room) -> None:
    with room.come(b'{"do":') as visitor:
        assert room.sent == []
        visitor.sendall(b' "x"}\nmore')
        room.serve()
        assert room.sent == [
            Frame(Kind.VISIT, 1, b'{"do": "x"}'),
            Frame(Kind.VISIT_DATA, 1, b"more"),
        ]


def test_visitors_have_numbers_of_their_own(room: Room) -> None:
    with room.come(b"a\n"), room.come(b"b\n"):
        assert room.sent == [Frame(Kind.VISIT, 1, b"a"), Frame(Kind.VISIT, 2, b"b")]


def test_an_answer_reaches_its_visitor_and_ends_the_visit(room: Room) -> None:
    with room.come(b"a\n") as first, room.come(b"b\n") as second:
        room.desk.answer(2, b"for b")
        room.desk.answer_end(2)
        assert second.recv(100) == b"for b"
        assert second.recv(100) == b""
        assert room.sent[-1] == Frame(Kind.VISIT_END, 2, b"")
        room.desk.answer(1, b"for a")
        assert first.recv(100) == b"for a"


def test_who_leaves_is_told_of(room: Room) -> None:
    room.come(b"a\n").close()
    room.serve()
    assert room.sent[-1] == Frame(Kind.VISIT_END, 1, b"")
    room.desk.answer(1, b"too late")


def test_who_leaves_without_a_request_was_never_there(room: Room) -> None:
    room.come(b"half a requ").close()
    room.serve()
    assert room.sent == []


def test_a_slow_reader_gets_all_of_a_long_answer(room: Room) -> None:
    with room.come(b"a\n") as visitor:
        long = bytes(range(256)) * 20_000
        room.desk.answer(1, long)
        room.desk.answer_end(1)
        received = b""
        while data := visitor.recv(1 << 16):
            received += data
            room.serve()
        assert received == long


def test_a_request_without_end_is_not_listened_to(room: Room) -> None:
    with socket.socket(socket.AF_UNIX) as visitor:
        visitor.setblocking(False)
        visitor.connect(room._address)
        sent = 0
        with pytest.raises(BrokenPipeError):
            while sent < 3 * MOST_REQUEST_BYTES:
                sent += visitor.send(b"x" * 65536)
                room.serve()
    assert room.sent == []


def test_what_the_agent_knows_itself_it_answers_itself(room: Room) -> None:
    with room.come(b'{"do": "double", "number": 21}\n') as visitor:
        assert visitor.recv(100) == b"42\n"
        assert visitor.recv(100) == b""
    assert room.sent == []


@pytest.mark.parametrize("request_line", [b'{"do": "double"}', b"[]", b"{}", b"no json"])
def test_what_it_does_not_understand_it_passes_on(room: Room, request_line: bytes) -> None:
    with room.come(request_line + b"\n"):
        assert room.sent == [Frame(Kind.VISIT, 1, request_line)]
