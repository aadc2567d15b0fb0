"""Brings switches in a machine to a controller on the user's own computer: `wanlab-relay ADDRESS PORT`.

    switch --TCP--> relay, 127.0.0.1:PORT --the machine's desk--> user's side --TCP--> ADDRESS:PORT

Each connection is a visit at the desk: a line of JSON that says where to, a line that answers, and then
bytes both ways. What comes from there comes when that computer likes, so such a run does not repeat.
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

DESK = "/run/wanlab/desk"
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
    desk = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        desk.connect(DESK)
        request = {"do": "connect", "address": address, "port": port}
        desk.sendall(json.dumps(request).encode() + b"\n")
        line = b""
        while not line.endswith(b"\n"):
            byte = desk.recv(1)
            if not byte:
                raise ConnectionError("the user's side has gone")
            line += byte
        if "error" in (answer := json.loads(line)):
            raise ConnectionError(answer["error"])
    except BaseException:
        desk.close()
        raise
    return desk


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
