"""Test `wanlab mn` and `wanlab python` as programs: options, output and status."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--foo"], "no such option: --foo"),
        (["--clock", "fast"], "invalid choice: 'fast'"),
        (["--switch", "ivs"], "use --switch ovsk or lxbr"),
    ],
)
def test_wrong_options_are_reported_before_a_machine_boots(
    wanlab: Any, arguments: list[str], words: str
) -> None:
    ran = wanlab("mn", *arguments, environment={"WANLAB_KERNEL": "/no/such/folder"})
    assert ran.status == 2
    assert words in ran.errors


def test_help_and_version_need_no_machine(wanlab: Any) -> None:
    nowhere = {"WANLAB_KERNEL": "/no/such/folder"}
    helped = wanlab("mn", "-h", environment=nowhere)
    assert helped.output.startswith(b"Usage: mn [options]")
    assert b"--clock" in helped.output
    told = wanlab("mn", "--version", environment=nowhere)
    assert (told.status, told.output.split()[0]) == (0, b"2.3.1")


def test_a_script_that_the_machine_cannot_see_is_reported(wanlab: Any, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "script.py").write_text("")
    wanlab.folder = tmp_path / "work"
    ran = wanlab("python", str(tmp_path / "script.py"))
    assert ran.status == 1
    assert "the machine does not see this file" in ran.errors
    assert f"cd {tmp_path}" in ran.errors


@pytest.mark.machine
def test_a_script_runs_with_its_arguments_input_and_status(wanlab: Any) -> None:
    (wanlab.folder / "script.py").write_text(
        "import sys, time\n"
        "from mininet.net import Mininet\n"
        "began = time.time(); time.sleep(1000)\n"
        "print(sys.argv[1:], input(), round(time.time() - began))\n"
        "open('written', 'w').write('by the script')\n"
        "sys.exit(7)\n"
    )
    ran = wanlab("python", "--seed", "3", "script.py", "--seed", "a b", "--", input=b"a line\n")
    assert (ran.status, ran.errors) == (7, "")
    assert ran.output == b"['--seed', 'a b', '--'] a line 1000\n"
    assert (wanlab.folder / "written").read_text() == "by the script"


@pytest.mark.machine
def test_a_throughput_test_over_a_cut_link_fails_in_a_line_and_the_prompt_goes_on(
    wanlab: Any,
) -> None:
    ran = wanlab("mn", input=b"link s1 h1 down\niperfudp\niperf\nh1 echo on\n")
    assert ran.status == 1
    assert b"mininet> on\n" in ran.output
    assert "Traceback" not in ran.errors
    assert "Caught exception" not in ran.errors


@pytest.mark.machine
def test_a_failed_test_sets_the_status(wanlab: Any) -> None:
    (wanlab.folder / "own.py").write_text(
        "def cut(net):\n    net.configLinkStatus('h1', 's1', 'down')\n    return net.pingAll()\n"
        "def lossy(net):\n    net.configLinkStatus('h1', 's1', 'down')\n"
        "tests = {'cut': cut, 'lossy': lossy}\n"
    )
    ran = wanlab("mn", "--custom", "own.py", "--test", "lossy+pingall")
    assert ran.status == 1
    assert b"*** Results: 100% dropped (0/2 received)\n" in ran.output


@pytest.mark.machine
@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        ("--topo nonsense", 2, "Invalid topo name nonsense"),
        ("--topo single,x=3", 2, "unexpected x=3; single takes k (whole numbers)"),
        ("--topo single,many", 2, "unexpected many; single takes k (whole numbers)"),
        ("--topo tree,2,2,2", 2, "unexpected 2; tree takes depth and fanout"),
        ("--topo minimal,2", 2, "unexpected 2; minimal takes no parameters"),
        ("--test nonsense", 1, "Test nonsense is unknown"),
        ("--custom nowhere.py", 2, "could not find custom file: nowhere.py"),
        ("--topo torus,2,2", 1, "Caught exception. Cleaning up..."),
        ("--test iperfudp,seconds=1", 0, "*** Iperf: testing UDP bandwidth between h1 and h2"),
    ],
)
def test_the_status_says_whether_the_test_failed(
    wanlab: Any, arguments: str, status: int, words: str
) -> None:
    ran = wanlab("mn", *arguments.split())
    assert ran.status == status
    assert words in ran.errors + ran.output.decode()
    assert ran.left_behind == []


@pytest.mark.machine
@pytest.mark.parametrize("topo", ["single,2", "drawn.yaml"])
def test_hosts_get_addresses_of_both_families_from_one_word(wanlab: Any, topo: str) -> None:
    drawn = "nodes: [{host: h1}, {host: h2}]\nlinks: [{link: [h1, h2]}]\n"
    (wanlab.folder / "drawn.yaml").write_text(drawn)
    commands = b"h1 ping -6 -c 1 h2\nh1 ping -c 1 h2\nh2 ip -br addr show h2-eth0\n"
    ran = wanlab("mn", "--topo", topo, "--ipv6", input=commands)
    assert ran.status == 0, ran.errors
    assert ran.output.count(b" 0% packet loss") == 2
    for address in (b"(fd00::2)", b"(10.0.0.2)", b" 10.0.0.2/8 fd00::2/64 "):
        assert address in ran.output


@pytest.mark.machine
def test_a_wrong_ipbase_is_reported_without_a_traceback(wanlab: Any) -> None:
    ran = wanlab("mn", "--ipbase", "banana", "--test", "none")
    assert (ran.status, ran.left_behind) == (1, [])
    assert "'banana' is not an IPv4 address (as in 10.0.0.1)" in ran.output.decode() + ran.errors
    assert "Error:" not in ran.output.decode() + ran.errors


@pytest.mark.machine
def test_scripts_run_before_and_after(wanlab: Any) -> None:
    (wanlab.folder / "before").write_text("# nothing is up yet\nsh echo before\n")
    (wanlab.folder / "after").write_text(
        "h1 ping -c 1 -W 1 h2 > /dev/null; echo $?\nexit\nnonsense\n"
    )
    ran = wanlab("mn", "--pre", "before", "--post", "after", "--test", "pingpair")
    assert ran.status == 0
    assert ran.output.index(b"before") < ran.output.index(b"h1 -> h2") < ran.output.index(b"\n0\n")


@pytest.mark.machine
def test_a_custom_file_may_define_links_and_a_prompt(wanlab: Any) -> None:
    (wanlab.folder / "own.py").write_text(
        "import mininet.cli\n"
        "from mininet.link import TCLink\n"
        "class CLI(mininet.cli.CLI):\n"
        "    prompt = 'own> '\n"
        "    def do_greet(self, line):\n"
        "        print('hello', line, flush=True)\n"
        "links = {'own': TCLink}\n"
    )
    ran = wanlab("mn", "--custom", "own.py", "--link", "own,delay=5ms", input=b"greet you\nexit\n")
    assert ran.status == 0
    assert b"own> hello you\nown> " in ran.output
    assert "(5ms delay)" in ran.errors


@pytest.mark.machine
def test_a_custom_file_reads_the_lines_before_those_of_the_prompt(wanlab: Any) -> None:
    (wanlab.folder / "asks.py").write_text(
        "from mininet.topo import SingleSwitchTopo\n"
        "topos = {'asked': lambda: SingleSwitchTopo(int(input('how many? ')))}\n"
    )
    ran = wanlab(
        "mn",
        "--custom",
        "asks.py",
        "--topo",
        "asked",
        input=b"3\nnodes\ndpctl dump-flows\n",
    )
    assert b"how many? mininet> available nodes are: \nh1 h2 h3 s1\n" in ran.output
    assert "s1 is a bridge of the kernel, which has no flows (use Open vSwitch" in ran.errors
    assert ran.status == 1


def test_a_drawing_whose_controller_is_absent_says_so(wanlab: Any) -> None:
    (wanlab.folder / "drawing.yaml").write_text(
        "nodes: [{controller: c0, kind: remote, port: 6633}, "
        "{switch: s1, kind: ovs, controllers: [c0]}, {host: h1}, {host: h2}]\n"
        "links: [{link: [h1, s1]}, {link: [h2, s1]}]\n"
    )
    ran = wanlab("mn", "--topo", "drawing.yaml", "--test", "pingpair")
    assert ran.status == 1
    assert "Unable to contact the remote controller at 127.0.0.1:6633\n" in ran.errors


def test_the_prompt_runs_wanlabs_commands_and_says_why_a_permitted_controller_is_absent(
    wanlab: Any,
) -> None:
    with socket.socket() as closed:  # bound, and not listening
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        ran = wanlab(
            "mn",
            "--allow-connect",
            f"127.0.0.1:{port}",
            "--controller",
            f"remote,ip=127.0.0.1,port={port}",
            input=b"wanlab drops\n",
        )
    assert f"(on your own computer: 127.0.0.1:{port}: Connection refused;" in ran.errors
    assert b"Unknown command" not in ran.output
    assert "Unknown command" not in ran.errors
    assert b"no packet" in ran.output


def test_no_time_passes_while_the_next_line_is_being_written(wanlab: Any) -> None:
    process = wanlab.start("mn", "-v", "output")
    assert process.stdin
    assert process.stdout
    os.write(process.stdin.fileno(), b"px import time\npx print(time.time())\n")
    first = process.stdout.readline()
    os.write(process.stdin.fileno(), b"px print(time.time())\n")
    second = process.stdout.readline()
    ran = wanlab.end(process, b"exit\n")
    assert ran.status == 0
    began, ended = (float(line.split()[-1]) for line in (first, second))
    assert 0 <= ended - began < 0.001


@pytest.mark.machine
def test_ctrl_c_ends_the_command_and_the_next_line_is_read(wanlab: Any) -> None:
    process = wanlab.start("mn", "-v", "output")
    assert process.stdin
    assert process.stdout
    os.write(process.stdin.fileno(), b"sh echo ready; exec cat /dev/tty 2>/dev/null || sleep 1e9\n")
    assert b"ready" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    # Ctrl-C at the prompt discards earlier input, so the next line is sent afterwards.
    assert b"Interrupt\n" in iter(process.stdout.readline, b"")
    ran = wanlab.end(process, b"nodes\nexit\n")
    assert ran.status == 0
    assert b"available nodes are: \nh1 h2 s1\n" in ran.output


@pytest.mark.machine
def test_inside_a_machine_mn_runs_with_sudo_too(wanlab: Any) -> None:
    ran = wanlab("exec", "--", "sudo", "mn", "--test", "pingpair")
    assert ran.status == 0
    assert b"*** Results: 0% dropped (2/2 received)\n" in ran.output
    late = wanlab("exec", "--", "mn", "--clock", "real")
    assert late.status == 2
    assert "--clock is too late" in late.errors
