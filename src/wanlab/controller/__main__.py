"""The learning controller as a program: `wanlab-controller [ADDRESS [PORT]]` in every machine.

With --detach it goes to the background as soon as it is listening.
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
from wanlab.controller.learning import LearningSwitch

CHUNK = 65536


class Server:
    """Serves all switches from one loop, and buffers data that a switch does not accept yet."""

    def __init__(self, listener: socket.socket, log: TextIO) -> None:
        self._listener = listener
        self._log = log
        self._poll = select.epoll()
        self._poll.register(listener.fileno(), select.EPOLLIN)
        self._connections: dict[int, socket.socket] = {}
        self._switches: dict[int, LearningSwitch] = {}
        self._unsent: dict[int, bytearray] = {}

    def serve(self) -> None:
        while True:
            for descriptor, events in self._poll.poll():
                if descriptor == self._listener.fileno():
                    self._accept()
                elif events & ~select.EPOLLOUT:
                    self._receive(descriptor)
                else:
                    self._send(descriptor)

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        descriptor = connection.fileno()
        self._connections[descriptor] = connection
        self._switches[descriptor] = LearningSwitch(self._log_line)
        self._unsent[descriptor] = bytearray(self._switches[descriptor].hello())
        self._poll.register(descriptor, select.EPOLLIN)
        self._send(descriptor)

    def _receive(self, descriptor: int) -> None:
        try:
            data = self._connections[descriptor].recv(CHUNK)
        except OSError:
            data = b""
        if not data:
            self._close(descriptor)
            return
        try:
            self._unsent[descriptor] += self._switches[descriptor].receive(data)
        except ValueError as error:
            self._log_line(f"{self._switches[descriptor].name}: {error}")
            self._unsent[descriptor] += openflow.refusal()
            self._send(descriptor)
            self._close(descriptor)
            return
        self._send(descriptor)

    def _send(self, descriptor: int) -> None:
        waiting = self._unsent[descriptor]
        # The switch's buffer is full, or it has closed the connection; the next read shows which.
        with contextlib.suppress(OSError):
            while waiting:
                del waiting[: self._connections[descriptor].send(waiting)]
        self._poll.modify(descriptor, select.EPOLLIN | (select.EPOLLOUT if waiting else 0))

    def _close(self, descriptor: int) -> None:
        switch = self._switches.pop(descriptor, None)
        if switch is None:
            return
        self._log_line(f"{switch.name} disconnected")
        del self._unsent[descriptor]
        self._poll.unregister(descriptor)
        self._connections.pop(descriptor).close()

    def _log_line(self, line: str) -> None:
        print(line, file=self._log, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="wanlab-controller",
        description="A controller for OpenFlow 1.0 and 1.3 that makes its switches learning switches.",
    )
    parser.add_argument(
        "address", nargs="?", default="127.0.0.1", help="to listen on (default: %(default)s)"
    )
    parser.add_argument(
        "port", nargs="?", type=int, default=6653, help="to listen on (default: %(default)s)"
    )
    service.add_options(parser)
    parser.add_argument("--log", help="log file (default: standard output)")
    options = parser.parse_args()
    listener = service.listen("wanlab-controller", options.address, options.port)
    log = Path(options.log).open("w", encoding="utf-8") if options.log else sys.stdout  # noqa: SIM115
    service.enter_background(
        detach=options.detach, pidfile=options.pidfile, keep_output=not options.log
    )
    with contextlib.suppress(KeyboardInterrupt):
        Server(listener, log).serve()


if __name__ == "__main__":
    main()
