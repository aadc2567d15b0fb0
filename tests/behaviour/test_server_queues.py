"""Servers under load: requests wait as in an M/G/1 queue, by the theory of Pollaczek and Khinchine.

A server with one core, a tenth as fast as `server-2019`, serves small and large files to a client whose
requests arrive at random, each on its own connection. What a request costs is in /proc/net/processor.
In theory, requests are served one after the other. Here, packets of later connections are handled before
programs run, so requests wait up to a fifth longer.

Redis reads the requests of all connections, and then answers them. sshd starts a program for each
connection. These take turns call by call, and exec is one long call, so connections wait longer.
"""

from __future__ import annotations

import heapq
import random
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from wanlab import Network, shapes
from wanlab.topology.cpu import read_cpu

pytestmark = pytest.mark.machine

Start = Callable[..., Network]
COSTS = {**dict(read_cpu("server-2019").costs), "idle_exit_ns": 0}  # type: ignore[union-attr]
"""Without waking an idle core, which costs the less the higher the load."""
SIZES = {"small": 2_000, "large": 150_000}
LARGE_SHARE = 0.2
SPEED = 0.1
ALONE = 10
REQUESTS = 400
SEED = 4
"""So few requests may wait a third less or more than the mean; with this seed they do not."""
NGINX = """
daemon off; master_process off; pid /tmp/nginx.pid; error_log stderr error;
events {}
http {
  access_log off; client_body_temp_path /tmp/a; proxy_temp_path /tmp/b; fastcgi_temp_path /tmp/c;
  uwsgi_temp_path /tmp/d; scgi_temp_path /tmp/e;
  server { listen 80; root www; }
}
"""
PYTHON = """
import functools, http.server
class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words): pass
class Server(http.server.HTTPServer):
    request_queue_size = 1000
Server(("", 80), functools.partial(Quiet, directory="www")).serve_forever()
"""
ASK = """
import selectors, socket, sys, time
requests = [line.split() for line in open(sys.argv[1])]
sockets, begin, took, number = selectors.SelectSelector(), time.monotonic() + 0.05, {}, 0
while len(took) < len(requests):
    while number < len(requests) and begin + int(requests[number][0]) / 1e6 <= time.monotonic():
        one = socket.socket()
        one.setblocking(False)
        one.connect_ex(("10.0.0.2", 80))
        sockets.register(one, selectors.EVENT_WRITE, [number, time.monotonic_ns(), requests[number][1]])
        number += 1
    left = None
    if number < len(requests):
        left = max(0, begin + int(requests[number][0]) / 1e6 - time.monotonic())
    for key, events in sockets.select(left):
        which, began, name = key.data
        if events & selectors.EVENT_WRITE:
            key.fileobj.send(sys.argv[2].replace("NAME", name).encode())
            sockets.modify(key.fileobj, selectors.EVENT_READ, key.data)
        elif not key.fileobj.recv(1 << 20):
            took[which] = time.monotonic_ns() - began
            sockets.unregister(key.fileobj)
            key.fileobj.close()
print(*(took[which] for which in range(len(requests))))
"""


Times = Sequence[float]
Serve = Callable[[Times, Times], Times]
"""Returns when each request is done, by when they came and what they need."""


def mean_wait(came_ns: Times, work_ns: Times, serve: Serve) -> float:
    done_ns = serve(came_ns, work_ns)
    return float(np.mean(np.subtract(done_ns, came_ns) - work_ns))


def one_after_the_other(came_ns: Times, work_ns: Times) -> Times:
    """The recursion of Lindley."""
    done_ns, now_ns = [], 0.0
    for came, work in zip(came_ns, work_ns, strict=True):
        now_ns = max(now_ns, came) + work
        done_ns.append(now_ns)
    return done_ns


def in_rounds(came_ns: Times, work_ns: Times) -> Times:
    """All that have come at the end of a round are done at the end of the next one."""
    done_ns: list[float] = []
    now_ns = 0.0
    while len(done_ns) < len(came_ns):
        first = len(done_ns)
        now_ns = max(now_ns, came_ns[first])
        end = int(np.searchsorted(came_ns, now_ns, side="right"))
        now_ns += sum(work_ns[first:end])
        done_ns += [now_ns] * (end - first)
    return done_ns


