"""Capture the packets that pass ports, in both directions, into a file for Wireshark.

The kernel copies each packet into a ring at the instant it passes (`agent.packets`). This module writes
the packets of all ports to a pcapng file, in order of time. An outgoing packet is captured when its port
begins to send it, an incoming one when its last bit has arrived.

Times are those of the machine's clock, as `date` and `tcpdump` show it there. On virtual time that clock
is 2026-01-01 00:00:00 UTC at boot. A comment in the file says at which time the network's clock was 0.
"""

from __future__ import annotations

import contextlib
import shutil
import struct
import subprocess
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO

from wanlab.errors import RequirementError, WanlabError, reason_of
from wanlab.fields import MAX_QUOTED_CHARACTERS
from wanlab.network import Network
from wanlab.record import Table
from wanlab.shared_folder import file_error, open_output
from wanlab.units import parse_size
from wanlab.version import VERSION

from .pcapng import INBOUND, OUTBOUND, PcapngFile
from .readings import Beginning, Reading, Source, Stream

WHOLE_PACKET = 262_144
RING_BYTES = 32 << 20
MAX_BYTES = 1 << 30
MAX_FILTER_CHARACTERS = 4096
SECOND_NS = 1_000_000_000
STATISTICS_BYTES = 64
"""Space in the file that is kept free for the statistics of each port."""
OVERHEAD_BYTES = 48
"""The space that a packet takes in the file besides its data, at most."""

# struct tpacket3_hdr (linux/if_packet.h): offset of the next packet, seconds, ns, captured length,
# original length, status, offset of the data; further on, the VLAN tag and its type.
_PACKET = struct.Struct("=IIIIIIH")
_TAG_AT, _TAG = 32, struct.Struct("=IH")
_DIRECTION_AT = 48 + 10  # sll_pkttype of the struct sockaddr_ll that follows
_OUTGOING = 4  # PACKET_OUTGOING
_VLAN_VALID, _VLAN_TYPE_VALID = 1 << 4, 1 << 6  # TP_STATUS_VLAN_VALID, TP_STATUS_VLAN_TPID_VALID
_ADDRESSES_BYTES = 12
_VLAN_TYPE = 0x8100  # IEEE 802.1Q

Packet = tuple[int, int, int, int, bytes]
"""Time in ns since 1970, interface, direction, original length, captured data: what
`PcapngFile.write` takes."""


