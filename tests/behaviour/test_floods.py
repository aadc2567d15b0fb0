"""A program that writes without end takes neither wanlab's memory nor its time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wanlab import Network, shapes
from wanlab.errors import CommandError
from wanlab.labs import shell
from wanlab.network import process

pytestmark = pytest.mark.machine

MAX_GROWTH_BYTES = 128 << 20
REQUESTS = """
import socket
while True:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect("/run/wanlab/host-service")
    try:
        connection.sendall(b'{"do": "keys"}\\n')
        while True:
            connection.sendall(bytes(65536))
    except OSError:
        pass
"""
CONNECTIONS = """
import socket
while True:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect("/run/wanlab/host-service")
    connection.sendall(b'{"do": "keys"}\\n')
    connection.close()
"""
OUTPUT = """
import os
while True:
    os.write(1, bytes(65536))
"""


def memory_bytes(name: str) -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(rf"{name}:\s+(\d+) kB", status)[1]) << 10  # type: ignore[index]


@pytest.mark.parametrize(
    "program", [REQUESTS, CONNECTIONS, OUTPUT], ids=["data", "requests", "output"]
)
def test_time_passes_beside_a_flood_and_memory_does_not_grow(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it happened at one instant: wanlab's memory grew by 200 MB/s until it was killed."""
    monkeypatch.setattr(process, "MAX_KEPT_BYTES", 1 << 20)
    with Network(shapes.single(2)) as net:
        flood = net["h1"].start(["python3", "-c", program], merge_stderr=True)
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        before_bytes = memory_bytes("VmRSS")
        net.run_for("1ms")
        assert net["h2"].run("echo here").output == "here\n"
        assert flood.is_running, flood.output
        assert memory_bytes("VmHWM") - before_bytes < MAX_GROWTH_BYTES


def test_a_command_with_too_much_output_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MAX_KEPT_BYTES", 1 << 20)
    with Network(shapes.single(2)) as net:
        with pytest.raises(
            CommandError, match=r"`yes` in h1 has written more than 1 MiB .redirect"
        ):
            net["h1"].run("yes")
        with pytest.raises(CommandError, match="more than 1 MiB"):
            net["h1"].run("head -c 2000000 /dev/zero")
        lines = net["h1"].start("yes").lines()
        with pytest.raises(CommandError, match="more than 1 MiB"):
            list(lines)
        taken = bytearray()
        net["h1"].start("head -c 2000000 /dev/zero", on_output=taken.extend).finish()
        assert len(taken) == 2_000_000


def test_a_terminal_keeps_the_beginning_of_long_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a submission prints is kept for its transcript: without end, and marks that never end."""
    monkeypatch.setattr(shell, "MAX_KEPT_BYTES", 1 << 16)
    with Network(shapes.single(2)) as net:
        terminal = shell.LabShell(net, "h1", net["h1"].start, "/", {})
        terminal.type("yes | head -n 100000; printf '\\001wanlab:%05000d:1:x\\002'")
        assert terminal.wait(10**10)
        output = terminal.take_output()
        assert output.startswith("y\ny\n")
        assert output.endswith("(there was more output)\n")
        terminal.type("printf '\\001'; head -c 300000 /dev/zero; echo the end")
        assert terminal.wait(10**10)
        assert len(terminal.take_output()) < 100_000
        terminal.close()
