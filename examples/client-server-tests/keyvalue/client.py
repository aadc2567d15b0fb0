"""The client: it repeats a request until it has an answer, or gives up after GIVE_UP_S.

    python -m keyvalue.client SERVER put KEY VALUE     VALUE "-": read standard input
    python -m keyvalue.client SERVER get KEY
    python -m keyvalue.client SERVER add KEY NUMBER [TIMES]

Exit status 3: the server could not be reached.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import sys
import time
from typing import Any

from .server import PORT

SILENCE_S = 1.0
GIVE_UP_S = 10.0
FIRST_WAIT_S, MAX_WAIT_S = 0.1, 2.0
BLOCK_BYTES = 1 << 16


class UnavailableError(Exception):
    """The server did not answer in time."""


class Client:
    """A client that connects on its first request.

    It reconnects whenever a connection fails or has been silent for SILENCE_S.
    """

    def __init__(self, server: str, port: int = PORT) -> None:
        self._address = (server, port)
        self._socket: socket.socket | None = None
        self._buffer = b""
        self._name = os.urandom(4).hex()
        self._requests = 0
        self.connections = 0

    def put(self, key: str, value: Any) -> Any:
        return self._ask("put", key, value)

    def get(self, key: str) -> Any:
        return self._ask("get", key)

    def add(self, key: str, number: int) -> Any:
        return self._ask("add", key, number)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _ask(self, do: str, key: str, value: Any = None) -> Any:
        self._requests += 1
        number = f"{self._name}-{self._requests}"
        line = json.dumps({"id": number, "do": do, "key": key, "value": value}).encode() + b"\n"
        give_up = time.monotonic() + GIVE_UP_S
        wait_s = FIRST_WAIT_S
        while True:
            try:
                return self._attempt(line, number)
            except OSError as error:
                self.close()
                reason = error
            pause_s = wait_s * random.uniform(0.5, 1.0)  # jitter spreads the retries
            left_s = give_up - time.monotonic()
            if left_s < pause_s:
                time.sleep(max(left_s, 0))
                raise UnavailableError(f"{self._address[0]}: {reason}")
            time.sleep(pause_s)
            wait_s = min(2 * wait_s, MAX_WAIT_S)

    def _attempt(self, line: bytes, number: str) -> Any:
        connection = self._connected()
        rest = memoryview(line)
        while rest:  # sendall() would apply one timeout to the whole request
            rest = rest[connection.send(rest[:BLOCK_BYTES]) :]
        while True:
            answer = self._read_answer(connection)
            if answer.get("id") == number:
                return answer["value"]

    def _connected(self) -> socket.socket:
        if self._socket is None:
            self._socket = socket.create_connection(self._address, SILENCE_S)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._buffer = b""
            self.connections += 1
        return self._socket

    def _read_answer(self, connection: socket.socket) -> dict[str, Any]:
        """Return the next answer. Each received part of it restarts the timeout."""
        parts = [self._buffer]
        while b"\n" not in parts[-1]:
            part = connection.recv(BLOCK_BYTES)
            if not part:
                raise ConnectionResetError("the server has closed the connection")
            parts.append(part)
        line, _, self._buffer = b"".join(parts).partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer


def main() -> int:
    server, do, key, *values = sys.argv[1:]
    with contextlib.closing(Client(server)) as client:
        try:
            if do == "put":
                print(client.put(key, sys.stdin.read() if values == ["-"] else values[0]))
            elif do == "get":
                print(client.get(key))
            else:
                for _ in range(int(values[1]) if len(values) > 1 else 1):
                    print(client.add(key, int(values[0])), flush=True)
        except UnavailableError as error:
            print(f"unavailable: {error}", file=sys.stderr)
            return 3
    print(f"connections: {client.connections}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
