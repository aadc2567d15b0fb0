"""Test extracting numbers from the output of commands; this needs no machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from wanlab.errors import WanlabError
from wanlab.measure.metric_values import known, largest, mean
from wanlab.measure.metrics import StepOutput, parse_metric, parse_run_metric
from wanlab.record import Table

PING = """\
PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data.
64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=20.0 ms
64 bytes from 10.0.0.2: icmp_seq=2 ttl=64 time=10.0 ms
^C
--- 10.0.0.2 ping statistics ---
4 packets transmitted, 2 received, 50% packet loss, time 3000ms
rtt min/avg/max/mdev = 10.000/15.000/20.000/5.000 ms
"""
TCP = """\
Connecting to host 10.0.0.2, port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec  1.11 GBytes  9.55 Gbits/sec   45   8.02 MBytes
[  5]   1.00-2.00   sec  1.11 GBytes  9.57 Gbits/sec    0   10.0 MBytes
- - - - - - - - - - - - - - - - - - - - - - - - -
[  5]   0.00-2.00   sec  2.23 GBytes  9.56 Gbits/sec   45             sender
[  5]   0.00-2.04   sec  2.22 GBytes  9.34 Gbits/sec                  receiver
"""
UDP = """\
[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
[  5]   0.00-1.00   sec   129 KBytes  1.05 Mbits/sec  0.025 ms  0/91 (0%)
[  5]   0.00-10.00  sec  1.25 MBytes  1.05 Mbits/sec  0.000 ms  0/906 (0%)  sender
[  5]   0.00-10.00  sec  1.25 MBytes  1.05 Mbits/sec  0.016 ms  9/900 (1%)  receiver
"""
PARALLEL = """\
[  5]   0.00-1.00   sec   500 MBytes  4.00 Gbits/sec    0   8.02 MBytes
[  7]   0.00-1.00   sec   500 MBytes  4.00 Gbits/sec    0   8.02 MBytes
[SUM]   0.00-1.00   sec  1000 MBytes  8.00 Gbits/sec    0
[  5]   0.00-1.00   sec   500 MBytes  4.00 Gbits/sec    3             sender
[  5]   0.00-1.00   sec   490 MBytes  3.90 Gbits/sec                  receiver
[  7]   0.00-1.00   sec   500 MBytes  4.00 Gbits/sec    4             sender
[  7]   0.00-1.00   sec   490 MBytes  3.90 Gbits/sec                  receiver
[SUM]   0.00-1.00   sec  1000 MBytes  8.00 Gbits/sec    7             sender
[SUM]   0.00-1.00   sec   980 MBytes  7.80 Gbits/sec                  receiver
"""
QDISCS = json.dumps(
    [
        {
            "kind": "netem",
            "handle": "1:",
            "options": {
                "limit": 1000,
                "delay": {"delay": 0.02, "jitter": 0.005, "correlation": 0},
                "loss-random": {"loss": 0.0001, "correlation": 0},
            },
        },
        {
            "kind": "tbf",
            "handle": "2:",
            "options": {"rate": 125000000, "burst": 499968, "lat": 16971},
        },
    ]
)


def value_of(text: str, output: str = "", **more: Any) -> float:
    return parse_metric(text)(StepOutput(output, **more)).value


@pytest.mark.parametrize(
    ("text", "output", "value"),
    [
        ("ping.sent", PING, 4),
        ("ping.received", PING, 2),
        ("ping.loss_percent", PING, 50),
        ("ping.mean_ms", PING, 15),
        ("ping.mdev_ms", PING, 5),
        ("iperf3.sender.gbps", TCP, 9.56),
        ("iperf3.receiver.mbps", TCP, 9340),
        ("iperf3.sender.retransmits", TCP, 45),
        ("iperf3.sender.gbytes", TCP, 2.23),
        ("iperf3.interval_max_mbps", TCP, 9570),
        ("iperf3.cwnd_max_mbytes", TCP, 10),
        ("iperf3.sender.gbps", PARALLEL, 8),
        ("iperf3.sum_receiver_mbps", PARALLEL, 7800),
        ("iperf3.sender.retransmits", PARALLEL, 7),
        ("iperf3.interval_max_mbps", PARALLEL, 8000),
        ("iperf3.jitter_ms", UDP, 0.016),
        ("iperf3.lost_percent", UDP, 1),
        ("netem.delay_ms", QDISCS, 20),
        ("netem.jitter_ms", QDISCS, 5),
        ("netem.loss_percent", QDISCS, 0.01),
        ("tbf.rate_mbps", QDISCS, 1000),
        ("kind(tbf).exists", QDISCS, 1),
        ("kind(fq).exists", QDISCS, 0),
        ("sysctl.value", "net.ipv4.tcp_rmem = 10240\t87380\t16777216\n", 16777216),
        ("jain", "The index:\n.987654\n", 0.987654),
        (r"first_number(rate (\d+)Mbit)", "rate 100Mbit burst", 100),
    ],
)
def test_a_number_is_taken_out_of_an_output(text: str, output: str, value: float) -> None:
    assert value_of(text, output) == pytest.approx(value)


@pytest.mark.parametrize(
    "text",
    [
        "pong.sent",
        "ping.medium_ms",
        "json",
        "iperf3.jane",
        "queue(s1-eth2).depth",
        "first_number(abc)",
        "first_number((",
        "",
    ],
)
def test_an_unknown_metric_is_refused(text: str) -> None:
    with pytest.raises(WanlabError):
        parse_metric(text)


@pytest.mark.parametrize("text", ["ping.sent", "iperf3.sender.mbps", "jain", "tbf.rate_mbps"])
def test_a_missing_number_is_not_zero(text: str) -> None:
    with pytest.raises(WanlabError):
        value_of(text, "bash: no such command\n")


def test_the_last_ping_of_a_terminal_counts() -> None:
    first = PING.replace("4 packets transmitted, 2 received", "9 packets transmitted, 2 received")
    assert value_of("ping.sent", first + "net.ipv4.x = 1\n" + PING + "something else\n") == 4


def test_a_servers_last_test_counts() -> None:
    server = "Accepted connection from 10.0.0.1\n" + PARALLEL
    server += "Accepted connection from 10.0.0.1\n" + TCP
    assert value_of("iperf3.receiver.gbps", server) == 9.34


def test_concurrent_flows_have_a_fairness_index() -> None:
    both = [TCP, TCP.replace("9.34 Gbits", "4.67 Gbits")]
    assert value_of("jain", outputs=both) == pytest.approx(0.9)
    assert value_of("iperf3.sum_receiver_mbps", outputs=both) == pytest.approx(14010)


def test_the_delay_line_is_no_queue() -> None:
    """netem above a shaper also counts the packets that wait in the shaper."""
    table = Table.of(
        {
            "time_ns": [0, 0, 1, 1],
            "device": ["s1-eth2"] * 4,
            "kind": ["netem", "tbf", "netem", "tbf"],
            "handle": ["1:", "2:", "1:", "2:"],
            "parent": ["", "1:1", "", "1:1"],
            "backlog_bytes": [900, 100, 5000, 3000],
        }
    )
    queues = {"s1-eth2": table}
    assert value_of("queue(s1-eth2).first_bytes", queues=queues) == 100
    assert value_of("queue(s1-eth2).peak_bytes", queues=queues) == 3000
    assert value_of("queue(s1-eth2).mean_bytes", queues=queues) == 1550


def test_the_existence_of_a_file_is_a_metric() -> None:
    def read(name: str) -> bytes:
        if name != "out.json":
            raise WanlabError("there is none")
        return b"{}"

    assert value_of("file(out.json).exists", read_file=read) == 1
    assert value_of("file(other.json).exists", read_file=read) == 0


@pytest.mark.parametrize(("ended_ns", "seconds"), [(None, None), (3_500_000_000, 2.5)])
def test_a_program_took_the_time_between_its_start_and_its_end(
    ended_ns: int | None, seconds: float | None
) -> None:
    process = SimpleNamespace(output=TCP, started_ns=1_000_000_000, ended_ns=ended_ns)
    run = SimpleNamespace(programs={"flow": process})
    extract = parse_run_metric("flow.seconds")
    if seconds is None:
        with pytest.raises(WanlabError, match=r"was not measured|has not ended"):
            extract(cast(Any, run))
    else:
        assert extract(cast(Any, run)).value == seconds


@pytest.mark.parametrize("function", [known, largest, mean])
def test_nothing_is_no_number(function: Callable[[Any, str], float]) -> None:
    nothing = None if function is known else ()
    with pytest.raises(WanlabError, match="the delay was not measured"):
        function(nothing, "the delay")


def test_a_number_is_the_largest_the_mean_or_itself() -> None:
    assert (known(3, "it"), largest([1, 3, 2], "it"), mean([1, 3, 2], "it")) == (3.0, 3, 2.0)
