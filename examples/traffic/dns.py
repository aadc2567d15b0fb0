"""Measure DNS lookups over an RTT of 60 ms, with and without losses, with dig and dnsmasq.

    python dns.py           requires dnsmasq and dig

A lost query or reply costs dig's timeout of 5 s. This is the delay that users notice
at a loss of 5 %. (A lookup takes 10 ms longer than the RTT, because dig needs this time to exit.)
"""

from __future__ import annotations

import re
import statistics
import sys

from programs import need

from wanlab import Network, shapes
from wanlab.errors import WanlabError

QUERIES = 40
SERVER = (
    "dnsmasq --no-daemon --no-resolv --no-hosts --user=root --pid-file= --conf-file=/dev/null "
    "--address=/example.org/192.0.2.1"
)


def measure(loss: str) -> list[float]:
    """Return the duration of each query, in seconds."""
    topology = shapes.minimal(rate="10Mbps", delay="15ms")
    with Network(topology, seed=1) as net:
        net["h2"].start(SERVER)
        net.run_for("200ms")
        net["h1"].run("ping -c 1 h2")
        net.set_link("h1", "s1", loss=loss)
        times = []
        for number in range(QUERIES):
            command = f"dig @10.0.0.2 +tries=4 +noall +answer +stats host{number}.example.org"
            done = net["h1"].run(command)
            assert "192.0.2.1" in done.output, done.output
            assert re.search(r"Query time: \d+ msec", done.output)
            times.append(done.seconds)
        return times


def main() -> int:
    try:
        need("dnsmasq", "dig")
        times_by_loss = {loss: measure(loss) for loss in ("0%", "1%", "5%")}
    except WanlabError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"loss, each way   median     mean  longest   ({QUERIES} queries)")
    for loss, times in times_by_loss.items():
        middle, mean = statistics.median(times), statistics.fmean(times)
        shown = [f"{seconds * 1000:.0f} ms" for seconds in (middle, mean, max(times))]
        print(f"{loss:>14} {shown[0]:>8} {shown[1]:>8} {shown[2]:>8}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
