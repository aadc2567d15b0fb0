"""Links that deliver packets at the times of a recorded link: Mahimahi's trace files.

A file has one line for each delivery opportunity: the time in ms from the beginning at which
OPPORTUNITY_BYTES could pass (Netravali et al., Mahimahi, USENIX ATC 2015). Several lines with the
same time are several opportunities. After its last line the trace repeats, with times counted from
there. If the link has `trace_once`, it delivers nothing after the last line.

    trace="lte.trace"        a file; in a topology file, relative to its folder
    trace="1 1 2 5 9"        the times themselves
    trace="lte.pcap"         a capture of a link that was busy: the times at which it delivered

A capture becomes a trace by its bytes: each OPPORTUNITY_BYTES that IP packets filled, with 4 bytes for
each packet, are an opportunity at the nearest ms since the first packet.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from wanlab.capture_file import IpPacket, has_both_directions, ip_packets, is_capture
from wanlab.errors import WanlabError
from wanlab.input_file import read_input
from wanlab.topology.large_inputs import content_of

EXTRA_BYTES = 4
OPPORTUNITY_BYTES = 1500 + EXTRA_BYTES
"""A packet of 1500 bytes, and the 4 bytes that Mahimahi adds to each."""
NS_PER_MS = 1_000_000
MAX_MS = 2**32 - 1
MAX_OPPORTUNITIES = 16 << 20
MAX_FILE_BYTES = 11 * MAX_OPPORTUNITIES  # ten digits and a line end
_NUMBERS = re.compile(r"[0-9\s]+")


@dataclass(frozen=True)
class LinkTrace:
    """Times at which a link can deliver. Traces are compared without their file names."""

    at_ms: tuple[int, ...]
    file: str = field(default="", compare=False)

    @property
    def duration_ms(self) -> int:
        """The time after which the trace repeats."""
        return self.at_ms[-1]

    @property
    def mean_bps(self) -> float:
        """The mean capacity for packets that fill every opportunity."""
        return len(self.at_ms) * OPPORTUNITY_BYTES * 8000 / self.duration_ms


TraceWords: TypeAlias = str | Path | Sequence[int] | LinkTrace


def read_trace(words: object) -> LinkTrace:
    """Return the trace of a file's name, a text of numbers, a list of numbers, or a trace."""
    if isinstance(words, LinkTrace):
        return words
    if isinstance(words, int) and not isinstance(words, bool):
        return trace_of(str(words))
    if isinstance(words, list | tuple):
        return trace_of("\n".join(map(str, words)))
    if not isinstance(words, str | Path) or not str(words):
        raise WanlabError(f"{words!r} is not a trace", "name its file")
    if isinstance(words, str) and is_numbers(words):
        return trace_of("\n".join(words.split()))
    name = str(words)
    return content_of(f"trace {name}", lambda: replace(_trace_of_file(Path(name), name), file=name))


def is_numbers(text: str) -> bool:
    """Whether a text is a trace itself, rather than the name of a file."""
    return _NUMBERS.fullmatch(text) is not None


def trace_words(trace: LinkTrace | None) -> str:
    """Return the file's name, or the times as text."""
    assert trace is not None, "a trace of None is the default, which is not written"
    return trace.file or " ".join(map(str, trace.at_ms))


def trace_of(text: str, name: str = "the trace") -> LinkTrace:
    """Return the trace of a file with this content; raise WanlabError for the first wrong line."""
    at_ms = []
    last_ms = 0
    for number, line in enumerate(text.splitlines(), 1):
        digits = line.strip()
        is_number = digits.isascii() and digits.isdecimal() and len(digits) <= 10
        if not is_number or int(digits) > MAX_MS:
            raise WanlabError(
                f'{name}, line {number}: "{line[:40]}" is not a time in ms',
                "each line of a trace is a whole number, the time at which a packet could pass",
            )
        time_ms = int(digits)
        if time_ms < last_ms:
            raise WanlabError(
                f"{name}, line {number}: {time_ms} is less than {last_ms} in the line above",
                "times count from the beginning of the trace and never go back",
            )
        at_ms.append(time_ms)
        last_ms = time_ms
    if not last_ms:
        raise WanlabError(
            f"{name} has no delivery opportunity after time 0",
            "the last number is the time after which the trace repeats",
        )
    if len(at_ms) > MAX_OPPORTUNITIES:
        raise WanlabError(f"{name} has {len(at_ms)} lines", f"at most {MAX_OPPORTUNITIES}")
    return LinkTrace(tuple(at_ms))


def one_direction(data: bytes, name: str) -> list[IpPacket]:
    """Return the IP packets of a capture; raise WanlabError unless all went in one direction."""
    packets = ip_packets(data, name)
    if has_both_directions(packets):
        raise WanlabError(
            f"{name} has packets in both directions",
            f"keep those of one: `tcpdump -r {name} -w one-way.pcap dst host ADDRESS`",
        )
    return packets


def _trace_of_file(path: Path, name: str) -> LinkTrace:
    data = read_input(path, "the trace", max_bytes=MAX_FILE_BYTES)
    if is_capture(data):
        return _trace_of_capture(one_direction(data, name), name)
    try:
        return trace_of(data.decode("ascii"), name)
    except UnicodeDecodeError:
        raise WanlabError(f"{path} is not a trace", "a trace has a number in each line") from None


def _trace_of_capture(packets: Sequence[IpPacket], name: str) -> LinkTrace:
    at_ms: list[int] = []
    waiting_bytes = 0
    for packet in packets:
        waiting_bytes += packet.length + EXTRA_BYTES
        filled, waiting_bytes = divmod(waiting_bytes, OPPORTUNITY_BYTES)
        at_ms += [(packet.time_ns + NS_PER_MS // 2) // NS_PER_MS] * filled
    if not at_ms or not at_ms[-1]:
        raise WanlabError(
            f"the IP packets in {name} fill no opportunity after the first ms",
            f"an opportunity is {OPPORTUNITY_BYTES} bytes",
        )
    if len(at_ms) > MAX_OPPORTUNITIES:
        raise WanlabError(f"{name} has {len(at_ms)} opportunities", f"at most {MAX_OPPORTUNITIES}")
    return LinkTrace(tuple(at_ms))
