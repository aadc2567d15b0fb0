"""Polling takes no time, busy waiting does, and no program stops time for ever."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from wanlab import Network, Topology, shapes
from wanlab.machine.embedded import EmbeddedMachine
from wanlab.measure.lost_packets import summary
from wanlab.topology import Host, Link, Port, Switch

pytestmark = pytest.mark.machine

Start = Callable[..., Network]
MAX_STOP_REAL_S = 60.0
"""It takes some 0.1 s on an idle computer."""

READ_OFTEN = """
import time
readings = [time.clock_gettime_ns(time.CLOCK_MONOTONIC) for _ in range(200)]
print({later - before for before, later in zip(readings, readings[1:])})
"""
READ_IN_TURN = """
import os, time
to_child, from_parent = os.pipe()
to_parent, from_child = os.pipe()
pid = os.fork()
source, target = (to_parent, from_parent) if pid else (to_child, from_child)
if pid:
    os.write(target, b"0 ")
latest = 0
for _ in range(50):
    before = int(os.read(source, 99))
    readings = [time.clock_gettime_ns(time.CLOCK_REALTIME) for _ in range(3)]
    assert before < readings[0] < readings[1] < readings[2], (before, readings)
    os.write(target, b"%d " % readings[2])
print("in order") if pid else None
"""
READ_IN_THREADS = """
import threading, time
readings = []
def read():
    for _ in range(20):
        readings.append(time.clock_gettime_ns(time.CLOCK_MONOTONIC))
        time.sleep(0)
