"""Test the parser of the text that iperf3 prints, with captured output."""

from __future__ import annotations

from pathlib import Path

import pytest

from wanlab.errors import WanlabError
from wanlab.measure import iperf3_text

COUNTERS = Path(__file__).parent.parent / "golden" / "counters"
STREAMS = (COUNTERS / "iperf3_text_streams.txt").read_text()
"""`iperf3 -P 2 -t 2 -b 500K -l 1000`, version 3.12."""


def test_bits_are_counted_in_thousands_and_bytes_in_1024s() -> None:
    first = iperf3_text.parse(STREAMS)[0]
    assert (first.stream, first.bits_per_second, first.bytes) == ("5", 504_000, 61.5 * 1024)
    assert first.cwnd_bytes == 621 * 1024
    text = STREAMS.replace("Kbits", "Gbits").replace("KBytes", "GBytes")
    first = iperf3_text.parse(text)[0]
    assert (first.bits_per_second, first.bytes) == (504e9, 61.5 * 1024**3)


def test_the_summary_of_several_streams_is_their_sum() -> None:
    receiver = iperf3_text.summary(STREAMS, "receiver")
    assert (receiver.stream, receiver.bits_per_second) == ("SUM", 998_000)
    sender = iperf3_text.summary(STREAMS, "sender")
    assert (sender.stream, sender.bits_per_second) == ("SUM", 1_000_000)
    assert iperf3_text.summary(STREAMS, "receiver", stream="7").bits_per_second == 499_000


def test_a_test_that_did_not_end_has_no_summary() -> None:
    ended = STREAMS[: STREAMS.index("[ ID] Interval           Transfer     Bitrate         Retr\n")]
    with pytest.raises(WanlabError, match="no line of the receiver: the test did not end"):
        iperf3_text.summary(ended, "receiver")


@pytest.mark.parametrize("number", ["1.2.3", "."])
def test_a_number_that_another_program_printed_is_an_error(number: str) -> None:
    line = f"[  5]   0.00-{number}   sec  1.00 MBytes  8.00 Mbits/sec"
    with pytest.raises(WanlabError, match="the output of iperf3 has a wrong number"):
        iperf3_text.parse(line)
