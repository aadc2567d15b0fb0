"""Test the agent's host service socket: requests become frames, and frames become replies."""

from __future__ import annotations

import json
import select
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wanlab.agent import host_service
from wanlab.agent.host_service import (
    NO_REQUEST,
    HostServiceSocket,
    decode_request,
)
from wanlab.agent.messages import MAX_REQUEST_BYTES, Frame, FrameReader, Kind

A, B = b'{"do": "a"}\n', b'{"do": "b"}\n'


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
    with room.connect(A), room.connect(B):
        assert room.sent == [Frame(Kind.REQUEST, 1, A[:-1]), Frame(Kind.REQUEST, 2, B[:-1])]


def test_an_answer_reaches_its_client_and_ends_the_connection(room: ServiceBench) -> None:
    with room.connect(A) as first, room.connect(B) as second:
        room.service.answer(2, b"for b")
        room.service.answer_end(2)
        assert second.recv(100) == b"for b"
        assert second.recv(100) == b""
        assert room.sent[-1] == Frame(Kind.REQUEST_END, 2, b"")
        room.service.answer(1, b"for a")
        assert first.recv(100) == b"for a"


def test_a_client_that_disconnects_is_reported(room: ServiceBench) -> None:
    room.connect(A).close()
    room.serve()
    assert room.sent[-1] == Frame(Kind.REQUEST_END, 1, b"")
    room.service.answer(1, b"too late")


def test_a_client_that_disconnects_without_a_request_is_not_reported(room: ServiceBench) -> None:
    room.connect(b"half a requ").close()
    room.serve()
    assert room.sent == []


def test_a_slow_reader_gets_all_of_a_long_answer(room: ServiceBench) -> None:
    with room.connect(A) as client:
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


def test_the_agent_forwards_requests_that_it_does_not_know(room: ServiceBench) -> None:
    with room.connect(b'{"do": "terminal"}\n'):
        assert room.sent == [Frame(Kind.REQUEST, 1, b'{"do": "terminal"}')]


def reply_to(room: ServiceBench, line: bytes) -> object:
    with room.connect(line + b"\n") as client:
        return json.loads(client.makefile().read())


@pytest.mark.parametrize("arguments", [{}, {"number": 1, "other": 2}])
def test_a_request_with_wrong_arguments_gets_an_error(
    room: ServiceBench, arguments: dict[str, object]
) -> None:
    reply = reply_to(room, json.dumps({"do": "double", **arguments}).encode())
    assert isinstance(reply, dict)
    assert set(reply) == {"error"}
    assert room.sent == []


NO_REQUESTS = [
    b"[]",
    b"{}",
    b"no json",
    b"null",
    b'"x"',
    b'{"do": {}}',
    b'{"do": null}',
    b"\xff\xfe",
    b"",
    b"{" * 20_000,
    b"[" * 100_000,
    b"9" * 5000,
    b'{"do": "x", "y": ' + b"[" * 9 + b"]" * 9 + b"}",
]


@pytest.mark.parametrize("line", NO_REQUESTS, ids=range(len(NO_REQUESTS)))
def test_what_is_no_request_gets_an_error_and_reaches_nobody(
    room: ServiceBench, line: bytes
) -> None:
    assert reply_to(room, line) == {"error": NO_REQUEST}
    assert room.sent == []


@given(st.binary(max_size=200).filter(lambda line: b"\n" not in line))
def test_bytes_at_random_are_a_request_or_none(line: bytes) -> None:
    word, arguments = decode_request(line)
    assert word is None or isinstance(word, str)
    assert isinstance(arguments, dict)


def test_programs_cannot_open_connections_without_limit(
    room: ServiceBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_service, "MAX_CONNECTIONS", 2)
    with room.connect(), room.connect(), room.connect() as third:
        assert third.recv(1) == b""


def test_unfinished_requests_together_are_limited(
    room: ServiceBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_service, "MAX_UNREAD_BYTES", 100)
    with room.connect(b"x" * 60), room.connect(b"y" * 60) as second:
        assert second.recv(1) == b""
