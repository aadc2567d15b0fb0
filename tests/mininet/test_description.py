"""Test what needs no machine: descriptions of topologies, utilities, messages, commands of tc."""

import io
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from wanlab.errors import WanlabError
from wanlab.mininet import log, util
from wanlab.mininet.node_shell import quoted
from wanlab.mininet.shaping import Shaping, shaping
from wanlab.mininet.switches import script_uses_open_vswitch
from wanlab.mininet.throughput import Report, received_bps, sent_bps
from wanlab.mininet.topo import LinearTopo, SingleSwitchReversedTopo, SingleSwitchTopo, Topo
from wanlab.mininet.topolib import TorusTopo, TreeTopo

# -- Topo ---------------------------------------------------------------------------------------------


def test_links_are_listed_as_added_or_in_natural_order() -> None:
    topo = LinearTopo(3)
    assert topo.links() == [("h1", "s1"), ("s2", "s1"), ("h2", "s2"), ("s3", "s2"), ("h3", "s3")]
    sorted_links = [("h1", "s1"), ("h2", "s2"), ("h3", "s3"), ("s2", "s1"), ("s3", "s2")]
    assert topo.links(sort=True) == sorted_links
    assert LinearTopo(2, 2).hosts() == ["h1s1", "h1s2", "h2s1", "h2s2"]


def test_ports_count_from_zero_at_hosts_and_from_one_at_switches() -> None:
    topo = LinearTopo(3)
    assert topo.ports["s2"] == {1: ("h2", 0), 2: ("s1", 2), 3: ("s3", 2)}
    assert topo.port("s2", "s3") == (3, 2)
    assert SingleSwitchReversedTopo(3).ports["s1"] == {3: ("h1", 0), 2: ("h2", 0), 1: ("h3", 0)}


def test_names_are_in_natural_order() -> None:
    assert SingleSwitchTopo(11).hosts()[-2:] == ["h10", "h11"]
    assert TreeTopo(2, 2).links(sort=True)[:3] == [("s1", "s2"), ("s1", "s3"), ("s2", "h1")]


def test_a_switch_of_a_tree_has_its_children_first() -> None:
    topo = TreeTopo(2, 2)
    assert topo.ports["s1"] == {1: ("s2", 3), 2: ("s3", 3)}
    assert topo.ports["s2"] == {1: ("h1", 0), 2: ("h2", 0), 3: ("s1", 1)}


def test_a_tree_may_be_deeper_than_python_recurses() -> None:
    topo = TreeTopo(1500, 1)
    assert (len(topo.switches()), topo.hosts(), len(topo.links())) == (1500, ["h1"], 1500)


def test_a_torus_names_its_switches_by_position_with_a_dpid_each() -> None:
    topo = TorusTopo(3, 3)
    assert len(topo.links()) == 27
    assert topo.nodeInfo("s2x1") == {"isSwitch": True, "dpid": "201"}


def test_options_of_one_node_override_those_of_all() -> None:
    topo = Topo(hopts={"cpu": 0.1}, lopts={"bw": 3})
    topo.addHost("h10")
    topo.addHost("h2", ip="1.2.3.4")
    topo.addSwitch("s1")
    assert (topo.addLink("h10", "s1"), topo.addLink("h10", "s1", delay="1ms", key="k")) == (1, "k")
    assert topo.nodeInfo("h10") == {"cpu": 0.1}
    assert topo.nodeInfo("h2") == {"ip": "1.2.3.4"}
    ends = {"node1": "h10", "node2": "s1"}
    assert topo.linkInfo("s1", "h10") == {"bw": 3, **ends, "port1": 0, "port2": 1}
    assert topo.linkInfo("s1", "h10", "k") == {"delay": "1ms", **ends, "port1": 1, "port2": 2}
    assert topo.port("h10", "s1") == [(0, 1), (1, 2)]


def test_a_link_to_an_unknown_node_is_an_error_at_once() -> None:
    topo = Topo()
    topo.addHost("h1")
    with pytest.raises(WanlabError, match="did you mean h1"):
        topo.addLink("h1", "h11")


# -- utilities ----------------------------------------------------------------------------------------


def test_addresses_are_parsed_and_computed() -> None:
    assert util.netParse("10.0.0.5/8") == (0x0A000005, 8)
    assert util.netParse("10.0/8") == (0x0A000000, 8)
    assert util.netParse("10.0.0.0 /8 ") == (0x0A000000, 8)
    assert util.netParse("10.1") == (0x0A010000, 16)
    assert (util.ipAdd(5), util.ipAdd(300, 16, util.ipParse("192.168.0.0"))) == (
        "10.0.0.5",
        "192.168.1.44",
    )
    assert util.macColonHex(258) == "00:00:00:00:01:02"
    with pytest.raises(WanlabError, match="larger"):
        util.ipAdd(300, 24)


