"""The host service: answers requests that programs in the machine send to the user's side.

    net.host_service["line"] = read_line    # called with each connection that sends {"do": "line", ...}

A handler may answer at once: then no time has passed for the program, however long the user took.
Or it returns, keeps the connection, and answers later, while time passes. The agent's end of the
connection is `agent/host_service.py`.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Mapping

from wanlab.agent.host_service import ADDRESS, MAX_CONNECTIONS
from wanlab.agent.messages import Frame, Kind
from wanlab.errors import InputError, RequirementError
from wanlab.machine import Channel

Message = dict[str, object]
"""A JSON object: a request or its answer."""


class Connection:
    """A program's connection to the host service, open until either side ends it."""

    def __init__(self, channel: Channel, number: int, request: Message) -> None:
        self.request = request
        self.is_over = False
        self.on_data: Callable[[bytes], None] | None = None
        """Called with the bytes that follow the request."""
        self.on_end: Callable[[], None] | None = None
        """Called when the program has disconnected."""
        self._channel = channel
        self._number = number

    def send(self, data: bytes) -> None:
        """Send bytes to the program; they are dropped if the connection is over."""
        if not self.is_over:
            self._channel.answer_request(self._number, data)

    def answer(self, message: Message) -> None:
        """Send one line of JSON and end the connection."""
        self.send(json.dumps(message).encode() + b"\n")
        self.end()

    def end(self) -> None:
        if not self.is_over:
            self._channel.end_request(self._number)
        self.is_over = True


Handler = Callable[[Connection], None]


class HostService(dict[str, Handler]):
    """Handlers by the value of a request's "do". Other requests get an error."""

    def __init__(self) -> None:
        super().__init__()
        self._connections: dict[int, Connection] = {}

    def attach(self, channel: Channel) -> None:
        """Serve the requests that arrive on this channel. Called when the network starts."""
        self._channel = channel
        self._connections.clear()
        channel.on_request = self._dispatch

    def _dispatch(self, frame: Frame) -> None:
        if frame.kind is Kind.REQUEST:
            self.accept(frame)
            return
        connection = self._connections.get(frame.number)
        if connection is None:
            return
        if frame.kind is Kind.REQUEST_DATA:
            if connection.on_data is not None:
                connection.on_data(frame.body)
            return
        del self._connections[frame.number]
        connection.is_over = True
        if connection.on_end is not None:
            connection.on_end()

    def accept(self, frame: Frame) -> None:
        """Handle a program's request."""
        from .requests import decode_request  # programs inside do not need it

        try:
            request = decode_request(frame.body)
        except InputError as error:
            Connection(self._channel, frame.number, {}).answer({"error": str(error)})
            return
        connection = Connection(self._channel, frame.number, request)
        if len(self._connections) >= MAX_CONNECTIONS:  # the agent has this limit, too
            connection.answer({"error": f"there are {MAX_CONNECTIONS} other requests"})
            return
        handler = self.get(str(request["do"]))
        if handler is None:
            connection.answer({"error": f"unknown request {request['do']!r}"})
            return
        self._connections[frame.number] = connection
        try:
            handler(connection)
        except (OSError, ValueError) as error:  # what a program asks for must not end wanlab
            connection.answer({"error": str(error)})


def open_request(request: Mapping[str, object]) -> socket.socket:
    """Inside a machine: send `request` to the user's side and return the connection.

    The answer is a line of JSON, {"error": ...} if the request is refused. RequirementError outside
    of a machine. See `call_host` for requests with a single answer.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(ADDRESS)
    except OSError:
        connection.close()
        raise RequirementError(
            "this program does not run inside a wanlab machine",
            "run it with: wanlab exec or wanlab python",
        ) from None
    connection.sendall(json.dumps(request).encode() + b"\n")
    return connection


def call_host(request: Mapping[str, object]) -> Message:
    """Inside a machine: send `request` to the user's side and wait for an answer of one line.

    RequirementError if the request is refused, or outside of a machine.
    """
    with open_request(request) as connection, connection.makefile("rb") as lines:
        line = lines.readline()
    answer: Message = json.loads(line or b'{"error": "the user\'s side has closed the connection"}')
    if "error" in answer:
        raise RequirementError(str(answer["error"]))
    return answer
