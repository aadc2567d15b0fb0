"""The `mininet>` prompt: commands for the network, and any command for a node.

    mininet> h1 ping -c 3 h2

Derive from CLI and define do_word(self, line) to add a command; what it returns, if true, ends the
prompt.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from cmd import Cmd
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any

from .keyboard import Keyboard
from .log import error, info, output
from .prompt import prompt_for
from .term import makeTerms, runX11
from .util import dumpNodeConnections, dumpPorts
from .words import Words

WAIT_S = 60.0
RULE = "-" * 72
# What may follow a command: words, and groups of words.
FOLLOWING: dict[str, list[str]] = {
    "dpctl": ["show", "dump-flows", "add-flow", "del-flows"],
    "gterm": ["nodes"],
    "help": ["commands"],
    "iperf": ["nodes"],
    "iperfudp": ["nodes"],
    "link": ["nodes", "up", "down"],
    "noecho": ["nodes"],
    "py": ["net", "nodes"],
    "px": ["net", "nodes"],
    "sh": ["files"],
    "source": ["files"],
    "switch": ["switches", "start", "stop"],
    "time": ["commands", "nodes"],
    "x": ["nodes"],
    "xterm": ["nodes"],
}


class CLI(Cmd):
    """Offers the prompt, or performs a script, as soon as it is made; returns when that ends.

    `has_failed`: something did not work: an unknown command, wrong arguments, packets lost in a ping
    test.
    """

    prompt = "mininet> "

    def __init__(
        self,
        mininet: Any,
        stdin: IO[str] | None = None,
        script: str | None = None,
        **named: Any,
    ) -> None:
        super().__init__(stdin=stdin or sys.stdin, **named)
        self.mn = mininet
        self.locals: dict[str, Any] = {"net": mininet}
        self.inputFile: IO[str] | None = None
        self.has_failed = False
        self._prompt = prompt_for(self.stdin)
        info("*** Starting CLI:\n")
        if script:
            self.do_source(script)
        else:
            self.run()

    # -- the loop ---------------------------------------------------------------------------------

    def run(self) -> None:
        """Until the end of the lines, or `exit`. Ctrl-C ends what runs, not the network."""
        while True:
            try:
                self._stop_waiting_nodes()
                self.cmdloop()
                return
            except KeyboardInterrupt:
                output("\nInterrupt\n")

    def cmdloop(self, intro: Any = None) -> None:
        """As Cmd does it, with lines from where they are to be had."""
        self.preloop()
        is_over: Any = False
        while not is_over:
            is_over = self._perform(self._next_line())
        self.postloop()

    def _next_line(self) -> str:
        if self.cmdqueue:
            return str(self.cmdqueue.pop(0))
        try:
            return self._prompt.line(self.prompt, self.words())
        except EOFError:
            return "EOF"

    def _perform(self, line: str) -> Any:
        line = self.precmd(line)
        return self.postcmd(self.onecmd(line), line)

    def _stop_waiting_nodes(self) -> None:
        for node in self.mn.values():
            while node.waiting:
                info(f"stopping {node.name}\n")
                node.sendInt()
                node.waitOutput()

    def isatty(self) -> bool:
        """Whether somebody types."""
        return bool(self.stdin.isatty())

    def emptyline(self) -> bool:
        """Nothing is repeated."""
        return False

    def precmd(self, line: str) -> str:
        """Without its comment."""
        return without_comment(line)

    def getLocals(self) -> dict[str, Any]:
        """Names for py and px: net, the nodes, and what px has bound."""
        self.locals.update(self.mn)
        return self.locals

    def words(self) -> Words:
        """What may be typed, for completion."""
        nodes = sorted(self.mn)
        commands = [name[3:] for name in self.get_names() if name.startswith("do_")]
        return {
            "commands": commands,
            "nodes": nodes,
            "switches": [switch.name for switch in self.mn.switches],
            "ports": [name for node in nodes for name in self.mn[node].intfNames()],
            "after": {name: FOLLOWING.get(name, []) for name in commands},
        }

    def _fail(self, text: str) -> None:
        self.has_failed = True
        error(text)

    # -- commands of nodes ------------------------------------------------------------------------

    def default(self, line: str) -> Any:
        """`h1 COMMAND` runs it in h1; names of nodes among its words become their addresses."""
        if line.strip() == "EOF":
            return self.do_EOF(line)
        first, rest = _first_word(line)
        if first not in self.mn:
            self._fail(f"*** Unknown command: {line}\n")
        elif not rest:
            self._fail(f"*** Please enter a command for node: {first} <cmd>\n")
        else:
            self._send(self.mn[first], rest)
        return None

    def onecmd(self, line: str) -> Any:
        """A node's name may have characters that a command's cannot, and comes first."""
        first = line.split(maxsplit=1)[:1]
        if first and first[0] in self.mn and not hasattr(self, f"do_{first[0]}"):
            return self.default(line)
        return super().onecmd(line)

    def _with_addresses(self, text: str) -> str:
        """Whole words that name a node, with its address instead."""

        def replace(found: re.Match[str]) -> str:
            word = found[0]
            if word not in self.mn:
                return word
            interface = self.mn[word].defaultIntf()
            return (interface and interface.updateIP()) or word

        return re.sub(r"\S+", replace, text)

    def _send(self, node: Any, text: str, echoes: bool = True) -> None:
        node.sendCmd(self._with_addresses(text), echoes=echoes and self.isatty())
        self.waitForNode(node)

    def waitForNode(self, node: Any) -> None:
        """Shows what a node says until its command has ended; what is typed meanwhile is for it."""
        left = ""
        with Keyboard(self.stdin, node) as keyboard:
            while node.waiting:
                keyboard.wait()
                left = self._show(left + node.monitor())
        output(left)

    def _show(self, text: str) -> str:
        """Returns what is to be shown with the next piece. The node's terminal ends lines as a terminal
        wants them; a pipe does not."""
        if self.isatty():
            output(text)
            return ""
        whole = text.removesuffix("\r")
        output(whole.replace("\r\n", "\n"))
        return text[len(whole) :]

    def do_noecho(self, line: str) -> None:
        """noecho NODE COMMAND: run it without showing what is typed."""
        first, rest = _first_word(line)
        if first in self.mn and rest:
            self._send(self.mn[first], rest, echoes=False)
        else:
            self.default(line)

    # -- looking ----------------------------------------------------------------------------------

    helpStr = """\
