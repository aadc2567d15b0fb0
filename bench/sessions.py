"""Recording a session costs less than a twentieth of the time, and a replay is the same to the byte.

A student works in three terminals: a command each 20 s of the network's time (ping, iperf3, tc, ls, a
loop), Ctrl-C from time to time, and a link that is changed. The same is done with and without a session
file, in turns; the fastest of the rounds counts. Then the session is replayed in another folder, and
rewound to random instants, from which it continues.

    minutes            length in minutes of the network's time
    plain_real_s       real time without a session file
    recorded_real_s    real time with a session file
    cost               recorded_real_s / plain_real_s - 1: at most 0.05 (claim)
    own_cpu_s          processor time of this process while recording, and without (plain_own_cpu_s)
    file_kb            size of the session file
    kb_per_hour        the same for an hour
    replay_real_s      real time of a replay; equal: its output is the same (claim)
    rewinds, rewound_equal  rewinds to random instants; the output after each is the same (claim)
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from _report import Report

from wanlab import Network, Process, shapes

MAX_COST = 0.05
EVERY_S = 20
COMMANDS = (
    "ping -c 5 h2",
    "iperf3 -c h2 -t 3",
    "tc -s qdisc show",
    "ls /usr/bin | head -n 200",
    "for i in $(seq 50); do echo line $i $RANDOM; done",
    "ping -i 0.1 h3",
)
COLUMNS = (
    "minutes",
    "plain_real_s",
    "recorded_real_s",
    "cost",
    "plain_own_cpu_s",
    "own_cpu_s",
    "file_kb",
    "kb_per_hour",
    "replay_real_s",
    "equal",
    "rewinds",
    "rewound_equal",
    "is_met",
)
Output = list[tuple[int, str, bytes]]


def start(network: Network, output: Output) -> list[Process]:
    """Start the terminals, and a server."""

    def show(name: str) -> Callable[[bytes], None]:
        return lambda data: output.append((network.now_ns, name, data))

    network["h2"].start("iperf3 -s")
    return [
        network[name].start(
            ["bash", "--norc", "-i"], terminal=(24, 80), on_output=show(name), folder="/tmp"
        )
        for name in ("h1", "h2", "h3")
    ]


def work(network: Network, shells: list[Process], seconds: int) -> None:
    """Type commands until the network's clock shows `seconds`."""
    for number, at_s in enumerate(range(1, seconds, EVERY_S)):
        network.run_until(f"{at_s}s")
        command = COMMANDS[number % len(COMMANDS)]
        shell = shells[0] if "h2" in command or "h3" in command else shells[number % 3]
        shell.write(f"{command}\n")
        if command.startswith("ping -i"):
            network.run_for("10s")
            shell.write("\x03")
            network.set_link("h1", "s1", delay=f"{number % 20}ms")
    network.run_until(f"{seconds}s")


def make(folder: Path, session: Path | None) -> Network:
    folder.mkdir(exist_ok=True)
    topology = shapes.from_text("single,3,rate=5Mbps")
    return Network(topology, folder=folder, guest_folder="/home/lab", session=session or False)


def perform(folder: Path, session: Path | None, seconds: int) -> tuple[float, float, Output]:
    """Return the real time, the processor time of this process, and the output."""
    output: Output = []
    with make(folder, session) as network:
        began, cpu = time.monotonic(), time.process_time()
        work(network, start(network, output), seconds)
        return time.monotonic() - began, time.process_time() - cpu, output


def rewind(folder: Path, seconds: int, times: int) -> bool:
    """Whether the output after each rewind equals the original output."""
    output: Output = []
    instants = random.Random(1)
    with make(folder, folder / "rewind.wanlab") as network:
        network["h1"].start(
            "ping -i 0.5 h2", on_output=lambda d: output.append((network.now_ns, "", d))
        )
        network.run_until(f"{seconds}s")
        original = list(output)
        for _ in range(times):
            instant_ns = instants.randrange(seconds * 10**9)
            network.session.rewind(instant_ns)
            output.clear()
            network.run_until(f"{seconds}s")
            if output != [each for each in original if each[0] > instant_ns]:
                return False
    return True


def main() -> int:
    options = _arguments()
    report = Report("sessions")
    table = report.table("sessions", COLUMNS)
    plain, recorded, cpus, plain_cpus = [], [], [], []
    with tempfile.TemporaryDirectory(prefix="wanlab-bench-") as name:
        folder = Path(name)
        file = folder / "s.wanlab"
        seconds = options.minutes * 60
        equal = True
        for _ in range(options.rounds):
            plain_s, plain_cpu_s, output = perform(folder / "work", None, seconds)
            recorded_s, cpu_s, output_recorded = perform(folder / "work", file, seconds)
            plain.append(plain_s)
            plain_cpus.append(plain_cpu_s)
            recorded.append(recorded_s)
            cpus.append(cpu_s)
            equal = equal and output == output_recorded
        began = time.monotonic()
        with Network.replay(file) as network:
            equal = equal and network.session.difference is None
        replay_s = time.monotonic() - began
        rewound_equal = rewind(folder / "rewind", 60, options.rewinds)
        size_kb = file.stat().st_size / 1000
    cost = min(recorded) / min(plain) - 1
    is_met = cost <= MAX_COST and equal and rewound_equal
    table.add(
        minutes=options.minutes,
        plain_real_s=min(plain),
        recorded_real_s=min(recorded),
        cost=cost,
        plain_own_cpu_s=min(plain_cpus),
        own_cpu_s=min(cpus),
        file_kb=size_kb,
        kb_per_hour=size_kb * 60 / options.minutes,
        replay_real_s=replay_s,
        equal=equal,
        rewinds=options.rewinds,
        rewound_equal=rewound_equal,
        is_met=is_met,
    )
    return report.finish(is_met=is_met)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=int, default=60, help="length in network time (60)")
    parser.add_argument(
        "--rounds", type=int, default=3, help="rounds of each kind; the fastest counts (3)"
    )
    parser.add_argument("--rewinds", type=int, default=10, help="rewinds to random instants (10)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
