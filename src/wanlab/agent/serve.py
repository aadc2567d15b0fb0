"""The agent's loop: calls in, answers and events out. It is the only place here that waits."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable
from typing import Any

from . import root, system
from .counters import Counters
from .messages import Frame, FrameReader, Kind, encode, encode_json
from .namespaces import ROOT, Namespaces
from .perform import Performer
from .processes import Processes

CHUNK = 65536


class Agent:
    """Serves one machine over a pair of descriptors until it is told to stop."""

    def __init__(self, input: int, output: int) -> None:
        self._input = input
        self._output = output
        self._poll = select.epoll()
        self._calls: dict[str, Callable[..., Any]] = {"prepare": self.prepare}

    def prepare(
        self,
        environment: dict[str, str],
        working_folder: str,
        host_name: str,
        kernel_config: str,
        built_in: list[str],
    ) -> dict[str, Any]:
        """The first call. Makes the root file system and everything that works in it."""
        root.prepare(working_folder, host_name, kernel_config, built_in)
        namespaces = Namespaces()
        self._performer = Performer(namespaces, environment)
        self._performer.set_link_state(ROOT, "lo", True)
        self._processes = Processes(namespaces, self._poll, self._send)
        self._counters = Counters(namespaces)
        self._calls = {
            "perform": self.perform,
            "start": self._processes.start,
            "signal": self._processes.signal,
            "resize": self._processes.resize,
            "look": self._processes.look,
            "read": self._counters.read,
            "read_file": self.read_file,
            "sync": os.sync,
            "halt": self.halt,
        }
        return {"release": os.uname().release}

    def perform(self, operations: list[list[Any]]) -> None:
        """Performs in order; the failure names the operation's place in the list."""
        for place, (name, arguments) in enumerate(operations):
            try:
                self._performer.perform(name, arguments)
            except (OSError, ValueError) as error:
                raise OperationFailed(place, error) from error

    def read_file(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def halt(self) -> None:
        os.sync()
        system.power_off()

    # -- the loop ---------------------------------------------------------------------------------

    def serve(self) -> None:
        reader = FrameReader()
        child_ended, child_ends = os.pipe()
        os.set_blocking(child_ends, False)
        os.set_blocking(child_ended, False)
        signal.set_wakeup_fd(child_ends, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._poll.register(self._input, select.EPOLLIN)
        self._poll.register(child_ended, select.EPOLLIN)
        self._send(encode(Kind.READY, 0))
        while True:
            for descriptor, events in self._poll.poll():
                if descriptor == self._input:
                    for frame in reader.feed(os.read(self._input, CHUNK)):
                        self._take(frame)
                elif descriptor == child_ended:
                    os.read(child_ended, CHUNK)
                    self._processes.reap()
                else:
                    self._processes.ready(descriptor, events)

    def _take(self, frame: Frame) -> None:
        if frame.kind is Kind.INPUT:
            self._processes.feed(frame.number, frame.body)
        elif frame.kind is Kind.INPUT_END:
            self._processes.end_input(frame.number)
        else:
            self._answer(frame)

    def _answer(self, frame: Frame) -> None:
        call = frame.json()
        try:
            result = self._calls[call.pop("do")](**call)
        except OperationFailed as failure:
            self._fail(frame.number, failure.error, place=failure.place)
        except (OSError, ValueError, KeyError, TypeError) as error:
            self._fail(frame.number, error)
        else:
            if isinstance(result, bytes):
                self._send(encode(Kind.DATA, frame.number, result))
            else:
                self._send(encode_json(Kind.REPLY, frame.number, result))

    def _fail(self, number: int, error: Exception, **more: object) -> None:
        kind = type(error).__name__
        self._send(
            encode_json(Kind.FAILURE, number, {"error": _words(error), "kind": kind, **more})
        )

    def _send(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._output, data) :]


class OperationFailed(Exception):
    def __init__(self, place: int, error: Exception) -> None:
        super().__init__(place, error)
        self.place = place
        self.error = error


def _words(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return str(error)