class Capture:
    """Capture the packets of some ports into a file.

    file        a path, or an open binary file such as a pipe to Wireshark; default: the first port's
                name and ".pcapng", in the network's folder
    snaplen     keep at most this many bytes of each packet; 96 are enough for TCP headers
    max_packets the maximum number of packets; later ones are left out
    max_bytes   the maximum size of the file, 1 GiB by default; later packets are left out
    filter      a filter expression of tcpdump, such as "tcp port 5201"
    ring_bytes  memory of the machine for each port; it must hold the packets of 20 ms
    """

    def __init__(
        self,
        *ports: str,
        file: str | Path | BinaryIO | None = None,
        snaplen: int = WHOLE_PACKET,
        max_packets: int | None = None,
        max_bytes: str | int = MAX_BYTES,
        filter: str = "",
        ring_bytes: str | int = RING_BYTES,
    ) -> None:
        if not ports:
            raise WanlabError(
                "a capture needs at least one port", 'Capture("s1-eth2"), for example'
            )
        if not 1 <= snaplen <= WHOLE_PACKET:
            raise WanlabError(f"snaplen cannot be {snaplen}", f"from 1 to {WHOLE_PACKET} bytes")
        self._ports = ports
        self._path = Path(file) if isinstance(file, str | Path) else None
        self._stream = None if isinstance(file, str | Path) else file
        self._max_packets = max_packets
        self._snaplen = snaplen
        self._max_bytes = parse_size(max_bytes)
        self._filter = filter
        self._ring_bytes = parse_size(ring_bytes)
        self._program = compile_filter(filter, snaplen) if filter else []
        self._nodes: list[str] = []
        self._network: Network | None = None
        self._file: BinaryIO | None = None
        self._writer: PcapngFile | None = None
        self._batch_ns = -1
        self._batch: list[Packet] = []
        """The packets of all ports that were read at the instant `_batch_ns`."""
        self._last_ns = 0
        self._counts = [0] * len(ports)
        self._left_out = 0

    @property
    def file(self) -> Path:
        """The path of the file; it is not used if packets go to an open file."""
        if self._path is None:
            assert self._network is not None, "not before it is used"
            return Path(self._network.folder) / f"{self._ports[0]}.pcapng"
        return self._path

    @property
    def packets(self) -> int:
        """How many packets have been written."""
        return sum(self._counts)

    @property
    def _name(self) -> str:
        return "the capture" if self._stream is not None else self.file.name

    @property
    def is_over(self) -> bool:
        """Whether no more packets will be written: `max_packets` is reached, or the reader has gone."""
        has_enough = self._max_packets is not None and self.packets >= self._max_packets
        return has_enough or self._writer is None

    # -- a sampler ----------------------------------------------------------------------------------

    def prepare(self, network: Network) -> None:
        self._network = network
        self._nodes = [network.namespace_of(network.port(name)) for name in self._ports]

    def sources(self) -> Sequence[Source]:
        return []

    def streams(self) -> Sequence[Stream]:
        return [
            {
                "what": "packets",
                "node": node,
                "interface": name,
                "snaplen": self._snaplen,
                "ring_bytes": self._ring_bytes,
                "program": self._program,
                # In the ring a packet takes more than in the file, at most twice as much.
                "max_bytes": 2 * self._max_bytes,
            }
            for node, name in zip(self._nodes, self._ports, strict=True)
        ]

    def began(self, beginning: Beginning) -> None:
        comment = f"captured on a network's {self._clock_words(beginning)}"
        self._file = self._stream or self._open()
        with self._writing():
            self._writer = PcapngFile(self._file, f"wanlab {VERSION}", comment)
            for name in self._ports:
                self._writer.add_interface(name, self._snaplen, self._filter)
            self._file.flush()  # a capture that is killed before its first packet can be read

    def _open(self) -> BinaryIO:
        """Open the file. Meanwhile programs run in the network, and may have put a link there."""
        assert self._network is not None
        try:
            return open_output(self.file, self._network.folder)
        except OSError as error:
            raise file_error("write", self.file, error) from None

    def take(self, reading: Reading) -> None:
        if reading.time_ns != self._batch_ns:
            self._write_batch()
            self._batch_ns = reading.time_ns
        self._batch += packets_in(reading.data, reading.place)

    def flush(self) -> None:
        """Write the packets that have arrived so far, for programs that read the file meanwhile."""
        self._write_batch()

    def ended(self, lost: Sequence[int]) -> Sequence[str]:
        self._write_batch()
        if self._writer is None:
            return []
        assert self._file is not None
        with self._writing():
            for interface, (count, dropped) in enumerate(zip(self._counts, lost, strict=True)):
                self._writer.add_statistics(interface, self._last_ns, count + dropped, dropped)
            self._file.flush()
        if self._stream is None:
            self._file.close()
        self._writer = None
        warnings = [
            f"capture of {name}: {count} packets were lost because the ring was full"
            for name, count in zip(self._ports, lost, strict=True)
            if count
        ]
        if self._left_out:
            warnings.append(
                f"{self._name} is full ({self._max_bytes} bytes): later packets are left out"
            )
        return warnings

    def tables(self) -> dict[str, Table]:
        return {}

    # -- writing ------------------------------------------------------------------------------------

    def _clock_words(self, beginning: Beginning) -> str:
        """Describe the clock of the times in the file."""
        assert self._network is not None
        if self._network.clock == "real":
            return "real clock"
        (stat,) = self._network.read([["file", "", "/proc/stat"]])
        boot_s = next(
            int(line.split()[1]) for line in stat.decode().splitlines() if "btime" in line
        )
        zero = boot_s * SECOND_NS + beginning.clock_ns - self._network.now_ns
        return f"virtual clock, which was 0 at {zero // SECOND_NS}.{zero % SECOND_NS:09d} s"

    def _write_batch(self) -> None:
        """Write the packets of all ports up to one instant, in order of time."""
        writer = self._writer
        if not self._batch or writer is None:
            return
        batch = sorted(self._batch, key=_time) if len(self._ports) > 1 else self._batch
        self._batch = []
        fitting = self._count_fitting(batch, writer.bytes_written)
        self._left_out += len(batch) - fitting
        if self._max_packets is not None:
            fitting = min(fitting, max(0, self._max_packets - self.packets))
        written = batch[:fitting]
        with self._writing():
            writer.write(written)
            assert self._file is not None
            self._file.flush()  # for programs that read the file while it grows
        if self.is_over:  # the reader has gone
            return
        for _, interface, *_ in written:
            self._counts[interface] += 1
        if written:
            self._last_ns = written[-1][0]

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """End the capture if its file cannot be written; WanlabError unless its reader has gone."""
        try:
            yield
        except BrokenPipeError:  # Wireshark was closed
            self._writer = None
        except OSError as error:
            self._writer = None
            if self._stream is None:
                assert self._file is not None
                with contextlib.suppress(OSError):  # it tries to write again
                    self._file.close()
            where = "the capture" if self._stream is not None else self.file
            raise WanlabError(f"cannot write {where}: {reason_of(error)}") from None

    def _count_fitting(self, batch: Sequence[Packet], bytes_written: int) -> int:
        """Return how many packets of a batch fit into the file.

        Once a packet has been left out, none fits: the file ends where its first gap would be.
        """
        if self._left_out:
            return 0
        free_bytes = self._max_bytes - bytes_written - STATISTICS_BYTES * len(self._ports)
        totals = accumulate(len(data) + OVERHEAD_BYTES for *_, data in batch)
        return sum(total <= free_bytes for total in totals)


