"""Perform Mininet's walkthrough, command by command, at our prompt.

Each session is `wanlab mn` with lines from a pipe. Its output, with the lines put in behind the prompts
that asked for them, is a golden file: on virtual time it never differs.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from machines import counts_every_byte

pytestmark = pytest.mark.machine

# A prompt begins a line or follows another prompt whose command printed nothing.
PROMPT = re.compile("(?m)(?:^|(?<=mininet> ))mininet> ")
CUSTOM = '''\
"""Two switches, and a host at each."""

from mininet.topo import Topo


class MyTopo(Topo):
    def build(self):
        left = self.addSwitch("s3")
        right = self.addSwitch("s4")
        self.addLink(self.addHost("h1"), left)
        self.addLink(left, right)
        self.addLink(right, self.addHost("h2"))


topos = {"mytopo": MyTopo}
'''
FETCH = 'import sys, urllib.request as u; print(u.urlopen("http://%s/" % sys.argv[1]).status)'
CLIENT = f"python3 -c '{FETCH}'"


@dataclass(frozen=True)
class Session:
    """One start of mn and the lines that are typed into it."""

    title: str
    arguments: str = ""
    lines: tuple[str, ...] = ()
    status: int = 0


SESSIONS = (
    Session(
        "Interact with hosts and switches",
        "",
        (
            "help",
            "nodes",
            "net",
            "dump",
            "h1 ip -brief address",
            "s1 ip -brief link",
            "h1 ps -o comm",
        ),
    ),
    Session("Test connectivity between hosts", "", ("h1 ping -c 1 h2", "pingall")),
    Session(
        "Run a simple web server and client",
        "",
        (
            "h1 python3 -m http.server 80 &",
            "h1 sleep 1 # until it listens",
            f"h2 {CLIENT} h1",
            "h1 kill %python3",
            "exit",
        ),
    ),
    Session("Run a regression test", "--test pingpair"),
    Session("Run a regression test", "--test iperf"),
    Session("Changing topology size and type", "--test pingall --topo single,3"),
    Session("Changing topology size and type", "--test pingall --topo linear,4"),
    Session("Link variations", "--link tc,bw=10,delay=10ms", ("iperf", "h1 ping -c10 h2", "exit")),
    Session("Adjustable verbosity", "-v output", ("nodes", "exit")),
    Session("Custom topologies", "--custom topo-2sw-2host.py --topo mytopo --test pingall"),
    Session("ID = MAC", "--mac", ("h1 ip -brief link show h1-eth0", "exit")),
    Session("Other switch types", "--switch lxbr,stp=1 --test pingpair"),
    Session("Mininet benchmark", "--test none"),
    Session("Everything in its own namespace", "--innamespace --switch user", status=2),
    Session(
        "Python interpreter",
        "",
        (
            "py 'hello ' + 'world'",
            "py sorted(locals())",
            "py h1.IP()",
            "px net.addHost('h3')",
            "px net.addLink(s1, net.get('h3'))",
            "px net.get('h3').setIP('10.0.0.3/8')",
            "net",
            "h1 ping -c 1 h3",
            "py nonsense",
            "py 0",
        ),
        status=1,
    ),
    Session(
        "Link up/down",
        "",
        (
            "h1 ip route add 192.168.7.0/24 via 10.0.0.2",
            "link s1 h1 down",
            "links",
            "h2 ping -c 1 -W 1 h1",
            "link s1 h1 up",
            "links",
            "h2 ping -c 1 h1",
            "h1 ip route",
        ),
    ),
    Session("XTerm display", "", ("xterm h1 h2",), status=1),
)


def transcript(session: Session, said: str) -> str:
    """Return the output with the typed lines behind the prompts, and with varying values masked."""
    before, *answers = PROMPT.split(said)
    lines = [*session.lines, *[""] * len(answers)]
    texts = before + "".join(
        f"mininet> {line}\n{answer}" for line, answer in zip(lines, answers, strict=False)
    )
    for pattern, instead in MASKS:
        texts = re.sub(pattern, instead, texts)
    return f"## {session.title}\n\n$ wanlab mn {session.arguments}\n{texts}\n"


# Process ids, random addresses, and times that come from the kernel and the NIC model and not from
# a link. iperf's sender counts one block of 128 KB more or less, which still depends on wanlab's
# installation path (docs/explanation/limitations.md).
MASKS = (
    (r"pid=\d+", "pid=N"),
    (r"\b(?!00:00:00:00:00|ff:ff:ff)([0-9a-f]{2}:){5}[0-9a-f]{2}\b", "XX:XX:XX:XX:XX:XX"),
    (r"= \d\.\d+/\d\.\d+/\d\.\d+/\d\.\d+ ms", "= N/N/N/N ms"),
    (r"\b(\d+\.\d)\d+/(\d+\.\d)\d+/(\d+\.\d)\d+/\d\.\d+ ms", r"\1/\2/\3/N ms"),
    (r"\b\d\.\d+ ms", "N ms"),
    (r"(completed in \d+\.\d)\d+", r"\1"),
    (r"(Results: \['[\d.]+ Mbits/sec', ')\d+\.\d+", r"\1N"),
)


def perform(wanlab: Any, session: Session) -> tuple[int, str]:
    """Run a session; return its exit status and both output streams in order."""
    process = wanlab.start("mn", *session.arguments.split(), stderr=subprocess.STDOUT)
    ran = wanlab.end(process, "".join(f"{line}\n" for line in session.lines).encode())
    assert ran.left_behind == []
    return ran.status, ran.output.decode()


@pytest.mark.long
@pytest.mark.costs(20)
@counts_every_byte
def test_the_walkthrough_prints_the_golden_output(
    wanlab: Any, golden: Callable[[str, str], None]
) -> None:
    (wanlab.folder / "topo-2sw-2host.py").write_text(CUSTOM)
    texts = []
    for session in SESSIONS:
        status, said = perform(wanlab, session)
        assert (session.title, status) == (session.title, session.status), said
        texts.append(transcript(session, said))
    golden("mininet/walkthrough.txt", "\n".join(texts))


@pytest.mark.long
def test_the_same_session_prints_the_same_bytes(wanlab: Any) -> None:
    session = Session(
        "", "--link tc,bw=20,loss=5", ("pingallfull", "iperf", "h1 ping -c 20 h2", "dump")
    )
    assert perform(wanlab, session) == perform(wanlab, session)