def call_by_call(calls: Sequence[float]) -> Serve:
    """Each request is these system calls. A call begins when the core has done all that it was given
    before, so others' calls come in between, but do not interrupt it."""

    def serve(came_ns: Times, work_ns: Times) -> Times:
        waiting = [(came, number, 0) for number, came in enumerate(came_ns)]
        done_ns, now_ns = [0.0] * len(waiting), 0.0
        while waiting:
            came, number, call = heapq.heappop(waiting)
            now_ns = max(now_ns, came) + calls[call] / sum(calls) * work_ns[number]
            done_ns[number] = now_ns
            if call + 1 < len(calls):
                heapq.heappush(waiting, (now_ns, number, call + 1))
        return done_ns

    return serve


@dataclass(frozen=True)
class Alone:
    """What a request needs while there is no other: work of the server, and time to its answer."""

    work_ns: float
    took_ns: float


@dataclass(frozen=True)
class Waits:
    """The mean wait of requests for earlier ones, in ns.

    of_these     of these very requests, served as the server does
    of_theory    of infinitely many, by Pollaczek and Khinchine: rate * E[S^2] / (2 (1 - load))
    """

    measured: float
    of_these: float
    of_theory: float


@dataclass(frozen=True)
class Program:
    """A server, and what it is asked for. It closes the connection after the answer."""

    command: Callable[[], Sequence[str]]
    request: str = "GET /NAME HTTP/1.0\r\n\r\n"
    prepare: str = "true"
    """A command that is run once it has started."""


class Server:
    """A server at h2 with one slow core, and the client at h1."""

    def __init__(self, net: Network, folder: Path, program: Program) -> None:
        self._net = net
        self._request = program.request
        self._requests = folder / "requests"
        (folder / "www").mkdir()
        for name, size in SIZES.items():
            (folder / "www" / name).write_bytes(bytes(size))
        (folder / "nginx.conf").write_text(NGINX)
        (folder / "ask.py").write_text(ASK)
        net.set_cpu_share("h2", SPEED)
        net["h2"].run("mkdir -p /run/sshd")
        net["h2"].start([word.replace("PATH", str(folder)) for word in program.command()])
        net.run_for("1s")
        net["h2"].run(["sh", "-c", program.prepare], check=True)
        self.ask([(0, "small")])  # connections before are the first of their kind
        before = self._work_ns()
        self._reading_ns = self._work_ns() - before
        self.alone = {name: self._alone(name) for name in SIZES}

    def _work_ns(self) -> int:
        """Return the work of the core so far."""
        _, core = self._net["h2"].run("cat /proc/net/processor").output.splitlines()
        return sum(map(int, core.split()[1:]))

    def ask(self, requests: Sequence[tuple[int, str]]) -> list[int]:
        """Send requests at these times, in us; return how long each took, in ns."""
        self._requests.write_text("".join(f"{at_us} {name}\n" for at_us, name in requests))
        command = ["python3", "ask.py", "requests", self._request]
        return list(map(int, self._net["h1"].run(command).output.split()))

    def _alone(self, name: str) -> Alone:
        before = self._work_ns()
        took = self.ask([(number * 20_000, name) for number in range(ALONE)])
        work_ns = self._work_ns() - before - self._reading_ns
        return Alone(work_ns / ALONE, float(np.mean(took)))

    def waits_ns(self, load: float, serve: Serve, requests: int = REQUESTS) -> Waits:
        """Offer this load, as it would be if each request needed what it needs alone."""
        numbers = random.Random(SEED)
        names = numbers.choices(list(SIZES), [1 - LARGE_SHARE, LARGE_SHARE], k=requests)
        alone_ns = np.array([self.alone[name].work_ns for name in names])
        gaps_ns = np.array([numbers.expovariate(1) for _ in names])
        gaps_ns *= alone_ns.sum() / load / gaps_ns.sum()
        at_us = np.rint(np.cumsum(gaps_ns) / 1000).astype(int).tolist()
        before = self._work_ns()
        took = self.ask(list(zip(at_us, names, strict=True)))
        # A busy server wakes up less often, so its requests need less.
        done = (self._work_ns() - before - self._reading_ns) / alone_ns.sum()
        work_ns = alone_ns * done
        came_ns = np.cumsum(gaps_ns).tolist()
        rate = load * done / work_ns.mean()
        return Waits(
            measured=float(np.mean(took) - np.mean([self.alone[name].took_ns for name in names])),
            of_these=mean_wait(came_ns, work_ns, serve),
            of_theory=float(rate * np.mean(work_ns**2) / (2 * (1 - load * done))),
        )


