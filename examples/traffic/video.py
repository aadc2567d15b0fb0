"""Play adaptive video over a cellular link, with nginx, a player and a trace that fades.

    python video.py         requires nginx

The two directions of the link follow the traces of `../traces/make.py`. The player adapts to the
link: it lowers its quality when the rate drops. When the rate is too low even for the lowest
quality, the player uses up its buffer.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from player import QUALITIES_KBPS, SEGMENT_S
from programs import need
from web import make_site

from wanlab import Host, Network, Switch, Topology, link
from wanlab.errors import WanlabError

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "traces"))
import make  # noqa: E402

SEGMENTS = 40


def measure() -> list[list[float]]:
    """Return the numbers that the player prints, one list per line."""
    with tempfile.TemporaryDirectory(prefix="wanlab-video-") as name:
        folder = Path(name).resolve()
        make.write(folder)
        sizes = {f"{kbps}k": int(kbps * SEGMENT_S * 125) for kbps in QUALITIES_KBPS}
        server = make_site(folder, sizes)
        (folder / "player.py").write_text((HERE / "player.py").read_text())
        down = {"trace": folder / "cellular.trace", "delay": "20ms"}
        up = {"trace": folder / "constant.trace", "delay": "20ms"}
        topology = Topology(
            nodes=(Host("phone"), Host("server"), Switch("s1")),
            links=(link("server", "s1"), link("s1", "phone", a_to_b=down, b_to_a=up)),
        )
        with Network(topology, folder=folder, seed=1) as net:
            net["server"].run(server)
            output = net["phone"].run(f"python3 player.py server {SEGMENTS}").output
        return [[float(word) for word in line.split()] for line in output.splitlines()]


def main() -> int:
    try:
        need("nginx")
        rows = measure()
    except WanlabError as error:
        print(error, file=sys.stderr)
        return 1
    print("   time  quality    fetched   buffer  stalled")
    for since_s, quality_kbps, took_s, buffered_s, stalled_s in rows:
        print(
            f"{since_s:5.1f} s {quality_kbps:4.0f} kbit/s {took_s:6.2f} s {buffered_s:6.1f} s "
            f"{stalled_s:5.1f} s"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
