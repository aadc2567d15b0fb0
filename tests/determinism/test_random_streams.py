"""Each consumer of random numbers has its own stream (docs/project/decisions/0032).

A program or a part of the network that draws more numbers does not change those of others.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from wanlab import Network, Topology, link, shapes
from wanlab.network import runtime
from wanlab.topology.model import Host, Switch

pytestmark = pytest.mark.machine

Start = Callable[..., Network]

SEND = """
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.sendto(b"0", ("h2", 5000))  # the first one waits for ARP
time.sleep(0.1)
for i in range(1, 501):
    s.sendto(str(i).encode(), ("h2", 5000))
    time.sleep(0.001)
time.sleep(0.2)
s.sendto(b"end", ("h2", 5001))
"""
RECEIVE = """
import select, socket
data, end = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
data.bind(("", 5000))
end.bind(("", 5001))
while end not in (ready := select.select([data, end], [], [], 10)[0]) and ready:
    print(data.recv(100).decode())
"""
CONNECT = """
import socket
for _ in range(8):
    s = socket.create_connection(("h2", 6000))
    print(s.getsockname()[1])
    s.close()
"""
ACCEPT = """
import socket
s = socket.create_server(("", 6000))
for _ in range(8):
    s.accept()[0].recv(1)
"""
IPV6_OFF = "net.ipv6.conf.all.disable_ipv6"
SYN = "tcp[tcpflags] & tcp-syn != 0"


@dataclass(frozen=True)
class RandomOutcomes:
    """Observations between h1 and h2 that depend on random numbers."""

    received: tuple[int, ...]
    ports: str
    sequence_numbers: tuple[str, ...]
    drawn: str
    address_space: str


def observe(net: Network) -> RandomOutcomes:
    receiver = net["h2"].start(["python3", "-c", RECEIVE])
    net.run_until("3s")
    net["h1"].run(["python3", "-c", SEND])
    received = tuple(int(line) for line in receiver.finish().output.split() if line != "0")
    assert len(received) > 350
    capture = net["h1"].start(f"timeout 20 tcpdump -i h1-eth0 -nn -S -l '{SYN}'")
    server = net["h2"].start(["python3", "-c", ACCEPT])
    net.run_until("8s")
    ports = net["h1"].run(["python3", "-c", CONNECT]).output
    server.wait()
    capture.wait()
    drawn = net["h1"].run("head -c 32 /dev/urandom | od -An -x").output
    address_space = net["h1"].run("cat /proc/self/maps | tail -3").output
    sequence_numbers = tuple(re.findall(r"seq (\d+)", capture.output))
    assert len(sequence_numbers) >= 16
    return RandomOutcomes(received, ports, sequence_numbers, drawn, address_space)


def single(hosts: int, **words: object) -> Topology:
    return shapes.single(hosts, loss="5%", delay="2ms", **words)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def undisturbed() -> RandomOutcomes:
    with Network(single(3), seed=1) as net:
        return observe(net)


@pytest.mark.parametrize("size", [pytest.param(8, marks=pytest.mark.long), 8000])
@pytest.mark.parametrize("node", ["h1", "h3", "root"])
def test_a_program_that_draws_more_changes_nothing(
    start: Start, undisturbed: RandomOutcomes, node: str, size: int
) -> None:
    net = start(single(3), seed=1)
    program = net.root if node == "root" else net[node]
    program.run(
        f"head -c {size} /dev/urandom | md5sum; mktemp; mktemp; cat /proc/sys/kernel/random/uuid"
    )
    seen = observe(net)
    assert seen.received == undisturbed.received
    assert seen.ports == undisturbed.ports
    assert seen.sequence_numbers == undisturbed.sequence_numbers
    if node != "h1":  # in h1 itself, the number of started programs matters
        assert seen == undisturbed


def test_a_process_that_draws_more_changes_no_other_process(start: Start) -> None:
    def second(size: int) -> str:
        net = start(single(2), seed=1)
        net["h1"].run(f"head -c {size} /dev/urandom | od -An -x")
        found = net["h1"].run("head -c 32 /dev/urandom | od -An -x; mktemp; cat /proc/self/maps")
        net.stop()
        return found.output

    assert second(8) == second(8000)


def test_further_hosts_change_nothing(start: Start) -> None:
    """This holds as long as their packets do not pass the same ports."""
    pair = single(2)
    others = Topology(
        nodes=(Host("a1"), Host("z1"), Switch("s0")),
        links=(link("a1", "s0", loss="5%", delay="2ms"), link("s0", "z1", rate="1Mbps")),
    )
    both = Topology(nodes=(*pair.nodes, *others.nodes), links=(*others.links, *pair.links))
    assert observe(start(both, seed=1)) == observe(start(pair, seed=1))


def test_a_plan_that_is_performed_in_parts_changes_nothing(
    start: Start, undisturbed: RandomOutcomes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "PART", 3)
    net = Network(single(3), seed=1)
    progress: list[tuple[int, int]] = []
    net.on_building = lambda done, of: progress.append((done, of))
    with net:
        assert len(progress) > 5
        assert progress == sorted(progress)
        assert {of for _, of in progress} == {len(net.plan)}
        assert progress[-1] == (len(net.plan), len(net.plan))
        assert observe(net) == undisturbed


@pytest.mark.long
def test_other_traffic_does_not_change_a_ports_losses(
    start: Start, undisturbed: RandomOutcomes
) -> None:
    net = start(single(3), seed=1)
    net["h3"].start("ping -c 300 -i 0.03 h2", merge_stderr=True)
    seen = observe(net)
    assert (seen.ports, seen.drawn) == (undisturbed.ports, undisturbed.drawn)


def behind(queue: str) -> Topology:
    return Topology(
        nodes=(Host("h1"), Host("h2"), Switch("s1"), Switch("s2")),
        links=(
            link("h1", "s1", loss="5%", delay="2ms"),
            link("s1", "s2", rate="100Mbps", queue=queue),
            link("s2", "h2"),
        ),
    )


@pytest.fixture(scope="module")
def behind_fifo() -> RandomOutcomes:
    with Network(behind("fifo"), seed=1) as net:
        return observe(net)


@pytest.mark.parametrize("queue", ["fq_codel", "sfq", "pie", "red"])
def test_variants_of_a_network_see_the_same_losses(
    start: Start, behind_fifo: RandomOutcomes, queue: str
) -> None:
    other = observe(start(behind(queue), seed=1))
    assert len(behind_fifo.received) < 490
    assert other.received == behind_fifo.received
    assert other.ports == behind_fifo.ports


def test_a_higher_loss_rate_includes_the_same_losses(start: Start) -> None:
    """With jitter, too, which draws random numbers only for packets that are not lost."""

    def received(**words: str) -> set[int]:
        topology = Topology(
            nodes=(Host("h1"), Host("h2"), Switch("s1")),
            links=(link("h1", "s1", a_to_b=words), link("s1", "h2")),  # type: ignore[arg-type]
        )
        net = start(topology, seed=1, sysctls={IPV6_OFF: "1"})
        net["h1"].run(  # no lost request is repeated
            f"ip neigh replace 10.0.0.2 lladdr {net.port('h2-eth0').mac} dev h1-eth0"
        )
        return set(observe(net).received)

    one = received(loss="2%", delay="2ms")
    assert received(loss="6%", delay="2ms") < one
    assert received(loss="2%", delay="2ms", jitter="1ms") == one


def test_another_seed_changes_everything(start: Start, undisturbed: RandomOutcomes) -> None:
    other = observe(start(single(3), seed=2))
    for name in ("received", "ports", "sequence_numbers", "drawn", "address_space"):
        assert getattr(other, name) != getattr(undisturbed, name), name


def test_an_experiment_that_is_repeated_in_one_machine_has_other_losses(start: Start) -> None:
    net = start(shapes.single(2), seed=1)

    def received() -> str:
        net["h1"].run("tc qdisc add dev h1-eth0 root handle 1: netem loss 20%")
        seen = net["h1"].run("ping -n -c 100 -i 0.03 h2", check=False).output
        net["h1"].run("tc qdisc del dev h1-eth0 root")
        return " ".join(re.findall(r"icmp_seq=(\d+)", seen))

    assert received() != received()


def test_ports_of_one_switch_lose_different_packets(start: Start) -> None:
    net = start(shapes.single(3, loss="20%"), seed=1)
    seen = [
        re.findall(
            r"icmp_seq=(\d+)", net["h1"].run(f"ping -n -c 100 -i 0.03 {host}", check=False).output
        )
        for host in ("h2", "h3")
    ]
    assert seen[0] != seen[1]


def test_a_random_hardware_address_depends_on_its_name_alone(start: Start) -> None:
    net = start(shapes.single(2), seed=1)
    show = "ip -br link show dev db; ip link del dev db"
    one = net["h1"].run(f"ip link add db type dummy; {show}").output
    net["h2"].run("ip link add da type dummy")
    net.stop()
    net = start(shapes.single(2), seed=1)
    net["h1"].run("ip link add da type dummy")
    assert net["h1"].run(f"ip link add db type dummy; {show}").output.split()[2] == one.split()[2]