threads = [threading.Thread(target=read) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert len(set(readings)) == len(readings), readings
print(readings == sorted(readings))
"""
FAIL_OFTEN = "import os; print(sum(os.path.exists(f'/nowhere/{number}') for number in range(5000)))"
# Each of these programs waits for an event that happens after 50 ms.
SPINNERS = {
    "the clock": "while time.monotonic() < end: pass",
    "sched_yield": "while not is_over(): os.sched_yield()",
    "getppid": "while not is_over(): os.getppid()",
    "poll": "while not poll.poll(0): pass",
    "select and the clock": "while not select.select([r], [], [], 0)[0]: time.time()",
    "read": "while not read(): pass",
    "waitpid": "while os.waitpid(pid, os.WNOHANG) == (0, 0): pass",
    "stat": "while not os.path.exists('/tmp/flag'): pass",
    "end of a file": "while os.stat('/tmp').st_nlink and not (log.read() or is_over()): pass",
}
SPINNER = """
import os, select, time
end = time.monotonic() + 0.05
log = open("/dev/null", "rb", buffering=0)
r, w = os.pipe()
os.set_blocking(r, False)
pid = os.fork()
if pid == 0:
    time.sleep(0.05)
    os.write(w, b"x")
    open("/tmp/flag", "w")
    os._exit(0)
poll = select.poll()
poll.register(r, select.POLLIN)
def read():
    try:
        return os.read(r, 1)
    except BlockingIOError:
        return b""
is_over = read
"""
# As iperf3 sends datagrams: over a million calls per second, more than may pass without time.
POLL_AND_SEND = """
import os, select
target = os.open("/dev/null", os.O_WRONLY)
poll = select.poll()
poll.register(target, select.POLLOUT)
for _ in range(120_000):
    poll.poll(0)
    os.write(target, b"x")
"""
WAIT_FOR_A_FLAG = """
import threading, time
flag = False
def wait():
    global flag
    time.sleep(0.5)
    flag = True
threading.Thread(target=wait).start()
while not flag: pass
print("seen", flush=True)
"""


def python(program: str) -> list[str]:
    return ["python3", "-I", "-c", program]


def test_reading_the_clock_takes_no_time_and_returns_1_ns_more(start: Start) -> None:
    net = start(shapes.minimal())
    done = net["h1"].run(python(READ_OFTEN))
    assert (done.output, done.seconds) == ("{1}\n", 0.0)


def test_clocks_of_processes_that_talk_never_go_back(start: Start) -> None:
    net = start(shapes.minimal())
    done = net["h1"].run(python(READ_IN_TURN))
    assert (done.output, done.seconds) == ("in order\n", 0.0)


def test_threads_never_read_the_same_time(start: Start) -> None:
    net = start(shapes.minimal())
    assert net["h1"].run(python(READ_IN_THREADS)).output == "True\n"


def test_later_programs_do_not_depend_on_how_often_one_read_the_clock(
    start: Start,
) -> None:
    net = start(shapes.minimal())
    command = "python3 -I -c 'import time; [time.time() for _ in range({})]'; date +%N"
    first = net["h1"].run(command.format(3))
    second = net["h1"].run(command.format(200))
    assert (first.output, first.seconds) == (second.output, second.seconds)


def test_calls_that_fail_take_no_time(start: Start) -> None:
    net = start(shapes.minimal())
    done = net["h1"].run(python(FAIL_OFTEN))
    assert (done.output, done.seconds) == ("0\n", 0.0)


@pytest.mark.parametrize(
    "command",
    [
        "python3 -c 'import asyncio, unittest, xml.dom.minidom, http.server, sqlite3'",
        "find /usr/share/doc /usr/bin -newer /etc/passwd | wc -l",
        "ls -lR /usr/lib/python3 /etc | wc -l",
    ],
)
def test_a_program_that_computes_takes_no_time(start: Start, command: str) -> None:
    net = start(shapes.minimal())
    assert net["h1"].run(command, check=False).seconds == 0.0


@pytest.mark.parametrize("what", SPINNERS)
def test_a_busy_waiting_program_sees_the_event_that_it_waits_for(start: Start, what: str) -> None:
    net = start(shapes.minimal())
    done = net["h1"].run(python(SPINNER + SPINNERS[what]))
    assert done.seconds == pytest.approx(0.05, rel=0.002) or (what == "stat" and done.seconds < 1)
    assert net["h1"].run("rm /tmp/flag; true").status == 0


def test_waiting_by_spinning_repeats(tmp_path: Path) -> None:
    def seconds() -> list[float]:
        with Network(shapes.minimal(), folder=tmp_path) as net:
            return [
                net["h1"].run(python(SPINNER + SPINNERS[what])).seconds
                for what in ("the clock", "poll", "waitpid")
            ]

    assert seconds() == seconds()


@pytest.mark.long
def test_a_loop_that_starts_programs_until_something_happens_takes_time(start: Start) -> None:
    net = start(shapes.minimal())
    few, many = "for i in $(seq 100); do /bin/true; done", "for i in $(seq 600); do /bin/true; done"
    assert net["h1"].run(few).seconds == 0.0
    assert 0.01 < net["h1"].run(many).seconds < 0.1


def test_a_loop_without_system_calls_is_preempted_and_noted(
    start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    net = start(shapes.minimal())
    net.run_for("1s")
    assert net.provenance().warnings == ()
    other = net["h2"].start("sleep 0.3; echo fine")
    process = net["h1"].start(python(WAIT_FOR_A_FLAG))
    assert process.wait() == 0
    assert (process.output, other.output) == ("seen\n", "fine\n")
    assert 0.5 <= net.now_ns / 1e9 - 1 < 0.8
    assert (
        f"wanlab: process {process.pid} (python3) computes without system calls"
        in capsys.readouterr().err
    )
    assert net.provenance().warnings == (
        "not repeatable from 1s: python3 computed without system calls",
    )


def test_only_the_first_preemption_of_a_process_is_reported(start: Start) -> None:
    net = start(shapes.minimal())
    process = net["h1"].start(["sh", "-c", "while :; do :; done"])
    net.run_for("200ms")
    machine = net.machine
    assert isinstance(machine, EmbeddedMachine)
    assert [(first.pid, first.program) for first in machine.preemptions] == [(process.pid, "sh")]
    process.stop()
    assert not process.is_running


def test_a_process_that_waits_for_its_next_slice_can_be_ended(start: Start) -> None:
    """Time does not pass between the two calls, so the process waits: it is not in user space."""
    net = start(shapes.minimal())
    process = net["h1"].start(["sh", "-c", "while :; do :; done"])
    net.run_for("100ms")
    assert len(net.machine.preemptions) == 1
    net.end_stalled_process()
    net.run_for("100ms")
    assert not process.is_running
    assert process.wait() == -signal.SIGKILL


@pytest.mark.skipif(shutil.which("nc") is None, reason="needs nc")
def test_netcat_ends_after_its_input(start: Start) -> None:
    net = start(shapes.minimal())
    net["h2"].start("nc -l -p 5000 > /tmp/received || nc -l 5000 > /tmp/received")
    net.run_for("10ms")
    done = net["h1"].run("head -c 100000 /dev/zero | nc -q1 h2 5000")
    assert (done.status, round(done.seconds)) == (0, 1)
    assert net["h2"].run("stat -c %s /tmp/received").output == "100000\n"


def test_calls_that_only_wait_do_not_count_among_others(start: Start) -> None:
    assert start(shapes.minimal())["h1"].run(python(POLL_AND_SEND)).seconds == 0


@pytest.mark.skipif(shutil.which("hping3") is None, reason="needs hping3")
def test_a_flood_lets_time_pass(start: Start) -> None:
    """`--flood -c 1000` restarts its alarm with each packet, so it never ends on any computer."""
    net = start(shapes.minimal())
    done = net["h1"].run("timeout 0.1 hping3 --flood -c 1000 -S -p 9 h2", check=False)
    assert done.seconds == pytest.approx(0.1, rel=0.01)


@pytest.mark.skipif(
    shutil.which("memcached") is None or shutil.which("nc") is None, reason="needs memcached and nc"
)
def test_a_server_with_threads_that_poll_lets_time_pass_and_ends(start: Start) -> None:
    net = start(shapes.minimal())
    server = net["h2"].start("memcached -u root -t 4")
    net.run_for("100ms")
    ask = r"printf 'set a 0 0 3\r\nabc\r\nget a\r\nquit\r\n' | nc -q1 h2 11211"
    assert net["h1"].run(ask).output.split() == ["STORED", "VALUE", "a", "0", "3", "abc", "END"]
    net.run_for("60s")
    began = time.monotonic()
    server.stop()
    net.stop()
    assert time.monotonic() - began < MAX_STOP_REAL_S


@pytest.mark.skipif(shutil.which("hping3") is None, reason="needs hping3")
def test_a_network_stops_under_a_flood(start: Start) -> None:
    net = start(shapes.minimal())
    net["h1"].start("hping3 --flood -S -p 9 h2")
    net.run_for("5ms")
    began = time.monotonic()
    net.stop()
    assert time.monotonic() - began < MAX_STOP_REAL_S


def test_iperf3_clients_one_after_another_find_the_server_free(start: Start) -> None:
    """Time does not pass while the next client starts, so the server has finished the last test."""
    net = start(shapes.single(2))
    net["h2"].start("iperf3 -s")
    net.run_for("10ms")
    clients = "for i in 1 2 3 4 5 6; do iperf3 -c h2 -n 1M -b 1G || exit; done"
    done = net["h1"].run(clients, check=False)
    assert (done.status, done.output.count("receiver")) == (0, 6)


def loop_of_switches() -> Topology:
    names = ("s1", "s2", "s3")
    links = [
        Link(Port(name), Port(other))
        for name, other in zip(names, (*names[1:], names[0]), strict=True)
    ]
    links += [Link(Port(f"h{number}"), Port(f"s{number}")) for number in (1, 2, 3)]
    hosts = [Host(f"h{number}") for number in (1, 2, 3)]
    return Topology(nodes=(*hosts, *map(Switch, names)), links=tuple(links))


def test_a_broadcast_storm_is_reported_and_time_still_passes(start: Start) -> None:
    net = start(loop_of_switches())
    assert [warning for warning in net.warnings if "s1, s2, s3 form a loop" in warning]
    net["h1"].run("ping -c 1 -W 1 h2", check=False)
    net.run_for("3s")
    assert net.now_ns >= 3_000_000_000
    assert "or they were part of a storm (try: STP, if switches form a loop" in summary(net)[0]
