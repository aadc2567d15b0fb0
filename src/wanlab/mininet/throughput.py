"""iperf between two nodes: iperf3, and its figures in iperf's words."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wanlab.errors import CommandError, RequirementError, WanlabError

from .util import fmtBps

if TYPE_CHECKING:
    from .hosts import Node

LISTENING = "0A"
MOST_WAIT_S = 5.0
STEP_S = 0.01
END_S = 10.0


def measure(
    client: Node, server: Node, *, udp_rate: str | None, seconds: float, port: int, fmt: str
) -> tuple[str, str]:
    """(server's rate, client's rate) as text. `udp_rate`: UDP at this rate instead of TCP."""
    if shutil.which("iperf3") is None:
        raise RequirementError("iperf3 is not installed on this computer", "apt install iperf3")
    if seconds != int(seconds) or seconds < 1:
        raise WanlabError(f"iperf for {seconds} s is not possible", "whole seconds, 1 at least")
    address = server.IP()
    if address is None:
        raise CommandError(f"{server.name} has no address that {client.name} could reach")
    listener = server.popen("iperf3", "-s", "-1", "-J", "-p", str(port))
    try:
        _wait_until_listening(listener, port)
        command = ["iperf3", "-c", address, "-J", "-p", str(port), "-t", str(int(seconds))]
        if udp_rate is not None:
            command += ["-u", "-b", udp_rate]
        sender = client.popen(*command)
        said, errors = sender.communicate()
        if sender.returncode != 0:
            raise CommandError(
                f"iperf3 from {client.name} to {server.name} failed",
                status=sender.returncode,
                output=_error_of(said) or errors.decode(errors="replace"),
            )
        heard, _ = listener.communicate(timeout=END_S)
    finally:
        _end(listener)
    return fmtBps(received_bps(json.loads(heard)), fmt), fmtBps(sent_bps(json.loads(said)), fmt)


def received_bps(report: dict[str, Any]) -> float:
    """What the server got: iperf3 calls it the sum received, for UDP the sum less what was lost."""
    end = report["end"]
    if "sum_received" in end:
        total = end["sum_received"]
        if total.get("bits_per_second"):
            return float(total["bits_per_second"])
    total = end.get("sum", {})
    rate = float(total.get("bits_per_second", 0))
    return rate * (1 - float(total.get("lost_percent", 0)) / 100)


def sent_bps(report: dict[str, Any]) -> float:
    end = report["end"]
    total = end.get("sum_sent") or end.get("sum", {})
    return float(total["bits_per_second"])


def _error_of(said: bytes) -> str:
    try:
        return str(json.loads(said).get("error", ""))
    except ValueError:
        return said.decode(errors="replace")


def _wait_until_listening(process: subprocess.Popen[bytes], port: int) -> None:
    """Looks instead of knocking: a connection would be taken for the test."""
    waited = 0.0
    while not is_listening(process.pid, port):
        if process.poll() is not None:
            said, errors = process.communicate()
            raise CommandError(
                f"iperf3 cannot serve on port {port}",
                status=process.returncode,
                output=_error_of(said) or errors.decode(errors="replace"),
            )
        if waited > MOST_WAIT_S:
            raise CommandError(f"iperf3 does not listen on port {port}")
        time.sleep(STEP_S)
        waited += STEP_S


def is_listening(pid: int, port: int) -> bool:
    """Whether somebody listens on a TCP port in the namespace of a process (proc_net_tcp)."""
    for name in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/{pid}/net/{name}").read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            _, local, _, state, *_ = line.split()
            if state == LISTENING and int(local.rpartition(":")[2], 16) == port:
                return True
    return False


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ours, and by its handle."""
    if process.poll() is None:
        process.terminate()
        try:
            process.communicate(timeout=END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
