"""Brings switches in a machine to a controller on the user's own computer: `wanlab-relay ADDRESS PORT`.

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
    """A thread for each connection: few come, and each of them is simple by itself."""
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=relay, args=(connection, address, port), daemon=True).start()


def relay(connection: socket.socket, address: str, port: int) -> None:
    """Until either side ends."""
    with connection, contextlib.suppress(OSError), reach(address, port) as outside:
        pass_on(connection, outside)


def reach(address: str, port: int) -> socket.socket:
    """A connection to the controller. ConnectionError with the reason if there is none."""
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


def pass_on(one: socket.socket, other: socket.socket) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(one, selectors.EVENT_READ, other)
        selector.register(other, selectors.EVENT_READ, one)
        while True:
            for key, _ in selector.select():
                data = os.read(key.fd, CHUNK)
                if not data:
                    return
                key.data.sendall(data)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="wanlab-relay",
        description="Brings switches to a controller on the computer that wanlab was started on.",
    )
    parser.add_argument("address", help="of the controller, as seen from there")
    parser.add_argument("port", type=int)
    service.add_options(parser)
    options = parser.parse_args()
    listener = service.listen("wanlab-relay", "127.0.0.1", options.port)
    service.settle(detach=options.detach, pidfile=options.pidfile)
    with contextlib.suppress(KeyboardInterrupt):
        serve(listener, options.address, options.port)


if __name__ == "__main__":
    main()
