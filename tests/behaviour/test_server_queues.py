"""Web servers under load: requests wait as in an M/G/1 queue, by the theory of Pollaczek and Khinchine.

A server with one core, a tenth as fast as `server-2019`, serves small and large files to a client whose
requests arrive at random, each on its own connection. What a request costs is in /proc/net/processor.
In theory, requests are served one after the other. Here, packets of later connections are handled before
programs run, so requests wait up to a fifth longer.
"""

from __future__ import annotations

import random
import shutil
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
            key.fileobj.send(f"GET /{name} HTTP/1.0\\r\\n\\r\\n".encode())
            sockets.modify(key.fileobj, selectors.EVENT_READ, key.data)
        elif not key.fileobj.recv(1 << 20):
            took[which] = time.monotonic_ns() - began
            sockets.unregister(key.fileobj)
            key.fileobj.close()
print(*(took[which] for which in range(len(requests))))
"""


@dataclass(frozen=True)
class Alone:
    """What a request needs while there is no other: work of the server, and time to its answer."""

    work_ns: float
    took_ns: float


@dataclass(frozen=True)
class Waits:
    """The mean wait of requests for earlier ones, in ns.

    of_these     of these very requests, by Lindley's recursion
    of_theory    of infinitely many, by Pollaczek and Khinchine: rate * E[S^2] / (2 (1 - load))
    """

    measured: float
    of_these: float
    of_theory: float


class WebServer:
    """A server at h2 with one slow core, and the client at h1."""

    def __init__(self, net: Network, folder: Path, command: str | Sequence[str]) -> None:
        self._net = net
        self._requests = folder / "requests"
        (folder / "www").mkdir()
        for name, size in SIZES.items():
            (folder / "www" / name).write_bytes(bytes(size))
        (folder / "nginx.conf").write_text(NGINX)
        (folder / "ask.py").write_text(ASK)
        net.set_cpu_share("h2", 0.1)
        net["h2"].start(command)
        net.run_for("1s")
        self.ask([(0, "small")])  # connections before are the first of their kind
        self.alone = {name: self._alone(name) for name in SIZES}

    def _work_ns(self) -> int:
        """Return the work of the core so far, without that of starting the program that reads it."""
        names, *cores = self._net["h2"].run("cat /proc/net/processor").output.splitlines()
        table = [dict(zip(names.split(), map(int, core.split()), strict=True)) for core in cores]
        return sum(
            sum(core.values()) - core["core"] - core["fork"] - core["exec"] for core in table
        )

    def ask(self, requests: Sequence[tuple[int, str]]) -> list[int]:
        """Send requests at these times, in us; return how long each took, in ns."""
        self._requests.write_text("".join(f"{at_us} {name}\n" for at_us, name in requests))
        return list(map(int, self._net["h1"].run("python3 ask.py requests").output.split()))

    def _alone(self, name: str) -> Alone:
        before = self._work_ns()
        took = self.ask([(number * 20_000, name) for number in range(ALONE)])
        return Alone((self._work_ns() - before) / ALONE, float(np.mean(took)))

    def waits_ns(self, load: float) -> Waits:
        """Offer this load, as it would be if each request needed what it needs alone."""
        numbers = random.Random(SEED)
        names = numbers.choices(list(SIZES), [1 - LARGE_SHARE, LARGE_SHARE], k=REQUESTS)
        alone_ns = np.array([self.alone[name].work_ns for name in names])
        gaps_ns = np.array([numbers.expovariate(1) for _ in names])
        gaps_ns *= alone_ns.sum() / load / gaps_ns.sum()
        at_us = np.rint(np.cumsum(gaps_ns) / 1000).astype(int).tolist()
        before = self._work_ns()
        took = self.ask(list(zip(at_us, names, strict=True)))
        # A busy server wakes up less often, so its requests need less.
        done = (self._work_ns() - before) / alone_ns.sum()
        work_ns = alone_ns * done
        left, queue_ns = 0.0, []  # Lindley: what is left of earlier work when a request arrives
        for gap_ns, own_ns in zip(gaps_ns, [0.0, *work_ns[:-1]], strict=True):
            left = max(0.0, left + own_ns - gap_ns)
            queue_ns.append(left)
        rate = load * done / work_ns.mean()
        return Waits(
            measured=float(np.mean(took) - np.mean([self.alone[name].took_ns for name in names])),
            of_these=float(np.mean(queue_ns)),
            of_theory=float(rate * np.mean(work_ns**2) / (2 * (1 - load * done))),
        )


def nginx() -> list[str]:
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/sbin:/bin")
    if program is None:
        pytest.skip("nginx is not here")
    return [program, "-p", ".", "-c", "nginx.conf"]


@pytest.mark.parametrize(
    "command", [nginx, lambda: ["python3", "-c", PYTHON]], ids=["nginx", "http.server"]
)
def test_requests_to_a_web_server_wait_as_theory_says(
    start: Start, tmp_path: Path, command: Callable[[], list[str]]
) -> None:
    net = start(
        shapes.single(2),
        cpu={"model": "awake", "cores": 1, "costs": COSTS},
        line_rate="40Gbps",
        nic={"coalescing": "0us"},
    )
    server = WebServer(net, tmp_path, command())
    assert server.alone["large"].work_ns > 2 * server.alone["small"].work_ns
    waits = [server.waits_ns(load) for load in (0.3, 0.6, 0.8)]
    for wait in waits:
        assert wait.measured == pytest.approx(wait.of_these, rel=0.3)
        assert wait.measured == pytest.approx(wait.of_theory, rel=0.3)
