"""The learning controller as a program: `wanlab-controller [ADDRESS [PORT]]` in every machine.

With --detach it goes to the background as soon as switches can connect to it.
"""

from __future__ import annotations

import argparse
import contextlib
import select
import socket
import sys
from pathlib import Path
from typing import TextIO

from wanlab.controller import openflow, service
from wanlab.controller.learning import Switch

CHUNK = 65536


class Server:
    """Serves all switches from one loop. What a switch does not take at once waits for it."""

    def __init__(self, listener: socket.socket, log: TextIO) -> None:
        self._listener = listener
        self._log = log
        self._poll = select.epoll()
        self._poll.register(listener.fileno(), select.EPOLLIN)
        self._connections: dict[int, socket.socket] = {}
        self._switches: dict[int, Switch] = {}
        self._to_say: dict[int, bytearray] = {}

    def serve(self) -> None:
        while True:
            for descriptor, events in self._poll.poll():
                if descriptor == self._listener.fileno():
                    self._accept()
                elif events & ~select.EPOLLOUT:
                    self._hear(descriptor)
                else:
                    self._speak(descriptor)

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        descriptor = connection.fileno()
        self._connections[descriptor] = connection
        self._switches[descriptor] = Switch(self._note)
        self._to_say[descriptor] = bytearray(self._switches[descriptor].greet())
        self._poll.register(descriptor, select.EPOLLIN)
        self._speak(descriptor)

    def _hear(self, descriptor: int) -> None:
        try:
            data = self._connections[descriptor].recv(CHUNK)
        except OSError:
            data = b""
        if not data:
            self._part(descriptor)
            return
        try:
            self._to_say[descriptor] += self._switches[descriptor].hear(data)
        except ValueError as error:
            self._note(f"{self._switches[descriptor].name}: {error}")
            self._to_say[descriptor] += openflow.refusal()
            self._speak(descriptor)
            self._part(descriptor)
            return
        self._speak(descriptor)

    def _speak(self, descriptor: int) -> None:
        waiting = self._to_say[descriptor]
        with contextlib.suppress(OSError):  # it is full, or gone, which reading it will tell
            while waiting:
                del waiting[: self._connections[descriptor].send(waiting)]
        self._poll.modify(descriptor, select.EPOLLIN | (select.EPOLLOUT if waiting else 0))

    def _part(self, descriptor: int) -> None:
        switch = self._switches.pop(descriptor, None)
        if switch is None:
            return
        self._note(f"{switch.name} left")
        del self._to_say[descriptor]
        self._poll.unregister(descriptor)
        self._connections.pop(descriptor).close()

    def _note(self, line: str) -> None:
        print(line, file=self._log, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="wanlab-controller",
        description="A controller for OpenFlow 1.0 and 1.3 whose switches learn where addresses are.",
    )
    parser.add_argument("address", nargs="?", default="127.0.0.1")
    parser.add_argument("port", nargs="?", type=int, default=6653)
    service.add_options(parser)
    parser.add_argument("--log", help="file that is told who connects and what is learnt")
    options = parser.parse_args()
    listener = service.listen("wanlab-controller", options.address, options.port)
    log = Path(options.log).open("w", encoding="utf-8") if options.log else sys.stdout  # noqa: SIM115
    service.settle(detach=options.detach, pidfile=options.pidfile, keep_output=not options.log)
    with contextlib.suppress(KeyboardInterrupt):
        Server(listener, log).serve()


if __name__ == "__main__":
    main()
