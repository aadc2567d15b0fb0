"""Test programs inside a machine that make their own networks and send requests to the host."""

import json
from pathlib import Path

import pytest

from wanlab import Network, Topology, shapes
from wanlab.errors import CommandError, RequirementError
from wanlab.network import Connection

pytestmark = pytest.mark.machine

PYTHON = "/run/wanlab/bin/wanlab-python"


def run_inside(net: Network, folder: Path, program: str) -> str:
    (folder / "program.py").write_text(program)
    return net.root.run([PYTHON, "program.py"]).output


NETWORK_INSIDE = """
import os, subprocess, time
from wanlab import Network, shapes

def left():
    return os.listdir("/run/netns"), sorted(os.listdir("/sys/class/net"))

before = left()
hosts = open("/etc/hosts").read()
for _ in range(2):
    with Network(shapes.single(2, delay="10ms")) as net:
        started = time.monotonic()
        net.run_for("3s")
        print(net.machine_kind, net.clock, net.seed, net.wire, round(time.monotonic() - started, 3))
        print(net["h1"].run("ping -c 2 h2").output.splitlines()[2])
        wrapped = net["h2"].wrap(["sh", "-c", "pwd; ls /sys/class/net"])
        print(subprocess.run(wrapped, capture_output=True, text=True).stdout.split())
        sleeper = subprocess.Popen(net["h2"].wrap(["sleep", "1000"]))
    print(left() == before, open("/etc/hosts").read() == hosts, sleeper.wait())
"""


def test_a_program_inside_makes_networks_and_leaves_nothing(tmp_path: Path) -> None:
    with Network(Topology(), folder=tmp_path, seed=7, wire="gso") as net:
        lines = run_inside(net, tmp_path, NETWORK_INSIDE).splitlines()
    once = [
        "here virtual 7 gso 3.0",
        "64 bytes from h2 (10.0.0.2): icmp_seq=2 ttl=64 time=40.0 ms",
        str([str(tmp_path), "bonding_masters", "h2-eth0", "lo"]),
        "True True -9",
    ]
    assert lines == once * 2


def test_a_program_that_is_killed_leaves_no_network_either(tmp_path: Path) -> None:
    program = """
from wanlab import Network, shapes
with Network(shapes.single(2)) as net:
    print("up", flush=True)
    net.run_for("1000s")
"""
    (tmp_path / "program.py").write_text(program)
    with Network(Topology(), folder=tmp_path) as net:
        process = net.root.start([PYTHON, "program.py"])
        assert next(process.lines()) == "up"
        assert net.root.run("ls /run/netns").output.split() == ["h1", "h2"]
        net.root.run(["kill", "-9", str(process.pid)])
        net.run_for("1s")
        assert net.root.run("ls /run/netns").output == ""
        assert "s1" not in net.root.run("ip -br link").output


def test_machine_here_is_refused_outside_a_machine(tmp_path: Path) -> None:
    with pytest.raises(RequirementError, match="inside a machine"):
        Network(Topology(), folder=tmp_path, machine="here")


def test_the_clock_of_a_running_machine_cannot_be_chosen(tmp_path: Path) -> None:
    program = """
from wanlab import Network, Topology
from wanlab.errors import RequirementError
try:
    Network(Topology(), clock="real")
except RequirementError as error:
    print(error.what)
"""
    with Network(Topology(), folder=tmp_path) as net:
        said = run_inside(net, tmp_path, program)
    assert said == "clock real: this program runs in a machine whose clock is virtual\n"


def test_the_computer_cannot_start_processes_of_the_embedded_machine(tmp_path: Path) -> None:
    with Network(Topology(), folder=tmp_path) as net, pytest.raises(CommandError, match="inside"):
        net.machine.prefix("h1", "/")


# -- the host service -----------------------------------------------------------------------------

ASKING = """
import time
from wanlab.network import call_host
before = time.monotonic_ns()
print("asked", flush=True)
print(call_host({"do": "name", "of": "it"}), time.monotonic_ns() - before < 1_000_000)
"""