You may also send a command to a node using:
  <node> command {args}
For example:
  mininet> h1 ip address

Words that are names of nodes are replaced by their addresses, so
  mininet> h2 ping h3
works. A program that wants a terminal has one:
  mininet> h1 bash
"""

    def do_help(self, arg: str) -> None:
        """help [COMMAND]: list the commands, or say what one does."""
        super().do_help(arg)
        if not arg:
            self.stdout.write(self.helpStr)
        self.stdout.flush()

    def do_nodes(self, _line: str) -> None:
        """List all nodes."""
        output(f"available nodes are: \n{' '.join(sorted(self.mn))}\n")

    def do_net(self, _line: str) -> None:
        """List which port leads to which."""
        dumpNodeConnections(self.mn.values())

    def do_links(self, _line: str) -> None:
        """List the links, and whether each end is there and up."""
        for link in self.mn.links:
            output(f"{link} {link.status()} \n")

    def do_intfs(self, _line: str) -> None:
        """List the interfaces of each node."""
        for node in self.mn.values():
            output(f"{node.name}: {','.join(node.intfNames())}\n")

    def do_ports(self, _line: str) -> None:
        """List the ports of each switch with their numbers."""
        dumpPorts(self.mn.switches)

    def do_dump(self, _line: str) -> None:
        """Say all about each node."""
        for node in self.mn.values():
            output(f"{node!r}\n")

    # -- tests ------------------------------------------------------------------------------------

    def do_pingall(self, line: str) -> None:
        """pingall [SECONDS]: ping between all hosts, waiting so long for an answer."""
        self._note_loss(self.mn.pingAll(line.strip() or None))

    def do_pingpair(self, _line: str) -> None:
        """Ping between the first two hosts."""
        self._note_loss(self.mn.pingPair())

    def do_pingallfull(self, _line: str) -> None:
        """Ping between all hosts, and tell the times."""
        self._note_full(self.mn.pingAllFull())

    def do_pingpairfull(self, _line: str) -> None:
        """Ping between the first two hosts, and tell the times."""
        self._note_full(self.mn.pingPairFull())

    def _note_loss(self, loss_percent: Any) -> None:
        self.has_failed |= bool(loss_percent)

    def _note_full(self, pings: Iterable[Any]) -> None:
        self.has_failed |= any(received < sent for _, _, (sent, received, *_) in pings or ())

    def do_iperf(self, line: str) -> None:
        """iperf [NODE NODE]: TCP throughput between two hosts, by default the first and the last."""
        words = line.split()
        if not words:
            self.mn.iperf()
        elif len(words) != 2:
            self._fail("invalid number of args: iperf src dst\n")
        elif hosts := self._nodes(words):
            self.mn.iperf(hosts)

    def do_iperfudp(self, line: str) -> None:
        """iperfudp [RATE NODE NODE]: UDP throughput between two hosts, sent at RATE (10M)."""
        words = line.split()
        if not words:
            self.mn.iperf(l4Type="UDP")
        elif len(words) != 3:
            self._fail("invalid number of args: iperfudp bw src dst\nbw examples: 10M\n")
        elif hosts := self._nodes(words[1:]):
            self.mn.iperf(hosts, l4Type="UDP", udpBw=words[0])

    def _nodes(self, names: list[str]) -> list[Any]:
        """Nothing if one is not there, and that has been told."""
        missing = [name for name in names if name not in self.mn]
        for name in missing:
            self._fail(f"node '{name}' not in network\n")
        return [] if missing else [self.mn[name] for name in names]

    # -- changing ---------------------------------------------------------------------------------

    def do_link(self, line: str) -> None:
        """link NODE NODE up|down: take the links between two nodes down, or up again."""
        words = line.split()
        if len(words) != 3:
            self._fail("invalid number of args: link end1 end2 [up down]\n")
        elif words[2] not in ("up", "down"):
            self._fail("invalid type: link end1 end2 [up down]\n")
        else:
            self.mn.configLinkStatus(*words)

    def do_switch(self, line: str) -> None:
        """switch SWITCH start|stop: stop a switch, or start it again."""
        words = line.split()
        if len(words) != 2:
            self._fail("invalid number of args: switch <switch name>{start, stop}\n")
            return
        name, command = words
        switch = next((switch for switch in self.mn.switches if switch.name == name), None)
        if switch is None:
            self._fail(f"invalid switch: {name}\n")
        elif command == "start":
            switch.start(self.mn.controllers)
        elif command == "stop":
            switch.stop(deleteIntfs=False)
        else:
            self._fail("invalid command: switch <switch name> {start, stop}\n")

    def do_dpctl(self, line: str) -> None:
        """dpctl COMMAND [ARGUMENTS]: for every switch (ovs-ofctl, or brctl for bridges)."""
        words = line.split()
        if not words:
            self._fail("usage: dpctl command [arg1] [arg2] ...\n")
            return
        for switch in self.mn.switches:
            output(f"*** {switch.name} {RULE}\n")
            output(switch.dpctl(*words))

    def do_wait(self, line: str) -> None:
        """wait [SECONDS]: until all switches are connected to their controllers, 60 s at most."""
        if not self.mn.waitConnected(timeout=float(line) if line.strip() else WAIT_S):
            self.has_failed = True

    # -- Python, the shell, scripts ---------------------------------------------------------------

    def do_py(self, line: str) -> None:
        """py EXPRESSION: what it is worth, with net and the nodes by their names."""

        def show() -> None:
            result = eval(line, globals(), self.getLocals())
            if result is not None:
                output(f"{result if isinstance(result, str) else repr(result)}\n")

        self._try(show)

    def do_px(self, line: str) -> None:
        """px STATEMENT: execute it, with net and the nodes by their names."""
        self._try(lambda: exec(line, globals(), self.getLocals()))

    def _try(self, action: Callable[[], None]) -> None:
        """What the user's Python raises is told and ends nothing."""
        try:
            action()
        except Exception as problem:
            self.has_failed = True
            output(f"{problem}\n")
        sys.stdout.flush()

    def do_sh(self, line: str) -> None:
        """sh COMMAND: run it outside of all nodes, where the switches are."""
        sys.stdout.flush()
        subprocess.call(line, shell=True)

    def do_source(self, line: str) -> Any:
        """source FILE: perform the commands in it."""
        words = line.split()
        if len(words) != 1:
            self._fail("usage: source <file>\n")
            return None
        try:
            # The course's scripts are found wherever one is, as a shell's `source` finds them.
            found = shutil.which(words[0]) if not Path(words[0]).exists() else None
            lines = Path(found or words[0]).read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError):
            self._fail(f"error reading file {words[0]}\n")
            return None
        for each in lines:
            if self._perform(each):
                return True
        return None

    def do_time(self, line: str) -> Any:
        """time COMMAND: how long a command of the prompt takes, on the network's clock."""
        began = time.time()
        is_over = self._perform(line)
        self.stdout.write(f"*** Elapsed time: {time.time() - began:0.6f} secs\n")
        self.stdout.flush()
        return is_over

    # -- terminals --------------------------------------------------------------------------------

    def do_xterm(self, line: str, term: str = "xterm") -> None:
        """xterm NODE...: open a terminal window in each. (`h1 bash` is one right here.)"""
        words = line.split()
        if not words:
            self._fail(f"usage: {term} node1 node2 ...\n")
        elif nodes := self._nodes(words):
            windows = makeTerms(nodes, term=term)
            self.mn.terms += windows
            self.has_failed |= len(windows) < len(nodes)

    def do_gterm(self, line: str) -> None:
        """gterm NODE...: the same as xterm, with GNOME's terminal."""
        self.do_xterm(line, term="gterm")

    def do_x(self, line: str) -> None:
        """x NODE [COMMAND]: run a program in a node with its window on your display."""
        words = line.split()
        if not words:
            self._fail("usage: x node [cmd args]...\n")
        elif nodes := self._nodes(words[:1]):
            self.mn.terms += runX11(nodes[0], words[1:])

    # -- leaving ----------------------------------------------------------------------------------

    def do_exit(self, _line: str) -> bool:
        """Leave the prompt; the network ends."""
        return True

    def do_quit(self, line: str) -> bool:
        """Leave the prompt; the network ends."""
        return self.do_exit(line)

    def do_EOF(self, line: str) -> bool:
        """Ctrl-D: leave the prompt."""
        output("\n")
        return self.do_exit(line)


def _first_word(line: str) -> tuple[str, str]:
    """And the rest."""
    first, *rest = line.split(maxsplit=1) or [""]
    return first, rest[0].strip() if rest else ""


def without_comment(line: str) -> str:
    """A comment begins with a # that begins a word, as in a shell; within quotes it is none."""
    quote = ""
    for place, sign in enumerate(line):
        if quote:
            if sign == quote:
                quote = ""
        elif sign in "'\"":
            quote = sign
        elif sign == "#" and (place == 0 or line[place - 1].isspace()):
            return line[:place].rstrip()
    return line
