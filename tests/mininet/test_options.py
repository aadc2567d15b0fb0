"""Test parsing the options of mn, without a machine."""

from __future__ import annotations

import re

import pytest

from wanlab.machine_options import MACHINE_OPTIONS
from wanlab.mininet import options


def test_all_of_mininets_options_are_known() -> None:
    arguments = [
        "--switch",
        "ovsk,protocols=OpenFlow13",
        "--host",
        "cfs",
        "--link",
        "tc,bw=10,delay=5ms",
        "--controller",
        "remote,ip=127.0.0.1",
        "--controller",
        "ref",
        "--topo",
        "tree,depth=2",
        "--test",
        "pingall",
        "--test",
        "iperf",
        "--custom",
        "a.py",
        "-x",
        "-i",
        "10.1.0.0/16",
        "--mac",
        "--arp",
        "-v",
        "output",
        "--listenport",
        "7000",
        "--nolistenport",
        "--pre",
        "before",
        "--post",
        "after",
        "--pin",
        "--nat",
        "-w",
    ]
    values = options.read(arguments, options.parser())
    assert values.controller == ["remote,ip=127.0.0.1", "ref"]
    assert values.test == ["pingall", "iperf"]
    assert (values.link, values.topo, values.host) == ("tc,bw=10,delay=5ms", "tree,depth=2", "cfs")
    assert (values.ipbase, values.listenport, values.wait) == ("10.1.0.0/16", 7000, True)
    assert (values.mac, values.arp, values.pin, values.xterms) == (True, True, True, True)


def test_defaults_are_mininets() -> None:
    values = options.read([], options.parser())
    assert (values.topo, values.switch, values.host, values.link) == (
        "minimal",
        "default",
        "proc",
        "default",
    )
    assert (values.ipbase, values.listenport, values.verbosity) == ("10.0.0.0/8", 6654, "info")
    assert values.nat is None
    assert values.wait is None


@pytest.mark.parametrize(
    ("arguments", "nat", "topo"),
    [
        (["--nat"], "", "minimal"),
        (["--nat", "--topo", "single"], "", "single"),
        (["--nat", "ip=10.0.0.9,connect=0", "--topo", "single"], "ip=10.0.0.9,connect=0", "single"),
    ],
)
def test_the_word_after_nat_is_its_parameters_unless_it_is_an_option(
    arguments: list[str], nat: str, topo: str
) -> None:
    values = options.read(arguments, options.parser())
    assert (values.nat, values.topo) == (nat, topo)


def test_a_timed_wait_is_one_with_a_limit() -> None:
    assert options.read(["-t", "7"], options.parser()).wait == 7


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--foo"], "no such option: --foo"),
        (["single,3"], "unexpected argument: single,3"),
        (["-v", "loud"], "invalid choice: 'loud'"),
        (["--innamespace"], "--innamespace: switches and controllers are in the machine's root"),
        (["--cluster", "a,b"], "--cluster: one machine carries the whole network"),
        (["--placement", "random"], "--placement: one machine"),
        (
            ["--switch", "ivs"],
            "--switch ivs: Indigo Virtual Switch is no longer maintained; use",
        ),
        (
            ["--switch", "user,dpopts=x"],
            "for Open vSwitch in user space use --switch ovs,datapath=user",
        ),
        (
            ["--controller", "ref", "--controller", "nox"],
            "--controller nox: NOX is no longer maintained",
        ),
        (["--seed", "3"], "--seed is too late: the machine is already running"),
    ],
)
def test_options_that_cannot_be_honoured_are_refused_with_the_reason(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        options.read(arguments, options.parser())
    assert ended.value.code == 2
    message = " ".join(capsys.readouterr().err.split())
    assert words in message
    assert message.startswith("Usage: mn [options]")


def test_options_of_the_machine_are_separated() -> None:
    split = options.split(["--topo", "single", "--seed=7", "--clock", "real", "--mac"])
    assert split.machine == {"seed": "7", "clock": "real"}
    assert split.rest == ("--topo", "single", "--mac")


def test_only_options_before_a_scripts_name_are_the_machines() -> None:
    split = options.split(["--seed", "7", "script.py", "--seed", "8"], only_first=True)
    assert split.machine == {"seed": "7"}
    assert split.rest == ("script.py", "--seed", "8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--clock", "fast"], "invalid choice: 'fast' (choose from 'virtual', 'real')"),
        (["--seed", "x"], "invalid integer value: 'x'"),
        (["--memory"], "--memory option requires 1 argument"),
    ],
)
def test_an_unknown_machine_is_reported(arguments: list[str], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        options.split(arguments)


def test_the_help_describes_options_of_the_machine_and_the_wire() -> None:
    text = " ".join(options.parser().format_help().split())
    assert text.startswith("Usage: mn [options]")
    for name, option in MACHINE_OPTIONS.items():
        assert f"--{name}={option.metavar} {option.phrase}" in text
    assert "Without --link tc,bw=..., links run at 1 Gbit/s" in text


@pytest.mark.parametrize(
    ("value", "reached"),
    [
        ("remote", ["127.0.0.1:6653", "127.0.0.1:6633"]),
        ("remote,port=6699", ["127.0.0.1:6699"]),
        ("remote,ip=192.168.1.5", ["192.168.1.5:6653", "192.168.1.5:6633"]),
        ("remote,ip=192.168.1.5:7000", ["192.168.1.5:7000"]),
        ("ref", []),
    ],
)
def test_the_address_of_a_remote_controller_is_parsed(value: str, reached: list[str]) -> None:
    assert options.remote_controllers([value]) == reached
