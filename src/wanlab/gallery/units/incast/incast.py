"""Many servers answer one client at once, with a long and with a short minimum RTO."""

from wanlab import Design, Host, Run, Switch, Topology, experiment, link
from wanlab.measure import Retransmissions, traffic


@experiment(
    design=Design.grid({"servers": [4, 16, 32], "rto_min": ["200ms", "1ms"]}, repeats=2),
    full=Design.grid(
        {"servers": [2, 4, 8, 16, 24, 32, 40], "rto_min": ["200ms", "1ms"]}, repeats=10
    ),
    labels={"rto_min": "minimum RTO"},
)
def incast(
    run: Run,
    *,
    servers: int = 16,
    rto_min: str = "200ms",
    block: str = "256KB",
    rate: str = "1Gbps",
    buffer: str = "64KB",
) -> None:
    """Measure the goodput of one block from each server; all start within 100 us.

    The client waits for the last block, as a reader of a striped file does.
    """
    hosts = [Host(f"h{number}") for number in range(1, servers + 1)]
    links = [link(host.name, "s1", rate=rate, delay="10us") for host in hosts]
    queue = {"kind": "fifo", "limit": buffer}
    links.append(link("s1", "r1", a_to_b={"rate": rate, "delay": "10us", "queue": queue}))
    topology = Topology(nodes=(*hosts, Host("r1"), Switch("s1")), links=tuple(links))
    with run.network(topology) as net:
        net["r1"].run("wanlab-traffic serve -D")
        for host in hosts:
            net[host.name].run("ping -c 1 r1")
            net[host.name].run(
                f"ip route change 10.0.0.0/8 dev {host.name}-eth0 scope link"
                f" src $(ip -4 -o addr show dev {host.name}-eth0 | awk '{{print $4}}' | cut -d/ -f1)"
                f" rto_min {rto_min}"
            )
        with run.sampling(Retransmissions(*(host.name for host in hosts))):
            began_ns = net.now_ns
            blocks = []
            for host in hosts:
                command = f"wanlab-traffic bulk r1 --bytes {block} --json"
                blocks.append((net.now_ns - began_ns, net[host.name].start(command)))
                net.run_for(int(run.random.uniform(0, 100_000 / servers)))
            for _, each in blocks:
                each.wait()
    last_ns, total_bytes = 0, 0
    for start_ns, each in blocks:
        result = traffic.parse(each.output)
        assert isinstance(result, traffic.FlowResults)
        (flow,) = result.flows
        last_ns = max(last_ns, start_ns + (flow.completion_ns or 0))
        total_bytes += flow.bytes
    run.metric("goodput", total_bytes * 8e3 / last_ns, "Mbit/s", most=1000)
    run.metric("last", last_ns / 1e6, "ms")