def test_arguments_of_mn_are_parsed() -> None:
    assert util.splitArgs("tc,1,x=2,y=z,2.5") == ("tc", [1, 2.5], {"x": 2, "y": "z"})
    made = util.customClass({"tree": TreeTopo}, "tree,depth=2,fanout=3")
    assert len(made().hosts()) == 9
    assert made.__name__ == "TreeTopo{'depth': 2, 'fanout': 3}"
    assert len(util.buildTopo({"linear": LinearTopo}, "linear,4").hosts()) == 4
    with pytest.raises(WanlabError, match="Invalid topo name liner"):
        util.buildTopo({"linear": LinearTopo}, "liner,4")
    assert util.custom(dict, a=1)(b=2) == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("bps", "fmt", "text"),
    [
        (9_560_000, "", "9.6 Mbits/sec"),
        (940_000_000, "", "940.0 Mbits/sec"),
        (13_400_000_000, "", "13.4 Gbits/sec"),
        (900, "", "900.0 bits/sec"),
        (9_560_000, "k", "9560.0 kbits/sec"),
        (8_000_000, "M", "1.0 MBytes/sec"),
    ],
)
def test_rates_are_written_as_iperf_does(bps: float, fmt: str, text: str) -> None:
    assert util.fmtBps(bps, fmt) == text


def test_commands_run_on_the_computer(tmp_path: Path) -> None:
    assert util.quietRun("echo 'a b'") == "a b\n"
    assert util.errRun("sh", "-c", "echo e >&2; exit 3") == ("", "e\n", 3)
    assert util.errRun("echo $((1+1))", shell=True)[0] == "2\n"
    with pytest.raises(WanlabError, match="exit status 1"):
        util.errFail("false")
    with pytest.raises(WanlabError, match="no such program"):
        util.quietRun("no-program-of-this-name")
    (tmp_path / "script").write_text("#!/bin/sh\n")
    with pytest.raises(WanlabError, match="or it must not be executed"):
        util.quietRun([tmp_path / "script"])


def test_processes_are_watched_together_to_their_ends() -> None:
    script = "echo {0} 1; echo {0} 2; printf {0}-rest"
    popens = {
        name: subprocess.Popen(["sh", "-c", script.format(name)], stdout=subprocess.PIPE)
        for name in "ab"
    }
    started = list(popens.values())
    lines = [(name, line) for name, line in util.pmonitor(popens) if name]
    for process in started:
        process.communicate()
    assert sorted(lines) == [(n, x) for n in "ab" for x in (f"{n} 1\n", f"{n} 2\n", f"{n}-rest")]
    assert popens == {}


def test_results_go_to_standard_output_and_the_rest_to_standard_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out, err = io.StringIO(), io.StringIO()
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr("sys.stderr", err)
    log.info("hidden")
    log.output("result", 3, "100%\n")
    log.setLogLevel("info")
    log.info("*** told ", "%s\n")
    log.lg.setLogLevel()
    log.lg.info("hidden again")
    assert (out.getvalue(), err.getvalue()) == ("result 3 100%\n", "*** told  %s\n")
    with pytest.raises(WanlabError, match="did you mean info"):
        log.setLogLevel("infos")


# -- tc -----------------------------------------------------------------------------------------------

HTB = [
    "qdisc add dev e root handle 5:0 htb default 1",
    "class add dev e parent 5:0 classid 5:1 htb rate 10.000000Mbit burst 15k",
]


