"""Test the numbers of one iperf3 test, from its JSON and from its text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wanlab.errors import WanlabError
from wanlab.measure.iperf3_summary import Side, summarize

COUNTERS = Path(__file__).parent.parent / "golden" / "counters"


def captured(name: str) -> str:
    return (COUNTERS / name).read_text()


def intervals(name: str) -> list[dict[str, Any]]:
    """Return each interval of each stream in the captured JSON."""
    documents = json.loads(captured(name))["intervals"]
    return [stream for document in documents for stream in document["streams"]]


def test_streams_of_one_interval_are_added_and_each_stream_is_counted() -> None:
    name = "iperf3_tcp_streams.json"
    summary, raw = summarize(captured(name)), intervals(name)
    starts = sorted({stream["start"] for stream in raw})
    assert summary.interval_rates_bps == [
        sum(stream["bits_per_second"] for stream in raw if stream["start"] == start)
        for start in starts
    ]
    assert summary.bytes_by_stream == {
        number: sum(stream["bytes"] for stream in raw if stream["socket"] == number)
        for number in (5, 7, 9)
    }
    assert summary.streams == 3
    assert summary.windows_bytes == [s["snd_cwnd"] for s in raw if s["snd_cwnd"]]
    assert summary.round_trip_times_ms == [s["rtt"] / 1000 for s in raw if s["rtt"]]


def test_the_sides_of_a_test_are_its_totals() -> None:
    end = json.loads(captured("iperf3_tcp.json"))["end"]
    summary = summarize("A banner\n" + captured("iperf3_tcp.json") + "\nA farewell")
    sent, received = end["sum_sent"], end["sum_received"]
    assert summary.side("sender") == Side(
        sent["seconds"], sent["bytes"], sent["bits_per_second"], 24, None, None, None
    )
    assert summary.side("receiver").bytes == received["bytes"]
    assert (summary.jitter_ms, summary.lost_percent) == (None, None)


def test_loss_and_jitter_are_what_the_receiver_counted() -> None:
    received = json.loads(captured("iperf3_udp.json"))["end"]["sum_received"]
    summary = summarize(captured("iperf3_udp.json"))
    assert summary.jitter_ms == received["jitter_ms"]
    assert summary.lost_percent == received["lost_packets"] / received["packets"] * 100
    assert summary.side("receiver").lost_packets == received["lost_packets"] > 0
    assert (summary.side("sender").packets, summary.side("sender").lost_packets) == (6901, 0)
    assert (summary.windows_bytes, summary.round_trip_times_ms) == ([], [])


def test_a_test_without_totals_has_no_sides() -> None:
    document = json.loads(captured("iperf3_tcp.json"))
    document["end"] = {}
    summary = summarize(json.dumps(document))
    assert summary.sides == {}
    assert (summary.jitter_ms, summary.lost_percent) == (None, None)
    with pytest.raises(WanlabError, match="iperf3 printed no totals of the sender"):
        summary.side("sender")


def test_only_the_totals_of_the_sender_are_a_reason_for_nothing_else() -> None:
    document = json.loads(captured("iperf3_udp.json"))
    del document["end"]["sum_received"]
    assert set(summarize(json.dumps(document)).sides) == {"sender"}


def test_warm_up_is_left_out() -> None:
    document = json.loads(captured("iperf3_tcp.json"))
    for stream in document["intervals"][0]["streams"]:
        stream["omitted"] = True
    every = summarize(captured("iperf3_tcp.json"))
    summary = summarize(json.dumps(document))
    assert summary.interval_rates_bps == every.interval_rates_bps[1:]
    assert summary.windows_bytes == every.windows_bytes[1:]
    assert summary.round_trip_times_ms == every.round_trip_times_ms[1:]
    first = intervals("iperf3_tcp.json")[0]
    assert every.bytes_by_stream is not None
    assert summary.bytes_by_stream == {5: every.bytes_by_stream[5] - first["bytes"]}


def test_text_of_several_streams_is_summed_up_by_iperf3() -> None:
    summary = summarize(captured("iperf3_text_streams.txt"))
    assert summary.interval_rates_bps == [1_010_000, 992_000]
    assert summary.windows_bytes == [621 * 1024] * 4
    assert summary.side("sender") == Side(2, 244 * 1024, 1_000_000, 0, None, None, None)
    assert summary.side("receiver") == Side(2, 244 * 1024, 998_000, None, None, None, None)
    assert (summary.bytes_by_stream, summary.streams) == (None, None)
    assert (summary.jitter_ms, summary.lost_percent) == (None, None)


UDP = """\
[  5]   0.00-1.00   sec   129 KBytes  1.05 Mbits/sec  0.025 ms  2/91 (2.2%)
[  5]   1.00-2.00   sec   129 KBytes  1.05 Mbits/sec  0.027 ms  0/91 (0%)
"""
TOTALS = """\
[  5]   0.50-2.50   sec   250 KBytes  1.05 Mbits/sec  0.000 ms  0/182 (0%)  sender
[  5]   0.50-2.50   sec   250 KBytes  1.05 Mbits/sec  0.016 ms  9/180 (5%)  receiver
"""


def test_text_of_udp_says_what_the_receiver_lost() -> None:
    summary = summarize(UDP + TOTALS)
    assert (summary.jitter_ms, summary.lost_percent) == (0.016, 5)
    assert summary.interval_rates_bps == [1_050_000, 1_050_000]
    assert summary.side("receiver") == Side(2, 250 * 1024, 1_050_000, None, 180, 9, 0.016)


def test_without_the_receivers_total_the_last_line_of_udp_counts() -> None:
    summary = summarize(UDP)
    assert (summary.jitter_ms, summary.lost_percent, summary.sides) == (0.027, 0, {})


def test_the_last_test_of_a_server_counts_unless_it_has_no_numbers() -> None:
    first, last = UDP + TOTALS, TOTALS.replace("9/180 (5%)", "18/180 (10%)")
    accepted = "Accepted connection from 10.0.0.1, port 5\n"
    assert summarize(accepted + first + accepted + last).lost_percent == 10
    assert summarize(accepted + first + accepted).lost_percent == 5