def installed(name: str) -> str:
    program = shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")
    if program is None:
        pytest.skip(f"{name} is not here")
    return program


def network(start: Start) -> Network:
    return start(
        shapes.single(2),
        cpu={"model": "awake", "cores": 1, "costs": COSTS},
        line_rate="40Gbps",
        nic={"coalescing": "0us"},
    )


NGINX_SERVER = Program(lambda: [installed("nginx"), "-p", ".", "-c", "nginx.conf"])
PYTHON_SERVER = Program(lambda: ["python3", "-c", PYTHON])
REDIS = Program(
    lambda: [
        # The package redis-server starts a server on the computer, and has a link to this program.
        *("bash", "-c", 'exec -a redis-server "$0" "$@"', installed("redis-check-rdb")),
        *("--port", "80", "--save", "", "--protected-mode", "no"),
    ],
    "GET NAME\r\nQUIT\r\n",
    "for name in small large; do redis-cli -p 80 -x set $name < www/$name; done",
)
SSHD = Program(
    lambda: [
        installed("sshd"),
        *("-D", "-f", "/dev/null", "-p", "80", "-h", "PATH/key"),
        *("-o", "MaxStartups=1000", "-o", "PidFile=none"),
    ],
    "NAME is no version of SSH\r\n",
)


LOADS = (0.3, 0.6, 0.8)


@pytest.mark.parametrize("program", [NGINX_SERVER, PYTHON_SERVER], ids=["nginx", "http.server"])
def test_requests_to_a_web_server_wait_as_theory_says(
    start: Start, tmp_path: Path, program: Program
) -> None:
    server = Server(network(start), tmp_path, program)
    assert server.alone["large"].work_ns > 2 * server.alone["small"].work_ns
    for wait in [server.waits_ns(load, one_after_the_other) for load in LOADS]:
        assert wait.measured == pytest.approx(wait.of_these, rel=0.3)
        assert wait.measured == pytest.approx(wait.of_theory, rel=0.3)


def test_requests_to_redis_wait_for_all_of_a_round(start: Start, tmp_path: Path) -> None:
    server = Server(network(start), tmp_path, REDIS)
    assert server.alone["large"].work_ns > 2 * server.alone["small"].work_ns
    for wait in [server.waits_ns(load, in_rounds) for load in LOADS]:
        assert wait.measured == pytest.approx(wait.of_these, rel=0.3)
        assert wait.measured > 1.2 * wait.of_theory


@pytest.mark.costs(4)
def test_connections_to_sshd_take_turns_call_by_call(start: Start, tmp_path: Path) -> None:
    key = [installed("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "key")]
    subprocess.run(key, check=True)
    server = Server(network(start), tmp_path, SSHD)
    alone_ns = server.alone["small"].work_ns
    fork_ns, exec_ns, call_ns = (COSTS[f"{it}_ns"] / SPEED for it in ("fork", "exec", "call"))
    others = 20  # from there on, their number hardly matters
    rest_ns = (alone_ns - fork_ns - exec_ns) / others
    assert rest_ns > call_ns
    calls = [fork_ns, exec_ns, *[rest_ns] * others]
    wait = server.waits_ns(0.6, call_by_call(calls), requests=100)
    assert wait.measured == pytest.approx(wait.of_these, rel=0.15)
    assert wait.measured > 1.5 * wait.of_theory
