"""The agent's loop: calls in, answers and events out. It is the only place here that waits."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from . import root, system
from .counters import Counters
from .host_service import HostServiceSocket
from .messages import Frame, FrameReader, Kind, encode, encode_json
from .namespaces import ROOT, Namespaces
from .perform import Performer
from .processes import Processes
from .watches import Watches

CHUNK = 65536
Request = list[Any]  # of a verb and its arguments, as `wanlab.operations` makes them
RUN_TOGETHER = ("set_ovs", "set_vlans")
MAX_TOGETHER = 1000  # a kernel takes some 2 MB of arguments


class Agent:
    """Serves one machine over a pair of descriptors until it is told to stop.

    `has_kernel`: the kernel is its own and ends with it. `is_guest`: its namespaces are not its own
    and go on after it. It undoes what it has done when it is told to stop, or when nobody is left to
    tell it anything.
    """

    def __init__(
        self, input: int, output: int, *, has_kernel: bool = True, is_guest: bool = False
    ) -> None:
        self._input = input
        self._output = output
        self._has_kernel = has_kernel
        self._is_guest = is_guest
        self._poll = select.epoll()
        self._host_service: HostServiceSocket | None = None
        self._watches: Watches | None = None
        self._calls: dict[str, Callable[..., Any]] = {"prepare": self.prepare}

    def prepare(
        self,
        environment: dict[str, str],
        root_folder: dict[str, Any] | None = None,
        native_root: dict[str, Any] | None = None,
        furniture: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The first call. Makes the root file system and what stands in it, unless they are there."""
        if root_folder is not None:
            root.prepare(**root_folder)
        if native_root is not None:
            from . import native_root as place  # of no use elsewhere

            place.prepare(**native_root)
        namespaces = Namespaces()
        if furniture is not None:
            root.furnish(**furniture)
            self._host_service = HostServiceSocket(
                self._poll, self._send, {"paths": namespaces.paths}, self._fork_for
            )
        self._performer = Performer(namespaces, environment)
        if not self._is_guest:
            self._performer.set_link_state(ROOT, "lo", up=True)
        self._namespaces = namespaces
        self._processes = Processes(namespaces, self._poll, self._send)
        self._counters = Counters(namespaces)
        watches = Watches(self._counters, namespaces, self._poll, self._send)
        self._watches = watches
        if self._has_kernel:
            system.go_first()
        if root_folder is not None:
            system.begin_random_numbers_anew()
        self._calls = {
            "perform": self.perform,
            "start": self._processes.start,
            "signal": self._processes.signal,
            "resize": self._processes.resize,
            "look": self._processes.look,
            "give_room": self._processes.give_room,
            "are_busy": self._processes.are_busy,
            "adopt": namespaces.adopt,
            "paths": namespaces.paths,
            "read": self._counters.read,
            "watch": watches.watch,
            "snapshot": watches.snapshot,
            "flush": watches.flush,
            "unwatch": watches.unwatch,
            "read_file": self.read_file,
            "probe": self.probe,
            "sync": os.sync,
            "halt": self.halt,
        }
        return {"release": os.uname().release}

    def perform(self, operations: list[Request]) -> None:
        """Perform operations in order. OperationFailed says which one failed."""
        for index, verb, arguments in batches(operations):
            try:
                self._performer.perform(verb, arguments)
            except (OSError, ValueError) as error:
                raise OperationFailed(index, error) from error

    def read_file(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def probe(self, **wanted: Any) -> dict[str, dict[str, str]]:
        from .probe import Probe  # seldom asked for

        return Probe(self._namespaces).probe(**wanted)

    def _fork_for(self, connection: int) -> None:
        """Fork an agent for a program inside; the program's connection becomes its channel. A fork
        starts faster than a new Python, which would have to import everything again."""
        if os.fork():
            return
        status = 1
        try:
            os.setsid()
            _close_all_but(0, 1, 2, connection)
            os.set_blocking(connection, True)
            Agent(connection, connection, has_kernel=False, is_guest=True).serve()
        except SystemExit:
            status = 0
        finally:
            os._exit(status)

    def halt(self) -> None:
        if not self._has_kernel:
            self.leave()
        os.sync()
        system.power_off()

    def leave(self) -> NoReturn:
        """Goes. In namespaces of its own all ends with it; otherwise it ends processes and undoes
        operations, last first."""
        if self._is_guest and self._calls.get("halt"):
            self._processes.kill_all()
            self._performer.undo()
        sys.exit()

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
                    data = os.read(self._input, CHUNK)
                    if not data:
                        self.leave()
                    for frame in reader.feed(data):
                        self._take(frame)
                elif descriptor == child_ended:
                    os.read(child_ended, CHUNK)
                    self._processes.reap()
                elif self._host_service is not None and self._host_service.owns(descriptor):
                    self._host_service.ready(descriptor, events)
                elif self._watches is not None and self._watches.owns(descriptor):
                    self._watches.ready(descriptor)
                else:
                    self._processes.ready(descriptor, events)

    def _take(self, frame: Frame) -> None:
        if frame.kind is Kind.INPUT:
            self._processes.feed(frame.number, frame.body)
        elif frame.kind is Kind.INPUT_END:
            self._processes.end_input(frame.number)
        elif frame.kind is Kind.ANSWER and self._host_service is not None:
            self._host_service.answer(frame.number, frame.body)
        elif frame.kind is Kind.ANSWER_END and self._host_service is not None:
            self._host_service.answer_end(frame.number)
        else:
            self._answer(frame)

    def _answer(self, frame: Frame) -> None:
        call = frame.json()
        try:
            result = self._calls[call.pop("do")](**call)
        except OperationFailed as failure:
            self._fail(frame.number, failure.error, index=failure.index)
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


def batches(operations: list[Request]) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield (index, verb, arguments) of each operation.

    Consecutive operations that one run of a program can do become one operation, whose arguments are
    those of all of them in a row.
    """
    index = 0
    while index < len(operations):
        verb, arguments = operations[index]
        end = index + 1
        if verb in RUN_TOGETHER:
            while end < min(len(operations), index + MAX_TOGETHER) and operations[end][0] == verb:
                end += 1
            arguments = {
                key: [item for _, other in operations[index:end] for item in other[key]]
                for key in arguments
            }
        yield index, verb, arguments
        index = end


def _close_all_but(*kept: int) -> None:
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            try:
                os.close(int(name))
            except OSError:  # the listing's own
                continue


class OperationFailed(Exception):
    def __init__(self, index: int, error: Exception) -> None:
        super().__init__(index, error)
        self.index = index
        self.error = error


def _words(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return str(error)
