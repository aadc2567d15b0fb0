"""Use the parts of the API that no other script uses: each once, with its result."""

from mininet.link import Link, OVSLink, TCLink
from mininet.net import Mininet
from mininet.node import CPULimitedHost, DefaultController, Node, NullController
from mininet.nodelib import LinuxBridge
from mininet.topo import MinimalTopo, MultiGraph, SingleSwitchTopo, Topo
from mininet.util import (
    checkFloat,
    checkInt,
    checkRun,
    dumpPorts,
    ensureRoot,
    fixLimits,
    ipNum,
    ipStr,
    isShellBuiltin,
    makeNumeric,
    mountCgroups,
    moveIntf,
    natural,
    naturalSeq,
    numCores,
    oldQuietRun,
    quietRun,
    retry,
    rlimitTestAndSet,
    specialClass,
    sysctlTestAndSet,
)

# functions of mininet.util
assert (ipNum(10, 0, 0, 1), ipStr(0x0A000001)) == (0x0A000001, "10.0.0.1")
assert [makeNumeric(text) for text in ("3", "1.5", "x")] == [3, 1.5, "x"]
assert natural("h10") > natural("h2")
assert naturalSeq(["a10", "a2"])
assert numCores() >= 1
assert isShellBuiltin("cd")
assert oldQuietRun("echo old") == "old\n"
assert checkRun("true") == 0
assert mountCgroups().startswith("/sys/fs/cgroup")
ensureRoot()
fixLimits()
rlimitTestAndSet(7, 64)
sysctlTestAndSet("net.core.rmem_max", 1)
assert int(quietRun("sysctl -n net.core.rmem_max")) == 16777216
assert quietRun("sysctl -n net.ipv4.tcp_wmem").split() == ["10240", "87380", "16777216"]
retry(1, 0, lambda: True)
for check in (checkInt, checkFloat):
    assert callable(check)

# topologies
graph = MultiGraph()
graph.add_edge("a", "b")
assert len(list(graph.edges())) == 1
topo = Topo()
topo.addNode("h1", isSwitch=False)
topo.addNode("s1", isSwitch=True)
topo.addLink("h1", "s1")
topo.setNodeInfo("h1", {"ip": "10.0.0.9/8"})
assert [link[:2] for link in topo.iterLinks()] == [("h1", "s1")]
topo.setlinkInfo("h1", "s1", {})
net = Mininet(MinimalTopo(), controller=NullController)
assert net.run(net.pingAll) == 0

# the parts of a network
net = Mininet(controller=None, build=False)
net.buildFromTopo(SingleSwitchTopo(2))
net.configHosts()
net.staticArp()
net.start()
h1, h2, s1 = net.getNodeByName("h1", "h2", "s1")
assert h2.MAC() in h1.cmd("ip neigh")
assert net.linksBetween(h1, s1) == [net.links[0]]
assert len(net.randMac().split(":")) == 6
assert h1.intfIsUp()
assert h1.intf().isUp()
assert h1.intf().updateMAC() == h1.MAC()
assert h1.intf().updateAddr() == (h1.IP(), h1.MAC())
assert h1.newPort() == 1
assert h1.cmdPrint("echo printed") == "printed\r\n"
h1.startShell()
h1.setHostRoute("10.9.9.9", "h1-eth0")
assert "10.9.9.9 dev h1-eth0" in h1.cmd("ip route")
h1.sendCmd("echo waited")
assert h1.waitReadable(1000)
assert "waited" in h1.waitOutput()
link = h1.linkTo(h2)
assert isinstance(link, Link)
assert link.intfName(h1, 7) == "h1-eth7"
dumpPorts([s1])
h1.cmd("true")
assert h1.pollOut.poll(0) == []
quietRun("ip link add spare type dummy")
moveIntf("spare", h1)
assert "spare" in h1.cmd("ip link")
s1.detach("s1-eth1")
assert net.ping([h1, h2], timeout="0.1") == 100
s1.attach("s1-eth1")
assert net.ping([h1, h2]) == 0
net.delNode(h2)
net.delSwitch(s1)
assert [node.name for node in net.values()] == ["h1"]
net.stopXterms()
net.stop()

# parameters of nodes and links
net = Mininet(
    controller=DefaultController, switch=specialClass(LinuxBridge, defaults={"stp": True})
)
host = net.addHost(
    "h1", cls=CPULimitedHost, sched="cfs", period_us=50_000, cores=0, waitExited=False
)
host.setCPUFrac(0.1)
host.setCPUs(0)
bridge = net.addSwitch("s1", prio=77)
net.addLink(host, bridge, cls=OVSLink)
shaped = net.addLink(host, bridge, cls=TCLink, bw=10, enable_red=True)
tight = net.addLink(host, bridge, cls=TCLink, bw=10, use_tbf=True, latency_ms=5, disable_gro=True)
fast = net.addLink(bridge, host, cls=TCLink, bw=10, speedup=20)
net.start()
assert "red" in host.cmd(f"tc qdisc show dev {shaped.intf1}")
assert "lat 5ms" in host.cmd(f"tc qdisc show dev {tight.intf1}")
assert "20Mbit" in bridge.cmd(f"tc class show dev {fast.intf1}")
lines, parent = shaped.intf1.delayCmds(" root ", delay="5ms")
assert (len(lines), parent) == (1, " parent 10:1 ")
lines, parent = shaped.intf1.bwCmds(bw=3)
assert (len(lines), parent) == (2, " parent 5:1 ")
net.stop()

private = Node("p1", privateDirs=["/run/private"])
private.mountPrivateDirs()
assert "/run/private" in private.cmd("cat /proc/mounts")
private.unmountPrivateDirs()
private.terminate()
print("done")
