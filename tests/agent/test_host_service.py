"""Test the agent's host service socket: requests become frames, and frames become replies."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from wanlab.agent.host_service import MAX_REQUEST_BYTES, HostServiceSocket
from wanlab.agent.messages import Frame, FrameReader, Kind


def double(number: int) -> int:
    return 2 * number


class ServiceBench:
    """Serves a host service socket, connects clients to it, and records the frames that it sends."""

    def __init__(self, address: Path) -> None:
        self.sent: list[Frame] = []
        self._address = str(address)
        self._poll = select.epoll()
        self._reader = FrameReader()
        self.service = HostServiceSocket(
            self._poll, self._send, {"double": double}, address=self._address
        )

    def _send(self, data: bytes) -> None:
        self.sent += self._reader.feed(data)

    def connect(self, said: bytes = b"") -> socket.socket:
        client = socket.socket(socket.AF_UNIX)
        client.connect(self._address)
        client.sendall(said)
        self.serve()
        return client

    def close(self) -> None:
        self.service._socket.close()
        self._poll.close()

    def serve(self) -> None:
        while ready := self._poll.poll(0):
            for descriptor, events in ready:
                assert self.service.owns(descriptor)
                self.service.ready(descriptor, events)


@pytest.fixture
def room(tmp_path: Path) -> Iterator[ServiceBench]:
    made = ServiceBench(tmp_path / "host-service")
    yield made
    made.close()


def test_a_request_is_forwarded_when_its_line_is_complete(room: ServiceBench) -> None:
    with room.connect(b'{"do":') as client:
        assert room.sent == []
        client.sendall(b' "x"}\nmore')
        room.serve()
        assert room.sent == [
            Frame(Kind.REQUEST, 1, b'{"do": "x"}'),
            Frame(Kind.REQUEST_DATA, 1, b"more"),
        ]


def test_each_client_has_its_own_number(room: ServiceBench) -> None:
    with room.connect(b"a\n"), room.connect(b"b\n"):
        assert room.sent == [Frame(Kind.REQUEST, 1, b"a"), Frame(Kind.REQUEST, 2, b"b")]


def test_an_answer_reaches_its_client_and_ends_the_connection(room: ServiceBench) -> None:
    with room.connect(b"a\n") as first, room.connect(b"b\n") as second:
        room.service.answer(2, b"for b")
        room.service.answer_end(2)
        assert second.recv(100) == b"for b"
        assert second.recv(100) == b""
        assert room.sent[-1] == Frame(Kind.REQUEST_END, 2, b"")
        room.service.answer(1, b"for a")
        assert first.recv(100) == b"for a"


def test_a_client_that_disconnects_is_reported(room: ServiceBench) -> None:
    room.connect(b"a\n").close()
    room.serve()
    assert room.sent[-1] == Frame(Kind.REQUEST_END, 1, b"")
    room.service.answer(1, b"too late")


def test_a_client_that_disconnects_without_a_request_is_not_reported(room: ServiceBench) -> None:
    room.connect(b"half a requ").close()
    room.serve()
    assert room.sent == []


def test_a_slow_reader_gets_all_of_a_long_answer(room: ServiceBench) -> None:
    with room.connect(b"a\n") as client:
        long = bytes(range(256)) * 20_000
        room.service.answer(1, long)
        room.service.answer_end(1)
        received = b""
        while data := client.recv(1 << 16):
            received += data
            room.serve()
        assert received == long


def test_an_endless_request_is_dropped(room: ServiceBench) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.setblocking(False)
        client.connect(room._address)
        sent = 0
        with pytest.raises(BrokenPipeError):
            while sent < 3 * MAX_REQUEST_BYTES:
                sent += client.send(b"x" * 65536)
                room.serve()
    assert room.sent == []


def test_the_agent_answers_requests_that_it_knows_itself(room: ServiceBench) -> None:
    with room.connect(b'{"do": "double", "number": 21}\n') as client:
        assert client.recv(100) == b"42\n"
        assert client.recv(100) == b""
    assert room.sent == []


@pytest.mark.parametrize("request_line", [b'{"do": "double"}', b"[]", b"{}", b"no json"])
def test_the_agent_forwards_unknown_requests(room: ServiceBench, request_line: bytes) -> None:
    with room.connect(request_line + b"\n"):
        assert room.sent == [Frame(Kind.REQUEST, 1, request_line)]
