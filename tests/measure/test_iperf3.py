import json
from pathlib import Path
from typing import Any

import pytest

from wanlab.errors import WanlabError
from wanlab.measure import iperf3

COUNTERS = Path(__file__).parent.parent / "golden" / "counters"


def captured(name: str) -> str:
    return (COUNTERS / f"iperf3_{name}.json").read_text()


def streams(name: str) -> list[dict[str, Any]]:
    """Return all intervals of all streams as the JSON has them."""
    intervals = json.loads(captured(name))["intervals"]
    return [stream for interval in intervals for stream in interval["streams"]]


def test_one_tcp_stream_is_read_interval_by_interval() -> None:
    result = iperf3.parse(captured("tcp"))
    assert (result.version, result.protocol, result.congestion) == ("3.12", "TCP", "cubic")
    assert result.error is None
    assert result.streams == (
        iperf3.Stream(
            number=5,
            local_host="10.0.0.1",
            local_port=result.streams[0].local_port,
            remote_host="10.0.0.3",
            remote_port=5201,
        ),
    )
    first, raw = result.intervals[0], streams("tcp")[0]
    assert len(result.intervals) == len(streams("tcp")) == 10
    assert first == iperf3.Interval(
        start_s=raw["start"],
        end_s=raw["end"],
        stream=5,
        sender=True,
        omitted=False,
        bytes=raw["bytes"],
        bits_per_second=raw["bits_per_second"],
        retransmits=raw["retransmits"],
        snd_cwnd_bytes=raw["snd_cwnd"],
        snd_wnd_bytes=raw["snd_wnd"],
        rtt_us=raw["rtt"],
        rttvar_us=raw["rttvar"],
        pmtu_bytes=1500,
        packets=None,
        lost_packets=None,
        jitter_ms=None,
    )


def test_totals_are_those_of_both_sides() -> None:
    result = iperf3.parse(captured("tcp"))
    end = json.loads(captured("tcp"))["end"]
    assert result.sent.bytes == end["sum_sent"]["bytes"]
    assert result.sent.retransmits == end["sum_sent"]["retransmits"]
    assert result.received.bits_per_second == end["sum_received"]["bits_per_second"]
    assert result.received.retransmits is None


def test_several_streams_keep_their_numbers() -> None:
    result = iperf3.parse(captured("tcp_streams"))
    assert [stream.number for stream in result.streams] == [5, 7, 9]
    assert result.table().distinct("stream") == [5, 7, 9]
    assert sum(interval.bytes for interval in result.intervals) == result.sent.bytes


def test_a_receiver_does_not_know_the_window_so_its_table_has_no_such_column() -> None:
    result = iperf3.parse(captured("tcp_reverse"))
    assert {interval.sender for interval in result.intervals} == {False}
    assert {interval.snd_cwnd_bytes for interval in result.intervals} == {None}
    assert "snd_cwnd_bytes" not in result.table()


def test_streams_in_both_directions_are_distinguished() -> None:
    result = iperf3.parse(captured("bidirectional"))
    assert {(interval.stream, interval.sender) for interval in result.intervals} == {
        (5, True),
        (7, False),
    }
    assert sorted(result.totals) == [
        "received",
        "received_bidir_reverse",
        "sent",
        "sent_bidir_reverse",
    ]


def test_udp_has_packets_losses_and_jitter() -> None:
    result = iperf3.parse(captured("udp"))
    assert result.protocol == "UDP"
    assert sum(interval.packets or 0 for interval in result.intervals) == result.sent.packets
    assert result.received.lost_packets is not None
    assert result.received.lost_packets > 0
    assert result.received.jitter_ms is not None
    assert result.received.jitter_ms > 0


def test_a_servers_output_counts_what_arrived() -> None:
    result = iperf3.parse(captured("server"))
    assert sum(interval.bytes for interval in result.intervals) == result.received.bytes


def test_the_table_has_units_and_can_start_later() -> None:
    table = iperf3.parse(captured("tcp")).table(start_s=5.0)
    assert table.names[:7] == (
        "start_s",
        "end_s",
        "stream",
        "sender",
        "omitted",
        "bytes",
        "bits_per_second",
    )
    assert [table.column(name).unit for name in ("start_s", "bits_per_second", "rtt_us")] == [
        "s",
        "bit/s",
        "us",
    ]
    assert table["start_s"][0] == 5.0


