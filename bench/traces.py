"""A link with a trace delivers packets within 0.1 ms of the trace's times, and uses its capacity.

There are three traces (`examples/traces/make.py`: constant, cellular, satellite). First, datagrams of
one MTU keep the link busy: each must leave at the next delivery opportunity of the file. Then one CUBIC
flow uses the link.

    opportunities   delivery opportunities while packets waited
    delivered       packets that left in that time
    deviation_us    maximum delay of a packet after its opportunity; on a line of 40 Gbit/s a packet
                    holds up the others of the same millisecond for 0.3 us
    early           packets that left before their opportunity
    capacity_mbps   capacity of the opportunities
    carried_mbps    rate of the packets, with the 4 bytes that mahimahi adds to each
    tcp_mbps        goodput of the TCP flow, with a queue of 1000 packets
    tcp_share       the same as a fraction of its maximum, 1448 bytes in each opportunity
"""

from __future__ import annotations

import runpy
import sys
import tempfile
from pathlib import Path

from _captured import packets
from _report import Report

from wanlab import Capture, Network, Sampling, Topology, link
from wanlab.measure import traffic
from wanlab.topology import Host, Switch
from wanlab.topology.link_trace import OPPORTUNITY_BYTES, LinkTrace, read_trace

MAKE = Path(__file__).resolve().parent.parent / "examples" / "traces" / "make.py"
SECONDS = 25
BUSY_MS = 1000
"""From this time on, packets wait; the first packets find an empty queue."""
OPPORTUNITY_BITS = OPPORTUNITY_BYTES * 8
MAX_DEVIATION_US = 100.0
MIN_TCP_SHARE = 0.95
COLUMNS = (
    "trace",
    "opportunities",
    "delivered",
    "deviation_us",
    "early",
    "capacity_mbps",
    "carried_mbps",
    "tcp_mbps",
    "tcp_share",
    "is_met",
)


def main() -> int:
    report = Report("traces")
    table = report.table("traces", COLUMNS)
    is_met = True
    with tempfile.TemporaryDirectory(prefix="wanlab-bench-") as name:
        folder = Path(name)
        runpy.run_path(str(MAKE))["write"](folder)
        for path in sorted(folder.glob("*.trace")):
            trace = read_trace(path)
            expected, left_ns = _delivered(folder, trace)
            goodput_bps = _tcp(folder, trace)
            late_ns = [
                at_ns - at_ms * 1_000_000 for at_ms, at_ns in zip(expected, left_ns, strict=False)
            ]
            seconds = (expected[-1] - expected[0]) / 1000
            carried = len(left_ns) * OPPORTUNITY_BITS / seconds
            tcp_share = goodput_bps / (_capacity(trace) * 1448 / OPPORTUNITY_BYTES)
            is_exact = (
                len(expected) == len(left_ns)
                and min(late_ns) >= 0
                and max(late_ns) <= MAX_DEVIATION_US * 1000
                and tcp_share >= MIN_TCP_SHARE
            )
            is_met &= is_exact
            table.add(
                trace=path.stem,
                opportunities=len(expected),
                delivered=len(left_ns),
                deviation_us=max(late_ns) / 1000,
                early=sum(late < 0 for late in late_ns),
                capacity_mbps=len(expected) * OPPORTUNITY_BITS / seconds / 1e6,
                carried_mbps=carried / 1e6,
                tcp_mbps=goodput_bps / 1e6,
                tcp_share=tcp_share,
                is_met=is_exact,
            )
    return report.finish(is_met=is_met)


def _delivered(folder: Path, trace: LinkTrace) -> tuple[list[int], list[int]]:
    """Return the times of the opportunities in ms and of the packets in ns, while packets wait."""
    with Network(_behind(trace), seed=1, folder=folder) as net:
        net["h2"].run("wanlab-traffic serve -D")
        capture = Capture("s1-eth2", file=folder / "left.pcapng", snaplen=64, filter="udp")
        with Sampling(net, [capture]):
            rate_bps = round(3 * trace.mean_bps)
            net["h1"].start(
                f"wanlab-traffic udp h2 --rate {rate_bps}bps --size 1472B --time {SECONDS}s"
            )
            net.run_for(f"{SECONDS}s")
        passed = packets(net, capture.file)
    left_ns = [at_ns for at_ns, _ in passed if at_ns >= BUSY_MS * 1_000_000]
    last_ms = left_ns[-1] // 1_000_000
    opportunities_ms = []
    lap_ms = 0
    while lap_ms <= last_ms:
        opportunities_ms += [lap_ms + at for at in trace.at_ms if BUSY_MS <= lap_ms + at <= last_ms]
        lap_ms += trace.duration_ms
    return opportunities_ms, left_ns


def _tcp(folder: Path, trace: LinkTrace) -> float:
    with Network(_behind(trace, delay="10ms"), seed=1, folder=folder) as net:
        net["h2"].run("wanlab-traffic serve -D")
        output = net["h1"].run(f"wanlab-traffic bulk h2 --time {SECONDS}s --json").output
    flows = traffic.parse(output)
    assert isinstance(flows, traffic.FlowResults)
    return flows.goodput_bps


def _capacity(trace: LinkTrace) -> float:
    """Return the capacity of the trace during the flow, in bit/s."""
    count, lap_ms = 0, 0
    while lap_ms < SECONDS * 1000:
        count += sum(lap_ms + at < SECONDS * 1000 for at in trace.at_ms)
        lap_ms += trace.duration_ms
    return count * OPPORTUNITY_BITS / SECONDS


def _behind(trace: LinkTrace, delay: str = "0ms") -> Topology:
    return Topology(
        nodes=(Host("h1"), Host("h2"), Switch("s1")),
        links=(link("h1", "s1", delay=delay), link("s1", "h2", a_to_b={"trace": trace})),
    )


if __name__ == "__main__":
    sys.exit(main())
