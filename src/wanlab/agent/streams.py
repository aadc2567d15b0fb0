"""The standard streams of the programs that the agent starts.

All descriptors are non-blocking, so a program that reads or writes slowly delays no other.
"""

from __future__ import annotations

import fcntl
import os
import select
import struct
import sys
import termios
from collections.abc import Callable
from typing import TYPE_CHECKING

from .messages import CHUNK_BYTES, Kind, encode

if TYPE_CHECKING:
    from .sandbox import FileAction

MAX_FINAL_OUTPUT_BYTES = 1 << 20


class NewStreams:
    """The streams of a program that is about to be started.

    `actions` are the file actions by which posix_spawn() opens them. `own_ends` are our descriptors:
    `input_end` writes to standard input (None if that is /dev/null), and `outputs` read the output.
    """

    def __init__(self) -> None:
        self.actions: list[FileAction] = []
        self.own_ends: list[int] = []
        self.outputs: dict[int, Kind] = {}
        self.input_end: int | None = None
        self._child_ends: list[int] = []

    def open_terminal(self, rows: int, columns: int) -> None:
        """Make one terminal all three streams."""
        master, slave = os.openpty()
        self.own_ends.append(master)
        self._child_ends.append(slave)
        _resize_terminal(master, rows, columns)
        # Opened by the session's leader, it becomes the controlling terminal.
        self.actions.append((os.POSIX_SPAWN_OPEN, 0, os.ttyname(slave), os.O_RDWR, 0))
        self.actions += [(os.POSIX_SPAWN_DUP2, 0, 1), (os.POSIX_SPAWN_DUP2, 0, 2)]
        self.outputs[master] = Kind.OUTPUT
        self.input_end = master

    def open_pipes(self, *, stdin: bool, merge_stderr: bool) -> None:
        """Make a pipe for each output stream, and one for standard input if `stdin` says so."""
        if stdin:
            read_end, self.input_end = os.pipe()
            self._child_ends.append(read_end)
            self.own_ends.append(self.input_end)
            self.actions.append((os.POSIX_SPAWN_DUP2, read_end, 0))
        else:
            self.actions.append((os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0))
        kinds = ((1, Kind.OUTPUT), (2, Kind.STDERR))
        for target, kind in kinds[:1] if merge_stderr else kinds:
            read_end, write_end = os.pipe()
            self.own_ends.append(read_end)
            self._child_ends.append(write_end)
            self.actions.append((os.POSIX_SPAWN_DUP2, write_end, target))
            self.outputs[read_end] = kind
        if merge_stderr:
            self.actions.append((os.POSIX_SPAWN_DUP2, 1, 2))

    def close_own_ends(self) -> None:
        for descriptor in self.own_ends:
            os.close(descriptor)

    def close_child_ends(self) -> None:
        for descriptor in self._child_ends:
            os.close(descriptor)


