"""Test commands of the prompt with a fake network that records requests."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from wanlab.errors import RequirementError
from wanlab.mininet.cli import CLI, without_comment
from wanlab.mininet.log import setLogLevel
from wanlab.mininet.nodelib import LinuxBridge


class Interface:
    def __init__(self, address: str | None) -> None:
        self._address = address

    def updateIP(self) -> str | None:
        return self._address


class Node:
    """Records commands, and answers each with its own text."""

    def __init__(self, name: str, address: str | None) -> None:
        self.name = name
        self.waiting = False
        self.sent: list[str] = []
        self._interface = Interface(address)
        self.stdout = io.StringIO()

    def defaultIntf(self) -> Interface:
        return self._interface

    def intfNames(self) -> list[str]:
        return [f"{self.name}-eth0"]

    def sendCmd(self, command: str, echoes: bool = False, has_input: bool = True) -> None:
        self.sent.append(command)
        self.has_input = has_input
        self.waiting = True

    def sendInt(self) -> None:
        self.sent.append("Ctrl-C")

    def waitOutput(self) -> None:
        self.waiting = False

    def monitor(self) -> str:
        self.waiting = False
        return f"ran {self.sent[-1]}\r\n"

    def __repr__(self) -> str:
        return f"<Node {self.name}> "


class Switch(Node):
    def start(self, controllers: list[Any]) -> None:
        self.sent.append("start")

    def stop(self, deleteIntfs: bool = True) -> None:
        self.sent.append(f"stop {deleteIntfs}")

    def dpctl(self, *words: str) -> str:
        return f"{' '.join(words)}\n"


class Net(dict[str, Any]):
    """Maps names to nodes, like Mininet."""

    def __init__(self) -> None:
        self.switches = [Switch("s1", "127.0.0.1")]
        self.controllers: list[Any] = []
        self.links: list[Any] = []
        self.terms: list[Any] = []
        self.calls: list[Any] = []
        self.loss_percent = 0.0
        nodes = [Node("h1", "10.0.0.1"), Node("h2", "10.0.0.2"), Node("x-1", None)]
        super().__init__({node.name: node for node in [*nodes, *self.switches]})

    def pingAll(self, timeout: str | None = None) -> float:
        self.calls.append(("pingAll", timeout))
        return self.loss_percent

    def iperf(self, hosts: list[Node] | None = None, **words: Any) -> None:
        self.calls.append(("iperf", [host.name for host in hosts or ()], words))

    def configLinkStatus(self, *words: str) -> None:
        self.calls.append(("link", *words))

    def waitConnected(self, timeout: float) -> bool:
        self.calls.append(("wait", timeout))
        return False


@pytest.fixture(autouse=True)
def _level() -> None:
    setLogLevel("output")


@pytest.fixture
def net() -> Net:
    return Net()


def perform(net: Net, *lines: str, kind: type[CLI] = CLI) -> CLI:
    return kind(net, stdin=io.StringIO("".join(f"{line}\n" for line in lines)))


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    """Return both output streams without the prompts."""
    captured = capsys.readouterr()
    return captured.out.replace("mininet> ", "") + captured.err


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("foo bar", "*** Unknown command: foo bar"),
        ("!ls", "*** Unknown command: !ls"),
        ("h1", "*** Please enter a command for node: h1 <cmd>"),
        ("h9 ls", "*** Unknown command: h9 ls"),
        ("iperf h1", "invalid number of args: iperf src dst"),
        ("iperf h1 h9", "node 'h9' not in network"),
        ("iperfudp 5M", "invalid number of args: iperfudp bw src dst\nbw examples: 10M"),
        ("link h1 s1", "invalid number of args: link end1 end2 [up down]"),
        ("link h1 s1 sideways", "invalid type: link end1 end2 [up down]"),
        ("switch s1", "invalid number of args: switch <switch name>{start, stop}"),
        ("switch s9 stop", "invalid switch: s9"),
        ("switch s1 jump", "invalid command: switch <switch name> {start, stop}"),
        ("dpctl", "usage: dpctl command [arg1] [arg2] ..."),
        ("xterm", "usage: xterm node1 node2 ..."),
        ("gterm", "usage: gterm node1 node2 ..."),
        ("xterm h9", "node 'h9' not in network"),
        ("x", "usage: x node [cmd args]..."),
        ("x h9 xclock", "node 'h9' not in network"),
        ("source", "usage: source <file>"),
        ("source /no/such/file", "error reading file /no/such/file"),
    ],
)
def test_errors_have_mininets_wording(
    net: Net, line: str, answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert perform(net, line).has_failed
    assert printed(capsys).strip() == answer


def test_open_vswitchs_programs_on_a_bridge_say_what_to_use(
    net: Net, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Bridge(LinuxBridge):
        def __init__(self) -> None:
            self.name = "s1"

    net.switches = [Bridge()]  # type: ignore[list-item]
    monkeypatch.setattr("subprocess.call", lambda line, shell: int("s1" in line))
    assert perform(net, "sh sudo ovs-ofctl dump-flows s1").has_failed
    assert "s1 is a bridge of the kernel" in printed(capsys)
    for line in ("sh ovs-ofctl dump-flows s2", "sh ls s1", "sh ovs-vsctl show"):
        assert not perform(net, line).has_failed
    assert printed(capsys).strip() == ""


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("", ""),
        ("# only a comment", ""),
        ("nodes", "available nodes are: \nh1 h2 s1 x-1\n"),
        ("dump", "<Node h1> \n<Node h2> \n<Node x-1> \n<Node s1> \n"),
        ("py 1 + 1", "2\n"),
        ("py 0", "0\n"),
        ("py 'text'", "text\n"),
        ("py None", ""),
        ("py h1.name", "h1\n"),
        ("px print(net['h2'].name)", "h2\n"),
        ("dpctl show a", f"*** s1 {'-' * 72}\nshow a\n"),
        ("exit", ""),
    ],
)
def test_commands_print_their_results(
    net: Net, line: str, answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not perform(net, line, "exit").has_failed
    assert printed(capsys) == answer


@pytest.mark.parametrize(
    ("line", "sent"),
    [
        ("h1 ping -c1 h2", "ping -c1 10.0.0.2"),
        ("h1 ping\th2", "ping\t10.0.0.2"),
        ('h1 curl http://h2/ h2:80 "h2" h2', 'curl http://h2/ h2:80 "h2" 10.0.0.2'),
        ("h1 echo x-1", "echo x-1"),  # has no address
        ('h1 echo "x#y" # told', 'echo "x#y"'),
        ("h1  echo  a   b", "echo  a   b"),
    ],
)
def test_names_of_nodes_become_their_addresses(net: Net, line: str, sent: str) -> None:
    perform(net, line)
    assert net["h1"].sent == [sent]


def test_a_node_may_have_any_name(net: Net) -> None:
    perform(net, "x-1 ls")
    assert net["x-1"].sent == ["ls"]


def test_lines_written_to_a_pipe_end_with_a_newline(
    net: Net, capsys: pytest.CaptureFixture[str]
) -> None:
    perform(net, "h1 ls", "exit")
    assert printed(capsys) == "ran ls\n"


def test_commands_call_methods_of_the_network(net: Net) -> None:
    lines = ("pingall 2", "iperf", "iperfudp 5M h1 h2", "link h1 s1 down", "wait", "wait 5")
    perform(net, *lines, "switch s1 stop", "switch s1 start")
    assert net.calls == [
        ("pingAll", "2"),
        ("iperf", [], {}),
        ("iperf", ["h1", "h2"], {"l4Type": "UDP", "udpBw": "5M"}),
        ("link", "h1", "s1", "down"),
        ("wait", 60.0),
        ("wait", 5.0),
    ]
    assert net.switches[0].sent == ["stop False", "start"]


def test_lost_pings_and_exceptions_are_failures(net: Net) -> None:
    assert not perform(net, "pingall").has_failed
    assert perform(net, "py nonsense").has_failed
    net.loss_percent = 50.0
    assert perform(net, "pingall").has_failed


def test_variables_assigned_by_px_are_kept(net: Net, capsys: pytest.CaptureFixture[str]) -> None:
    perform(net, "px x = 7", "py x", "exit")
    assert printed(capsys) == "7\n"


def test_a_script_runs_until_it_exits(net: Net, tmp_path: Path) -> None:
    (tmp_path / "script").write_text("# a comment\nh1 first\n\nexit\nh1 second\n")
    CLI(net, script=str(tmp_path / "script"))
    assert net["h1"].sent == ["first"]


def test_a_missing_script_does_not_end_the_prompt(net: Net) -> None:
    perform(net, "source /no/such/file", "h1 ls")
    assert net["h1"].sent == ["ls"]


def test_exit_in_a_script_ends_the_prompt(net: Net, tmp_path: Path) -> None:
    (tmp_path / "script").write_text("exit\n")
    perform(net, f"source {tmp_path / 'script'}", "h1 ls")
    assert net["h1"].sent == []


def test_a_subclass_adds_commands(net: Net, capsys: pytest.CaptureFixture[str]) -> None:
    class Own(CLI):
        prompt = "own> "

        def do_greet(self, line: str) -> None:
            "greet NAME"
            print(f"hello {line}")

    cli = perform(net, "greet you", "exit", kind=Own)
    assert "hello you\n" in capsys.readouterr().out
    assert "greet" in cli.words()["commands"]


def test_ctrl_c_ends_the_command_and_not_the_prompt(
    net: Net, capsys: pytest.CaptureFixture[str]
) -> None:
    class Own(CLI):
        def do_long(self, _line: str) -> None:
            """Interrupted."""
            raise KeyboardInterrupt

    perform(net, "long", "nodes", "exit", kind=Own)
    assert printed(capsys) == "\nInterrupt\navailable nodes are: \nh1 h2 s1 x-1\n"


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("h1 ls # all", "h1 ls"),
        ("#", ""),
        ("h1 echo a#b", "h1 echo a#b"),
        ("h1 echo 'a # b' # c", "h1 echo 'a # b'"),
        ('h1 echo "it\'s # here"', 'h1 echo "it\'s # here"'),
    ],
)
def test_a_comment_begins_a_word(line: str, left: str) -> None:
    assert without_comment(line) == left


def test_a_command_that_fails_does_not_end_the_network(
    net: Net, capsys: pytest.CaptureFixture[str]
) -> None:
    def iperf(hosts: object = None, **words: object) -> None:
        net["h1"].sendCmd("iperf3 -s")
        raise RequirementError("h2 has no address", "give it one")

    def switch_fails(*words: str) -> str:
        raise ValueError("no such command")

    net.iperf, net.switches[0].dpctl = iperf, switch_fails  # type: ignore[method-assign]
    cli = perform(net, "iperf", "time dpctl show", "nodes")
    text = printed(capsys)
    assert "*** Error: iperf: h2 has no address (give it one)\n" in text
    assert "*** Error: dpctl show: ValueError: no such command\n" in text
    assert "available nodes are" in text
    assert cli.has_failed
    assert not net["h1"].waiting  # the command that was running has been stopped


def test_without_a_terminal_a_command_of_a_node_has_no_input(net: Net) -> None:
    perform(net, "h1 cat", "noecho h1 cat")
    assert not net["h1"].has_input
