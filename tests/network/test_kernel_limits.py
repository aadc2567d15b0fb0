"""Test the warnings about limits of the kernel that no queue counts."""

from __future__ import annotations

from wanlab.network.kernel_limits import limit_warnings

NETSTAT = "TcpExt: ListenDrops TCPMemoryPressures\nTcpExt: 3 {}\nIpExt: InNoRoutes\nIpExt: 0\n"


def test_a_node_whose_tcp_ran_short_of_memory_is_named() -> None:
    netstats = {"h1": NETSTAT.format(0), "h2": NETSTAT.format(2), "": NETSTAT.format(1)}
    short = [warning.partition(":")[0] for warning in limit_warnings(0, netstats)]
    assert short == ["TCP in h2 ran short of memory", "TCP in root ran short of memory"]


def test_packets_that_no_queue_counts_are_counted() -> None:
    (warning,) = limit_warnings(7, {})
    assert warning.startswith("7 packets were dropped behind a port")
