"""Measure HTTP downloads of several sizes over 20 Mbit/s and an RTT of 40 ms, with curl and nginx.

    python downloads.py        requires nginx and curl

A new connection takes one RTT before the first request, and then goes through slow start. The
fourth request over the same connection benefits from a window that has already grown.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from programs import need
from web import make_site

from wanlab import Network, shapes
from wanlab.errors import WanlabError

SIZES = {"1KB": 1_000, "10KB": 10_000, "100KB": 100_000, "1MB": 1_000_000, "5MB": 5_000_000}
TIMES = "%{time_connect} %{time_starttransfer} %{time_total}\\n"


def measure() -> list[tuple[str, float, float, float, float]]:
    """Return for each file its name and four times in seconds.

    The times of the first request: until connected, until the first byte, until the last byte. Then
    the fourth request over the same connection: until the last byte.
    """
    with tempfile.TemporaryDirectory(prefix="wanlab-http-") as name:
        folder = Path(name).resolve()
        server = make_site(folder, SIZES)
        topology = shapes.minimal(rate="20Mbps", delay="10ms")
        with Network(topology, folder=folder, seed=1) as net:
            net["h2"].run(server)
            net["h1"].run("ping -c 1 h2")
            rows = []
            for file in SIZES:
                urls = " ".join(f"-o /dev/null http://h2/{file}" for _ in range(4))
                output = net["h1"].run(f"curl -s -S --fail -w '{TIMES}' {urls}").output
                first, *_, last = ([float(s) for s in line.split()] for line in output.splitlines())
                rows.append((file, first[0], first[1], first[2], last[2]))
            return rows


def main() -> int:
    try:
        need("nginx", "curl")
        rows = measure()
    except WanlabError as error:
        print(error, file=sys.stderr)
        return 1
    print("file    connected  first byte  last byte  of the 4th request")
    for file, connected, first, last, fourth in rows:
        times = [f"{seconds * 1000:.1f} ms" for seconds in (connected, first, last, fourth)]
        print(f"{file:6} {times[0]:>10} {times[1]:>11} {times[2]:>10} {times[3]:>12}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
