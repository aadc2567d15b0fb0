"""Draw a figure of the home page: one TCP flow through buffers of three sizes.

    python docs/figures/buffers.py        writes docs/figures/buffers.svg

The bottleneck is that of the course's Lab 14: 1 Gbit/s with a round-trip time of 20 ms.
"""

from pathlib import Path

from wanlab import Flows, Network, Record, iperf3, plot, sample, shapes

BDP_BYTES = 2_500_000  # 1 Gbit/s times 20 ms
BUFFER_BYTES = {
    "buffer 150 KB (100 packets)": 150_000,
    "2.5 MB (1 BDP)": BDP_BYTES,
    "25 MB (10 BDP)": 10 * BDP_BYTES,
}
TCP_MEMORY = "10240 87380 67108864"  # large enough for a window of path and buffer
SYSCTLS = {"net.ipv4.tcp_rmem": TCP_MEMORY, "net.ipv4.tcp_wmem": TCP_MEMORY}


def measure(buffer_bytes: int) -> Record:
    """Run a flow of 30 s through a drop-tail buffer of this size."""
    queue = {"kind": "fifo", "limit": buffer_bytes}
    topology = shapes.dumbbell(pairs=1, rate="1Gbps", delay="10ms", queue=queue)
    with Network(topology, seed=1, sysctls=SYSCTLS) as net:
        server = net["h2"].start("iperf3 -s -1 -J")
        net.run_for("100ms")
        flow = net["h1"].start("iperf3 -c h2 -t 30")
        tables = dict(sample(net, Flows("h1"), every="20ms", until=flow))
        # The receiver's intervals: the sender counts what its socket has buffered as sent.
        tables["iperf3"] = iperf3.parse(server.finish().output).table()
        return Record(net.provenance(), tables)


if __name__ == "__main__":
    runs = {
        label: [plot.throughput(record), plot.rtt(record)]
        for label, record in ((label, measure(size)) for label, size in BUFFER_BYTES.items())
    }
    title = "One TCP flow (CUBIC) over 1 Gbit/s and 20 ms"
    figure = plot.timeline(plot.overlay(runs), title=title)
    plot.save(figure, Path(__file__).with_suffix(".svg"))
