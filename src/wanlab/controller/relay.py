"""Connects switches in a machine to a controller on the user's computer: `wanlab-relay ADDRESS PORT`.

    switch --TCP--> relay, 127.0.0.1:PORT --host service--> user's side --TCP--> ADDRESS:PORT

Each TCP connection becomes a request to the host service: a line of JSON with the destination, a line
with the answer, and then bytes both ways. The controller answers on the real clock, so such a run
cannot be repeated exactly.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import selectors
import socket
import threading

from wanlab.controller import service

HOST_SERVICE = "/run/wanlab/host-service"
CHUNK = 65536


def serve(listener: socket.socket, address: str, port: int) -> None:
    """Relay each connection in a thread; there are few of them."""
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=relay, args=(connection, address, port), daemon=True).start()


def relay(connection: socket.socket, address: str, port: int) -> None:
    """Pass bytes on until either side ends."""
    with connection, contextlib.suppress(OSError), connect(address, port) as outside:
        pass_on(connection, outside)


def connect(address: str, port: int) -> socket.socket:
    """Connect to the controller. Raises ConnectionError with the reason if that fails."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(HOST_SERVICE)
        request = {"do": "connect", "address": address, "port": port}
        connection.sendall(json.dumps(request).encode() + b"\n")
        line = b""
        while not line.endswith(b"\n"):
            byte = connection.recv(1)
            if not byte:
                raise ConnectionError("the user's side has gone")
            line += byte
        if "error" in (answer := json.loads(line)):
            raise ConnectionError(answer["error"])
    except BaseException:
        connection.close()
        raise
    return connection


def pass_on(a: socket.socket, b: socket.socket) -> None:
    """Pass bytes on in both directions until either side ends."""
    with selectors.DefaultSelector() as selector:
        selector.register(a, selectors.EVENT_READ, b)
        selector.register(b, selectors.EVENT_READ, a)
        while True:
            for key, _ in selector.select():
                data = os.read(key.fd, CHUNK)
                if not data:
                    return
                key.data.sendall(data)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="wanlab-relay",
        description="Connects switches to a controller on the computer on which wanlab was started.",
    )
    parser.add_argument("address", help="of the controller, as seen from that computer")
    parser.add_argument(
        "port", type=int, help="of the controller; the relay listens on the same port"
    )
    service.add_options(parser)
    options = parser.parse_args()
    listener = service.listen("wanlab-relay", "127.0.0.1", options.port)
    service.enter_background(detach=options.detach, pidfile=options.pidfile)
    with contextlib.suppress(KeyboardInterrupt):
        serve(listener, options.address, options.port)


if __name__ == "__main__":
    main()
