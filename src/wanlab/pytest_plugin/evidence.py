"""Evidence that explains a failed test: recorded while every test runs, kept if it fails.

    .wanlab/tests/test_client/test_retries-seed2/
        packets.pcapng   packets at the ports of hosts and routers, for Wireshark
        record/          queues, ports and TCP flows over time, with provenance; for `wanlab plot`
        session.wanlab   everything that the test did; `wanlab replay` repeats it on any computer
        processes.txt    every process: node, times, exit status, output
        kernel.txt       the kernel's messages; if the machine has ended, the last ones

On virtual time, recording does not change what the test observes. The folder holds the evidence of the
last run: it is cleared when the test begins.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from zlib import crc32

import pytest

import wanlab
from wanlab import Capture, Flows, Network, Ports, Process, Queues, Record, Sampling, Topology
from wanlab.errors import MachineError, WanlabError
from wanlab.measure import lost_packets
from wanlab.network import computing_real_s, computing_warnings
from wanlab.record import Provenance, write
from wanlab.temporary import TemporaryFolder
from wanlab.topology import dumps

from .marker_options import MarkerOptions
from .start import processes_of

PACKETS, RECORD, PROCESSES, KERNEL = "packets.pcapng", "record", "processes.txt", "kernel.txt"
SESSION = "session.wanlab"
MAX_PORTS = 16
"""More ports are captured only if the test names them, because each takes memory of the machine."""
RING_BYTES = 4 << 20
MAX_PACKETS_BYTES = 64 << 20
PACKAGE = str(Path(wanlab.__file__).parent) + os.sep


class Evidence:
    """The recording of one network while one test uses it."""

    def __init__(self, network: Network, markers: MarkerOptions) -> None:
        self._network = network
        self._is_sealed = False
        self._notes: list[str] = []
        # TemporaryFolder has a finalizer: after Ctrl-C, pytest calls no hook that could remove it.
        self._temporary = TemporaryFolder("evidence")
        self.discard = self._temporary.remove
        self._folder = self._temporary.path
        self._ports = _ports_to_capture(network.topology, markers, self._notes)
        self._limit = network.after(markers.limit, _fail_at_limit, markers.limit)
        self._sampling = Sampling(
            network, self._samplers(markers), every=markers.every or markers.limit
        )
        self._sampling.begin()

    def _samplers(self, markers: MarkerOptions) -> list[Capture | Flows | Ports | Queues]:
        samplers: list[Capture | Flows | Ports | Queues] = []
        topology = self._network.topology
        if self._ports:
            file = self._folder / PACKETS
            samplers.append(
                Capture(*self._ports, file=file, max_bytes=MAX_PACKETS_BYTES, ring_bytes=RING_BYTES)
            )
        if markers.every is not None:
            ports = [str(port.name) for link in topology.links for port in link.ports]
            hosts = [host.name for host in topology.hosts if not host.in_root]
            samplers += [Queues(*ports), Ports(*ports), Flows(*hosts)]
        return samplers

    # -- the end ----------------------------------------------------------------------------------

    def seal(self) -> None:
        """Stop recording; a second call does nothing."""
        if self._is_sealed:
            return
        self._is_sealed = True
        self._limit.cancel()
        with suppress(WanlabError):
            self._sampling.end()

    def keep(self, folder: Path, error: BaseException | None) -> list[str]:
        """Write the evidence into a folder; return a line about each file, for pytest's report."""
        now_s = _now_s(self._network)
        provenance = self._provenance()
        processes = processes_of[self._network]
        session = self._network.session.content(is_whole=True)
        log, lost = self._kernel_log(error), [*self._lost_packets(), *self._computing()]
        self.seal()
        folder.mkdir(parents=True)
        lines = [*self._notes, *self._keep_packets(folder)]
        if tables := self._sampling.tables():
            write(Record(provenance, tables), folder / RECORD)
            lines.append(f"{RECORD:16} {', '.join(tables)}")
            lines += [f"warning: {warning}" for warning in provenance.warnings]
        (folder / PROCESSES).write_text(_describe_processes(processes), encoding="utf-8")
        lines.append(f"{PROCESSES:16} {_count(len(processes), 'process', 'processes')}")
        if session:
            (folder / SESSION).write_bytes(session)
            lines.append(f"{SESSION:16} wanlab replay {SESSION}")
        if log:
            (folder / KERNEL).write_text(log, encoding="utf-8")
            lines.append(f"{KERNEL:16} {_count(log.count(chr(10)), 'line', 'lines')}")
        when = "" if now_s is None else f"the network's clock showed {now_s:.6f} s; "
        return [f"{when}seed {self._network.seed}, {self._network.wire} wire", *lost, *lines]

    def _provenance(self) -> Provenance:
        """Return the network's provenance, or its known part if the network is gone."""
        network = self._network
        if not self._is_sealed:
            with suppress(WanlabError):
                return network.provenance()
        return Provenance(
            wanlab=wanlab.__version__,
            topology=dumps(network.topology, "network.mn"),
            commands=tuple(network.commands),
            seed=network.seed,
            clock=network.clock,
            wire=network.wire,
            warnings=(*network.warnings, "the network was gone when this was written"),
        )

    def _keep_packets(self, folder: Path) -> list[str]:
        file = self._folder / PACKETS
        if not file.exists():
            return []
        shutil.move(file, folder / PACKETS)
        return [f"{PACKETS:16} {', '.join(self._ports)}"]

    def _lost_packets(self) -> list[str]:
        """Return where packets were lost, in a few sentences; [] if the network is gone."""
        return [] if self._is_sealed else lost_packets.summary(self._network)

    def _computing(self) -> list[str]:
        """Return a line for each node whose programs computed for long; [] if the network is gone."""
        if not self._is_sealed:
            with suppress(WanlabError):
                seen = computing_real_s(self._network)
                return [f"warning: {it}" for it in computing_warnings(seen, self._network.now_ns)]
        return []

    def _kernel_log(self, error: BaseException | None) -> str:
        """Return the kernel's messages; "" if they cannot be read."""
        if isinstance(error, MachineError):
            return error.console
        if self._is_sealed:
            return ""
        with suppress(WanlabError):
            return self._network.read([["log", ""]])[0].decode(errors="replace")
        return ""


