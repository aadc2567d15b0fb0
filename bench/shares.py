"""One of two equal flows at a drop-tail queue starves, unless something disturbs their timing.

The other cases show what else decides shares and queue lengths in labs 18 to 20
(docs/evidence/fidelity.md, "How competing flows share"). `--case` measures one group.

    equal      two CUBIC flows, 1 Gbit/s, 20 ms, a buffer of one bandwidth-delay product, for 60 s
    disorder   the same with a random delay of 0 to 0.5 ms at each sender that keeps packets in order
    bbr        CUBIC and BBR at a buffer of ten: first and second minute; and BBR begun 5 s later
    queues     CUBIC and BBR at FQ_CoDel of 100 Mbit/s with 2 and with 1024 queues, and those in use
    pie        peak of the queue under PIE, first 2 s of a CUBIC flow, with and without HyStart
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from _report import Report

from wanlab import Network, Process, Queues, Sampling, iperf3, load
from wanlab.labs import catalog
from wanlab.labs.lab_network import network_of

GIGABIT = "tbf rate 1gbit burst 500000 limit"
HUNDRED = "tbf rate 100mbit burst 50000 limit"
BDP, TEN_BDP = 2621440, 26214400
DISORDER = "netem delay 250us 250us rate 40gbit limit 100000"
PIE = "pie limit 17476 target 22ms tupdate 5ms alpha 2 beta 25"
HYSTART = "/sys/module/tcp_cubic/parameters/hystart"
BOTTLENECK = "s2-eth2"
MIN_SHARE_WITH_DISORDER, MAX_SHARE_WITHOUT = 0.3, 0.35
PEAK_RATIO = 3.0


@contextmanager
def network(lab: str, seed: int, buffers: int) -> Iterator[Network]:
    """Run a lab's network with its delay, and with these buffers in all hosts."""
    unit = catalog.find(lab)
    topology = load(unit.topology)
    with (
        tempfile.TemporaryDirectory(prefix="wanlab-bench-") as folder,
        network_of(unit, topology, Path(folder), seed=seed, clock="virtual") as net,
    ):
        net.root.run("tc qdisc add dev s1-eth1 root handle 1: netem delay 20ms")
        for host in topology.hosts:
            for name in ("rmem", "wmem"):
                setting = f"net.ipv4.tcp_{name}=10240 87380 {buffers}"
                net[host.name].run(["sysctl", "-qw", setting])
        for server in ("h3", "h4") if len(topology.hosts) > 3 else ("h3",):
            net[server].start("iperf3 -s")
        net.run_for("1s")
        yield net


def rates(client: Process) -> list[float]:
    """Return the rate of each second, in Mbit/s."""
    measured = iperf3.parse(client.finish("900s").output.encode())
    return [interval.bits_per_second / 1e6 for interval in measured.intervals]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def equal(report: Report, seeds: range, disorder: str = "") -> bool:
    table = report.table("disorder" if disorder else "equal", ("seed", "h1_mbps", "h2_mbps"))
    is_met = True
    for seed in seeds:
        with network("20", seed, 20971520) as net:
            net.root.run(f"tc qdisc add dev s1-eth1 parent 1: handle 2: {GIGABIT} {BDP}")
            for host in ("h1", "h2") if disorder else ():
                net[host].run(f"tc qdisc add dev {host}-eth0 root {disorder}")
            clients = [net[f"h{n}"].start(f"iperf3 -c 10.0.0.{n + 2} -t 60 -J") for n in (1, 2)]
            first, second = (mean(rates(client)) for client in clients)
        table.add(seed=seed, h1_mbps=first, h2_mbps=second)
        smaller_share = min(first, second) / (first + second)
        is_met = is_met and (
            smaller_share >= MIN_SHARE_WITH_DISORDER
            if disorder
            else smaller_share < MAX_SHARE_WITHOUT
        )
    return is_met


