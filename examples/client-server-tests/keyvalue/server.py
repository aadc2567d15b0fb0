"""The server: it keeps values in memory and performs every request once.

python -m keyvalue.server [PORT]
"""

from __future__ import annotations

import json
import socketserver
import sys
import threading
from collections import OrderedDict
from typing import Any

PORT = 7000
MAX_ANSWERS = 10_000
BLOCK_BYTES = 1 << 16


class Store:
    """The values, and the answers to the latest requests."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[str, Any] = {}
        self._answers: OrderedDict[str, Any] = OrderedDict()

    def answer(self, request: dict[str, Any]) -> Any:
        """Return the answer to a request. A repeated request gets its first answer again."""
        with self._lock:
            if request["id"] not in self._answers:
                self._answers[request["id"]] = self._do(request)
                if len(self._answers) > MAX_ANSWERS:
                    self._answers.popitem(last=False)
            return self._answers[request["id"]]

    def _do(self, request: dict[str, Any]) -> Any:
        key, value = request["key"], request.get("value")
        match request["do"]:
            case "put":
                self._values[key] = value
                return len(value) if isinstance(value, str) else value
            case "add":
                self._values[key] = self._values.get(key, 0) + value
        return self._values.get(key)


class Connection(socketserver.StreamRequestHandler):
    """The connection of one client. During a long request, it reports how much has arrived."""

    server: Server
    disable_nagle_algorithm = True

    def handle(self) -> None:
        while line := self._line():
            request = json.loads(line)
            self._send({"id": request["id"], "value": self.server.store.answer(request)})

    def _line(self) -> bytes:
        parts = []
        while part := self.rfile.readline(BLOCK_BYTES):
            parts.append(part)
            if part.endswith(b"\n"):
                break
            self._send({"received": sum(map(len, parts))})
        return b"".join(parts)

    def _send(self, message: dict[str, Any]) -> None:
        self.wfile.write(json.dumps(message).encode() + b"\n")


class Server(socketserver.ThreadingTCPServer):
    """A server that listens as soon as it is constructed."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("", port), Connection)
        self.store = Store()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log a broken connection. The client reconnects and repeats its request."""
        print(f"lost {client_address[0]}: {sys.exc_info()[1]!r}", file=sys.stderr, flush=True)


def main() -> None:
    port = int(sys.argv[1]) if len(sys.argv) > 1 else PORT
    with Server(port) as server:
        print(f"listening on {port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
