"""Type every command of the prompt on broken networks. The prompt goes on after each of them.

Prints a line ">>> NETWORK COMMAND" before each, so that its errors can be told apart.
"""

import io
import sys

from mininet.cli import CLI
from mininet.link import TCLink
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo

# They end the prompt, or open windows.
ENDS = {"exit", "quit", "EOF"}
ARGUMENTS = {
    "iperf": ("", "h1 h2", "h1", "h1 h9"),
    "iperfudp": ("", "10M h1 h2", "soon h1 h2", "10M h1 h9"),
    "pingall": ("", "0.1", "soon"),
    "link": ("h1 s1 up", "h1 h9 down", "h1 s1", "s1 s1 up"),
    "switch": ("s1 stop", "s1 start", "s9 start", "s1"),
    "dpctl": ("", "show", "dump-flows"),
    "wait": ("1", "soon"),
    "py": ("", "1/0", "h1.cmd('true')", "("),
    "px": ("", "1/0", "import"),
    "sh": ("", "false", "nowhere"),
    "source": ("", "nowhere", "a b"),
    "time": ("", "pingall", "nowhere"),
    "noecho": ("", "h1", "h1 nowhere"),
    "x": ("", "h9"),
    "xterm": ("", "h9"),
    "gterm": ("", "h9"),
    "help": ("", "iperf", "nowhere"),
}
OF_NODES = ("h1 ping -c 1 -W 1 h2", "h1 nowhere", "h1", "h9 ls", "h2 ip route get h1", "nowhere")


def lose_interface(net):
    net["h2"].cmd("ip link del h2-eth0")


def end_shells(net):
    for name in ("h1", "s1"):
        net[name].shell.kill()
        net[name].shell.wait()


NETWORKS = {
    "down": (2, {}, lambda net: net.configLinkStatus("h1", "s1", "down")),
    "loses all": (2, {"loss": 100}, lambda net: None),
    "no interface": (2, {}, lose_interface),
    "no shell": (2, {}, end_shells),
    "stopped": (2, {}, lambda net: net["s1"].stop(deleteIntfs=False)),
    "one host": (1, {}, lambda net: None),
    "empty": (0, {}, lambda net: None),
}


def lines():
    commands = [name[3:] for name in CLI.__dict__ if name.startswith("do_")]
    assert set(ARGUMENTS) < set(commands)
    for command in commands:
        if command not in ENDS:
            for arguments in ARGUMENTS.get(command, ("", "h9")):
                yield f"{command} {arguments}".strip()
    yield from OF_NODES


setLogLevel("output")
for name in sys.argv[1:] or NETWORKS:
    count, params, damage = NETWORKS[name]
    net = Mininet(SingleSwitchTopo(count), link=TCLink) if count else Mininet(controller=None)
    for link in net.links:
        link.intf1.config(bw=1, **params)
    net.start()
    damage(net)
    net.typed = []
    for line in lines():
        print(f"\n>>> {name}: {line}", flush=True)
        CLI(net, stdin=io.StringIO(f"{line}\npx net.typed.append({line!r})\n"))
        assert net.typed[-1:] == [line], f"the prompt ended: {name}: {line}"
        sys.stderr.flush()
    net.stop()
print("done")
