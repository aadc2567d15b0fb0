"""Run the experiment of test_repeats and print its programs' output.

python experiment.py SEED [FOLDER]
"""

import os
import sys
import tempfile
from pathlib import Path

from wanlab import Network, shapes

ADDRESSES = "print([hash(id(object())) for _ in range(3)], id(print), {'a', 'b', 'c', 'd'})"


def main() -> None:
    # All runs that are compared share one folder, because programs can see its name.
    own = Path(tempfile.gettempdir()) / f"wanlab-determinism-{os.getuid()}"
    folder = Path(sys.argv[2]) if sys.argv[2:] else own
    folder.mkdir(exist_ok=True)
    topology = shapes.dumbbell(2, rate="20Mbps", delay="5ms", loss="1%", queue="fq_codel")
    with Network(topology, seed=int(sys.argv[1]), folder=folder) as net:

        def show(name: str, node: str, command: str) -> None:
            place = net.root if node == "root" else net[node]
            done = place.run(command, check=False)
            print(
                f"\n=== {name}\n{done.status} {done.seconds!r}\n{done.output}{done.stderr}", end=""
            )

        show("ping", "h1", "ping -c 20 -i 0.05 h3")
        show("losses", "h2", "ping -c 200 -i 0.03 h4")
        net["h3"].start("iperf3 -s")
        net["h4"].start("iperf3 -s")
        net.run_for("10ms")
        other = net["h2"].start("iperf3 -c h4 -t 2 -J")
        show("iperf3", "h1", "iperf3 -c h3 -t 2 -J")
        show("ports", "h1", "ss -tnH state all; ss -tin")
        other.wait()
        print(f"\n=== other flow\n{other.status} {other.ended_ns}\n{other.output}", end="")
        show("counters", "root", "tc -s qdisc show; ip -s link")
        show("urandom", "h1", "head -c 64 /dev/urandom | od -x; cat /proc/sys/kernel/random/uuid")
        show("addresses", "h1", f'python3 -c "{ADDRESSES}"; cat /proc/self/maps | tail -3')
        show("memory", "root", "head -5 /proc/meminfo; cat /proc/iomem")
        show("processes", "h2", "ps -e -o pid,ppid,args")
        show("mktemp", "h1", "cd /tmp; mktemp; date --rfc-3339=ns; cat /proc/uptime; env | sort")
        show("input", "h1", "ls -la --time-style=full-iso /run /dev | head -50")
        wc = net["h1"].start("md5sum", stdin=True)
        wc.write(bytes(3_000_000))
        wc.end_input()
        wc.wait()
        print(f"\n=== fed\n{wc.ended_ns} {wc.counters}\n{wc.output}", end="")
        print(f"\n=== end\n{net.now_ns}")


main()
