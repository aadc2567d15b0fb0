"""Throughput between two nodes: runs iperf3 and writes its rates in iperf's format."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TypedDict

from wanlab.errors import CommandError, RequirementError, WanlabError

from .addresses import UNSPECIFIED
from .hosts import Node
from .pause import pause

LISTENING = "0A"  # TCP_LISTEN, include/net/tcp_states.h
MAX_WAIT_S = 5.0
POLL_INTERVAL_S = 0.01
END_TIMEOUT_S = 10.0
TEST_TIMEOUT_S = 150.0  # TCP tries to connect for two minutes
LOSES_TOO_MUCH = "the path loses too much: ping between the two shows how much"


class Sum(TypedDict, total=False):
    """Totals of a direction, as iperf3 reports them."""

    bits_per_second: float
    lost_percent: float


class End(TypedDict, total=False):
    """The part `end` of iperf3's report."""

    sum: Sum
    sum_sent: Sum
    sum_received: Sum


class Report(TypedDict):
    """The part of iperf3's report (iperf3 -J) that is used here."""

    end: End


def measure(
    client: Node, server: Node, *, udp_rate: str | None, seconds: float, port: int, fmt: str
) -> tuple[str, str]:
    """Return (rate at the server, rate at the client) as text.

    `udp_rate` selects UDP at this rate instead of TCP; `fmt` is described at `fmtBps`.
    """
    if shutil.which("iperf3") is None:
        raise RequirementError("iperf3 is not installed on this computer", "apt install iperf3")
    if seconds != int(seconds) or seconds < 1:
        raise WanlabError(f"iperf for {seconds} s is not possible", "use whole seconds, at least 1")
    address = server.IP()
    if address is None or address == UNSPECIFIED:
        raise CommandError(f"{server.name} has no address that {client.name} could connect to")
    listener = server.popen("iperf3", "-s", "-1", "-J", "-p", str(port))
    try:
        _wait_until_listening(listener, port)
        command = ["iperf3", "-c", address, "-J", "-p", str(port), "-t", str(int(seconds))]
        if udp_rate is not None:
            command += ["-u", "-b", udp_rate]
        sender = client.popen(*command)
        try:
            sent, errors = sender.communicate(timeout=seconds + TEST_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise CommandError(
                f"iperf3 from {client.name} to {server.name} has not ended {TEST_TIMEOUT_S:g} s after "
                "the test",
                LOSES_TOO_MUCH,
            ) from None
        finally:
            _end(sender)
        error = _error_of(sent)
        if sender.returncode != 0 or error:  # with -J, its status is 0 if it cannot connect
            raise CommandError(
                f"iperf3 from {client.name} to {server.name} failed",
                status=sender.returncode or None,
                output=error or errors.decode(errors="replace"),
            )
        received = _output_of(listener, f"the server of iperf3 in {server.name}")
    finally:
        _end(listener)
    try:
        rates_bps = received_bps(json.loads(received)), sent_bps(json.loads(sent))
    except (KeyError, ValueError):
        raise CommandError(
            f"iperf3 from {client.name} to {server.name} has measured nothing",
            output=_error_of(received),
        ) from None
    return fmtBps(rates_bps[0], fmt), fmtBps(rates_bps[1], fmt)


def _output_of(process: subprocess.Popen[bytes], name: str) -> bytes:
    try:
        return process.communicate(timeout=END_TIMEOUT_S)[0]
    except subprocess.TimeoutExpired:
        raise CommandError(
            f"{name} has not noticed the end of the test in {END_TIMEOUT_S:g} s",
            LOSES_TOO_MUCH,
        ) from None


def received_bps(report: Report) -> float:
    """Return the rate at the server: iperf3's `sum_received`, or for UDP the sum without losses."""
    end = report["end"]
    rate_bps = end.get("sum_received", {}).get("bits_per_second")
    if rate_bps:
        return float(rate_bps)
    total = end.get("sum", {})
    sent_share = 1 - float(total.get("lost_percent", 0)) / 100
    return float(total.get("bits_per_second", 0)) * sent_share


def sent_bps(report: Report) -> float:
    """Return the rate at the client."""
    end = report["end"]
    total = end.get("sum_sent") or end.get("sum", {})
    return float(total["bits_per_second"])


def _error_of(output: bytes) -> str:
    try:
        return str(json.loads(output).get("error", ""))
    except ValueError:
        return output.decode(errors="replace")


def _wait_until_listening(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait for the server without connecting to it: iperf3 would take that for the test."""
    waited_s = 0.0
    while not is_listening(process.pid, port):
        if process.poll() is not None:
            output, errors = process.communicate()
            raise CommandError(
                f"iperf3 cannot serve on port {port}",
                status=process.returncode,
                output=_error_of(output) or errors.decode(errors="replace"),
            )
        if waited_s > MAX_WAIT_S:
            raise CommandError(f"iperf3 does not listen on port {port}")
        pause(POLL_INTERVAL_S)
        waited_s += POLL_INTERVAL_S


def is_listening(pid: int, port: int) -> bool:
    """Whether a TCP port is listened on in the namespace of a process (proc_net_tcp.txt)."""
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
    if process.poll() is None:
        process.terminate()
        try:
            process.communicate(timeout=END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def fmtBps(bps: float, fmt: str = "") -> str:
    """Return a rate in iperf's format: 9.6 Mbits/sec.

    `fmt` is k, m, g or t for a fixed prefix, and K, M, G or T for bytes.
    """
    value, unit = float(bps), "bits/sec"
    if fmt.isupper() and fmt != "A":
        value, unit = value / 8, "Bytes/sec"
    prefixes = "kMGTP"
    fixed = fmt[:1].upper().replace("K", "k")
    if fixed and fixed in prefixes:
        exponent = prefixes.find(fixed) + 1
    else:
        exponent = 0
        while exponent < len(prefixes) and value >= 1000 ** (exponent + 1):
            exponent += 1
    prefix = prefixes[exponent - 1] if exponent else ""
    return f"{value / 1000**exponent:.1f} {prefix}{unit}"
