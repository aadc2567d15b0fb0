"""Ten experiments whose output tests compare between the modes of the machine's kernel.

python mode_experiments.py MODE FOLDER [NAME...]    print the output of all, or of these
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from wanlab import Network, Topology, shapes
from wanlab.measure import Cpu, Flows, Ports, Queues, Sampling, Softnet
from wanlab.record import Record

MEMORY = """
import mmap, os, resource
blocks = [bytearray(1 << 20) for _ in range(20)]
shared = mmap.mmap(-1, 1 << 22)
shared[: 1 << 21] = bytes(1 << 21)
if os.fork() == 0:
    blocks[3][:] = b"x" * (1 << 20)
    shared[1 << 21 :] = bytes(1 << 21)
    os._exit(0)
os.wait()
for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
    used = resource.getrusage(who)
    print(used.ru_maxrss, used.ru_minflt, used.ru_majflt, used.ru_nvcsw, used.ru_nivcsw)
print(open("/proc/self/maps").read(), open("/proc/self/smaps_rollup").read())
print(open("/proc/self/statm").read(), open("/proc/self/stat").read())
"""
THREADS = """
import queue, threading, time
tasks, done = queue.Queue(), []
def work(number):
    while (task := tasks.get()) is not None:
        time.sleep(task / 1000)
        done.append((number, task, time.monotonic_ns()))
threads = [threading.Thread(target=work, args=(number,)) for number in range(40)]
for thread in threads: thread.start()
for task in range(200): tasks.put(task % 7)
for _ in threads: tasks.put(None)
for thread in threads: thread.join()
print(done)
"""
SIGNALS = """
import os, select, signal, time
seen = []
for number in (signal.SIGALRM, signal.SIGUSR1, signal.SIGCHLD):
    signal.signal(number, lambda number, frame: seen.append((number, time.monotonic_ns())))
signal.setitimer(signal.ITIMER_REAL, 0.003, 0.007)
end = time.monotonic() + 0.1
while time.monotonic() < end:
    select.select([], [], [], 0.011)
    os.kill(os.getpid(), signal.SIGUSR1)
if os.fork() == 0:
    os._exit(3)
