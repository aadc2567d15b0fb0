"""What is asked for and cannot be done is an error that says what to do."""

from mininet.cli import CLI
from mininet.link import Intf, Link, TCLink
from mininet.net import Mininet, MininetWithControlNet
from mininet.node import NOX, Controller, Host, IVSSwitch, UserSwitch
from mininet.nodelib import LinuxBridge
from mininet.topo import SingleSwitchTopo
from mininet.topolib import TorusTopo


def refused(words, action, *args, **kwargs):
    try:
        action(*args, **kwargs)
    except Exception as error:
        missing = [word for word in words.split("|") if word not in str(error)]
        assert not missing, (missing, str(error))
        return error
    raise SystemExit(f"not refused: {words}")


net = Mininet()
h1, h2 = net.addHost("h1"), net.addHost("h2")
assert isinstance(refused("bw|TCLink", net.addLink, h1, h2, bw=10), TypeError)
bad = {
    "5ms|5us|no unit": {"delay": 5},
    "10ms|no unit": {"delay": "10"},
    "'5'|no unit": {"delay": "1ms", "jitter": "5"},
    "not a time": {"delay": "soon"},
    "unit": {"delay": "3minutes"},
    "loss=101|100": {"loss": 101},
    "loss=-1": {"loss": -1},
    "bw='fast'|Mbit/s": {"bw": "fast"},
    "bw=-3": {"bw": -3},
    "bw=0|leave": {"bw": 0},
    "max_queue_size=0": {"max_queue_size": 0},
    "max_queue_size=1.5": {"max_queue_size": 1.5},
    "needs a bandwidth": {"use_tbf": True},
    "exclude": {"bw": 1, "use_tbf": True, "use_hfsc": True},
}
for words, params in bad.items():
    error = refused(words, net.addLink, net.addHost(f"a{len(net.hosts)}"), h2, cls=TCLink, **params)
    assert isinstance(error, ValueError), type(error)
refused("takes no dealy|delay", net.addLink, h1, h2, cls=TCLink, dealy="5ms")
refused("takes no mack|mac", net.addHost, "h3", mack="00:00:00:00:00:01")
refused("bw belongs to a link", net.addHost, "h4", bw=3)
refused("h1 already", net.addHost, "h1")
refused('no node "h77"|h1', net.get, "h77")
assert isinstance(refused("h77", lambda: net["h77"]), KeyError)
refused("too long", net.addLink, net.addHost("averylonghost"), h2)
refused("ofdatapath|OVSSwitch", net.addSwitch, "s1", cls=UserSwitch)
refused("ivs|OVSSwitch", net.addSwitch, "s2", cls=IVSSwitch)
refused("NOX", net.addController, "c1", controller=NOX)
refused("takes no stq|stp", net.addSwitch, "s3", cls=LinuxBridge, stq=True)
refused("native", Intf, "eth0", h1)
refused("time", net.runCpuLimitTest, 0.1)
refused("3 by 3", TorusTopo, 2, 2)
refused("link it first", h2.setIP, "10.0.0.1", 8, "h2-eth9")
net.stop()
refused("root namespace|leave", MininetWithControlNet, SingleSwitchTopo(2), inNamespace=True)
net = Mininet(SingleSwitchTopo(2))
net.start()
refused("is not an address", net["h1"].setIP, "banana", 8)
refused("iperf for 0.5 s", net.iperf, seconds=0.5)
refused("l4 type", net.iperf, l4Type="SCTP")
net.stop()
print("done", CLI, Controller, Host, Link)
