"""The `mininet>` prompt: commands for the network, and any command for a node.

    mininet> h1 ping -c 3 h2

To add a command, derive from CLI and define do_NAME(self, line); a true return value ends the prompt.
"""

from __future__ import annotations

import atexit as atexit
import contextlib
import errno as errno
import os as os
import re
import select as select
import shutil
import subprocess
import sys
import time
from cmd import Cmd
from collections.abc import Callable, Iterable
from os import isatty as isatty
from pathlib import Path
from select import POLLIN as POLLIN
from select import poll as poll
from subprocess import call as call
from typing import IO, Any, cast

from wanlab.errors import WanlabError
from wanlab.network import start_jitter_here

from .commands import quietRun as quietRun
from .connections import dumpNodeConnections, dumpPorts
from .hosts import Node
from .keyboard import Keyboard
from .log import error, info, output
from .nodelib import LinuxBridge
from .prompt import prompt_for
from .term import makeTerms, runX11
from .trials import PingResult
from .words import Words

CONNECT_TIMEOUT_S = 60.0
RULE = "-" * 72
# `ping -6 h2`, `ping6 h2`, `traceroute6 h2`
WANTS_IPV6 = re.compile(r"(^|\s)(-6|(ping|traceroute|tracepath|tracert)6)(\s|$)")
# For completion: the words, or groups of words, that may follow a command.
ARGUMENTS: dict[str, list[str]] = {
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
    """Runs the prompt, or a script, from its constructor until it ends.

    `has_failed` becomes true if something goes wrong: an unknown command, wrong arguments, packets lost
    in a ping test.
    """

    prompt = "mininet> "

    def __init__(
        self,
        mininet: Any,
        stdin: IO[str] | None = None,
        script: str | None = None,
        completekey: str = "tab",
        stdout: IO[str] | None = None,
    ) -> None:
        super().__init__(completekey, stdin or sys.stdin, stdout)
        self.mn = mininet
        self.locals: dict[str, object] = {"net": mininet}
        self.inputFile: IO[str] | None = None
        self.has_failed = False
        self._prompt = prompt_for(self.stdin)
        self._start_jitter = start_jitter_here()
        info("*** Starting CLI:\n")
        if script:
            self.do_source(script)
        else:
            self.run()

    # -- the loop ---------------------------------------------------------------------------------

    def run(self) -> None:
        """Run until the end of input or `exit`. Ctrl-C ends the running command, not the network."""
        while True:
            try:
                self._stop_waiting_nodes()
                self.cmdloop()
                return
            except KeyboardInterrupt:
                output("\nInterrupt\n")

    def cmdloop(self, intro: object = None) -> None:
        """Run commands as Cmd.cmdloop does, with lines from our own prompt."""
        self.preloop()
        is_over: object = False
        while not is_over:
            is_over = self._run_line(self._next_line())
        self.postloop()

    def _next_line(self) -> str:
        if self.cmdqueue:
            return str(self.cmdqueue.pop(0))
        try:
            return self._prompt.line(self.prompt, self.words())
        except EOFError:
            return "EOF"

    def _run_line(self, line: str) -> bool | None:
        """Run a command; return whether the prompt is to end.

        Mininet ends the network when a command raises an exception. Here the user keeps it.
        """
        line = self.precmd(line)
        try:
            is_over = cast("bool", self.onecmd(line))
        except BrokenPipeError:  # nobody reads the output any more
            raise
        except Exception as exception:
            with contextlib.suppress(Exception):  # such as a node whose shell has ended
                self._stop_waiting_nodes()
            self._fail(f"*** Error: {line.strip()}: {_described(exception)}\n")
            is_over = False
        return self.postcmd(is_over, line)

    def _stop_waiting_nodes(self) -> None:
        for node in self.mn.values():
            while node.waiting:
                info(f"stopping {node.name}\n")
                node.sendInt()
                node.waitOutput()

    def isatty(self) -> bool:
        """Whether lines are typed at a terminal."""
        return bool(self.stdin.isatty())

    def emptyline(self) -> bool:
        """Do nothing, where Cmd would repeat the last command."""
        return False

    def precmd(self, line: str) -> str:
        """Remove a comment from a line."""
        return without_comment(line)

    def getLocals(self) -> dict[str, object]:
        """Return the names for py and px: net, the nodes, and what px has assigned."""
        self.locals.update(self.mn)
        return self.locals

    def words(self) -> Words:
        """Return the words that completion offers, in groups."""
        nodes = sorted(self.mn)
        commands = [name[3:] for name in self.get_names() if name.startswith("do_")]
        return {
            "commands": commands,
            "nodes": nodes,
            "switches": [switch.name for switch in self.mn.switches],
            "ports": [name for node in nodes for name in self.mn[node].intfNames()],
            "after": {name: ARGUMENTS.get(name, []) for name in commands},
        }

    def _fail(self, text: str) -> None:
        self.has_failed = True
        error(text)

    # -- commands of nodes ------------------------------------------------------------------------

    def default(self, line: str) -> bool | None:  # type: ignore[override]
        """Run `h1 COMMAND` in h1; names of nodes in the command are replaced by their addresses.

        `wanlab COMMAND` runs in the root namespace: people type it here, too.
        """
        if line.strip() == "EOF":
            return self.do_EOF(line)
        first, rest = _first_word(line)
        if first == "wanlab" and first not in self.mn:
            self.do_sh(line)
        elif first not in self.mn:
            self._fail(f"*** Unknown command: {line}\n")
        elif not rest:
            self._fail(f"*** Please enter a command for node: {first} <cmd>\n")
        else:
            self._send(self.mn[first], rest)
        return None

    def onecmd(self, line: str) -> bool | None:  # type: ignore[override]
        """Try names of nodes first, because Cmd does not accept all their characters in commands."""
        first = line.split(maxsplit=1)[:1]
        if first and first[0] in self.mn and not hasattr(self, f"do_{first[0]}"):
            return self.default(line)
        return super().onecmd(line)

    def _with_addresses(self, text: str) -> str:
        """Replace words that are names of nodes by their addresses.

        Programs that are to use IPv6 look up the names themselves, in /etc/hosts.
        """
        if WANTS_IPV6.search(text):
            return text

        def replace(match: re.Match[str]) -> str:
            word = match[0]
            if word not in self.mn:
                return word
            interface = self.mn[word].defaultIntf()
            return (interface and interface.updateIP()) or word

        return re.sub(r"\S+", replace, text)

    def _send(self, node: Node, text: str, echoes: bool = True) -> None:
        # A command that would read lines of a file or pipe, which are commands of the prompt, gets
        # the end of its input instead: it would wait for ever.
        has_input = self.isatty()
        if delay_ns := self._start_jitter.next_ns():
            time.sleep(delay_ns / 1e9)
        node.sendCmd(self._with_addresses(text), echoes=echoes and has_input, has_input=has_input)
        self.waitForNode(node)

    def waitForNode(self, node: Node) -> None:
        """Show a node's output until its command has ended; keys typed meanwhile go to the command."""
        left = ""
        with Keyboard(self.stdin, node) as keyboard:
            while node.waiting:
                keyboard.wait()
                left = self._show(left + node.monitor())
        output(left)

    def _show(self, text: str) -> str:
        """Show text; return the rest, which is shown with the next piece.

        Lines from the node's terminal end in CR LF; a pipe gets LF.
        """
        if self.isatty():
            output(text)
            return ""
        whole = text.removesuffix("\r")
        output(whole.replace("\r\n", "\n"))
        return text[len(whole) :]

    def do_noecho(self, line: str) -> None:
        """noecho NODE COMMAND: run a command without showing what you type."""
        first, rest = _first_word(line)
        if first in self.mn and rest:
            self._send(self.mn[first], rest, echoes=False)
        else:
            self.default(line)

    # -- showing ----------------------------------------------------------------------------------

    helpStr = """\
You may also send a command to a node using:
  <node> command {args}
For example:
  mininet> h1 ip address

Names of nodes in the command are replaced by their addresses, so this works:
  mininet> h2 ping h3
Programs that need a terminal have one:
  mininet> h1 bash
"""

    def do_help(self, arg: str) -> None:
        """help [COMMAND]: list the commands, or explain one."""
        super().do_help(arg)
        if not arg:
            self.stdout.write(self.helpStr)
        self.stdout.flush()

    def do_nodes(self, _line: str) -> None:
        """List all nodes."""
        output(f"available nodes are: \n{' '.join(sorted(self.mn))}\n")

    def do_net(self, _line: str) -> None:
        """List the interfaces of all nodes and what they are connected to."""
        dumpNodeConnections(self.mn.values())

    def do_links(self, _line: str) -> None:
        """List the links, and for each end whether it exists and is up."""
        for link in self.mn.links:
            output(f"{link} {link.status()} \n")

    def do_intfs(self, _line: str) -> None:
        """List the interfaces of each node."""
        for node in self.mn.values():
            output(f"{node.name}: {','.join(node.intfNames())}\n")

    def do_ports(self, _line: str) -> None:
        """List the interfaces of each switch with their port numbers."""
        dumpPorts(self.mn.switches)

    def do_dump(self, _line: str) -> None:
        """Show details of each node."""
        for node in self.mn.values():
            output(f"{node!r}\n")

    # -- tests ------------------------------------------------------------------------------------

    def do_pingall(self, line: str) -> None:
        """pingall [SECONDS]: ping between all hosts; SECONDS limits the wait for each reply."""
        self._note_loss(self.mn.pingAll(line.strip() or None))

    def do_pingpair(self, _line: str) -> None:
        """Ping between the first two hosts."""
        self._note_loss(self.mn.pingPair())

    def do_pingallfull(self, _line: str) -> None:
        """Ping between all hosts, and show round-trip times."""
        self._note_full(self.mn.pingAllFull())

    def do_pingpairfull(self, _line: str) -> None:
        """Ping between the first two hosts, and show round-trip times."""
        self._note_full(self.mn.pingPairFull())

    def _note_loss(self, loss_percent: float) -> None:
        self.has_failed |= bool(loss_percent)

    def _note_full(self, pings: Iterable[PingResult]) -> None:
        self.has_failed |= any(received < sent for _, _, (sent, received, *_) in pings)

    def do_iperf(self, line: str) -> None:
        """iperf [NODE NODE]: measure TCP throughput between two hosts (default: first and last)."""
        words = line.split()
        if not words:
            self.mn.iperf()
        elif len(words) != 2:
            self._fail("invalid number of args: iperf src dst\n")
        elif hosts := self._nodes(words):
            self.mn.iperf(hosts)

    def do_iperfudp(self, line: str) -> None:
        """iperfudp [RATE NODE NODE]: measure UDP throughput between two hosts (default RATE: 10M)."""
        words = line.split()
        if not words:
            self.mn.iperf(l4Type="UDP")
        elif len(words) != 3:
            self._fail("invalid number of args: iperfudp bw src dst\nbw examples: 10M\n")
        elif hosts := self._nodes(words[1:]):
            self.mn.iperf(hosts, l4Type="UDP", udpBw=words[0])

    def _nodes(self, names: list[str]) -> list[Node]:
        """Return the nodes of these names; report unknown names and return an empty list."""
        missing = [name for name in names if name not in self.mn]
        for name in missing:
            self._fail(f"node '{name}' not in network\n")
        return [] if missing else [self.mn[name] for name in names]

    # -- changing ---------------------------------------------------------------------------------

    def do_link(self, line: str) -> None:
        """link NODE NODE up|down: set the links between two nodes up or down."""
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
        """dpctl COMMAND [ARGUMENTS]: run ovs-ofctl (for bridges: brctl) for every switch."""
        words = line.split()
        if not words:
            self._fail("usage: dpctl command [arg1] [arg2] ...\n")
            return
        for switch in self.mn.switches:
            output(f"*** {switch.name} {RULE}\n")
            output(switch.dpctl(*words))

    def do_wait(self, line: str) -> None:
        """wait [SECONDS]: wait until all switches are connected to controllers (at most 60 s)."""
        if not self.mn.waitConnected(timeout=float(line) if line.strip() else CONNECT_TIMEOUT_S):
            self.has_failed = True

    # -- Python, the shell, scripts ---------------------------------------------------------------

    def do_py(self, line: str) -> None:
        """py EXPRESSION: evaluate Python; net and the nodes are variables."""

        def show() -> None:
            result = eval(line, globals(), self.getLocals())
            if result is not None:
                output(f"{result if isinstance(result, str) else repr(result)}\n")

        self._try(show)

    def do_px(self, line: str) -> None:
        """px STATEMENT: execute Python; net and the nodes are variables."""
        self._try(lambda: exec(line, globals(), self.getLocals()))

    def _try(self, action: Callable[[], None]) -> None:
        """Run the user's Python code; show an exception without ending the prompt."""
        try:
            action()
        except Exception as exception:
            self.has_failed = True
            output(f"{exception}\n")
        sys.stdout.flush()

    def do_sh(self, line: str) -> None:
        """sh COMMAND: run a shell command in the root namespace, where the switches are."""
        sys.stdout.flush()
        status = subprocess.call(line, shell=True)
        bridges = [s.name for s in self.mn.switches if isinstance(s, LinuxBridge)]
        named_bridges = [name for name in bridges if name in line.split()]
        if status and named_bridges and line.lstrip().removeprefix("sudo ").startswith("ovs-"):
            self._fail(
                f"*** {named_bridges[0]} is a bridge of the kernel (for Open vSwitch: "
                "Mininet(switch=OVSSwitch), or mn --switch ovsk)\n"
            )

    def do_source(self, line: str) -> bool | None:
        """source FILE: run the prompt commands in a file."""
        words = line.split()
        if len(words) != 1:
            self._fail("usage: source <file>\n")
            return None
        try:
            # As a shell's `source`, also look in $PATH, where the course's scripts are.
            path = words[0] if Path(words[0]).exists() else shutil.which(words[0]) or words[0]
            lines = Path(path).read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError):
            self._fail(f"error reading file {words[0]}\n")
            return None
        for command in lines:
            if self._run_line(command):
                return True
        return None

    def do_time(self, line: str) -> bool | None:
        """time COMMAND: measure how long a command takes, on the network's clock."""
        start = time.time()
        is_over = self._run_line(line)
        self.stdout.write(f"*** Elapsed time: {time.time() - start:0.6f} secs\n")
        self.stdout.flush()
        return is_over

    # -- terminals --------------------------------------------------------------------------------

    def do_xterm(self, line: str, term: str = "xterm") -> None:
        """xterm NODE...: open a terminal window for each node. (`h1 bash` runs a shell here.)"""
        words = line.split()
        if not words:
            self._fail(f"usage: {term} node1 node2 ...\n")
        elif nodes := self._nodes(words):
            windows = makeTerms(nodes, term=term)
            self.mn.terms += windows
            self.has_failed |= len(windows) < len(nodes)

    def do_gterm(self, line: str) -> None:
        """gterm NODE...: open a GNOME terminal window for each node."""
        self.do_xterm(line, term="gterm")

    def do_x(self, line: str) -> None:
        """x NODE [COMMAND]: run a graphical program in a node, on your display."""
        words = line.split()
        if not words:
            self._fail("usage: x node [cmd args]...\n")
        elif nodes := self._nodes(words[:1]):
            self.mn.terms += runX11(nodes[0], words[1:])

    # -- leaving ----------------------------------------------------------------------------------

    def do_exit(self, _line: str) -> bool:
        """Leave the prompt and end the network."""
        return True

    def do_quit(self, line: str) -> bool:
        """Leave the prompt and end the network."""
        return self.do_exit(line)

    def do_EOF(self, line: str) -> bool:
        """Ctrl-D: leave the prompt."""
        output("\n")
        return self.do_exit(line)


def _described(exception: Exception) -> str:
    is_ours = isinstance(exception, WanlabError)
    return str(exception) if is_ours else f"{type(exception).__name__}: {exception}"


def _first_word(line: str) -> tuple[str, str]:
    """Split a line into its first word and the rest."""
    first, *rest = line.split(maxsplit=1) or [""]
    return first, rest[0].strip() if rest else ""


def without_comment(line: str) -> str:
    """Remove a comment: as in a shell, a # at the start of a word and outside quotes begins it."""
    quote = ""
    for index, character in enumerate(line):
        if quote:
            if character == quote:
                quote = ""
        elif character in "'\"":
            quote = character
        elif character == "#" and (index == 0 or line[index - 1].isspace()):
            return line[:index].rstrip()
    return line