def test_a_request_takes_no_time_and_comes_after_earlier_output(tmp_path: Path) -> None:
    heard: list[bytes] = []
    with Network(Topology(), folder=tmp_path) as net:
        (tmp_path / "ask.py").write_text(ASKING)

        def handle(connection: Connection) -> None:
            assert b"".join(heard) == b"asked\n"
            connection.answer({"name": connection.request["of"]})

        net.host_service["name"] = handle
        assert net.root.start([PYTHON, "ask.py"], on_output=heard.append).wait() == 0
    assert b"".join(heard) == b"asked\n{'name': 'it'} True\n"


def test_a_request_that_nobody_handles_is_answered(tmp_path: Path) -> None:
    program = """
from wanlab.network import call_host
from wanlab.errors import RequirementError
try:
    call_host({"do": "nothing"})
except RequirementError as error:
    print(error.what)
"""
    with Network(Topology(), folder=tmp_path) as net:
        assert run_inside(net, tmp_path, program) == "unknown request 'nothing'\n"


@pytest.mark.parametrize("request_line", ["no json", "[]", "{}", '"text"'])
def test_a_malformed_request_is_refused(tmp_path: Path, request_line: str) -> None:
    program = f"""
import socket
connection = socket.socket(socket.AF_UNIX)
connection.connect("/run/wanlab/host-service")
connection.sendall({request_line!r}.encode() + b"\\n")
print(connection.makefile().readline())
"""
    with Network(Topology(), folder=tmp_path) as net:
        said = json.loads(run_inside(net, tmp_path, program))
    assert said == {"error": 'a request must be one line of JSON: {"do": "...", ...}'}


def test_a_request_carries_bytes_both_ways_until_one_side_ends_it(tmp_path: Path) -> None:
    program = """
from wanlab.network import open_request
with open_request({"do": "echo"}) as connection:
    sent = bytes(range(256)) * 4096
    connection.sendall(sent)
    received = b""
    while len(received) < len(sent):
        received += connection.recv(65536)
    print(received == sent)
"""
    ended: list[bool] = []

    def echo(connection: Connection) -> None:
        connection.on_data = connection.send
        connection.on_end = lambda: ended.append(True)

    with Network(Topology(), folder=tmp_path) as net:
        net.host_service["echo"] = echo
        assert run_inside(net, tmp_path, program) == "True\n"
        net.run_for("1s")
    assert ended == [True]


# -- the network that the machine was started with ---------------------------------------------------

ATTACHING = """
import os, subprocess
from wanlab import Network
with Network.attach() as net:
    print([host.name for host in net.topology.hosts], net.port("s1-eth1").node)
    print(net["h1"].run("ping -c 2 h2").output.splitlines()[2])
    print(net.root.run("ls /sys/class/net").output.split())
    print(subprocess.run(net["h2"].wrap(["ls", "/sys/class/net"]), capture_output=True).stdout)
print(sorted(os.listdir("/run/netns")))
"""


@pytest.mark.parametrize("place", ["root", "h1"])
def test_a_program_inside_finds_the_network_it_was_started_with(tmp_path: Path, place: str) -> None:
    (tmp_path / "program.py").write_text(ATTACHING)
    with Network(shapes.minimal(delay="1ms"), folder=tmp_path) as net:
        node = net.root if place == "root" else net[place]
        lines = node.run([PYTHON, "program.py"]).output.splitlines()
        assert net["h1"].run("ping -c 1 h2").status == 0
    assert lines == [
        "['h1', 'h2'] s1",
        "64 bytes from h2 (10.0.0.2): icmp_seq=2 ttl=64 time=4.00 ms",
        "['bonding_masters', 'lo', 's1', 's1-eth1', 's1-eth2', 'teql0']",
        str(b"bonding_masters\nh2-eth0\nlo\n"),
        "['h1', 'h2']",
    ]


def test_attaching_is_refused_in_a_machine_that_carries_no_network(tmp_path: Path) -> None:
    with pytest.raises(RequirementError, match="no network to attach to"):
        Network.attach()
