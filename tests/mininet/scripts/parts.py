"""Use what tools and subclasses take from Mininet: parts of topologies, nodes and links, and helpers."""

import subprocess
from importlib.util import find_spec

from mininet.clean import Cleanup, addCleanupCallback, cleanup, killprocs
from mininet.link import Intf, OVSIntf
from mininet.log import MininetLogger, debug, lg, setLogLevel, warn
from mininet.moduledeps import lsmod, modprobe, moduleDeps, pathCheck, rmmod
from mininet.net import Mininet, MininetWithControlNet
from mininet.node import CPULimitedHost, Host, Node
from mininet.nodelib import NAT, LinuxBridge
from mininet.term import cleanUpScreens
from mininet.topo import SingleSwitchTopo, Topo
from mininet.topolib import TreeTopo
from mininet.util import (
    CmdResult,
    Pexpect,
    StrictVersion,
    dumpNetConnections,
    errRun,
    getincrementaldecoder,
    moveIntfNoRetry,
    quietRun,
    which,
)


def fails(words, action, *args, **kwargs):
    """Check that an action fails with an error that contains these words."""
    try:
        action(*args, **kwargs)
    except Exception as error:
        assert words in str(error), error
    else:
        raise SystemExit(f"no error: {words}")


# -- topologies: a tree on a core, as scripts build it, and its graph for another library


class Campus(TreeTopo):
    def build(self, buildings=2):
        self.hostNum = self.switchNum = 1
        core = self.addSwitch("s100")
        for _ in range(buildings):
            self.addLink(core, self.addTree(depth=1, fanout=2))
        self.addLink(self.addHost("printer"), core, port1=5, port2=9)


class Graph:
    """Has the two methods of networkx.MultiGraph that are needed."""

    def __init__(self):
        self.nodes, self.edges = {}, []

    def add_nodes_from(self, nodes):
        self.nodes.update(nodes)

    def add_edges_from(self, edges):
        self.edges += edges


campus = Campus(buildings=3)
assert (len(campus.hosts()), len(campus.switches()), campus.port("printer", "s100")) == (
    7,
    4,
    (5, 9),
)
graph = campus.convertTo(Graph)
assert graph.nodes["s100"] == {"isSwitch": True}
assert len(graph.edges) == len(campus.links()) == 10
assert {"node1": "printer", "node2": "s100", "port1": 5, "port2": 9} in [
    edge[3] for edge in graph.edges
]
ports = Topo()
ports.addHost("h1")
ports.addSwitch("s1")
assert ports.addPort("h1", "s1") == (0, 1)
assert ports.addPort("h1", "s1", sport=4) == (4, 2)
net = Mininet(campus, controller=None)
net.start()
assert net.pingAll() == 0
assert net["printer"].intfNames() == ["printer-eth5"]
net.stop()

# -- nodes and their interfaces: one that a script makes, moves by its own function, and takes away

net = Mininet(SingleSwitchTopo(2), controller=None)
net.start()
h1, h2, s1 = net.get("h1", "h2", "s1")
moved = []


def move(name, node):
    moved.append((name, node.name))
    assert moveIntfNoRetry(name, node, printError=True)


for near, far in (("spare0", "spare1"), ("late0", "late1")):
    quietRun(f"ip link add {near} type veth peer name {far}")
Intf("spare0", node=h1, port=7)
assert h1.intfNames() == ["h1-eth0", "spare0"]
late = Intf("late0", node=h2, moveIntfFn=move)
h2.delIntf(late)
h2.addIntf(late, port=8, moveIntfFn=lambda name, node: moved.append((name, node.name)))
assert moved == [("late0", "h2"), ("late0", "h2")] and h2.ports[late] == 8
assert not moveIntfNoRetry("nowhere0", h1)
spare = h1.intf("spare0")
results = {}
h1.setParam(results, "setIP", ip=["10.77.0.1", 24, spare])
spare.setParam(results, "setMAC", mac="00:00:00:00:77:01")
assert h1.setParam(results, "setNothing", nothing=1) is None
assert results.keys() == {"ip", "mac"}
quietRun("ip addr add 10.77.0.9/24 dev spare1")
quietRun("ip link set spare1 up")
assert ", 0% packet loss" in h1.cmd("ping -c1 10.77.0.9")
assert "00:00:00:00:77:01" in quietRun("ip neigh show dev spare1")
spare.delete()
assert h1.intfNames() == ["h1-eth0"] and "spare0" not in h1.cmd("ip link")
h1.intf().delete()
assert "h1-eth0" not in h1.cmd("ip link") and "s1-eth1" not in s1.cmd("ip link")
dumpNetConnections(net)
net.stop()

