"""Test processes that are forked from a program with a network, as multiprocessing does."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from wanlab import Network, Topology, shapes
from wanlab.errors import CommandError

pytestmark = pytest.mark.machine

Start = Callable[..., Network]

CHILDREN = """
from multiprocessing import Process
from mininet.link import TCLink
from mininet.net import Mininet

def child(node, number):
    print(node.cmd(f'echo {node} $x').strip(), flush=True)
    print(node.popen('echo popen').communicate()[0].decode().strip(), flush=True)
    net.links[number].intf1.config(delay='1ms')

net = Mininet(controller=None, link=TCLink)
hosts = [net.addHost(name) for name in ('h1', 'h2')]
net.addLink(*hosts)
net.addLink(*hosts)
net.start()
hosts[0].cmd('x=parent; sleep 1000 &')
for number, host in enumerate(hosts):
    process = Process(target=child, args=(host, number))
    process.start()
    print(hosts[0].cmd('echo $x').strip(), flush=True)
    process.join()
    print(process.exitcode, hosts[0].cmd('jobs').count('sleep'), flush=True)
print([h1.cmd('tc qdisc show').count('delay') for h1 in hosts[:1]])
net.stop()
"""


def test_a_forked_process_uses_the_network_of_its_parent(tmp_path: Path, start: Start) -> None:
    """Each process has its own shells, and a child's changes outlive it."""
    (tmp_path / "children.py").write_text(CHILDREN)
    net = start(Topology())
    output = net.root.run([sys.executable, "children.py"], timeout="60s").output.split("\n")
    assert sorted(output[:4]) == ["0 1", "h1", "parent", "popen"]
    assert sorted(output[4:8]) == ["0 1", "h2", "parent", "popen"]
    assert output[8:] == ["[2]", ""]


def test_a_forked_process_is_refused_outside_and_the_parent_is_not_affected(start: Start) -> None:
    net = start(shapes.single(2))
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            net["h1"].run("true")
        except CommandError as error:
            os.write(writing, str(error).encode())
        finally:
            net.stop()
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    os.close(writing)
    with os.fdopen(reading) as messages:
        assert messages.read() == (
            f"this network belongs to process {os.getpid()}, and a process that was forked from it "
            "cannot use it (use threads, or start a network in each process)"
        )
    assert net["h1"].run("echo on").output == "on\n"