signal.pause()
signal.setitimer(signal.ITIMER_REAL, 0)
print(seen, os.wait())
"""
NUMBERS = """
import hashlib, math, random
print(sum(math.sin(n) * math.sqrt(n) for n in range(20000)).hex(), random.Random(7).random().hex())
print(hashlib.sha512(bytes(range(256)) * 4000).hexdigest(), hash("text"), id(print))
"""


@dataclass(frozen=True)
class ModeExperiment:
    """A network, and commands that run in it one after another: node and command."""

    topology: Callable[[], Topology]
    commands: Sequence[tuple[str, str | list[str]]]
    servers: Sequence[tuple[str, str]] = ()
    is_long: bool = False
    needs: str = ""
    """A program that must be installed."""


def _python(program: str) -> list[str]:
    return ["python3", "-I", "-c", program]


def _lossy() -> Topology:
    return shapes.dumbbell(2, rate="20Mbps", delay="5ms", loss="1%", queue="fq_codel")


EXPERIMENTS = {
    "memory": ModeExperiment(
        shapes.minimal,
        [
            ("h1", _python(MEMORY)),
            ("h1", "cat /proc/meminfo /proc/vmstat /proc/zoneinfo /proc/buddyinfo"),
            ("h1", "cat /proc/self/maps; ps -e -o pid,ppid,vsz,rss,min_flt,maj_flt,args"),
        ],
    ),
    "kernel": ModeExperiment(
        shapes.minimal,
        [
            ("h1", "cat /proc/cpuinfo /proc/cmdline /proc/version /proc/stat /proc/interrupts"),
            ("h1", "cat /proc/slabinfo /proc/softirqs /proc/loadavg /proc/iomem /proc/self/auxv"),
            ("root", "dmesg; sysctl -a"),
            ("root", "cat /run/wanlab/machine.json; env | sort"),
        ],
    ),
    "processes": ModeExperiment(
        shapes.minimal,
        [
            (
                "h1",
                "seq 200 | xargs -P 5 -n 7 sh -c 'echo $$ $*' x | sort | md5sum; cat /proc/stat",
            ),
            ("h1", "for n in $(seq 30); do (sleep 0.$n; echo $n $(date +%N)) & done; wait"),
            ("h2", "yes | head -n 100000 | sort -R --random-source=/dev/zero | md5sum; times"),
        ],
    ),
    "threads": ModeExperiment(shapes.minimal, [("h1", _python(THREADS))]),
    "signals": ModeExperiment(
        shapes.minimal,
        [("h1", _python(SIGNALS)), ("h1", "timeout -s INT 0.05 sleep 9; echo $? $(date +%N)")],
    ),
    "numbers": ModeExperiment(
        shapes.minimal,
        [
            ("h1", _python(NUMBERS)),
            ("h1", "head -c 4096 /dev/urandom | md5sum; cat /proc/sys/kernel/random/uuid; mktemp"),
            ("h2", "shuf -i 1-50 | tr '\\n' ' '; bash -c 'echo $RANDOM $SRANDOM'"),
        ],
    ),
    "files": ModeExperiment(  # in the machine: files of the computer have the computer's times
        shapes.minimal,
        [
            (
                "h1",
                "mkdir -p /tmp/own/a/b; cd /tmp/own; seq 50000 > a/b/c; ln -s c a/b/d; tar cf x.tar a",
            ),
            (
                "h1",
                "cd /tmp/own && gzip -k x.tar; md5sum x.tar*; find . -printf '%p %m %i %s %T+ %C+\\n'",
            ),
            (
                "h1",
                "cd /tmp/own; dd if=/dev/zero of=y bs=64k count=100 2>&1 | tail -1; stat -f y; rm -r a",
            ),
            (
                "h1",
                "seq 3 > here; mv here there; ln there other; ls; cat other; truncate -s 9 there",
            ),
        ],
    ),
    "losses": ModeExperiment(
        _lossy,
        [
            ("h1", "ping -c 100 -i 0.03 h3"),
            ("h1", "iperf3 -c h3 -t 2 -J"),
            ("h2", "iperf3 -u -b 5M -c h4 -t 1 -J"),
            ("h1", "ss -tin; nstat -a; ip neighbour"),
            ("root", "tc -s qdisc show; ip -s link; wanlab top -b -n 1"),
        ],
        servers=[("h3", "iperf3 -s"), ("h4", "iperf3 -s")],
    ),
    "traces": ModeExperiment(
        shapes.minimal,
        [("h1", ["strace", "-f", "-tt", "sh", "-c", "sleep 0.1 & ping -c 2 h2; wait"])],
        needs="strace",
    ),
    "compiler": ModeExperiment(
        shapes.minimal,
        [
            (
                "h1",
                "printf 'int main(){return 7;}' > m.c; gcc -g -O2 -o m m.c; md5sum m; ./m; echo $?",
            ),
            (
                "h1",
                "gdb -batch -ex 'break main' -ex run -ex stepi -ex 'info registers rip' ./m 2>&1",
            ),
        ],
        is_long=True,
        needs="gcc",
    ),
}


def output_in(mode: str, name: str, folder: Path) -> str:
    """Run an experiment in a mode, in an empty folder; return all that it printed and left.

    That is the output of its programs, the digests of its record, and its session: each message of the
    agent, with its time.
    """
    experiment = EXPERIMENTS[name]
    session = folder.with_name(f"{folder.name}.session")
    folder.mkdir()
    os.utime(folder, (0, 0))  # the session contains it
    try:
        with Network(
            experiment.topology(), seed=3, folder=folder, session=session, traps=mode
        ) as net:
            servers = [net[node].start(command) for node, command in experiment.servers]
            net.run_for("10ms")
            samplers = (Flows("h1", "h2"), Ports("s1-eth1"), Queues("s1-eth1"), Cpu(), Softnet())
            with Sampling(net, samplers, every="20ms") as sampling:
                text = [_shown(net, node, command) for node, command in experiment.commands]
            text += [f"server {server.output}" for server in servers]
            text.append(f"end {net.now_ns} {net.warnings}\n")
            assert net.machine.traits.traps == mode
            record = Record(net.provenance(), sampling.tables())
        return "".join([*text, *_record_lines(record), *_session_lines(session)])
    finally:
        shutil.rmtree(folder)
        session.unlink(missing_ok=True)


def _record_lines(record: Record) -> Iterator[str]:
    for name, table in record.tables.items():
        yield f"table {name}: {len(table)} rows, {Record(record.provenance, {name: table}).digest()}\n"
    yield f"record {record.digest()}\n"


def _session_lines(session: Path) -> Iterator[str]:
    """Yield the lines of a session file, without what differs between any two runs."""
    for text in session.read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        del line["sum"]
        for name in ("id", "began"):
            line.get("session", {}).pop(name, None)
        yield f"{json.dumps(line)}\n"


def _shown(net: Network, node: str, command: str | list[str]) -> str:
    place = net.root if node == "root" else net[node]
    done = place.run(command, check=False)
    head = f"=== {node}: {command}\n{done.status} {done.seconds!r}\n"
    return f"{head}{done.output}{done.stderr}"


if __name__ == "__main__":
    for _name in sys.argv[3:] or EXPERIMENTS:
        print(output_in(sys.argv[1], _name, Path(sys.argv[2]) / "work"))
