"""Requests that Mininet ignores give a warning, or with --strict an error.

Prints the warnings. With the argument `strict` it checks that the first of them is an error.
"""

import logging
import os
import sys

from mininet.link import TCLink
from mininet.log import lg
from mininet.net import Mininet
from mininet.node import OVSBridge, RemoteController
from mininet.nodelib import LinuxBridge
from mininet.util import waitListening

IS_STRICT = "strict" in sys.argv
if IS_STRICT:
    os.environ["WANLAB_STRICT"] = "1"
shown = []


class Noted(logging.Handler):
    def emit(self, record):
        shown.append(record.getMessage())


lg.addHandler(Noted())


def warned(words, action, *args, **kwargs):
    """Check that an action succeeds with exactly one warning, which contains these words."""
    shown.clear()
    try:
        result = action(*args, **kwargs)
    except Exception as error:
        assert IS_STRICT, error
        assert all(word in str(error) for word in words.split("|")), error
        return None
    assert not IS_STRICT, words
    text = "".join(line for line in shown if "Warning" in line)
    assert text.count("Warning") == 1 and all(word in text for word in words.split("|")), shown
    return result


def qdiscs(net, link):
    node = link.intf1.node
    return node.cmd("tc qdisc show dev", link.intf1)


net = Mininet(controller=None)
h1, h2 = net.addHost("h1"), net.addHost("h2")
warned("linkopts has no effect|pass its content", net.addLink, h1, h2, linkopts={"bw": 10})
if IS_STRICT:
    print("done")
    raise SystemExit

# parameters that a class does not take
warned("bw has no effect|cls=TCLink", net.addLink, h1, h2, bw=10)
warned("ipv6 has no effect", net.addHost, "h3", ipv6="fe80::1")
warned("bw belongs to a link", net.addHost, "h4", bw=3)
warned("did you mean mac", net.addHost, "h5", mack="00:00:00:00:00:01")
bridge = warned(
    "protocols belongs to|LinuxBridge", net.addSwitch, "s3", cls=LinuxBridge, protocols="OpenFlow13"
)
warned("did you mean failMode", net.addSwitch, "s4", cls=OVSBridge, fail_mode="secure")
warned("protocols|RemoteController", RemoteController, "c1", protocols="OpenFlow13").terminate()
shown.clear()
net.addLink(h1, net.addHost("h6"), bw=10)  # already warned
assert not shown, shown

# values that tc or Mininet refuses
expected = {
    "5us": ("has no unit|'5ms'", {"delay": 5}),
    "10us": ("has no unit|'10ms'", {"delay": "10"}),
    "delay 1ms": ("loss=101|from 0 to 100", {"loss": 101, "max_queue_size": 7}),
    "soon": ("delay='soon' has no effect", {"delay": "soon"}),
    "minutes": ("'minutes' is not a unit", {"delay": "3minutes"}),
    "rate -": ("bw=-3 has no effect", {"bw": -3}),
    "rate 0": ("bw=0 has no effect", {"bw": 0}),
    "tbf": ("use_tbf=True|bandwidth", {"use_tbf": True}),
    "tbf ": ("use_hfsc takes precedence", {"bw": 1, "use_tbf": True, "use_hfsc": True}),
    "lat 7ms": (
        "latency_ms=7|netem, below tbf|max_queue_size",
        {"bw": 1, "use_tbf": True, "latency_ms": 7, "max_queue_size": 9},
    ),
    "lat 8ms": (
        "latency_ms=8|red, below tbf",
        {"bw": 1, "use_tbf": True, "latency_ms": 8, "enable_red": True},
    ),
    "lat 9ms": ("latency_ms=9|needs use_tbf=True", {"bw": 1, "latency_ms": 9}),
    "limit 0": ("lets no packet through", {"max_queue_size": 0}),
    "limit 1": ("counts as 1", {"max_queue_size": 1.5}),
    "limit -": ("max_queue_size=-5 has no effect", {"max_queue_size": -5}),
}
HONOURED = ("5us", "10us", "lat 7ms", "lat 8ms", "limit 0", "limit 1")
links = {
    text: warned(words, net.addLink, net.addHost(f"a{number}"), h2, cls=TCLink, **params)
    for number, (text, (words, params)) in enumerate(expected.items())
}
words = "10ms 2ms distribution normal"
links["delay 10ms  2ms"] = net.addLink(net.addHost("b1"), h2, cls=TCLink, bw=10, delay=words)
links["delay 1.23ms"] = net.addLink(net.addHost("b2"), h2, cls=TCLink, delay="1.23456789ms")

# addresses
warned("'banana' is not an address", h1.setIP, "banana", 8)
warned("'10.0.0.300/24' is not an address", h1.setIP, "10.0.0.300/24")
warned("is malformed", h1.setMAC, "banana")
warned("is all zeros", h2.setMAC, "00:00:00:00:00:00")
h7 = net.addHost("h7", ip="10.9.0.0/24")  # the network's own address, which the kernel accepts
net.addLink(h1, h7)
h2.setDefaultRoute("via 192.168.77.1")  # no host can reach it
warned("h2: `ip route|192.168.77.1", net.start)
assert "10.9.0.0/24" in h7.cmd("ip addr show", h7.defaultIntf())
for text, link in links.items():
    shows = qdiscs(net, link)
    is_honoured = text in HONOURED or text.startswith(("delay 10ms", "delay 1.2"))
    kernel = {"5us": "delay 4us", "10us": "delay 10us"}.get(text, text)
    if text == "10us":
        kernel = "delay 9"
    assert (kernel in shows) == is_honoured, (text, shows)
# a server that is not there
warned("h7 does not accept connections|port 5001", waitListening, h1, h7, 5001, timeout=61)
net.stop()

# a shaper that is faster than its cable, and a queue of super-packets
net = Mininet(controller=None)
h1, h2 = net.addHost("h1"), net.addHost("h2")
net.addLink(h1, h2)
net.start()
tc = "tc qdisc replace dev h1-eth0 root"
warned(
    "h1-eth0: its shaper allows 10Gbps|carries 1Gbps",
    h1.cmd,
    tc,
    "tbf rate 10gbit burst 1m limit 1m",
)
warned("counts super-packets|tso off gso off", h1.cmd, tc, "pfifo limit 10")
shown.clear()
h1.cmd("ethtool -K h1-eth0 tso off gso off")
h1.cmd(tc, "tbf rate 10mbit burst 15k limit 150k")
h1.cmd(tc, "pfifo limit 20")
assert not shown, shown
net.stop()

# a loop of switches
net = Mininet(controller=None)
ring = [net.addSwitch(f"s{number}") for number in range(1, 4)]
for number, switch in enumerate(ring):
    net.addLink(switch, ring[number - 1])
net.addLink(net.addHost("h1"), ring[0])
warned("s1, s2, s3 form a loop", net.start)
net.stop()
print("done")
