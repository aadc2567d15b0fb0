"""Impossible requests are errors that say what to do."""

from mininet.cli import CLI
from mininet.link import Intf, Link, TCLink
from mininet.net import Mininet, MininetWithControlNet
from mininet.node import NOX, Controller, Host, IVSSwitch, UserSwitch
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
for params in ({"bw": "fast"}, {"loss": "1%"}, {"max_queue_size": "many"}):
    end = net.addHost(f"a{len(net.hosts)}")
    error = refused("is not a number", net.addLink, end, h2, cls=TCLink, **params)
    assert isinstance(error, ValueError), type(error)
refused("h1 already", net.addHost, "h1")
refused('no node "h77"|h1', net.get, "h77")
assert isinstance(refused("h77", lambda: net["h77"]), KeyError)
refused("too long", net.addLink, net.addHost("averylonghost"), h2)
refused("ofdatapath|OVSSwitch", net.addSwitch, "s1", cls=UserSwitch)
refused("ivs|OVSSwitch", net.addSwitch, "s2", cls=IVSSwitch)
refused("NOX", net.addController, "c1", controller=NOX)
refused("NICs", Intf, "eth0", h1)
refused("time", net.runCpuLimitTest, 0.1)
refused("3 by 3", TorusTopo, 2, 2)
refused("link it first", h2.setIP, "10.0.0.1", 8, "h2-eth9")
net.stop()
refused("h2 is in no network any more", h2.popen, "true")
refused("root namespace|leave", MininetWithControlNet, SingleSwitchTopo(2), inNamespace=True)
net = Mininet(SingleSwitchTopo(2))
net.start()
refused("iperf for 0.5 s", net.iperf, seconds=0.5)
refused("l4 type", net.iperf, l4Type="SCTP")
net.stop()
print("done", CLI, Controller, Host, Link)
