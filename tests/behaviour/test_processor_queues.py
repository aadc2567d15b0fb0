"""Programs of a host queue for its core: what theory says about the waiting time, packet by packet.

A model of a processor in which only copying costs something, 1 us for each byte: a server needs as many
us for a request as it has bytes. The client's processor is a thousand times as fast.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from wanlab import Network, shapes
from wanlab.topology.cpu import COSTS

pytestmark = pytest.mark.machine

Start = Callable[..., Network]
US = 1000
MODEL = {"model": "copying", "costs": {**dict.fromkeys(COSTS, 0), "copy_ps_per_byte": 1000 * US}}
REQUESTS = 1500
TYPICAL_SEED = 15
"""So few requests may wait a third less or more than the mean; with this seed they do not."""
SERVE = """
import socket
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE: lose nothing
server.bind(("", 7))
while True:
    server.recv(2000)
    server.sendto(b"", ("10.0.0.1", 8))
"""
ASK = """
import socket, sys, time
asker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
at, sent = time.monotonic() + 0.01, []
for line in open(sys.argv[1]):
    wait_us, size = map(int, line.split())
    at += wait_us / 1e6
    time.sleep(max(0, at - time.monotonic()))
    sent.append(f"{time.monotonic_ns()} {size}")
    asker.sendto(bytes(size), ("10.0.0.2", 7))
time.sleep(0.5)  # writing takes time, too
print(*sent)
"""
HEAR = """
import socket, time
hearer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
hearer.bind(("", 8))
while True:
    hearer.recv(1)
    print(time.monotonic_ns(), flush=True)
"""
DISTURB = """
import socket, sys, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
size, every_us, began = int(sys.argv[1]), int(sys.argv[2]), []
for _ in range(int(sys.argv[3])):
    time.sleep(every_us / 1e6)
    began.append(time.monotonic_ns())
    sender.sendto(bytes(size), ("127.0.0.1", 9))
time.sleep(0.5)
print(*began)
"""


@dataclass(frozen=True)
class Served:
    """The requests, in ns: when each was sent, what it needs, and when its answer came."""

    sent_ns: Sequence[int]
    service_ns: Sequence[int]
    answered_ns: Sequence[int]

    @property
    def waiting_ns(self) -> Sequence[int]:
        """How long each waited for the core, without the way of the packets."""
        times = zip(self.sent_ns, self.service_ns, self.answered_ns, strict=True)
        total = [answered - sent - service for sent, service, answered in times]
        return [wait - min(total) for wait in total]


def poisson(load: float, sizes: Sequence[int]) -> str:
    """Return lines with the interval before each request, in us, and its size."""
    numbers = random.Random(TYPICAL_SEED)
    mean_us = sum(sizes) / len(sizes) / load
    return "".join(
        f"{round(numbers.expovariate(1 / mean_us))} {numbers.choice(sizes)}\n"
        for _ in range(REQUESTS)
    )


def serve(net: Network, requests: str) -> Served:
    net.set_cpu_share("h1", 1000)
    net["h2"].start(["python3", "-c", SERVE])
    hearer = net["h1"].start(["python3", "-c", HEAR])
    net.run_for("100ms")
    write = ["python3", "-c", "import sys; open('/tmp/requests', 'w').write(sys.argv[1])", requests]
    net["h1"].run(write)
    asked = net["h1"].run(["python3", "-c", ASK, "/tmp/requests"]).output.split()
    net.run_for("1s")
    sent, sizes = (list(map(int, asked[part::2])) for part in (0, 1))
    return Served(sent, [size * US for size in sizes], list(map(int, hearer.output.split())))


def expected_waiting(served: Served, bursts: Sequence[tuple[int, int]] = ()) -> list[int]:
    """Return the waiting times of requests, and of another program's work on the same core.

    Work is done in the order in which programs begin it. A program begins its next work when its last
    has been done, so another program's work comes before the requests that wait in the socket.
    """
    waiting, core_ns, server_ns, left = [], 0, 0, sorted(bursts)

    def let_others_work(until_ns: int) -> None:
        nonlocal core_ns
        while left and left[0][0] <= until_ns:
            begins_ns, burst_ns = left.pop(0)
            core_ns = max(core_ns, begins_ns) + burst_ns

    for sent_ns, service_ns in zip(served.sent_ns, served.service_ns, strict=True):
        let_others_work(begins_ns := max(sent_ns, server_ns))
        core_ns = answers_ns = max(core_ns, begins_ns) + service_ns
        let_others_work(answers_ns)
        core_ns = server_ns = max(core_ns, answers_ns)
        waiting.append(server_ns - sent_ns - service_ns)
    return waiting


def network(start: Start, cores: int = 1) -> Network:
    return start(
        shapes.single(2),
        cpu={**MODEL, "cores": cores},
        nic={"coalescing": "0us"},
        line_rate="40Gbps",
    )


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
@pytest.mark.parametrize("sizes", [(100,), (20, 20, 20, 340)], ids=["equal", "different"])
def test_a_server_has_the_queue_of_theory(
    start: Start, load: float, sizes: tuple[int, ...]
) -> None:
    served = serve(network(start), poisson(load, sizes))
    assert len(served.answered_ns) == REQUESTS
    expected = expected_waiting(served)
    assert np.allclose(served.waiting_ns, expected, rtol=0, atol=US)
    # Pollaczek and Khinchine: the mean wait is load / (1 - load) * E[S^2] / (2 E[S]).
    actual_load = sum(served.service_ns) / (served.sent_ns[-1] - served.sent_ns[0])
    mean, square = np.mean(served.service_ns), np.mean(np.square(served.service_ns))
    theory = actual_load / (1 - actual_load) * square / (2 * mean)
    assert np.mean(expected) == pytest.approx(theory, rel=0.15)


@pytest.mark.parametrize("cores", [1, 2])
def test_a_noisy_neighbour_delays_a_server_on_the_same_core(start: Start, cores: int) -> None:
    net = network(start, cores)
    neighbour = net["h2"].start(["python3", "-c", DISTURB, "1000", "3000", "200"])
    served = serve(net, poisson(0.3, (100,)))
    bursts = [(int(begin), 1000 * US) for begin in neighbour.output.split()]
    assert len(bursts) == 200
    alone, disturbed = expected_waiting(served), expected_waiting(served, bursts)
    assert np.mean(disturbed) > 5 * np.mean(alone)
    assert np.allclose(served.waiting_ns, disturbed if cores == 1 else alone, rtol=0, atol=US)