@pytest.mark.parametrize(
    ("params", "lines", "words"),
    [
        ({}, [], ""),
        ({"bw": 10}, HTB, "10.00Mbit"),
        (
            {"bw": 10, "delay": "5ms", "jitter": "1ms", "loss": 1, "max_queue_size": 100},
            [
                *HTB,
                "qdisc add dev e parent 5:1 handle 10: netem delay 5ms 1ms loss 1.00000 limit 100",
            ],
            "10.00Mbit 5ms delay 1ms jitter 1.00000% loss",
        ),
        ({"loss": 1.5}, ["qdisc add dev e root handle 10: netem loss 1.50000"], "1.50000% loss"),
        ({"max_queue_size": 7}, ["qdisc add dev e root handle 10: netem limit 7"], ""),
        ({"bw": 10, "loss": 0}, HTB, "10.00Mbit 0.00000% loss"),
        ({"jitter": "2ms"}, ["qdisc add dev e root handle 10: netem delay 0ms 2ms"], "2ms jitter"),
        (
            {"bw": 10, "use_tbf": True},
            [
                "qdisc add dev e root handle 5: tbf rate 10.000000Mbit burst 15000 latency 12.000000ms"
            ],
            "10.00Mbit",
        ),
        (
            {"bw": 10, "use_hfsc": True, "delay": "2ms"},
            [
                "qdisc add dev e root handle 5:0 hfsc default 1",
                "class add dev e parent 5:0 classid 5:1 "
                "hfsc sc rate 10.000000Mbit ul rate 10.000000Mbit",
                "qdisc add dev e parent 5:1 handle 10: netem delay 2ms",
            ],
            "10.00Mbit 2ms delay",
        ),
        (
            {"bw": 10, "enable_ecn": True, "max_queue_size": 5},
            [
                *HTB,
                "qdisc add dev e parent 5:1 handle 6: red limit 1000000 min 30000 max 35000 "
                "avpkt 1500 burst 20 bandwidth 10.000000Mbit probability 1 ecn",
                "qdisc add dev e parent 6: handle 10: netem limit 5",
            ],
            "10.00Mbit ECN",
        ),
    ],
)
def test_parameters_of_a_link_become_commands_of_tc(
    params: dict[str, object], lines: list[str], words: str
) -> None:
    made = shaping("h1-eth0", **params)
    assert (made.lines("e", 10**9), made.describe()) == (lines, words)
    assert made.is_empty == (made == Shaping()) == (not lines)


@pytest.mark.parametrize(
    ("params", "wire_bps", "limit"),
    [
        ({"bw": 100, "delay": "50ms"}, 10**9, ""),  # 417 packets
        ({"bw": 1000, "delay": "50ms"}, 10**9, " limit 8334"),
        ({"delay": "50ms"}, 10**9, " limit 8334"),
        ({"delay": "0.05s"}, 0, " limit 83334"),
        ({"delay": "50000us 1ms distribution normal"}, 10**9, " limit 8334"),
        ({"bw": 1000, "delay": "50ms", "max_queue_size": 4000}, 10**9, " limit 4000"),
    ],
)
def test_netem_holds_twice_the_packets_in_flight(
    params: dict[str, object], wire_bps: int, limit: str
) -> None:
    line = shaping("h1-eth0", **params).lines("e", wire_bps)[-1]
    assert line.partition(" limit")[1:] == (limit[:6], limit[6:])


def test_a_command_is_one_word_for_the_shell() -> None:
    command = "echo 'a\nb' \"$x\" \\ \x01 ä" + "y" * 2000
    assert (
        command
        == subprocess.run(
            ["bash", "-c", f"printf %s {quoted(command)}"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
    assert max(map(len, quoted(command).encode().splitlines())) < 4095


def test_figures_of_iperf3_are_found() -> None:
    tcp: Report = {
        "end": {"sum_sent": {"bits_per_second": 9.9}, "sum_received": {"bits_per_second": 9.5}}
    }
    assert (received_bps(tcp), sent_bps(tcp)) == (9.5, 9.9)
    udp: Report = {"end": {"sum": {"bits_per_second": 10.0, "lost_percent": 20.0}}}
    assert (received_bps(udp), sent_bps(udp)) == (8.0, 10.0)


@pytest.mark.parametrize(
    ("files", "uses"),
    [
        ({"net.py": "net = Mininet()"}, False),
        ({"net.py": "os.system('ovs-ofctl add-flow s1 action=normal')"}, True),
        ({"net.py": "print(s1.dpctl('show'))"}, True),
        ({"net.py": "import flows_beside", "flows_beside.py": "'ovs-vsctl set ...'"}, True),
        ({"net.py": "CLI(net, script='flows.txt')", "flows.txt": "sh ovs-ofctl show s1"}, True),
        ({"net.py": "os.system('bash ./flows.sh')", "flows.sh": "ovs-ofctl show s1"}, True),
        ({"net.py": "net = Mininet()", "flows.sh": "ovs-ofctl show s1"}, False),
        ({"net.py": "run('none.sh')", "other/flows.py": "'ovs-vsctl set ...'"}, False),
    ],
)
def test_a_script_uses_open_vswitch_if_it_calls_its_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], uses: bool
) -> None:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        if name != "net.py" and name.endswith(".py"):
            module = ModuleType(path.stem)
            module.__file__ = str(path)
            monkeypatch.setitem(sys.modules, path.stem, module)
    main = ModuleType("__main__")
    main.__file__ = str(tmp_path / "net.py")
    monkeypatch.setitem(sys.modules, "__main__", main)
    monkeypatch.setattr("shutil.which", lambda program: f"/usr/bin/{program}")
    assert script_uses_open_vswitch() == uses
    monkeypatch.setattr("shutil.which", lambda program: None)
    assert not script_uses_open_vswitch()
