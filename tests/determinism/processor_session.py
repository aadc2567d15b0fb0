"""A network whose nodes have processors, for tests that repeat it under other conditions.

python processor_session.py record MODE FOLDER     record a session; print all output, and the record
python processor_session.py replay MODE FOLDER     replay that session; print all output
"""

from __future__ import annotations

import sys
from pathlib import Path

from wanlab import Network
from wanlab.measure import Processors, Sampling
from wanlab.network import Process
from wanlab.record import Record
from wanlab.topology import loads

TOPOLOGY = """
nodes:
- {host: h1, cpu: {model: server-2019, cores: 1, speed: 0.3}}
- {host: h2, cpu: board-2019}
- {host: h3, cpu: free}
- {switch: s1}
links: [{link: [h1, s1], rate: 200Mbps, delay: 1ms}, {link: [h2, s1]}, {link: [h3, s1]}]
"""
COMMANDS = (
    ("h1", "ping -c 20 -i 0.005 h2"),
    ("h1", "iperf3 -c h2 -n 2M"),
    ("h3", "ping -q -c 200 -i 0.002 h1"),
    ("h2", "for i in 1 2 3 4 5; do /bin/true; date +%s.%N; done"),
    ("h1", "cat /proc/net/processor"),
    ("h2", "cat /proc/net/processor"),
)


class Output:
    """Collects what the processes of each node write, with the instants."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, time_ns: int, node: str, data: bytes) -> None:
        self.lines.append(f"{time_ns} {node} {data!r}")


def record(mode: str, folder: Path) -> str:
    output = Output()
    work = folder / "work"
    work.mkdir()
    with Network(
        loads(TOPOLOGY, "three.yaml"), seed=5, folder=work, session=folder / "s.wanlab", traps=mode
    ) as net:
        assert net.machine.traits.traps == mode

        def start(node: str, command: str) -> Process:
            return net[node].start(
                command, on_output=lambda data: output.note(net.now_ns, node, data)
            )

        start("h2", "iperf3 -s -1")
        net.run_for("20ms")
        with Sampling(net, (Processors(),), every="10ms") as sampling:
            for node, command in COMMANDS:
                start(node, command).wait()
        kept = Record(net.provenance(), sampling.tables())
    output.lines.append(f"record {kept.digest()}")
    return "\n".join(output.lines)


def replay(mode: str, folder: Path) -> str:
    output = Output()

    def note(time_ns: int, process: Process, data: bytes) -> None:
        output.note(time_ns, process.node, data)

    with Network.replay(folder / "s.wanlab", traps=mode, on_output=note) as net:
        assert net.machine.traits.traps == mode
        assert net.session.difference is None, net.session.difference
    return "\n".join(output.lines)


if __name__ == "__main__":
    action, mode, folder = sys.argv[1:]
    print({"record": record, "replay": replay}[action](mode, Path(folder)))