class Streams:
    """Our ends of the streams of a program that runs, or whose output has not all been read.

    number    the number of the process on the channel
    poll      reports events at our ends; `ready` must then be called
    polled    maps each descriptor in the poll to its streams
    send      passes a frame to the machine's side
    credit    how many bytes of output may still be read; None means no limit
    """

    def __init__(
        self,
        number: int,
        new: NewStreams,
        poll: select.epoll,
        polled: dict[int, Streams],
        send: Callable[[bytes], None],
        credit: int | None,
    ) -> None:
        self.number = number
        self._input = new.input_end
        self._outputs = new.outputs
        self._is_terminal = new.input_end in new.outputs
        self._poll = poll
        self._polled = polled
        self._send = send
        self._credit = credit
        self._unwritten = bytearray()
        self._input_ends = False
        self._program_has_ended = False
        self._left_terminal: int | None = None
        self._wanted_events: dict[int, int] = {}
        """The events that the poll reports for each descriptor; 0 if it is not in the poll."""
        for descriptor in new.own_ends:
            os.set_blocking(descriptor, False)
        for descriptor in new.outputs:
            self._update_poll(descriptor)

    @property
    def is_finished(self) -> bool:
        """Whether the program has ended and all its output has been read."""
        return self._program_has_ended and not self._outputs

    @property
    def terminal(self) -> int | None:
        """Our end of the terminal; None if there is none, or the program has left it."""
        return self._input if self._is_terminal else None

    @property
    def unwritten_bytes(self) -> int | None:
        """How many bytes of input the program has not read yet; None if its input is closed."""
        return None if self._input is None else len(self._unwritten)

    def ready(self, descriptor: int, events: int) -> None:
        """Handle the `events` that the poll reports of a descriptor."""
        # A full pipe whose reader has gone never becomes writable; it reports an error again and again.
        if descriptor == self._input and (
            events & select.EPOLLOUT or descriptor not in self._outputs
        ):
            self._write()
        if descriptor in self._outputs and events & ~select.EPOLLOUT:
            self._read(descriptor)

    def feed(self, data: bytes) -> None:
        """Write to standard input; ignored if that is closed."""
        if self._input is not None:
            self._unwritten += data
            self._write()

    def end_input(self) -> None:
        """Close standard input when everything has been written; a terminal gets Ctrl-D."""
        if self._is_terminal:
            self.feed(b"\x04")
        elif self._input is not None:
            self._input_ends = True
            self._write()

    def resize(self, rows: int, columns: int) -> None:
        """Resize the terminal, if there is one."""
        if self.terminal is not None:
            _resize_terminal(self.terminal, rows, columns)

    def grant_credit(self, more_bytes: int) -> None:
        """Allow `more_bytes` further bytes of output to be read."""
        if self._credit is not None:
            self._credit += more_bytes
            for descriptor in self._outputs:
                self._update_poll(descriptor)

    def end_program(self) -> None:
        """Read the output that is left when the program has ended, and close its input.

        Its children may still write: `is_finished` says when all of them have closed the output.
        """
        self._program_has_ended = True
        for descriptor in list(self._outputs):
            while descriptor in self._outputs and _bytes_to_read(descriptor):
                self._read(descriptor)
        self.grant_credit(MAX_FINAL_OUTPUT_BYTES)
        if not self._is_terminal:
            self._close_input()
        if self._left_terminal is not None:
            os.close(self._left_terminal)

    def _may_read(self) -> bool:
        return self._credit is None or self._credit > 0

    def _read(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:  # EIO: the last process has left the terminal
            data = b""
        if data:
            self._send(encode(self._outputs[descriptor], self.number, data))
            self._use_credit(len(data))
        else:
            self._end_output(descriptor)

    def _use_credit(self, read_bytes: int) -> None:
        """Without credit nothing is read, and the program blocks once its pipe is full."""
        if self._credit is not None:
            self._credit -= read_bytes
            for descriptor in self._outputs:
                self._update_poll(descriptor)

    def _end_output(self, descriptor: int) -> None:
        del self._outputs[descriptor]
        if descriptor == self._input:
            self._input = None
        self._update_poll(descriptor)
        if self._is_terminal and not self._program_has_ended:
            # It closed its terminal but still runs: closing the master would send it SIGHUP.
            self._left_terminal = descriptor
        else:
            os.close(descriptor)

    def _write(self) -> None:
        assert self._input is not None
        try:
            while self._unwritten:
                del self._unwritten[: os.write(self._input, self._unwritten[:CHUNK_BYTES])]
        except BlockingIOError:
            self._update_poll(self._input)
            return
        except BrokenPipeError:
            self._close_input()
            return
        except OSError:  # EIO: nobody has the terminal open
            self._unwritten.clear()
        self._update_poll(self._input)
        if self._input_ends:
            self._close_input()

    def _close_input(self) -> None:
        descriptor, self._input = self._input, None
        self._unwritten.clear()
        if descriptor is not None:
            self._polled.pop(descriptor, None)
            os.close(descriptor)  # leaves the poll by itself

    def _update_poll(self, descriptor: int) -> None:
        """Make the poll report the events that we now wait for at a descriptor.

        If we wait for none, the descriptor leaves the poll, which would still report errors.
        """
        wanted = 0
        is_input_waiting = descriptor == self._input and bool(self._unwritten)
        if descriptor not in self._outputs:
            wanted = select.EPOLLOUT if is_input_waiting else 0
        elif self._may_read():
            wanted = select.EPOLLIN | (select.EPOLLOUT if is_input_waiting else 0)
        before = self._wanted_events.get(descriptor, 0)
        self._wanted_events[descriptor] = wanted
        if wanted and not before:
            self._poll.register(descriptor, wanted)
            self._polled[descriptor] = self
        elif before and not wanted:
            self._poll.unregister(descriptor)
            del self._polled[descriptor]
        elif wanted != before:
            self._poll.modify(descriptor, wanted)


def _resize_terminal(master: int, rows: int, columns: int) -> None:
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def _bytes_to_read(descriptor: int) -> int:
    """Return how many bytes can be read. (A poll, or a read that fails, would move virtual time.)"""
    count = fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4)
    return int.from_bytes(count, sys.byteorder)
