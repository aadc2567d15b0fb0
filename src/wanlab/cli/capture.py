"""`wanlab capture`: captures packets at ports while a command runs, for Wireshark or as text.

    outside a network    it starts one, runs the command in it, and captures until the command ends
    inside a network     it captures in that network until Ctrl-C, or for a time

Packets go to a file, to standard output (-w -), or as text through tcpdump. In the latter two cases, the
command's own output goes to standard error, so that it does not mix with the packets.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import BinaryIO

from wanlab import Capture, Network, Sampling, Topology
from wanlab.errors import RequirementError, WanlabError, did_you_mean
from wanlab.topology import resolve
from wanlab.units import parse_time

from . import execute, topologies
from .exec_options import ExecOptions

STANDARD_OUTPUT = "-"
AS_TEXT = ("-nn", "-l", "-r", "-")
SLICE = "100ms"


def ports_at(topology: Topology, places: Sequence[str]) -> list[str]:
    """Return the names of the ports that `places` select, each once.

    A place is a port, a node (all its ports), or a link. A link, "s1-s2", is captured at the port of
    the node that is named first. Raises WanlabError for an unknown place.
    """
    topology = resolve(topology)
    links = [(str(link.a.name), link.a.node, link.b.node) for link in topology.links]
    links += [(str(link.b.name), link.b.node, link.a.node) for link in topology.links]
    links.sort()
    selected: list[str] = []
    for place in places:
        ports = [port for port, node, other in links if place in (port, node, f"{node}-{other}")]
        if not ports:
            if any(node.name == place for node in topology.nodes):
                raise WanlabError(
                    f"{place} has no ports to capture at", "link it to another node first"
                )
            known = [*(port for port, _, _ in links), *(node for _, node, _ in links)]
            raise WanlabError(
                f'there is no port, node or link "{place}"', did_you_mean(place, known)
            )
        selected += ports
    return list(dict.fromkeys(selected))


def run(
    command: Sequence[str],
    *,
    topo: str | None,
    places: Sequence[str],
    node: str | None,
    write: str | None,
    snaplen: int,
    count: int | None,
    expression: str,
    time: str | None,
    pace: str,
    network_options: dict[str, object],
) -> int:
    """Capture, and return the exit status of the command."""
    if not places:
        raise WanlabError(
            "a capture needs a place: use --at", "for example: --at s1-eth2, --at h1, --at s1-s2"
        )
    with _destination(write) as file:
        options: dict[str, object] = {
            "snaplen": snaplen,
            "max_packets": count,
            "filter": expression,
        }
        if topo is None:
            if command:
                raise WanlabError(
                    "a command needs a network to run in", "name one: --topo single,2"
                )
            return _run_inside(places, file, time, options)
        if not command:
            raise WanlabError(
                "there is nothing to capture without a command",
                "add one after --, as in: wanlab capture --topo single,2 --at s1-eth1 -- "
                "wanlab-node h1 ping -c 3 h2",
            )
        topology = topologies.read(topo)
        network = Network(topology, **network_options)  # type: ignore[arg-type]
        capture = Capture(*ports_at(topology, places), file=file, **options)  # type: ignore[arg-type]
        start = (network[node] if node else network.root).start
        paces = pace == "real"
        with _output_to_stderr(not isinstance(file, str)):
            status = execute.run_in(
                network,
                start,
                list(command),
                ExecOptions(paces_to_real=paces),
                _LazySampling(network, capture),
            )
        _report(capture, network)
        return status


class _LazySampling(AbstractContextManager[None]):
    """Makes a Sampling once the network has started, because a Sampling needs a running network."""

    def __init__(self, network: Network, capture: Capture) -> None:
        self._network = network
        self._capture = capture
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> None:
        self._stack.enter_context(Sampling(self._network, [self._capture]))

    def __exit__(self, *error: object) -> bool | None:
        return self._stack.__exit__(*error)  # type: ignore[arg-type]


def _run_inside(
    places: Sequence[str], file: BinaryIO | str | None, time: str | None, options: dict[str, object]
) -> int:
    """Capture in the network that this program runs in."""
    try:
        network = Network.attach()
    except RequirementError as error:
        raise RequirementError(
            "there is no network to capture in",
            "start one with --topo TOPOLOGY -- COMMAND; inside `wanlab mn`, use tcpdump -i PORT",
        ) from error
    with network:
        capture = Capture(*ports_at(network.topology, places), file=file, **options)  # type: ignore[arg-type]
        with Sampling(network, [capture]) as sampling:
            end_ns = None if time is None else network.now_ns + parse_time(time)
            with contextlib.suppress(KeyboardInterrupt):
                while not capture.is_over and (end_ns is None or network.now_ns < end_ns):
                    network.run_for(SLICE)
                    sampling.flush()
        _report(capture, network)
    return 0


def _report(capture: Capture, network: Network) -> None:
    """Print how many packets were captured, as tcpdump does, and the network's warnings."""
    print(f"{capture.packets} packets captured", file=sys.stderr)
    for warning in network.warnings:
        print(f"Warning: {warning}", file=sys.stderr)


# -- where packets go -------------------------------------------------------------------------------


@contextlib.contextmanager
def _destination(write: str | None) -> Iterator[BinaryIO | str | None]:
    """Yield the destination of the packets: a file's name, or a stream (standard output or tcpdump)."""
    if write not in (None, STANDARD_OUTPUT):
        yield write
        return
    # A duplicate for the packets: _output_to_stderr redirects descriptor 1 while the command runs.
    packets = os.dup(1)
    if write == STANDARD_OUTPUT:
        if os.isatty(packets):
            raise WanlabError(
                "cannot write packets to a terminal",
                "pipe them to a program: -w - | wireshark -k -i -",
            )
        file = os.fdopen(packets, "wb")
        try:
            yield file
        finally:
            with contextlib.suppress(BrokenPipeError):
                file.close()
        return
    program = shutil.which("tcpdump") or shutil.which("tcpdump", path="/usr/sbin:/sbin")
    if program is None:
        raise RequirementError(
            "tcpdump, which shows packets as text, is not installed",
            "install it, or write a file: -w FILE.pcapng",
        )
    reader = subprocess.Popen(
        [program, *AS_TEXT], stdin=subprocess.PIPE, stdout=packets, stderr=subprocess.DEVNULL
    )
    os.close(packets)
    assert reader.stdin is not None
    try:
        yield reader.stdin  # type: ignore[misc]
    finally:
        with contextlib.suppress(BrokenPipeError):
            reader.stdin.close()
        reader.wait()


@contextlib.contextmanager
def _output_to_stderr(is_needed: bool) -> Iterator[None]:
    """Send the command's output to standard error."""
    if not is_needed:
        yield
        return
    before = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(before, 1)
        os.close(before)
