"""Test that root in a node changes nothing that the agent runs or reads, and what a record says.

Every program in a machine is root. It can enter the agent's mount namespace, whose other processes are
kernel threads, and open what the agent has open.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import wanlab
from wanlab import Network, shapes

pytestmark = pytest.mark.machine

Start = Callable[..., Network]

AGENT = Path(wanlab.__file__).parent / "agent"
IN_THE_AGENTS_MOUNTS = "nsenter --mount=/proc/2/ns/mnt -- sh -c"
FAKE = "printf '#!/bin/sh\\necho fake' > /run/fake; chmod +x /run/fake; "
# Calls an agent of its own, which was a fork of the machine's.
CALL_AN_AGENT = f"""
import os, socket, sys
sys.path.insert(0, {str(AGENT.parents[1])!r})
from wanlab.agent.messages import Kind, encode_json, FrameReader
connection = socket.socket(socket.AF_UNIX)
connection.connect("/run/wanlab/host-service")
connection.sendall(b'{{"do": "agent"}}\\n')
reader = FrameReader()
def receive():
    while not (frames := list(reader.feed(connection.recv(65536)))):
        pass
    return frames
receive()
calls = [{{"do": "prepare", "environment": {{}}}}, {{"do": "input_state", "number": 1}}]
for number, call in enumerate(calls):
    connection.sendall(encode_json(Kind.CALL, number, call))
    receive()
"""


@pytest.mark.parametrize(
    ("command", "changed"),
    [
        (FAKE + "mount --bind /run/fake /usr/bin/iperf3", "/usr/bin/iperf3"),
        (FAKE + f"{IN_THE_AGENTS_MOUNTS} 'mount --bind /run/fake /usr/bin/ss'", "/usr/bin/ss"),
        ("mount -t tmpfs x /usr/bin", "/usr/bin"),
        ("mkdir '/usr/a b'; mount -t tmpfs x '/usr/a b'", "/usr/a b"),
        ("echo '#' >> /run/wanlab/bin/wanlab-traffic", "/run/wanlab/bin/wanlab-traffic"),
        ("touch /run/wanlab/python/sitecustomize.py", "/run/wanlab/python/sitecustomize.py"),
        ("ln -sf /bin/true /etc/alternatives/iptables", "/etc/alternatives/iptables"),
        (f"touch /run/fake; mount --bind /run/fake '{AGENT}/shaping.py'", f"{AGENT}/shaping.py"),
    ],
)
def test_a_record_names_programs_that_were_replaced_in_another_way(
    start: Start, command: str, changed: str
) -> None:
    net = start(shapes.single(2))
    net["h1"].run(["sh", "-c", command])
    assert net.provenance().warnings == (f"programs were changed in the machine: {changed}",)


@pytest.mark.parametrize(
    "hide",
    [
        f"{IN_THE_AGENTS_MOUNTS} 'mount -t tmpfs x /proc'",
        "for f in /proc/1/fd/*; do rm -rf $f/usr/bin/iperf3; done; test ! -e /usr/bin/iperf3",
    ],
)
def test_the_traces_of_a_replaced_program_cannot_be_removed(start: Start, hide: str) -> None:
    net = start(shapes.single(2))
    net["h1"].run(["sh", "-c", f"cp /bin/true /usr/bin/iperf3; {hide}"])
    assert net.provenance().warnings == ("programs were changed in the machine: /usr/bin/iperf3",)


def test_mounts_that_a_topology_asks_for_are_no_change(start: Start) -> None:
    net = start(shapes.single(2))
    net["h1"].run("mkdir /run/mine; mount -t tmpfs x /run/mine")
    net["h1"].run("ip netns add other")
    assert net.provenance().warnings == ()


def test_counters_are_the_kernels_whatever_is_mounted_over_them(start: Start) -> None:
    net = start(shapes.single(2))
    cover = (
        "printf 'TcpExt: Fake\\nTcpExt: 1\\n' > /run/fake; mount --bind /run/fake $(realpath {})"
    )
    net["h1"].run(["sh", "-c", cover.format("/proc/net/netstat")], check=False)
    net["h1"].run(["sh", "-c", f"{IN_THE_AGENTS_MOUNTS} 'mount -t tmpfs x /proc'"])
    stat, netstat = net.read([["file", "", "/proc/stat"], ["file", "h1", "/proc/net/netstat"]])
    assert stat.startswith(b"cpu ")
    assert b"Fake" not in netstat


def replace_a_module(net: Network, code: str) -> None:
    """Have the module `activity`, which the agent imports late, run more code."""
    net.folder.joinpath("more.py").write_text(code)
    copy = f"cat '{AGENT}/activity.py' more.py > /run/activity.py"
    net["h1"].run(["sh", "-c", copy])
    net["h1"].run(
        [
            "sh",
            "-c",
            f"{IN_THE_AGENTS_MOUNTS} 'mount --bind /run/activity.py \"{AGENT}/activity.py\"'",
        ]
    )


def test_what_the_agent_imports_late_is_the_computers(start: Start) -> None:
    """The call `input_state` imports a module."""
    net = start(shapes.single(2))
    replace_a_module(net, "open('/run/taken', 'w').close()")
    assert not net["h2"].start("cat", terminal=(24, 80)).is_raw_mode()
    net["h1"].run("test ! -e /run/taken")


def test_an_agent_for_a_program_has_nothing_of_the_machines_agent(start: Start) -> None:
    net = start(shapes.single(2))
    net.folder.joinpath("call.py").write_text(CALL_AN_AGENT)
    replace_a_module(
        net,
        "with open('/run/taken', 'w') as file:\n"
        "    for name in os.listdir('/proc/self/fd'):\n"
        "        print(os.readlink(f'/proc/self/fd/{name}'), file=file)\n",
    )
    net["h1"].run("python3 call.py")
    names = net["h1"].run("cat /run/taken").output
    assert "socket" in names
    assert "channel" not in names
    assert "upper" not in names
