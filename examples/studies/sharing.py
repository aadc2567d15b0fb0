"""How BBR and CUBIC share a bottleneck, depending on the size of its buffer.

BBR keeps about two bandwidth-delay products in flight and ignores losses; CUBIC fills the buffer
and backs off when the buffer overflows. So BBR should win with small buffers. CUBIC should win with
large ones, where most of the queue is CUBIC's (Hock et al., ICNP 2017; Ware et al., IMC 2019).
"""

from paths import bottleneck, goodput_mbps, rtt_ms

from wanlab import Design, Flows, Run, experiment, units

BUFFERS = ["0.25bdp", "0.5bdp", "1bdp", "2bdp", "4bdp", "8bdp", "16bdp", "32bdp"]


@experiment(
    design=Design.grid({"buffer": BUFFERS[1:6]}, repeats=3),
    full=Design.grid({"buffer": BUFFERS, "seconds": [120], "rate": ["100Mbps"]}, repeats=10),
    plots=[
        "lines bbr,cubic over buffer",
        "lines srtt over buffer",
        "lines share_of_bbr over buffer",
    ],
    labels={"share_of_bbr": "BBR's share of the goodput", "srtt": "RTT of the CUBIC flow"},
)
def sharing(
    run: Run,
    *,
    rate: str = "20Mbps",
    rtt: str = "40ms",
    buffer: str = "1bdp",
    seconds: int = 20,
    wire: str = "mtu",
) -> None:
    """Measure the goodput of a BBR and a CUBIC flow that share a bottleneck.

    With an odd seed, BBR starts first. With an even seed, CUBIC starts first. The other flow starts
    within a second. The first third of the time is not measured.
    """
    limit = run.buffer_bytes(buffer, rate=rate, rtt=rtt)
    topology = bottleneck(rate, [rtt, rtt], {"kind": "fifo", "limit": limit})
    order = [("h1", "bbr"), ("h2", "cubic")]
    if run.seed % 2 == 0:
        order.reverse()
    with run.network(topology, wire=wire) as net:
        for receiver in ("r1", "r2"):
            net[receiver].run("wanlab-traffic serve -D")
        with run.sampling(Flows("h1", "h2"), every="50ms") as sampling:
            for host, algorithm in order:
                target = host.replace("h", "r")
                command = f"wanlab-traffic bulk {target} --congestion {algorithm} --time {seconds}s"
                net[host].start(command)
                net.run_for(int(run.random.uniform(0, 1) * 1e9))
            net.run_until(f"{seconds}s")
        tcp = sampling.tables()["tcp"]
    link_mbps = units.parse_rate(rate) / 1e6
    bbr, cubic = (goodput_mbps(tcp, host, from_s=seconds / 3) for host in ("h1", "h2"))
    run.metric("bbr", bbr, "Mbit/s", most=link_mbps)
    run.metric("cubic", cubic, "Mbit/s", most=link_mbps)
    run.metric("share_of_bbr", bbr / (bbr + cubic), most=1)
    run.metric("srtt", rtt_ms(tcp, "h2", from_s=seconds / 3), "ms")
