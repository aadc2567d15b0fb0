"""Test TCLink: delays, rates and losses have exactly the requested values."""

import json
import time

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import Topo


class Chain(Topo):
    """Two hosts with links in a row between them."""

    def build(self, links=2, **params):
        switches = [self.addSwitch(f"s{i}") for i in range(1, links)]
        nodes = [self.addHost("h1"), *switches, self.addHost("h2")]
        for a, b in zip(nodes, nodes[1:]):
            self.addLink(a, b, **params)


def run(test, *args, **params):
    net = Mininet(Chain(**params), link=TCLink, controller=None)
    net.start()
    net.pingPair()  # ARP
    try:
        return test(net, *args)
    finally:
        net.stop()


def rtt_ms(net):
    return net.pingPairFull()[0][2][2]


def goodput_bps(net, *options):
    h1, h2 = net.get("h1", "h2")
    listener = h2.popen("iperf3 -s -1 -J")
    time.sleep(0.1)
    result = json.loads(h1.cmd(f"iperf3 -c {h2.IP()} -J", *options))
    listener.communicate()
    return result["end"]["sum_received"]["bits_per_second"]


# each link's delay adds exactly twice to the round trip
for links in (1, 3):
    short, long = (run(rtt_ms, links=links, delay=delay) for delay in ("1ms", "15ms"))
    assert round((long - short) * 1e6) == links * 28_000_000, (links, short, long)
    # A packet of 122 bytes on the wire takes a microsecond at 1 Gbit/s.
    assert 0 < short - links * 2 < 0.003 * links, (links, short)

# a rate counts frames: 1448 of 1514 bytes are user data
# (Mininet's tbf sends 15,000 bytes at once, which is 0.24 % of what it sends in 5 s, 0.06 % in 20 s.)
for bw, kind, seconds in (
    (1, {}, 20),
    (10, {"use_tbf": True}, 20),
    (10, {"use_hfsc": True}, 5),
    (50, {}, 5),
):
    share = run(goodput_bps, f"-t {seconds} -O 1", bw=bw, **kind) / (bw * 1e6 * 1448 / 1514)
    assert abs(share - 1) < 0.001, (bw, kind, share)

# a long fast path, as fast as Mininet's
rate_bps = run(goodput_bps, "-t 5 -O 3", links=1, bw=300, delay="50ms")
assert rate_bps > 0.9 * 300e6, rate_bps

# losses in each direction are within three standard deviations of the binomial distribution
count, loss = 1000, 1 - (1 - 0.05) ** 2
deviation = (count * loss * (1 - loss)) ** 0.5
said = run(lambda net: net["h1"].cmd(f"ping -q -i 0.03 -c {count} 10.0.0.2"), links=1, loss=5)
lost = count - int(said.split(" received")[0].split()[-1])
assert abs(lost - count * loss) < 3 * deviation, (lost, count * loss, deviation)
print("lost", lost, "done")
