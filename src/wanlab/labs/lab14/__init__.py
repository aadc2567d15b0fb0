"""Lab 14, Router's Bufferbloat: what the size of a switch's buffer does to throughput and delay.

    h1 --- s1-eth1 +----+ s1-eth2 --- h3       1 Gbit/s, 20 ms, and the buffer, towards h3
    h2 --- s1-eth3 | s1 |
                   +----+

The manual's commands, as printed. Where the print is wrong the corrected one is typed: section 3.2 sets
the send buffer of h1 a second time where the receive and send buffers of h3 are meant. `plot_q.sh`
and `plot_iperf.sh` show what the records and figures of this run hold.

The bands below are the project's, set before the first run.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from wanlab import Flows, Network, Queues, Record, Sampling, iperf3, ping
from wanlab.measure import iperf3_text
from wanlab.record import Table

from ..lab import Finding, Lab, LabResult, Run, Underway
from ..terminals import CLIENT, Terminals

if TYPE_CHECKING:
    from wanlab.plot import Panel

PORT = "s1-eth2"
SHAPER = "2:"
BUFFERS = {"100 MTU": 160_000, "1 BDP": 2_621_440, "10 BDP": 26_214_400}
SECONDS = 90
EVERY = "10ms"
# One super-packet: the most that the last packet may not have fitted into the buffer.
PACKET_BYTES = 65_550


def perform(network: Network, result: LabResult, say: Callable[[str], None]) -> None:
    """Sections 2.1 to 5.2 of the manual."""
    terminals = Terminals(network, say, result.outputs)
    _connectivity(terminals, result)
    _buffers_of_hosts(terminals)
    _short_buffer(network, terminals, result)
    _long_buffer(network, terminals, result, "1 BDP", "1_BDP", _findings_1_bdp)
    _long_buffer(network, terminals, result, "10 BDP", "10BDP", _findings_10_bdp)


def _connectivity(terminals: Terminals, result: LabResult) -> None:
    """2.1 to 2.4: the path, before and with the delay.

    Between hosts that have not spoken yet, the first reply waits for ARP as well: twice the delay.
    """
    terminals.run_until_interrupt("h1", "ping 10.0.0.3", 3.5)
    terminals.run(CLIENT, f"sudo tc qdisc add dev {PORT} root handle 1: netem delay 20ms")
    for host, manual in (
        ("h1", ("20.08", "25.39", "41.266")),
        ("h2", ("20.09", "25.257", "40.745")),
    ):
        found = ping.parse(terminals.run_until_interrupt(host, "ping 10.0.0.3", 3.5))
        least, mean, most = manual
        result.findings += [
            Finding(f"{host} ping, least", least, _known(found.min_ms), "ms", 20.0, 20.1),
            Finding(f"{host} ping, mean", mean, _known(found.mean_ms), "ms", 20.0, 26.0, ARP),
            Finding(f"{host} ping, most", most, _known(found.max_ms), "ms", 20.0, 42.0, ARP),
        ]


def _buffers_of_hosts(terminals: Terminals) -> None:
    """3.1 and 3.2: the bottleneck, and hosts that can fill it."""
    terminals.run(CLIENT, _shaper("add", "100 MTU"))
    for host in ("h1", "h3"):
        for direction in ("rmem", "wmem"):
            key = f"net.ipv4.tcp_{direction}"
            terminals.run(host, f"sysctl -w {key}='10240 87380 52428800'")


def _shaper(verb: str, buffer: str) -> str:
    return (
        f"sudo tc qdisc {verb} dev {PORT} parent 1: handle 2: "
        f"tbf rate 1gbit burst 500000 limit {BUFFERS[buffer]}"
    )


def _short_buffer(network: Network, terminals: Terminals, result: LabResult) -> None:
    """3.3: ten seconds through a buffer of 100 packets."""
    server = terminals.start("h3", "iperf3 -s")
    network.run_for("500ms")
    sampling = _sample(network, result, "100 MTU")
    flow = terminals.start("h1", "iperf3 -c 10.0.0.3")
    sampling.run(flow)
    text = terminals.end("h1", flow)
    terminals.interrupt("h3", server)
    tables = sampling.tables() | {"iperf3": _intervals(text)}
    _add_run(network, terminals, result, "100 MTU", tables, {"iperf3.txt": text.encode()})
    sent, received = (iperf3_text.summary(text, role) for role in ("sender", "receiver"))
    why = "the issue's band: far below the link's rate"
    result.findings += [
        _mbps("100 MTU, sender", "74.1", sent.bits_per_second, None, 200, why),
        _mbps("100 MTU, receiver", "72.2", received.bits_per_second, None, 200, why),
        Finding(
            "100 MTU, retransmissions",
            "582",
            float(sent.retransmits or 0),
            "packets",
            1,
            None,
            "depends on where in the sawtooth losses fall; any shows that the buffer overflows",
        ),
    ]


def _long_buffer(
    network: Network,
    terminals: Terminals,
    result: LabResult,
    buffer: str,
    folder: str,
    findings: Callable[[iperf3.Iperf3, ping.Ping, Table], list[Finding]],
) -> None:
    """4 and 5: ninety seconds with a ping beside the transfer."""
    terminals.run(CLIENT, _shaper("change", buffer))
    server = terminals.start("h3", "iperf3 -s")
    network.run_for("500ms")
    sampling = _sample(network, result, buffer)
    terminals.change_folder("h1", folder)
    flow = terminals.start("h1", f"iperf3 -c 10.0.0.3 -t {SECONDS} -J > out.json")
    pings = terminals.start("h2", f"ping 10.0.0.3 -c {SECONDS}")
    sampling.run([flow, pings], progress=terminals.every(15, f"of {SECONDS} s have passed"))
    terminals.end("h1", flow)
    replies = ping.parse(terminals.end("h2", pings))
    terminals.interrupt("h3", server)
    raw = (network.folder / folder / "out.json").read_bytes()
    measured = iperf3.parse(raw)
    tables = sampling.tables() | {"iperf3": measured.table(), "ping": replies.table()}
    texts = {"out.json": raw, "ping.txt": pings.output.encode()}
    _add_run(network, terminals, result, buffer, tables, texts)
    result.findings += findings(measured, replies, tables["qdisc"])


def _sample(network: Network, result: LabResult, buffer: str) -> Sampling:
    sampling = Sampling(network, [Queues(PORT), Flows("h1")], every=EVERY)
    result.underway = Underway(_name(buffer), f"buffer of {buffer}", sampling)
    return sampling


def _name(buffer: str) -> str:
    return buffer.lower().replace(" ", "-")


def _add_run(
    network: Network,
    terminals: Terminals,
    result: LabResult,
    buffer: str,
    tables: dict[str, Table],
    raw: dict[str, bytes],
) -> None:
    provenance = network.provenance(
        commands=terminals.commands, parameters={"buffer": buffer, "limit_bytes": BUFFERS[buffer]}
    )
    record = Record(provenance, tables, raw)
    result.underway = None
    result.runs.append(Run(_name(buffer), f"buffer of {buffer}", record, _panels(record, buffer)))


def _panels(record: Record, buffer: str) -> list[Panel]:
    from wanlab import plot  # what draws takes a second to load

    return [
        plot.throughput(record),
        plot.rtt(record),
        plot.congestion_window(record),
        plot.queue(record, device=PORT, handle=SHAPER, limit_bytes=BUFFERS[buffer]),
    ]


def _findings_1_bdp(measured: iperf3.Iperf3, replies: ping.Ping, queue: Table) -> list[Finding]:
    return [
        _queue_peak("1 BDP", "2.5e6", queue),
        _mbps("1 BDP, throughput", "about 900", measured.received.bits_per_second, 900, None),
        Finding("1 BDP, peak cwnd", "4.5", _peak_cwnd_mb(measured), "MB", 4.0, 6.5, BDP_AND_BUFFER),
        Finding("1 BDP, ping mean", "32.669", _known(replies.mean_ms), "ms", 20, 45, "below 45 ms"),
        Finding("1 BDP, ping most", "64.126", _known(replies.max_ms), "ms", 20, 65),
        Finding("1 BDP, ping loss", "0", replies.loss_fraction * 100, "%", 0, 0),
    ]


def _findings_10_bdp(measured: iperf3.Iperf3, replies: ping.Ping, queue: Table) -> list[Finding]:
    return [
        _queue_peak("10 BDP", "2.5e7", queue),
        _mbps("10 BDP, throughput", "900", measured.received.bits_per_second, 900, None),
        Finding("10 BDP, peak cwnd", "25.2", _peak_cwnd_mb(measured), "MB", 20, 32, BDP_AND_BUFFER),
        Finding("10 BDP, ping mean", "167.046", _known(replies.mean_ms), "ms", 150, 220),
        Finding("10 BDP, ping most", "219.647", _known(replies.max_ms), "ms", 200, 235),
        Finding("10 BDP, ping loss", "0", replies.loss_fraction * 100, "%", 0, 0),
    ]


ARP = "40 ms where the first reply waited for ARP"
BDP_AND_BUFFER = "BDP and buffer together are what can be in flight; hosts allow 26 MB"


def _mbps(
    what: str, manual: str, bits: float, least: float | None, most: float | None, why: str = ""
) -> Finding:
    return Finding(what, manual, bits / 1e6, "Mbit/s", least, most, why)


def _queue_peak(buffer: str, manual: str, queue: Table) -> Finding:
    shaper = queue.where(device=PORT, handle=SHAPER)
    limit = BUFFERS[buffer]
    return Finding(
        f"{buffer}, queue peak",
        manual,
        float(max(shaper["backlog_bytes"])),
        "B",
        limit - PACKET_BYTES,
        limit,
        "the limit, within a packet",
    )


def _peak_cwnd_mb(measured: iperf3.Iperf3) -> float:
    return max(float(interval.snd_cwnd_bytes or 0) for interval in measured.intervals) / 1e6


def _known(value: float | None) -> float:
    """A ping whose replies carried no time has measured nothing."""
    assert value is not None, "the replies carried no time"
    return value


def _intervals(text: str) -> Table:
    """The printed lines in the form of iperf3's JSON."""
    lines = [line for line in iperf3_text.parse(text) if not line.role]
    return Table.from_rows(
        [
            {
                "start_s": line.start_s,
                "end_s": line.end_s,
                "stream": int(line.stream),
                "bytes": line.bytes,
                "bits_per_second": line.bits_per_second,
                "retransmits": line.retransmits,
                "snd_cwnd_bytes": line.cwnd_bytes,
            }
            for line in lines
        ],
        {"bits_per_second": "bit/s"},
    )


LAB = Lab(
    number=14,
    title="Router's Bufferbloat",
    topology=Path(__file__).with_name("topology.mn"),
    wire="gso",  # the manual's numbers are of super-packets
    # The course's veth ports have no line rate. It matters for the short buffer only: netem hands all
    # that is due to the shaper at once, so what arrives in no time must fit into 160 kB (86 Mbit/s;
    # on 40 Gbit/s wires, where packets come one after the other, 370). See docs/fidelity.md.
    line_rate_bps=0,
    sysctls={
        "net.ipv4.tcp_rmem": "10240 87380 16777216",
        "net.ipv4.tcp_wmem": "10240 87380 16777216",
    },
    perform=perform,
)
