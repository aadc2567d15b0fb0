"""List the packets of a capture file for the page.

Times are on the network's clock if the file says when that was 0, and otherwise since the first packet.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import PurePosixPath

from wanlab.capture_file import CapturedPacket, CaptureReader
from wanlab.errors import WanlabError
from wanlab.measure.time_sequence import TcpPackets, TimeSequence
from wanlab.shared_folder import SharedFolder, file_error

from ..protocol.messages import (
    Acknowledgements,
    ListedPacket,
    PacketDetails,
    PacketPage,
    SentSegments,
    TimeSequencePage,
)
from .packet_decode import DecodedPacket, decode

MAX_SCANNED = 100_000
MAX_LISTED = 1000
MAX_SHOWN_BYTES = 2048
MAX_FLOWS = 100


class CaptureFileReader:
    """Reads the packets of a file in a shared folder; `zero_ns` is known once one has been read."""

    def __init__(self, folder: SharedFolder, name: str) -> None:
        self._folder = folder
        self._name = name
        self._reader: CaptureReader | None = None

    @property
    def zero_ns(self) -> int | None:
        return self._reader.zero_ns if self._reader else None

    def packets(self) -> Iterator[CapturedPacket]:
        """Yield all packets. WanlabError if the file is no capture."""
        try:
            with self._folder.open(self._name) as file:
                self._reader = CaptureReader(file, PurePosixPath(self._name).name)
                yield from self._reader.packets()
        except OSError as error:
            raise file_error("read", self._name, error) from None


def list_packets(
    folder: SharedFolder, name: str, *, after: int = 0, words: str = "", flow: str = ""
) -> PacketPage:
    """Return the packets behind number `after` that contain all words and belong to the flow."""
    wanted = [word.lower() for word in words.split()]
    reader, scanned = CaptureFileReader(folder, name), 0
    listed: list[ListedPacket] = []
    packets = reader.packets()
    for packet in packets:
        scanned = packet.number
        if len(listed) >= MAX_LISTED or scanned - after > MAX_SCANNED:
            total = _last_number(packets, scanned)
            return PacketPage(tuple(listed), scanned=scanned - 1, is_cut=True, total=total)
        if packet.number <= after:
            continue
        decoded = decode(packet.data, packet.length)
        if (not flow or decoded.flow == flow) and _contains(packet, decoded, wanted):
            listed.append(_listed(packet, decoded, reader.zero_ns or 0))
    return PacketPage(tuple(listed), scanned=scanned, total=scanned)


def _last_number(packets: Iterator[CapturedPacket], number: int) -> int:
    """Return the number of the last packet that can be read; `number` is that of the current one."""
    with contextlib.suppress(WanlabError):  # the rest is damaged, which its page will say
        for packet in packets:
            number = packet.number
    return number


def _contains(packet: CapturedPacket, decoded: DecodedPacket, wanted: list[str]) -> bool:
    if not wanted:
        return True
    text = " ".join(
        (packet.port, decoded.source, decoded.destination, decoded.protocol, decoded.info)
    ).lower()
    return all(word in text for word in wanted)


def _listed(packet: CapturedPacket, decoded: DecodedPacket, zero_ns: int) -> ListedPacket:
    return ListedPacket(
        number=packet.number,
        time_ns=packet.time_ns - zero_ns,
        port=packet.port,
        direction=packet.direction,
        bytes=packet.length,
        source=decoded.source,
        destination=decoded.destination,
        protocol=decoded.protocol,
        info=decoded.info,
        flow=decoded.flow,
    )


def packet_details(folder: SharedFolder, name: str, number: int) -> PacketDetails:
    """Return the bytes of one packet. WanlabError if there is none of that number."""
    for packet in CaptureFileReader(folder, name).packets():
        if packet.number == number:
            return PacketDetails(number, packet.length, packet.data[:MAX_SHOWN_BYTES].hex())
    raise WanlabError(f"{PurePosixPath(name).name} has no packet {number}")


def time_sequence_page(folder: SharedFolder, name: str, flow: str = "") -> TimeSequencePage:
    """Return the time sequence of a flow of a file; by default, of the one with the most bytes.

    It is empty if the file has no data of the flow, as at the start of a capture.
    """
    reader = CaptureFileReader(folder, name)
    packets = TcpPackets(reader.packets(), PurePosixPath(name).name)
    flows, zero_ns = packets.flows(), reader.zero_ns or 0
    sender, _, receiver = (flow or next(iter(flows), "")).partition(" > ")
    has_data = not {f"{sender} > {receiver}", f"{receiver} > {sender}"}.isdisjoint(flows)
    found = packets.sequence(flow) if has_data else TimeSequence(flow, (), ())
    sent, answers = found.segments, found.acknowledgements
    return TimeSequencePage(
        flow=found.flow,
        flows=tuple(flows[:MAX_FLOWS]),
        sent=SentSegments(
            numbers=tuple(it.number for it in sent),
            times_ns=tuple(it.time_ns - zero_ns for it in sent),
            starts=tuple(it.start for it in sent),
            ends=tuple(it.end for it in sent),
            kinds=tuple(it.kind for it in sent),
            fates=tuple(it.fate for it in sent),
        ),
        answers=Acknowledgements(
            numbers=tuple(it.number for it in answers),
            times_ns=tuple(it.time_ns - zero_ns for it in answers),
            acks=tuple(it.ack for it in answers),
            window_ends=tuple(it.window_end for it in answers),
            sacks=tuple(it.sacks for it in answers),
            duplicates=tuple(it.is_duplicate for it in answers),
        ),
        is_cut=found.is_cut,
    )
