"""The user's side of the desk: what programs in the machine may ask for, and who answers.

    net.desk["line"] = ask_for_line         # called with each visit that says {"do": "line", ...}

A visit is one connection of a program inside (`wanlab.ask`). A handler answers at once, and then no
time has passed for the program however long the user took; or it returns, keeps the visit, and answers
later, while time passes.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any

from wanlab.agent.desk import ADDRESS
from wanlab.agent.messages import Frame, Kind
from wanlab.errors import RequirementError
from wanlab.machine import Channel


class Visit:
    """One program's request. It lasts until either side ends it."""

    def __init__(self, channel: Channel, number: int, request: dict[str, Any]) -> None:
        self.request = request
        self.is_over = False
        self.on_data: Callable[[bytes], None] | None = None
        """Takes the bytes that follow the request."""
        self.on_end: Callable[[], None] | None = None
        """Called when the program has left."""
        self._channel = channel
        self._number = number

    def send(self, data: bytes) -> None:
        if not self.is_over:
            self._channel.answer_visit(self._number, data)

    def answer(self, value: dict[str, Any]) -> None:
        """One line of JSON, and the visit is over."""
        self.send(json.dumps(value).encode() + b"\n")
        self.end()

    def end(self) -> None:
        if not self.is_over:
            self._channel.end_visit(self._number)
        self.is_over = True


Handler = Callable[[Visit], None]


class Desk(dict[str, Handler]):
    """Handlers by what is asked for. What nobody answers is told so."""

    def __init__(self) -> None:
        super().__init__()
        self._visits: dict[int, Visit] = {}

    def attach(self, channel: Channel) -> None:
        """Called once by the network that starts."""
        self._channel = channel
        channel.on_visit = self._take

    def _take(self, frame: Frame) -> None:
        if frame.kind is Kind.VISIT:
            self._welcome(frame)
            return
        visit = self._visits.get(frame.number)
        if visit is None:
            return
        if frame.kind is Kind.VISIT_DATA:
            if visit.on_data is not None:
                visit.on_data(frame.body)
            return
        del self._visits[frame.number]
        visit.is_over = True
        if visit.on_end is not None:
            visit.on_end()

    def _welcome(self, frame: Frame) -> None:
        try:
            request = frame.json()
            handler = self.get(request["do"])
        except (ValueError, KeyError, TypeError):
            Visit(self._channel, frame.number, {}).answer(
                {"error": 'a request is one line of JSON: {"do": "...", ...}'}
            )
            return
        visit = Visit(self._channel, frame.number, request)
        if handler is None:
            visit.answer({"error": f"nobody here answers {request['do']!r}"})
            return
        self._visits[frame.number] = visit
        handler(visit)


def ask(request: dict[str, Any]) -> socket.socket:
    """Called inside a machine: a connection to whoever answers `request` on the user's side.

    The answer is a line of JSON, {"error": ...} if nobody does; see `answer_to`.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(ADDRESS)
    except OSError:
        connection.close()
        raise RequirementError(
            "there is no desk to ask at: this program does not run inside a machine",
            "run it with: wanlab exec or wanlab python",
        ) from None
    connection.sendall(json.dumps(request).encode() + b"\n")
    return connection


def answer_to(request: dict[str, Any]) -> dict[str, Any]:
    """Called inside a machine: asks and waits for an answer of one line. RequirementError if nobody
    answers that."""
    with ask(request) as connection, connection.makefile("rb") as lines:
        line = lines.readline()
    answer: dict[str, Any] = json.loads(line or b'{"error": "the user\'s side has gone"}')
    if "error" in answer:
        raise RequirementError(str(answer["error"]))
    return answer
