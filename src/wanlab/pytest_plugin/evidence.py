"""What explains a test that fails: gathered while it runs, kept if it does.

    .wanlab/tests/test_client/test_retries-seed2/
        packets.pcapng   what passed the ports of hosts and routers, for Wireshark
        record/          queues, ports and TCP flows over time, with their origin: `wanlab plot` draws it
        processes.txt    every process: where, when, how it ended, what it printed
        kernel.txt       the kernel's messages; of a machine that was lost, its last ones

On virtual time gathering it changes nothing of what the test sees. The folder holds the last run of a
test: when the test begins, what an earlier one has left there is removed.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import weakref
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
from wanlab.record import Provenance, write
from wanlab.topology import dumps

from .choices import Choices
from .start import processes_of

PACKETS, RECORD, PROCESSES, KERNEL = "packets.pcapng", "record", "processes.txt", "kernel.txt"
MOST_PORTS = 16
"""More are captured if the test names them: each takes memory of the machine."""
RING_BYTES = 4 << 20
MOST_PACKETS_BYTES = 64 << 20
PACKAGE = str(Path(wanlab.__file__).parent) + os.sep


class Evidence:
    """Of one network, while one test uses it."""

    def __init__(self, network: Network, choices: Choices) -> None:
        self._network = network
        self._is_sealed = False
        self._notes: list[str] = []
        self._folder = Path(tempfile.mkdtemp(prefix="wanlab-evidence-"))
        # Also where nobody is asked any more: after Ctrl-C.
        self.discard = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._ports = _ports(network.topology, choices, self._notes)
        self._limit = network.after(choices.limit, _too_long, choices.limit)
        self._sampling = Sampling(
            network, self._samplers(choices), every=choices.every or choices.limit
        )
        self._sampling.begin()

    def _samplers(self, choices: Choices) -> list[Capture | Flows | Ports | Queues]:
        samplers: list[Capture | Flows | Ports | Queues] = []
        topology = self._network.topology
        if self._ports:
            file = self._folder / PACKETS
            samplers.append(
                Capture(
                    *self._ports, file=file, max_bytes=MOST_PACKETS_BYTES, ring_bytes=RING_BYTES
                )
            )
        if choices.every is not None:
            ports = [str(port.name) for link in topology.links for port in link.ports]
            hosts = [host.name for host in topology.hosts if not host.in_root]
            samplers += [Queues(*ports), Ports(*ports), Flows(*hosts)]
        return samplers

    # -- the end ----------------------------------------------------------------------------------

    def seal(self) -> None:
        """Nothing is added any more. Does nothing if it is sealed already."""
        if self._is_sealed:
            return
        self._is_sealed = True
        self._limit.cancel()
        with suppress(WanlabError):
            self._sampling.end()

    def keep(self, folder: Path, error: BaseException | None) -> list[str]:
        """Writes all of it; says what there is, a line for each."""
        now_s = _now_s(self._network)
        provenance = self._provenance()
        processes = processes_of[self._network]
        log = self._kernels_words(error)
        self.seal()
        folder.mkdir(parents=True)
        lines = [*self._notes, *self._keep_packets(folder)]
        if tables := self._sampling.tables():
            write(Record(provenance, tables), folder / RECORD)
            lines.append(f"{RECORD:16} {', '.join(tables)}")
            lines += [f"warning: {warning}" for warning in provenance.warnings]
        (folder / PROCESSES).write_text(_story(processes), encoding="utf-8")
        lines.append(f"{PROCESSES:16} {_count(len(processes), 'process', 'processes')}")
        if log:
            (folder / KERNEL).write_text(log, encoding="utf-8")
            lines.append(f"{KERNEL:16} {_count(log.count(chr(10)), 'line', 'lines')}")
        when = "" if now_s is None else f"the network's clock showed {now_s:.6f} s; "
        return [f"{when}seed {self._network.seed}, {self._network.wire} wire", *lines]

    def _provenance(self) -> Provenance:
        """What can still be said, where the network cannot be asked any more."""
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

    def _kernels_words(self, error: BaseException | None) -> str:
        if isinstance(error, MachineError):
            return error.console
        if self._is_sealed or self._network.machine_kind == "native":  # nor is that kernel ours
            return ""
        with suppress(WanlabError):
            return self._network.read([["log", ""]])[0].decode(errors="replace")
        return ""


def _too_long(limit: str | int) -> None:
    pytest.fail(
        f"the test has let {limit} of the network's time pass: does it wait for what never happens? "
        f'(allow it more: @pytest.mark.wanlab(limit="..."))'
    )


def _ports(topology: Topology, choices: Choices, notes: list[str]) -> list[str]:
    """Whose packets are captured."""
    if not isinstance(choices.capture, bool):
        return [choices.capture] if isinstance(choices.capture, str) else list(choices.capture)
    if not choices.capture:
        return []
    ends = {node.name for node in (*topology.hosts, *topology.routers)}
    ports = [str(p.name) for link in topology.links for p in link.ports if p.node in ends]
    if len(ports) > MOST_PORTS:
        notes.append(
            f"no packets: more than {MOST_PORTS} ports; name some of them: "
            f'@pytest.mark.wanlab(capture=["{ports[0]}"])'
        )
        return []
    return ports


def _now_s(network: Network) -> float | None:
    try:
        return network.now_ns / 1e9
    except WanlabError:
        return None


def _story(processes: Sequence[Process]) -> str:
    """What each process was, did and said."""
    parts = []
    for process in processes:
        began = f"{process.started_ns / 1e9:.6f} s"
        if process.ended_ns is None:
            end = "runs"
        else:
            end = f"ended at {process.ended_ns / 1e9:.6f} s with status {process.status}"
        parts.append(f"{process.node or 'root'}$ {process.command}\n  began at {began}, {end}\n")
        for title, text in (("output", process.output), ("errors", process.errors)):
            if text:
                shown = text if text.endswith("\n") else f"{text}\n"
                parts.append(
                    f"  {title}:\n" + "".join(f"    {it}" for it in shown.splitlines(True))
                )
        parts.append("\n")
    return "".join(parts)


def _count(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}"


# -- where it is kept -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """The folder of one test."""

    folder: Path
    shown_as: str
    top: Path

    @classmethod
    def of(cls, item: pytest.Item) -> Place:
        config = item.config
        top = Path(config.rootpath, config.getoption("--wanlab-keep"))
        words = item.nodeid.replace(".py::", "/").replace("::", ".")
        name = re.sub(r"[^\w./-]+", "-", words).replace("..", "-").strip("-/")
        if re.search(r"[^\w./\[\]-]", words):  # another test may become the same name
            name += f"-{crc32(item.nodeid.encode()):08x}"
        folder = top / name
        return cls(folder, os.path.relpath(folder, config.invocation_params.dir), top)

    @property
    def is_filled(self) -> bool:
        return self.folder.exists()

    def clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def fill(
        self, gathered: Sequence[Evidence], error: pytest.ExceptionInfo[BaseException] | None
    ) -> str:
        """Keeps all of it; returns what to tell."""
        self.top.mkdir(parents=True, exist_ok=True)
        (self.top / ".gitignore").write_text("*\n", encoding="utf-8")
        value = None if error is None else error.value
        lines = [f"kept in {self.shown_as}"]
        for number, evidence in enumerate(gathered, start=1):
            folder = self.folder if len(gathered) == 1 else self.folder / str(number)
            try:
                told = evidence.keep(folder, value)
            except (OSError, WanlabError) as problem:
                told = [f"could not be kept: {problem}"]
            if len(gathered) > 1:
                lines.append(f"{number}:")
            lines += [f"  {line}" for line in told]
        return "\n".join(lines)


# -- what pytest shows ------------------------------------------------------------------------------


def cut_traceback(error: BaseException) -> None:
    """Of an error that says by itself what is wrong, where the test has called is of interest, and not
    what wanlab did then."""
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