def _time(packet: Packet) -> int:
    return packet[0]


def packets_in(data: bytes, interface: int) -> list[Packet]:
    """Parse the packets in a piece of the kernel's ring."""
    packets = []
    position, end = 0, len(data)
    unpack, outgoing = _PACKET.unpack_from, _OUTGOING  # local names are faster
    while position < end:
        to_next, seconds, rest_ns, captured, length, status, to_data = unpack(data, position)
        start = position + to_data
        packet = data[start : start + captured]
        if status & _VLAN_VALID:
            packet, length = _with_tag(data, position, status, packet), length + 4
        direction = OUTBOUND if data[position + _DIRECTION_AT] == outgoing else INBOUND
        packets.append((seconds * SECOND_NS + rest_ns, interface, direction, length, packet))
        # The last packet of a block has no next one, but another block may follow.
        position += to_next or (to_data + captured + 7) & ~7
    return packets


def _with_tag(data: bytes, position: int, status: int, packet: bytes) -> bytes:
    """Return the packet with its VLAN tag, which the kernel stores separately, after the addresses."""
    tag, kind = _TAG.unpack_from(data, position + _TAG_AT)
    kind = kind if status & _VLAN_TYPE_VALID else _VLAN_TYPE
    inserted = struct.pack("!HH", kind, tag & 0xFFFF)
    return packet[:_ADDRESSES_BYTES] + inserted + packet[_ADDRESSES_BYTES:]


def compile_filter(expression: str, snaplen: int) -> list[list[int]]:
    """Compile a filter expression to BPF instructions, with tcpdump."""
    program = shutil.which("tcpdump") or shutil.which("tcpdump", path="/usr/sbin:/sbin")
    if program is None:
        raise RequirementError(
            f'the filter "{expression}" cannot be compiled: tcpdump is not installed',
            "install tcpdump, or capture without a filter",
        )
    if len(expression) > MAX_FILTER_CHARACTERS or not expression.isprintable():
        raise WanlabError(
            f"the filter {expression[:MAX_QUOTED_CHARACTERS]!r} is not an expression of tcpdump",
            f"it is one line with at most {MAX_FILTER_CHARACTERS} characters",
        )
    done = subprocess.run(
        [program, "-y", "EN10MB", "-s", str(snaplen), "-ddd", "--", expression],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        words = done.stderr.strip().splitlines() or ["tcpdump refuses it"]
        raise WanlabError(f'the filter "{expression}": {words[-1].removeprefix("tcpdump: ")}')
    return [[int(word) for word in line.split()] for line in done.stdout.splitlines()[1:]]
