"""Test that odd files, names and connections do no harm to the server."""

from __future__ import annotations

import contextlib
import json
import resource
import socket
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from patience import PATIENCE_S
from web_client import RefusedCommandError, Server, wait_until
from websockets.exceptions import ConnectionClosed

from wanlab.topology import loads
from wanlab.web.drawing.document import document_of
from wanlab.web.server import connections

EMPTY: dict[str, Any] = {
    "version": "2",
    "hosts": [],
    "switches": [],
    "links": [],
    "controllers": [],
    "application": {},
}


@pytest.mark.parametrize(
    "more",
    [
        {"labels": [{"text": "a", "x": "1", "y": "2"}]},
        {"labels": [{"text": "a", "x": None, "y": 2}]},
        {"labels": [{"text": "a", "x": "nan", "y": 2}]},
        {"run": {"wire": "x"}},
        {"run": {"seed": "x"}},
        {"run": {"seed": True, "clock": []}},
    ],
)
def test_every_file_that_can_be_read_can_be_drawn(more: dict[str, Any]) -> None:
    document_of(loads(json.dumps({**EMPTY, **more}), "l.mn"))


def test_a_label_with_coordinates_as_text_is_drawn() -> None:
    labels = [{"text": "a", "x": "1", "y": "2.5"}]
    (label,) = document_of(loads(json.dumps({**EMPTY, "labels": labels}), "l.mn")).labels
    assert (label.x, label.y) == (1.0, 2.5)


@pytest.mark.parametrize("path", ["x" * 300, "folder/" + "ä" * 200])
def test_a_name_that_is_too_long_is_refused(shared_server: Server, path: str) -> None:
    assert shared_server.get(f"/api/files/{path}").status_code == 400
    with shared_server.connect_client() as client:
        client.do("open", path="two.yaml")
        with pytest.raises(RefusedCommandError, match="too long"):
            client.do("save", path=f"{path}.mn")


def test_a_name_may_have_255_bytes(shared_server: Server) -> None:
    name = "x" * 252 + ".mn"
    with shared_server.connect_client() as client:
        client.do("open", path="two.yaml")
        client.do("save", path=name)
    assert shared_server.get(f"/api/files/{name}").status_code == 200
    (shared_server.folder / name).unlink()


def test_a_terminal_that_does_not_exist_may_have_a_long_name(shared_server: Server) -> None:
    with shared_server.socket(f"/api/terminals/{'x' * 130}") as opened:
        with pytest.raises(ConnectionClosed):
            opened.recv(timeout=PATIENCE_S)
        assert opened.close_code == 4404


def test_an_internal_error_is_answered(shared_server: Server) -> None:
    """Otherwise the page would wait for ever."""
    text = json.dumps({**EMPTY, "links": []})
    program = [FAILING]
    folder = shared_server.folder / "failing"
    folder.mkdir()
    with Server(folder, program=program) as server, server.connect_client() as client:
        with pytest.raises(RefusedCommandError, match="internal error: KeyError"):
            client.do("open", path="a.mn", text=text)
        assert client.do("new") is None


FAILING = """
from wanlab.web.drawing import editor
def fail(topology):
    raise KeyError(topology.name)
editor.document_of = fail
from wanlab.cli import main
main()
"""


def test_a_server_that_does_not_wait_for_its_browsers_ends_without_a_traceback(
    tmp_path: Path,
) -> None:
    """A busy network keeps it waiting: a browser that leaves is asked for no more curves."""
    with Server(tmp_path, program=[SLOW]) as server, server.connect_client():
        assert server.end() == 0
    assert "Traceback" not in "".join(server.said)


SLOW = """
import asyncio
from wanlab.web.measuring.measurements import Measurements
async def wait(measurements):
    await asyncio.sleep(3600)
Measurements.update_curves = wait
from wanlab.cli import main
main()
"""


HALF_A_HEADER = b"GET / HTTP/1.1\r\nHost: "


def half_opened(server: Server) -> socket.socket:
    """Return a connection that waits for the rest of a request's header."""
    host = urlsplit(server.origin)
    connection = socket.create_connection((host.hostname, host.port or 80), PATIENCE_S)
    connection.sendall(HALF_A_HEADER)
    return connection


def wait_until_closed(connection: socket.socket) -> None:
    """Wait until the server has closed a connection without an answer."""
    with contextlib.suppress(ConnectionResetError):
        assert connection.recv(1) == b""


@pytest.fixture
def half_open(server: Server) -> Iterator[Callable[[int], list[socket.socket]]]:
    """Return a function that opens connections whose request headers never end."""
    opened: list[socket.socket] = []

    def open_some(count: int) -> list[socket.socket]:
        for _ in range(count):
            opened.append(half_opened(server))
        return opened

    yield open_some
    for connection in opened:
        connection.close()


@pytest.mark.long
def test_half_open_connections_do_not_block_the_user(
    server: Server, half_open: Callable[[int], list[socket.socket]]
) -> None:
    opened = half_open(connections.MAX_WAITING + 40)
    assert server.get("/api/state").status_code == 200
    folder = Path(f"/proc/{server.process.pid}/fd")
    wait_until(lambda: len(list(folder.iterdir())) < connections.MAX_WAITING + 40)
    wait_until_closed(opened[0])  # the oldest


def test_many_half_open_connections_at_once_do_not_take_all_descriptors(
    server: Server, half_open: Callable[[int], list[socket.socket]]
) -> None:
    _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (512, hard))
    half_open(700)
    assert server.get("/api/state").status_code == 200
    server.end()
    assert "Too many open files" not in "".join(server.said)


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[Server]:
    """Start a server that waits for a request's header for a second only."""
    with Server(tmp_path, program=[IMPATIENT]) as server:
        yield server


IMPATIENT = """
from wanlab.web.server import connections
connections.HEADER_REAL_S = 1.0
from wanlab.cli import main
main()
"""


def test_a_connection_is_closed_if_the_header_of_its_request_does_not_end(
    impatient: Server,
) -> None:
    with impatient.connect_client() as client, half_opened(impatient) as connection:
        assert impatient.get("/api/state").status_code == 200
        wait_until_closed(connection)
        assert impatient.get("/api/state").status_code == 200
        client.do("new")  # its WebSocket has been open for longer than a header may take


def test_a_request_may_take_longer_than_its_header(impatient: Server) -> None:
    upload = HTTPConnection(urlsplit(impatient.origin).netloc, timeout=PATIENCE_S)
    upload.putrequest("PUT", "/api/files/a.txt")
    for name in ("cookie", "origin"):
        upload.putheader(name, getattr(impatient, name))
    upload.putheader("Content-Length", "4")
    upload.endheaders()
    with half_opened(impatient) as connection:
        wait_until_closed(connection)  # so the time for the upload's header is over, too
    upload.send(b"text")
    with upload.getresponse() as answer:
        assert (answer.status, bool(answer.read())) == (200, True)
    assert (impatient.folder / "a.txt").read_text() == "text"
    upload.send(HALF_A_HEADER)  # the next request on the same connection
    wait_until_closed(upload.sock)
    upload.close()
