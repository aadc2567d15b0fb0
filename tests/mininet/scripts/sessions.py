"""Test behaviour that existing Mininet scripts rely on: processes, errors and controllers."""

import os
import signal
import subprocess

from mininet.net import Mininet
from mininet.node import Controller, Node, OVSSwitch, RemoteController
from mininet.nodelib import LinuxBridge
from mininet.topo import Topo

# popen starts a new session, so that killing its group does not end the script
net = Mininet(controller=None)
a, b = net.addHost("a"), net.addHost("b")
net.addLink(a, b)
net.start()
for options in ({}, {"preexec_fn": os.setsid}, {"shell": True}):
    process = a.popen("sleep 1000", **options)
    assert os.getpgid(process.pid) == os.getsid(process.pid) == process.pid
    os.killpg(os.getpgid(process.pid), signal.SIGTERM)
    assert process.wait() == -signal.SIGTERM
net.stop()
assert a.cmd("echo never") == ""  # as in Mininet: "(a exited - ignoring cmd...)"


# the first error is reported, not those of `terminate`
class Router(Node):
    def config(self, **params):
        super().config(**params)
        self.cmd("true")
        raise ValueError("the first error")

    def terminate(self):
        self.cmd("sysctl net.ipv4.ip_forward=0")
        super().terminate()
        raise ValueError("the second error")


class Routed(Topo):
    def build(self):
        self.addLink(self.addHost("h1"), self.addNode("r1", cls=Router, ip="10.0.0.7/8"))


try:
    Mininet(Routed())
except ValueError as error:
    assert str(error) == "the first error" and error.__context__ is None, error
else:
    raise SystemExit("no error")


# if a network cannot be built, later errors of its nodes are not reported instead
class Asking(Router):
    def config(self, **params):
        Node.config(self, **params)
        self.cmd("sysctl net.ipv4.ip_forward=1")

    def terminate(self):
        self.cmd("sysctl net.ipv4.ip_forward=0")
        Node.terminate(self)


class Impossible(Topo):
    def build(self):
        self.addLink(self.addHost("h-"), self.addNode("r1", cls=Asking))
        self.addHost("-h")


try:
    Mininet(Impossible())
except Exception as error:
    assert "-h" in str(error) and "cannot be a name" in str(error), error
else:
    raise SystemExit("no error")

# a controller of an unknown kind
net = Mininet(controller=None, switch=OVSSwitch)
controller = RemoteController("c0", ip="no-such-host.example", port=6653)
controller.checkListening()
assert not controller.isListening("no-such-host.example", 6653)
controller.terminate()

# with a remote controller, switches without an explicit kind become Open vSwitches
elsewhere = subprocess.Popen(
    ["wanlab-controller", "127.0.0.1", "6699"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
)
net = Mininet(build=False, controller=None)
h1, h2, s1 = net.addHost("h1"), net.addHost("h2"), net.addSwitch("s1")
assert type(s1) is LinuxBridge
net.addLink(h1, s1)
net.addLink(h2, s1)
net.addController("c0", controller=RemoteController, ip="127.0.0.1", port=6699)
net.build()
assert type(s1) is OVSSwitch
net.start()
assert net.waitConnected(timeout=20)
assert net.pingAll() == 0
net.stop()
elsewhere.terminate()
elsewhere.wait()
# two controllers at the default port: one serves all
net = Mininet(switch=OVSSwitch, waitConnected=True)
for name in ("c0", "c1"):
    net.addController(name, Controller)
switch = net.addSwitch("s1")
for name in ("h1", "h2"):
    net.addLink(net.addHost(name), switch)
net.start()
assert net.pingAll() == 0
net.stop()
assert subprocess.run("true", check=True).returncode == 0
print("done")