def bbr(report: Report) -> bool:
    table = report.table("bbr", ("later_s", "minute", "cubic_mbps", "bbr_mbps"))
    shares = []
    for later_s, minutes in ((0, 2), (5, 1)):
        with network("18", 1, 52428800) as net:
            net.root.run(f"tc qdisc add dev {BOTTLENECK} root handle 1: {GIGABIT} {TEN_BDP}")
            net["h2"].run("sysctl -qw net.ipv4.tcp_congestion_control=bbr")
            cubic = net["h1"].start(f"iperf3 -c 10.0.0.3 -t {60 * minutes} -J")
            net.run_for(f"{later_s}s")
            other = net["h2"].start(f"iperf3 -c 10.0.0.4 -t {60 * minutes} -J")
            both = rates(cubic), rates(other)
        for minute in range(minutes):
            first, second = (mean(seconds[60 * minute : 60 * minute + 60]) for seconds in both)
            table.add(later_s=later_s, minute=minute + 1, cubic_mbps=first, bbr_mbps=second)
            shares.append(second / (first + second))
    return shares[0] < MIN_SHARE_WITH_DISORDER < min(shares[1:])


def queues(report: Report, seeds: range) -> bool:
    table = report.table("queues", ("flows", "seed", "in_use", "cubic_mbps", "bbr_mbps"))
    is_met = True
    for flows in (2, 1024):
        for seed in seeds:
            with network("18", seed, 52428800) as net:
                net.root.run(f"tc qdisc add dev {BOTTLENECK} root handle 1: {HUNDRED} {TEN_BDP}")
                codel = f"fq_codel limit 17476 target 5ms interval 100ms flows {flows}"
                net.root.run(f"tc qdisc add dev {BOTTLENECK} parent 1: handle 2: {codel}")
                net["h2"].run("sysctl -qw net.ipv4.tcp_congestion_control=bbr")
                clients = [net[f"h{n}"].start(f"iperf3 -c 10.0.0.{n + 2} -t 20 -J") for n in (1, 2)]
                net.run_for("5s")
                shown = net.root.run(f"tc -s class show dev {BOTTLENECK}").output
                first, second = (mean(rates(client)) for client in clients)
            in_use = shown.count("class fq_codel")
            table.add(flows=flows, seed=seed, in_use=in_use, cubic_mbps=first, bbr_mbps=second)
            is_fair = abs(first - second) < 0.05 * (first + second)
            is_met = is_met and (is_fair if flows > 2 else not (is_fair and in_use < 2))
    return is_met


def pie(report: Report) -> bool:
    table = report.table("pie", ("mbps", "hystart", "peak_bytes"))
    peaks = []
    for mbps, shaper in ((100, HUNDRED), (1000, GIGABIT)):
        for hystart in (1, 0):
            with network("19", 1, 52428800) as net:
                net.root.run(["/bin/sh", "-c", f"echo {hystart} > {HYSTART}"])
                net.root.run(f"tc qdisc add dev {BOTTLENECK} root handle 1: {shaper} {TEN_BDP}")
                net.root.run(f"tc qdisc add dev {BOTTLENECK} parent 1: handle 2: {PIE}")
                sampling = Sampling(net, [Queues(BOTTLENECK)], every="10ms")
                sampling.begin()
                net["h1"].start("iperf3 -c 10.0.0.3 -t 2 -J").finish("60s")
                sampling.end()
                rows = sampling.tables()["qdisc"]
            found = zip(rows["kind"], rows["backlog_bytes"], strict=True)
            peaks.append(max(int(backlog) for kind, backlog in found if kind == "pie"))
            table.add(mbps=mbps, hystart=hystart, peak_bytes=peaks[-1])
    return all(without > PEAK_RATIO * usual for usual, without in (peaks[:2], peaks[2:]))


def main() -> int:
    report = Report("shares")
    groups: dict[str, Callable[[], bool]] = {
        "equal": lambda: equal(report, range(1, 4)),
        "disorder": lambda: equal(report, range(1, 4), DISORDER),
        "bbr": lambda: bbr(report),
        "queues": lambda: queues(report, range(1, 7)),
        "pie": lambda: pie(report),
    }
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--case", choices=groups, help="measure only this group")
    chosen = parser.parse_args().case
    met = []
    for name, measure in groups.items():
        if chosen in (None, name):
            report.note(name)
            met.append(measure())
    return report.finish(is_met=all(met))


if __name__ == "__main__":
    sys.exit(main())
