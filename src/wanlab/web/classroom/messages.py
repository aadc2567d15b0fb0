"""Messages between the hub and the process of a student.

Each message is one datagram of a socket pair (SOCK_SEQPACKET), at most MAX_BYTES long. Three of
them carry a file descriptor: the connection of a browser, the socket of a look, and a memory file
with a hand-in.
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Sequence
from typing import TypeVar, Union

import msgspec

from wanlab.errors import WanlabError

MAX_BYTES = 96 << 10
MAX_HAND_IN_BYTES = 32 << 20


class ToStudent(msgspec.Struct, frozen=True, tag_field="do", tag=str.lower):
    """A message of the hub."""


class Serve(ToStudent, frozen=True):
    """Serve the connection that comes with this message. `received` was already read from it."""

    received: bytes


class Look(ToStudent, frozen=True):
    """Answer the teacher, who only looks, over the socket that comes with this message.

    With a JupyterHub, it is a WebSocket that the laboratory has to open under this `number`.
    """

    path: str
    query: str
    is_socket: bool
    number: int = 0


class StopNetwork(ToStudent, frozen=True):
    """Stop the network at the teacher's request."""


class Admitted(ToStudent, frozen=True):
    """The answer to Ask: start the network unless there is a reason not to."""

    reason: str = ""


class Kept(ToStudent, frozen=True):
    """The answer to HandedIn: the hand-in is kept unless there is a reason why not.

    kept_bytes   the size of all hand-ins that are kept
    """

    reason: str = ""
    kept_bytes: int = 0


class UnitState(msgspec.Struct, frozen=True):
    """The progress of a student in a unit."""

    unit: str
    done: int
    steps: int
    points: float | None = None
    of: float | None = None


class Enrolled(ToStudent, frozen=True):
    """The first message of a class to a laboratory that a JupyterHub has started."""

    seed: int


class ToHub(msgspec.Struct, frozen=True, tag_field="is", tag=str.lower):
    """A message of a student's process."""


class Status(ToHub, frozen=True):
    """The activity of a student; sent when it has changed.

    phase       of the network: stopped, starting, running, stopping or failed
    open_unit   the name of the unit that is open, or ""
    hand_raised_s   since when the student asks for help, in seconds since the epoch
    idle_since_s    since when no step of the open unit has been done, unless all are done
    """

    browsers: int = 0
    phase: str = "stopped"
    nodes: int = 0
    open_unit: str = ""
    units: tuple[UnitState, ...] = ()
    disk_bytes: int = 0
    is_full: bool = False
    hand_raised_s: float | None = None
    idle_since_s: float | None = None


class Ask(ToHub, frozen=True):
    """Ask whether a network may start."""


class HandedIn(ToHub, frozen=True):
    """Keep the hand-in in the memory file beside this message."""

    unit: str


Message = TypeVar("Message", bound=ToStudent | ToHub)
TO_STUDENT: msgspec.msgpack.Decoder[ToStudent] = msgspec.msgpack.Decoder(
    Union[Serve, Look, StopNetwork, Admitted, Kept, Enrolled]  # noqa: UP007
)
TO_HUB: msgspec.msgpack.Decoder[ToHub] = msgspec.msgpack.Decoder(
    Union[Status, Ask, HandedIn]  # noqa: UP007
)


def send(control: socket.socket, message: ToStudent | ToHub, files: Sequence[int] = ()) -> bool:
    """Send a message; return False if the socket is full or closed."""
    try:
        socket.send_fds(control, [msgspec.msgpack.encode(message)], list(files))
    except (BlockingIOError, OSError):
        return False
    return True


def receive(
    control: socket.socket, decoder: msgspec.msgpack.Decoder[Message]
) -> tuple[Message, int | None] | None:
    """Receive a message, and the descriptor beside it; None if the other side has ended.

    BlockingIOError if there is no message; WanlabError if it is not a valid one.
    """
    data, files, _, _ = socket.recv_fds(control, MAX_BYTES, 1)
    if not data:
        return None
    try:
        return decoder.decode(data), (files[0] if files else None)
    except msgspec.MsgspecError as error:
        for file in files:
            os.close(file)
        raise WanlabError(f"not a message: {error}") from None


def memory_file(content: bytes) -> int:
    """Return a descriptor of a memory file."""
    if len(content) > MAX_HAND_IN_BYTES:
        raise WanlabError(f"a hand-in has at most {MAX_HAND_IN_BYTES >> 20} MiB")
    number = os.memfd_create("wanlab-hand-in", os.MFD_CLOEXEC)
    with open(number, "wb", closefd=False) as file:
        file.write(content)
    return number


def content_of(number: int) -> bytes:
    """Return the content of a memory file, and close it. WanlabError if it is no file or too large."""
    try:
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_HAND_IN_BYTES:
            raise WanlabError("this is not a hand-in")
        return os.pread(number, MAX_HAND_IN_BYTES, 0)
    finally:
        os.close(number)