def test_a_run_that_was_ended_early_keeps_what_it_measured() -> None:
    result = iperf3.parse(captured("interrupted"))
    assert result.error == "interrupt - the client has terminated"
    assert len(result.intervals) == len(streams("interrupted")) > 0


def test_a_run_that_failed_says_why() -> None:
    with pytest.raises(WanlabError, match="iperf3 failed: unable to connect to server: Connection"):
        iperf3.parse(captured("no_server"))


def test_text_instead_of_json_is_refused_with_a_hint() -> None:
    with pytest.raises(WanlabError, match="was iperf3 called with -J"):
        iperf3.parse((COUNTERS / "iperf3_text.txt").read_text())


def test_truncated_json_is_refused() -> None:
    text = captured("tcp").rstrip()
    for end in range(0, len(text), 97):
        with pytest.raises(WanlabError, match="cannot parse"):
            iperf3.parse(text[:end])


def test_a_wrong_value_is_named_with_its_place() -> None:
    document = json.loads(captured("tcp"))
    document["intervals"][1]["streams"][0]["rtt"] = "fast"
    with pytest.raises(WanlabError, match=r"\$.intervals\[1\].streams\[0\].rtt"):
        iperf3.parse(json.dumps(document))


def as_before_3_7(name: str) -> tuple[str, list[bool]]:
    """Return a capture without the fields that 3.7 added, and the ones of its direction."""
    document, senders = json.loads(captured(name)), []
    for interval in document["intervals"]:
        for stream in interval["streams"]:
            senders.append(stream.pop("sender"))
    return json.dumps(document), senders


@pytest.mark.parametrize("name", ["tcp", "tcp_streams", "tcp_reverse", "udp", "server"])
def test_the_direction_of_old_releases_is_that_of_the_test(name: str) -> None:
    text, senders = as_before_3_7(name)
    assert [interval.sender for interval in iperf3.parse(text).intervals] == senders


def test_a_total_that_old_releases_do_not_print_is_named() -> None:
    document = json.loads(captured("udp"))
    del document["end"]["sum_received"]
    with pytest.raises(WanlabError, match=r"iperf3 3\.12 does not say how much was received"):
        _ = iperf3.parse(json.dumps(document)).received


def test_a_stream_of_events_is_the_same_test() -> None:
    document = json.loads(captured("tcp"))
    events = [
        {"event": "start", "data": document["start"]},
        *({"event": "interval", "data": interval} for interval in document["intervals"]),
        {"event": "end", "data": document["end"]},
    ]
    lines = "".join(json.dumps(event) + "\n" for event in events)
    assert iperf3.parse(lines) == iperf3.parse(captured("tcp"))
    assert iperf3.parse_all(lines + lines) == [iperf3.parse(captured("tcp"))] * 2


def test_a_server_prints_a_document_per_test() -> None:
    second = json.loads(captured("server"))
    second["start"]["timestamp"]["timesecs"] += 60
    ended = {"start": {"version": "iperf 3.12", "connected": []}, "error": "interrupted"}
    output = "\n".join([captured("server"), json.dumps(second), json.dumps(ended)])
    tests = iperf3.parse_all(output)
    assert [test.began_s - tests[0].began_s for test in tests] == [0, 60]
    with pytest.raises(WanlabError, match="output of 2 runs"):
        iperf3.parse(output)

    one, both = tests[0], iperf3.joined(tests)
    assert [stream.number for stream in both.streams] == [1, 2]
    half = len(one.intervals)
    assert [row.start_s for row in both.intervals[half:]] == [
        row.start_s + 60 for row in one.intervals
    ]
    assert {row.stream for row in both.intervals[half:]} == {2}


def test_what_is_not_a_number_in_json_is_refused() -> None:
    document = json.loads(captured("tcp"))
    document["intervals"][0]["streams"][0]["bits_per_second"] = float("nan")
    with pytest.raises(WanlabError, match="NaN is not JSON"):
        iperf3.parse(json.dumps(document))