def _fail_at_limit(limit: str | int) -> None:
    pytest.fail(
        f"the test has taken {limit} of virtual time: does it wait for something that never happens? "
        f'(allow more with @pytest.mark.wanlab(limit="..."))'
    )


def _ports_to_capture(topology: Topology, markers: MarkerOptions, notes: list[str]) -> list[str]:
    """Return the ports whose packets are captured; note if there are too many."""
    if not isinstance(markers.capture, bool):
        return [markers.capture] if isinstance(markers.capture, str) else list(markers.capture)
    if not markers.capture:
        return []
    ends = {node.name for node in (*topology.hosts, *topology.routers)}
    ports = [str(p.name) for link in topology.links for p in link.ports if p.node in ends]
    if len(ports) > MAX_PORTS:
        notes.append(
            f"no packets: more than {MAX_PORTS} ports; name some of them: "
            f'@pytest.mark.wanlab(capture=["{ports[0]}"])'
        )
        return []
    return ports


def _now_s(network: Network) -> float | None:
    try:
        return network.now_ns / 1e9
    except WanlabError:
        return None


def _describe_processes(processes: Sequence[Process]) -> str:
    """Return each process with its times, its exit status and its output."""
    parts = []
    for process in processes:
        began = f"{process.started_ns / 1e9:.6f} s"
        if process.ended_ns is None:
            end = "runs"
        else:
            end = f"ended at {process.ended_ns / 1e9:.6f} s with status {process.status}"
        parts.append(f"{process.node or 'root'}$ {process.command}\n  began at {began}, {end}\n")
        for title, text in (("output", process.output), ("errors", process.stderr)):
            if text:
                shown = text if text.endswith("\n") else f"{text}\n"
                lines = "".join(f"    {line}" for line in shown.splitlines(keepends=True))
                parts.append(f"  {title}:\n{lines}")
        parts.append("\n")
    return "".join(parts)


def _count(number: int, singular: str, plural: str) -> str:
    return f"{number} {singular if number == 1 else plural}"


# -- the folder ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EvidenceFolder:
    """The folder with the evidence of one test."""

    folder: Path
    shown_as: str
    top: Path
    """The folder of all tests."""

    @classmethod
    def of(cls, item: pytest.Item) -> EvidenceFolder:
        config = item.config
        top = Path(config.rootpath, config.getoption("--wanlab-keep"))
        path = item.nodeid.replace(".py::", "/").replace("::", ".")
        name = re.sub(r"[^\w./-]+", "-", path).replace("..", "-").strip("-/")
        if re.search(r"[^\w./\[\]-]", path):  # another test may get the same name
            name += f"-{crc32(item.nodeid.encode()):08x}"
        folder = top / name
        return cls(folder, os.path.relpath(folder, config.invocation_params.dir), top)

    @property
    def is_filled(self) -> bool:
        return self.folder.exists()

    def clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def fill(
        self, recorded: Sequence[Evidence], error: pytest.ExceptionInfo[BaseException] | None
    ) -> str:
        """Keep the evidence of all networks of the test; return a section for pytest's report."""
        self.top.mkdir(parents=True, exist_ok=True)
        (self.top / ".gitignore").write_text("*\n", encoding="utf-8")
        value = None if error is None else error.value
        lines = [f"kept in {self.shown_as}"]
        for number, evidence in enumerate(recorded, start=1):
            folder = self.folder if len(recorded) == 1 else self.folder / str(number)
            try:
                description = evidence.keep(folder, value)
            except (OSError, WanlabError) as problem:
                description = [f"could not be kept: {problem}"]
            if len(recorded) > 1:
                lines.append(f"{number}:")
            lines += [f"  {line}" for line in description]
        return "\n".join(lines)


# -- tracebacks ------------------------------------------------------------------------------------


def cut_traceback(error: BaseException) -> None:
    """End the traceback of a WanlabError at the test's own line.

    Such an error explains itself, so pytest need not show the frames inside wanlab.
    """
    if not isinstance(error, WanlabError | pytest.fail.Exception):
        return
    last: TracebackType | None = None
    entry = error.__traceback__
    while entry is not None:
        frame = entry.tb_frame
        is_hidden = "__tracebackhide__" in frame.f_locals
        if not is_hidden and not frame.f_code.co_filename.startswith(PACKAGE):
            last = entry
        entry = entry.tb_next
    if last is not None:
        last.tb_next = None
