"""A bad request of a program in a machine ends its own connection, not wanlab and not the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from wanlab import Network, Topology
from wanlab.cli import desktop, windows

pytestmark = pytest.mark.machine

PROGRAM = r"""
import json, socket
LINES = [
    b'{"do":"terminal"}', b'{"do":"terminal","term":1,"title":[],"command":5,"folder":{}}',
    b'{"do":"open","path":"\\u0000"}', b'{"do":"open","path":"' + b"a/" * 5000 + b'"}',
    b'{"do":"open","path":"loop/x"}', b'{"do":"open","path":"' + b"a" * 300 + b'"}',
    b'{"do":"paths"}', b'{"do":"paths","node":[]}', b'{"do":"paths","node":"nope"}',
    b"[]", b"\xff\xfe", b"{" * 20000, b"[" * 100000, b"9" * 5000, b'{"do":null}',
]
for line in LINES:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(1)
    connection.connect("/run/wanlab/host-service")
    connection.sendall(line + b"\n")
    answer = json.loads(connection.makefile().readline())
    print(sorted(answer))
for frames in (b"GARBAGE" * 40, b"\xff" * 9, b"\0\0\0@\7\0\0\0\0"):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect("/run/wanlab/host-service")
    connection.sendall(b'{"do": "agent"}\n')
    assert connection.recv(100)
    connection.sendall(frames)
    print(connection.recv(100))
"""


def test_bad_requests_get_an_error_and_everything_continues(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "program.py").write_text(PROGRAM)
    with Network(Topology(), folder=tmp_path) as net:
        desktop.offer(net)
        windows.refuse(net)
        output = net.root.run(["python3", "program.py"]).output.splitlines()
        assert net.root.run("echo still here").output == "still here\n"
    refused = ["['error']", "['opened', 'why']"]
    assert [line in refused for line in output] == [True] * 15 + [False] * 3
    assert output[15:] == ["b''"] * 3
