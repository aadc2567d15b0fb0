"""The utilisation of a link by Reno flows, with and without pacing."""

import numpy as np

from wanlab import Design, Flows, Ports, Run, experiment, units
from wanlab.bottleneck import QUEUE_PORT, RECOVERY_OF_2000, bottleneck, listen

WHOLE_ROUND_TRIP = {"net.ipv4.tcp_pacing_ss_ratio": "100", "net.ipv4.tcp_pacing_ca_ratio": "100"}
"""A window is spread over the whole round trip. By default, Linux is faster."""


@experiment(
    design=Design.grid({"pacing": ["off", "on"]}, repeats=3),
    full=Design.grid({"pacing": ["off", "on"]}, repeats=20),
)
def pacing(
    run: Run,
    *,
    pacing: str = "on",
    recovery: str = "2000",
    pace: str = "whole",
    flows: int = 50,
    rate: str = "50Mbps",
    path_rtt: str = "100ms",
    buffer: str = "0.25bdp",
    seconds: int = 10,
) -> None:
    """Measure the utilisation in the first seconds after flows start together.

    The flows start within 100 ms at instants drawn from the seed. Pacing is that of `fq` at the
    sender, over the `whole` round trip or as `linux` does it. `recovery` is that of Reno in 2000, with
    an initial window of 2 packets, or that of `today`.
    """
    limit = run.buffer_bytes(buffer, rate=rate, rtt=path_rtt)
    sysctls = {
        **(WHOLE_ROUND_TRIP if pace == "whole" else {}),
        **(RECOVERY_OF_2000 if recovery == "2000" else {}),
    }
    topology = bottleneck(rate, [path_rtt], {"kind": "fifo", "limit": limit})
    with run.network(topology, sysctls=sysctls) as net:
        if pacing == "on":
            net["h1"].run("tc qdisc replace dev h1-eth0 root fq")
        if recovery == "2000":
            net["h1"].run("sh -c 'ip route change $(ip route show | head -1) initcwnd 2'")
        listen(net, 1)
        with run.sampling(Ports(QUEUE_PORT), Flows("h1"), every="100ms") as sampling:
            for _ in range(flows):
                net["h1"].start(f"wanlab-traffic bulk r1 --congestion reno --time {seconds}s")
                net.run_for(int(run.random.uniform(0, 0.1) * 1e9 / flows))
            net.run_until(f"{seconds}s")
        tables = sampling.tables()
    sent = tables["port"].where(device=QUEUE_PORT).series("tx_bytes")
    rate_bps = 8 * float(np.ptp(sent.values)) / float(np.ptp(sent.times_s))
    run.metric("utilisation", rate_bps / units.parse_rate(rate), most=1)
    again = tables["tcp"].where(node="h1")
    last = [
        again.where(flow=flow).series("total_retrans_packets").values[-1]
        for flow in again.distinct("flow")
    ]
    run.metric("lost", float(sum(last)), "packets")
