"""A machine's conversation with its agent: it lets time pass until the agent has answered.

    channel    frames: the calls that were made, and their answers
    loop       waits, and lets time pass
    agent      the calls, as methods

All machines have the same conversation. They differ in their loop, and in the reasons for which the
agent can end.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol

from wanlab.errors import CommandError, MachineError, PeerError, RequirementError
from wanlab.units import FOREVER_NS

from .channel import Channel
from .client import AgentClient
from .loop import ConnectionClosed


class Loop(Protocol):
    """The interface between a conversation and its loop: see `RealLoop` and `VirtualLoop`."""

    @property
    def now_ns(self) -> int: ...

    def run(self, until_ns: int, stop: Callable[[], bool]) -> None: ...

    def is_settled(self) -> bool: ...

    def close(self) -> None: ...


class Conversation:
    """Calls the agent, and answers the requests of programs while it waits.

    `explain_end` returns the error to raise when the connection has been closed. `console` returns the
    machine's printed output, for other errors. `serves`: whether requests are answered at all.
    """

    def __init__(
        self,
        loop: Loop,
        channel: Channel,
        *,
        explain_end: Callable[[], MachineError | RequirementError],
        console: Callable[[], str] = lambda: "",
        serves: bool = True,
    ) -> None:
        self._loop = loop
        self._channel = channel
        self._explain_end = explain_end
        self._console = console
        self._serves = serves
        self._is_closed = False
        self._fault = ""
        self._owner = os.getpid()
        self.agent = AgentClient(self.call)

    def await_agent(self) -> None:
        """Let time pass until the agent has started."""
        self.run(FOREVER_NS, lambda: self._channel.is_ready)

    def call(self, name: str, /, **arguments: object) -> object:
        """Make a call and return its answer. AgentFailure if it fails, MachineError if the machine
        ends."""
        self.refuse_fork()
        number = self._channel.call(name, **arguments)
        self.run(FOREVER_NS, lambda: self._channel.is_answered(number))
        if not self._channel.is_answered(number):
            raise MachineError(f"the agent did not answer {name!r}", console=self._console())
        return self._channel.answer(number)

    def run(self, until_ns: int, stop: Callable[[], bool]) -> None:
        """Let time pass until `stop()` is true or the clock shows `until_ns`."""
        if self._is_closed:
            raise MachineError("the machine has been closed")
        self.refuse_fork()
        if self._fault:
            raise MachineError(self._fault, console=self._console())
        try:
            self._loop.run(until_ns, self._serving(stop) if self._serves else stop)
        except ConnectionClosed:
            raise self._explain_end() from None
        except PeerError as error:
            # After nonsense, each side may wait for the other for ever.
            self._fault = str(error)
            raise MachineError(self._fault, console=self._console()) from error

    @property
    def is_forked(self) -> bool:
        """Whether this is another process than the one that started the machine."""
        return os.getpid() != self._owner

    def refuse_fork(self) -> None:
        """Raise CommandError in a forked process, which would read its parent's replies."""
        if self.is_forked:
            raise CommandError(
                f"this network belongs to process {self._owner}, and a process that was forked from "
                "it cannot use it",
                "use threads, or start a network in each process",
            )

    def close(self) -> None:
        """Refuse further calls and close the connection."""
        self._is_closed = True
        self._loop.close()

    def _serving(self, stop: Callable[[], bool]) -> Callable[[], bool]:
        """Return a function that serves requests and then returns `stop()`.

        Virtual time stands still while requests are served. A request waits until the machine is
        settled, so that earlier output of the program arrives before its request.
        """
        channel = self._channel

        def serve_and_stop() -> bool:
            if channel.has_requests and self._loop.is_settled():
                channel.deliver_requests()
            channel.serve()
            return stop()

        return serve_and_stop
