"""Derive prompts from CLI as scripts do, and open windows where there is no display."""

import io
import os
import sys
from contextlib import redirect_stderr, redirect_stdout

from mininet.cli import CLI
from mininet.log import output
from mininet.net import Mininet
from mininet.term import makeTerm, makeTerms, runX11, tunnelX11
from mininet.topo import SingleSwitchTopo


class Own(CLI):
    """Notes what it is asked for."""

    prompt = "own> "
    seen, loops, empty = [], 0, 0

    def cmdloop(self, intro=None):
        Own.loops += 1
        super().cmdloop(intro)

    def precmd(self, line):
        Own.seen.append(line)
        return super().precmd(line.replace("HOST", "h1"))

    def onecmd(self, line):
        if line.startswith("!"):
            output(f"shouted {line[1:]}\n")
            return False
        return super().onecmd(line)

    def emptyline(self):
        Own.empty += 1

    def getLocals(self):
        return {**super().getLocals(), "answer": 42}

    def waitForNode(self, node):
        output(f"{node} runs: ")
        super().waitForNode(node)

    def do_leave(self, _line):
        """Leave the prompt."""
        return True


def shown(action, *args, **kwargs):
    """Return what an action writes."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        action(*args, **kwargs)
    return out.getvalue()


net = Mininet(SingleSwitchTopo(2), controller=None)
net.start()
h1, h2 = net.get("h1", "h2")
typed = ["", "!loud", "py answer", "HOST echo here", "intfs", "pingpairfull", "leave", "never"]
text = shown(Own, net, stdin=io.StringIO("\n".join(typed) + "\n"))
assert Own.seen == typed[:-1] and (Own.loops, Own.empty) == (1, 1)
assert text.startswith("own> own> shouted loud\nown> 42\nown> h1 runs: here\nown> "), text
assert "h1: h1-eth0\n" in text and "s1: lo,s1-eth1,s1-eth2\n" in text
assert " h1->h2: 1/1, rtt min/avg/max/mdev " in text and " h2->h1: 1/1, " in text
assert not CLI(net, stdin=io.StringIO("exit\n")).isatty()

# windows: without a display, a message says how to get a shell
os.environ.pop("DISPLAY", None)
for action in (makeTerm, lambda node: makeTerms([node])):
    text = shown(action, h1)
    assert "Cannot connect to display" in text and "h1 bash" in text, text
assert makeTerm(h1, title="Mine", term="xterm", cmd="top") == []
net.startTerms()
assert net.terms == []
assert runX11(h1, "xclock") == [] and tunnelX11(h1) == (None, None)
assert tunnelX11(h1, "there:3") == ("there:3", None)
os.environ["DISPLAY"] = "here:7"
(window,) = runX11(h2, ["sh", "-c", "echo $DISPLAY; ip -br addr show h2-eth0"])
words = window.communicate()[0].decode().split()
assert (words[0], words[3]) == ("here:7", "10.0.0.2/8"), words
net.stop()

# a network that starts, shows the prompt and stops
net = Mininet(SingleSwitchTopo(2), controller=None)
sys.stdin = io.StringIO("pingpair\nnodes\n")
text = shown(net.interact)
assert "*** Results: 0% dropped (2/2 received)" in text and "h1 h2 s1" in text
assert "s1" not in os.listdir("/sys/class/net")  # noqa: PTH208
print("done")
