"""Figure 17 of the DCTCP paper: 40 senders, of which ten cross two congested switches."""

from typing import Any

import numpy as np

from wanlab import Design, Flows, Host, Run, Switch, Topology, experiment, link
from wanlab.bottleneck import FRAME_BYTES, goodput_mbps

GROUP, S2 = 10, 20
"""The number of senders in S1 and in S3, and in S2."""
PACKETS = {"1Gbps": 20, "10Gbps": 65}
"""The paper's thresholds K."""
BUFFER_PACKETS = 470


@experiment(
    design=Design.grid({"algorithm": ["dctcp", "reno"]}, repeats=2),
    # With 40 flows, seeds differ little, and a run takes a minute.
    full=Design.grid({"algorithm": ["dctcp", "reno"], "seconds": [3.0]}, repeats=5),
    labels={"algorithm": "congestion control"},
)
def dctcp_multihop(run: Run, *, algorithm: str = "dctcp", seconds: float = 0.5) -> None:
    """Measure the goodput of a sender of each group, after the first half second.

    S1 and S3 send to r; each sender of S2 has a receiver of its own. Both congested queues are at the
    switches: s1-s2 with 10 Gbit/s, s2-r with 1 Gbit/s.
    """
    s1 = [f"a{number}" for number in range(1, GROUP + 1)]
    s2 = [f"b{number}" for number in range(1, S2 + 1)]
    s3 = [f"c{number}" for number in range(1, GROUP + 1)]
    receivers = {**dict.fromkeys([*s1, *s3], "r"), **{name: f"q{name[1:]}" for name in s2}}
    sysctls = {"net.ipv4.tcp_congestion_control": algorithm}
    if algorithm == "dctcp":
        sysctls["net.ipv4.tcp_ecn"] = "1"
    with run.network(multihop(algorithm, s1, s2, s3), sysctls=sysctls) as net:
        for receiver in dict.fromkeys(receivers.values()):
            net[receiver].run("wanlab-traffic serve -D")
        for sender, receiver in receivers.items():
            net[sender].run(f"ping -c 1 {receiver}")
        with run.sampling(Flows(*receivers), every="100ms") as sampling:
            for sender, receiver in receivers.items():
                net[sender].start(f"wanlab-traffic bulk {receiver} --time {seconds + 0.6}s")
                net.run_for(int(run.random.uniform(0, 500_000)))
            net.run_for(int((seconds + 0.5) * 1e9))
        tcp = sampling.tables()["tcp"]
    for name, group in (("s1", s1), ("s2", s2), ("s3", s3)):
        mbps = [goodput_mbps(tcp, sender, from_s=0.5) for sender in group]
        run.metric(name, float(np.mean(mbps)), "Mbit/s", most=1000)
        run.metric(f"{name}_min", min(mbps), "Mbit/s")


def multihop(algorithm: str, s1: list[str], s2: list[str], s3: list[str]) -> Topology:
    """Return the network of figure 17, whose switches mark packets for DCTCP."""
    edge: dict[str, Any] = {"rate": "1Gbps", "delay": "10us"}
    receivers = ["r", *(f"q{name[1:]}" for name in s2)]
    links = [link(name, "s1", **edge) for name in [*s1, *s2]]
    links.append(link("s1", "s2", a_to_b=switch_port("10Gbps", algorithm)))
    links += [link(name, "s2", **edge) for name in s3]
    links += [link("s2", name, a_to_b=switch_port("1Gbps", algorithm)) for name in receivers]
    hosts = tuple(Host(name) for name in [*s1, *s2, *s3, *receivers])
    return Topology(nodes=(*hosts, Switch("s1"), Switch("s2")), links=tuple(links))


def switch_port(rate: str, algorithm: str) -> Any:
    """Return a port's conditions: for DCTCP, it marks what waits longer than K packets take."""
    queue: dict[str, object] = {"kind": "fifo", "limit": BUFFER_PACKETS * FRAME_BYTES}
    if algorithm == "dctcp":
        gbps = float(rate.removesuffix("Gbps"))
        threshold_us = PACKETS[rate] * FRAME_BYTES * 8 / (gbps * 1000)
        options = {"ce_threshold": f"{threshold_us:.0f}us", "target": "1s", "ecn": ""}
        queue = {"kind": "codel", "limit": BUFFER_PACKETS * FRAME_BYTES, "options": options}
    return {"rate": rate, "delay": "10us", "queue": queue}