# -- NAT with the parameters of older scripts; CPU limits of both kinds; datapath IDs

net = Mininet(controller=None, ipBase="10.6.0.0/16")
inner = net.addSwitch("s1", cls=LinuxBridge)
host = net.addHost("h1", cls=CPULimitedHost, sched="rt", rt=True, cpu=0.5)
net.addLink(host, inner)
net.build()
gateway = net.addNAT("nat0", inNamespace=True, inetIntf="none", localIntf="nat0-eth0", flush=True)
gateway.configDefault()
gateway.setManualConfig("nat0-eth0")
net.start()
assert isinstance(gateway, NAT)
assert "-s 10.6.0.0/16" in gateway.cmd("iptables -t nat -S")
assert "via 10.6.0.2" in host.cmd("ip route")
assert net.pingAll() == 0
assert inner.defaultDpid("0A:1") == inner.defaultDpid("a1") == "00000000000000a1"
fails("is not a dpid", inner.defaultDpid, "0xyz")
net.stop()
fails("no scheduler", CPULimitedHost, "h9", sched="fast")

# -- classes are prepared once, before their first node or network


class Prepared(Host):
    prepared = 0

    @classmethod
    def setup(cls):
        cls.prepared += 1


class Initialised(Mininet):
    initialised = 0

    @classmethod
    def init(cls):
        cls.initialised += 1
        super().init()


for _ in range(2):
    net = Initialised(SingleSwitchTopo(2), host=Prepared, controller=None)
    net.stop()
Prepared.checkSetup()
assert (Prepared.prepared, Initialised.initialised) == (1, 2)
network = Mininet(controller=None, build=False, inNamespace=True)
fails("inNamespace=True is not supported", network.build)
network = MininetWithControlNet(build=False, controller=None)
for method in (network.configureControlNetwork, network.configureRoutedControlNetwork):
    fails("reaches them directly", method)

# -- programs, their output and their end

result = errRun("sh -c 'echo out; echo err >&2; exit 3'")
assert isinstance(result, CmdResult) and (result.out, result.err, result.ret) == (
    "out\n",
    "err\n",
    3,
)
decoder = getincrementaldecoder()
euro = "€".encode()
assert [decoder.decode(euro[:2]), decoder.decode(euro[2:])] == ["", "€"]
if find_spec("pexpect"):
    assert Pexpect.spawn("true").wait() == 0
else:
    fails("pip install pexpect", Pexpect.spawn, "true")
assert StrictVersion("2.10.0") > StrictVersion("2.9")
sleeper = subprocess.Popen(["sleep", "4321"])
killprocs("sleep 4321")
assert sleeper.wait() == -9
cleanUpScreens()
moduleDeps(add=["tun", "openvswitch"])
assert modprobe("tun") == "" and "not found in this kernel" in modprobe("nonsense")
assert "nonsense" not in lsmod()
assert not which("rmmod") or rmmod("nonsense") != ""
fails("the kernel has no nonsense", moduleDeps, add="nonsense")
pathCheck("sh", "ip", moduleName="this script")
fails("this script needs no-such-program", pathCheck, "no-such-program", moduleName="this script")
called = []
addCleanupCallback(lambda: called.append("callback"))
net = Mininet(SingleSwitchTopo(1), controller=None)
net.start()
cleanup()
assert called == ["callback"] and Cleanup.callbacks and "s1" not in quietRun("ip -br link")
Cleanup.callbacks.clear()

# -- messages by level; a patch port, which has no settings of its own

setLogLevel("debug")
assert lg.isEnabledFor(10)
own = MininetLogger("own")
own.setLevel("WARNING")
assert not own.isEnabledFor(25)
debug("shown\n")
setLogLevel("warning")
warn("shown, too\n")
setLogLevel("output")
lone = Node("n1")
quietRun("ip link add patch0 type dummy")
patch = OVSIntf("patch0", node=lone)
assert patch.ifconfig("up") == ""
fails("cannot be down", patch.ifconfig, "down")
lone.terminate()
print("done")
