"""A scalable sender beside a classic one: DualPI2, FQ_CoDel and a drop-tail queue.

L4S (RFC 9330) gives senders with a scalable response, such as DCTCP, a queue of their own with a delay
below a millisecond, and couples its marks to the drops of the classic queue so that both kinds of
senders get the same rate. Linux has the coupled queue, DualPI2 (RFC 9332), since 6.17, so this study
runs on the kernel 7.3.

Linux's DCTCP sends ECT(0), the classic codepoint; a filter at the sender's port sets ECT(1), which
DualPI2 recognises. De Schepper et al., "PI2: A Linearized AQM for both Classic and Scalable TCP"
(CoNEXT 2016), figures 15 and 16, report rate ratios near 1 for 4 to 200 Mbit/s and RTTs of 5 to 100 ms.
"""

import numpy as np
from paths import MSS_BYTES, bottleneck, goodput_mbps, rtt_ms

from wanlab import Design, Flows, Queues, Run, experiment, units

KINDS = ["dualpi2", "fq_codel", "fifo"]
BOTTLENECK = "s1-eth1"
TO_ECT1 = (
    "tc qdisc add dev {port} clsact && tc filter add dev {port} egress protocol ip u32 "
    "match ip dsfield 2 3 action pedit ex munge ip dsfield set 1 retain 3 pipe csum ip"
)


@experiment(
    design=Design.grid({"queue": KINDS, "rate": ["12Mbps", "40Mbps"], "rtt": ["10ms"]}),
    full=Design.grid(
        {
            "queue": KINDS,
            "rate": ["4Mbps", "12Mbps", "40Mbps", "120Mbps", "200Mbps"],
            "rtt": ["5ms", "10ms", "20ms", "50ms", "100ms"],
            "seconds": [60],
        },
        repeats=3,
    ),
    plots=[
        "lines ratio over rate by queue",
        "lines scalable_rtt over rate by queue",
        "lines utilisation over rate by queue",
    ],
    labels={
        "ratio": "rate of DCTCP over that of CUBIC",
        "scalable_rtt": "RTT of DCTCP",
        "classic_rtt": "RTT of CUBIC",
        "l4s_delay": "mean delay of the L queue",
        "classic_delay": "mean delay of the C queue",
    },
)
def l4s(
    run: Run,
    *,
    queue: str = "dualpi2",
    rate: str = "40Mbps",
    rtt: str = "10ms",
    seconds: int = 20,
    kernel: str = "7.3",
) -> None:
    """Measure the rates and delays of one DCTCP and one CUBIC flow with equal RTTs.

    The first quarter of the time is not measured. `kernel` is the one that runs boot.
    """
    limit = {} if queue == "dualpi2" else {"limit": run.buffer_bytes("2bdp", rate=rate, rtt="40ms")}
    topology = bottleneck(rate, [rtt, rtt], {"kind": queue, **limit})
    with run.network(topology, sysctls={"net.ipv4.tcp_ecn": "1"}) as net:
        # DCTCP needs a receiver that reports for each packet whether it was marked.
        net["r1"].run("sysctl -qw net.ipv4.tcp_congestion_control=dctcp")
        net["h1"].run(TO_ECT1.format(port="h1-eth0"))
        for receiver in ("r1", "r2"):
            net[receiver].run("wanlab-traffic serve -D")
        with run.sampling(Flows("h1", "h2"), Queues(BOTTLENECK), every="20ms") as sampling:
            for host, algorithm in (("h1", "dctcp"), ("h2", "cubic")):
                target = host.replace("h", "r")
                net[host].start(
                    f"wanlab-traffic bulk {target} --congestion {algorithm} --time {seconds}s"
                )
            net.run_until(f"{seconds}s")
        tables = sampling.tables()
    from_s = seconds / 4
    scalable, classic = (goodput_mbps(tables["tcp"], host, from_s=from_s) for host in ("h1", "h2"))
    run.metric("ratio", scalable / classic)
    # The shaper counts 1514 bytes per packet.
    most = units.parse_rate(rate) / 1e6 * MSS_BYTES / 1514
    run.metric("utilisation", (scalable + classic) / most)
    run.metric("scalable", scalable, "Mbit/s")
    run.metric("classic", classic, "Mbit/s")
    run.metric("scalable_rtt", rtt_ms(tables["tcp"], "h1", from_s=from_s), "ms")
    run.metric("classic_rtt", rtt_ms(tables["tcp"], "h2", from_s=from_s), "ms")
    if queue == "dualpi2":
        state = tables["qdisc_dualpi2"]
        late = np.asarray(state["time_ns"]) >= from_s * 1e9
        for name in ("l4s_delay", "classic_delay"):
            delays_us = np.asarray(state[f"{name}_us"])[late]
            run.metric(name, float(delays_us.mean()) / 1e3, "ms")
