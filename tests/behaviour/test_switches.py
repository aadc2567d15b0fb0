"""Test switches: spanning trees, VLANs, Open vSwitch and its controllers; runs repeat exactly."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from wanlab import Host, Network, Port, Switch, Topology, link, load, shapes
from wanlab.errors import RequirementError, WanlabError
from wanlab.topology import Controller, NetFlow, SFlow, loops

OVS = shutil.which("ovs-vswitchd", path="/usr/sbin:/usr/bin:/sbin:/bin")
needs_ovs = pytest.mark.skipif(OVS is None, reason="openvswitch-switch is not installed")
pytestmark = pytest.mark.machine

Start = Callable[..., Network]


def received(net: Network, source: str, target: str, count: int = 2) -> int:
    """Send `count` pings; return how many were answered."""
    output = net[source].run(f"ping -c {count} -i 0.2 -W 1 {target}", check=False).output
    return int(output.split(" received")[0].split()[-1])


def with_switches(topology: Topology, *more: Controller, **words: Any) -> Topology:
    """Return the topology with changed switches and further nodes."""
    nodes = (replace(n, **words) if isinstance(n, Switch) else n for n in topology.nodes)
    return replace(topology, nodes=(*nodes, *more))


def ovs(*more: Controller, **words: Any) -> Topology:
    names = tuple(controller.name for controller in more)
    return with_switches(shapes.minimal(), *more, kind="ovs", controllers=names, **words)


# -- bridges ----------------------------------------------------------------------------------------


def test_a_loop_of_bridges_forwards_once_its_spanning_tree_is_built(start: Start) -> None:
    net = start(shapes.torus(3, 3))
    assert received(net, "h1x1", "h3x3") == 0
    net.run_for("35s")
    assert received(net, "h1x1", "h3x3") == 2


def test_the_lowest_priority_is_the_root_of_the_tree(start: Start) -> None:
    names = ("s1", "s2", "s3")
    switches = (Switch(name, stp=True, priority=100 if name == "s2" else None) for name in names)
    ring = (link("s1", "s2"), link("s2", "s3"), link("s3", "s1"))
    net = start(Topology(nodes=(*switches,), links=ring))
    net.run_for("35s")
    roots = {net.root.run(f"cat /sys/class/net/{name}/bridge/root_id").output for name in names}
    assert roots == {net.root.run("cat /sys/class/net/s2/bridge/bridge_id").output}
    assert roots.pop().startswith("0064.")


def vlans(kind: str) -> Topology:
    """h1 and h3 in VLAN 10, h2 and h4 in VLAN 20, across a trunk; h5 is in both by its tags."""
    return Topology(
        nodes=(
            *(Host(f"h{number}") for number in range(1, 5)),
            Host("h5", ip="10.0.9.5/24", vlan_interfaces=(("10.0.0.105/8", 10),)),
            Switch("s1", kind=kind),
            Switch("s2", kind=kind),
        ),
        links=(
            link("h1", Port("s1", vlan=10)),
            link("h2", Port("s1", vlan=20)),
            link(Port("s1", trunks=(10, 20)), Port("s2", trunks=(10, 20))),
            link("h3", Port("s2", vlan=10)),
            link("h4", Port("s2", vlan=20)),
            link("h5", Port("s2", trunks=(10,), vlan=20)),
        ),
    )


@pytest.mark.parametrize("kind", ["bridge", pytest.param("ovs", marks=needs_ovs)])
def test_vlans_are_kept_apart_and_cross_a_trunk(start: Start, kind: str) -> None:
    net = start(vlans(kind))
    pairs = {
        (source, target): received(net, source, target)
        for source in ("h1", "h2")
        for target in ("h3", "h4", "10.0.0.105")
    }
    assert pairs == {
        **{("h1", "h3"): 2, ("h1", "h4"): 0, ("h1", "10.0.0.105"): 2},
        **{("h2", "h3"): 0, ("h2", "h4"): 2, ("h2", "10.0.0.105"): 0},
    }


def test_a_bridge_that_filters_vlans_shows_them_to_bridge_vlan(start: Start) -> None:
    net = start(vlans("bridge"))
    shown = net.root.run("bridge vlan show dev s1-eth1; bridge vlan show dev s1-eth3").output
    assert [line.split() for line in shown.splitlines() if not line.startswith("port")] == [
        ["s1-eth1", "10", "PVID", "Egress", "Untagged"],
        ["s1-eth3", "10"],
        ["20"],
    ]


# -- Open vSwitch -----------------------------------------------------------------------------------


@needs_ovs
@pytest.mark.parametrize("datapath", ["kernel", "user"])
def test_a_change_of_an_open_vswitch_is_in_force_at_once(start: Start, datapath: str) -> None:
    net = start(ovs(datapath=datapath))
    net["h1"].run("ping -c 2 -i 0.1 h2")
    for change, replies in (
        ("ovs-vsctl set port s1-eth1 tag=10", 0),
        ("ovs-vsctl clear port s1-eth1 tag", 1),
        ("ovs-ofctl add-flow s1 priority=9,icmp,actions=drop", 0),
        ("ovs-ofctl del-flows s1 icmp", 1),
        ("ovs-ofctl add-flow s1 priority=9,icmp,actions=drop", 0),
        ("ovs-ofctl add-flow s1 priority=9,icmp,actions=normal", 1),
    ):
        net.root.run(change)
        assert received(net, "h1", "h2", 1) == replies, change


@needs_ovs
def test_commands_of_open_vswitch_keep_their_input_output_and_status(start: Start) -> None:
    net = start(ovs())
    assert net.root.run("ovs-vsctl list-br").output == "s1\n"
    failed = net.root.run("ovs-vsctl set port s9-eth1 tag=1", check=False)
    assert failed.status == 1
    assert "no row" in failed.output + failed.stderr
    net.root.run("echo priority=9,icmp,actions=drop | ovs-ofctl add-flows s1 -")
    assert "priority=9" in net.root.run("ovs-ofctl dump-flows s1").output


@needs_ovs
@pytest.mark.parametrize("datapath", ["kernel", "user"])
def test_an_open_vswitch_without_a_controller_learns(start: Start, datapath: str) -> None:
    net = start(ovs(datapath=datapath))
    assert received(net, "h1", "h2") == 2
    assert net.root.run("ovs-vsctl get-fail-mode s1").output == "standalone\n"


@needs_ovs
def test_ports_have_the_numbers_of_the_topology(start: Start) -> None:
    nodes = (Host("h1"), Host("h2"), Switch("s1", kind="ovs", dpid="1234abcd"))
    net = start(Topology(nodes=nodes, links=(link("h1", Port("s1", number=7)), link("h2", "s1"))))
    shown = net.root.run("ovs-ofctl show s1").output
    assert "dpid:000000001234abcd" in shown
    assert " 7(s1-eth7): " in shown
    assert " 1(s1-eth1): " in shown


@needs_ovs
@pytest.mark.parametrize("protocols", [("OpenFlow10",), ("OpenFlow13",), ()])
def test_our_controller_makes_switches_learn(start: Start, protocols: tuple[str, ...]) -> None:
    net = start(ovs(Controller("c0"), protocols=protocols))
    assert received(net, "h1", "h2", 3) == 3
    version = protocols[0] if protocols else "OpenFlow13"
    flows = net.root.run(f"ovs-ofctl -O {version} --no-stats --no-names dump-flows s1").output
    macs = "dl_src=00:00:00:00:00:02,dl_dst=00:00:00:00:00:01"
    expected = f"idle_timeout=60, priority=1,in_port=2,{macs} actions=output:1"
    assert expected in [line.strip() for line in flows.splitlines()]
    net.run_for("10s")
    said = "ovs-vsctl --bare --columns=is_connected find Controller"
    assert net.root.run(said).output == "true\n"


@needs_ovs
def test_a_loop_without_stp_sends_its_controller_few_packets(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    burst, per_s = 100, 100
    monkeypatch.setattr(loops, "STORM_BURST_PACKETS", burst)
    monkeypatch.setattr(loops, "STORM_PACKETS_PER_S", per_s)
    switches = (Switch(name, kind="ovs", controllers=("c0",)) for name in ("s1", "s2"))
    nodes = (Host("h1"), *switches, Controller("c0"))
    net = start(Topology(nodes=nodes, links=(link("h1", "s1"), link("s1", "s2"), link("s1", "s2"))))

    def messages() -> list[int]:
        sockets = net.root.run("ss -tni state established sport = 6633").output
        return [int(number) for number in re.findall(r"data_segs_in:(\d+)", sockets)]

    before = messages()
    # No host has this address, so h1 broadcasts ARP requests.
    net["h1"].start("ping -c 1 -W 1 10.0.0.99")
    net.run_for("200ms")
    sent = [after - count for after, count in zip(messages(), before, strict=True)]
    assert len(sent) == 2
    assert all(burst <= count <= burst + 0.2 * per_s + 10 for count in sent), sent


@needs_ovs
@pytest.mark.parametrize("version", ["OpenFlow10", "OpenFlow13"])
def test_a_switch_whose_flows_were_deleted_learns_again(start: Start, version: str) -> None:
    net = start(ovs(Controller("c0"), protocols=(version,)))
    assert received(net, "h1", "h2") == 2
    net.root.run(f"ovs-ofctl -O {version} del-flows s1")
    net.run_for("1s")  # the datapath drops its cached flows a little later
    assert received(net, "h1", "h2") == 2


@needs_ovs
def test_a_switch_without_its_controller_forwards_nothing(start: Start) -> None:
    absent = Controller("c0", kind="remote", port=6699)
    assert received(start(ovs(absent)), "h1", "h2") == 0


@needs_ovs
def test_a_standalone_switch_learns_without_its_controller(start: Start) -> None:
    absent = Controller("c0", kind="remote", port=6699)
    net = start(ovs(absent, fail_mode="standalone"))
    net.run_for("20s")
    assert received(net, "h1", "h2") == 2


@needs_ovs
def test_a_remote_controller_may_be_started_by_hand(start: Start) -> None:
    net = start(ovs(Controller("c0", kind="remote", port=6699)))
    assert received(net, "h1", "h2") == 0
    net.root.start("wanlab-controller 127.0.0.1 6699 --log /tmp/by-hand.log")
    net.run_for("2s")
    assert received(net, "h1", "h2") == 2
    log = net.root.run("cat /tmp/by-hand.log").output
    assert log.splitlines()[0] == "switch 0000000000000001 connected, OpenFlow 1.3"


@needs_ovs
def test_a_ports_tc_settings_survive_changes_of_open_vswitch(start: Start) -> None:
    slow = link("h1", "s1", rate="10Mbps", delay="5ms")
    net = start(replace(ovs(Controller("c0")), links=(slow, link("h2", "s1"))))
    own = "tc qdisc add dev s1-eth2 root handle 9: netem delay 3ms limit 1000"
    net.root.run(own)
    before = net.root.run("tc qdisc show").output
    assert "qdisc netem 9: dev s1-eth2" in before
    assert "qdisc tbf 2: dev s1-eth1" in before
    net.root.run("ovs-vsctl set bridge s1 other-config:mac-aging-time=10 -- add-br s2")
    net.run_for("20s")
    net.root.run("ovs-vsctl del-br s2")
    assert net.root.run("tc qdisc show").output == before
    times = net["h1"].run("ping -c 3 h2").output
    assert times.count("time=13.0 ms") == 2  # the first packet also goes to the controller


@needs_ovs
def test_a_switch_listens_on_its_port(start: Start) -> None:
    net = start(ovs(listen_port=6654))
    assert "dpid:0000000000000001" in net.root.run("ovs-ofctl show tcp:127.0.0.1:6654").output


@needs_ovs
def test_open_vswitches_agree_on_a_spanning_tree(start: Start) -> None:
    ring = (link("s1", "s2"), link("s2", "s3"), link("s3", "s1"))
    switches = (
        Switch(name, kind="ovs", stp=True, priority=0 if name == "s3" else None)
        for name in ("s1", "s2", "s3")
    )
    hosts = (Host("h1"), Host("h2"))
    links = (*ring, link("h1", "s1"), link("h2", "s2"))
    net = start(Topology(nodes=(*hosts, *switches), links=links))
    net.run_for("35s")
    assert received(net, "h1", "h2") == 2
    status = net.root.run("ovs-vsctl get bridge s3 status").output
    assert 'stp_bridge_id="0000.' in status
    assert 'stp_root_path_cost="0"' in status
    states = [
        net.root.run(f"ovs-vsctl get port {port} status:stp_state").output.strip()
        for port in ("s1-eth1", "s1-eth2", "s2-eth1", "s2-eth2", "s3-eth1", "s3-eth2")
    ]
    assert sorted(states) == ["blocking", *["forwarding"] * 5]


@needs_ovs
def test_flows_and_samples_are_reported(start: Start) -> None:
    net = start(
        ovs(
            netflow=NetFlow("127.0.0.1:9996", timeout_s=1),
            sflow=SFlow("127.0.0.1:6343", sampling=1, polling_s=1),
        )
    )
    net.root.start(["python3", "-c", COLLECT])
    net.run_for("10ms")
    assert received(net, "h1", "h2") == 2
    net.run_for("3s")
    said = net.root.run("cat /tmp/netflow /tmp/sflow").output.split()
    assert said == ["version", "5", "version", "5"]


COLLECT = """
import select, socket
ends = {}
for name, port, width in ("netflow", 9996, 2), ("sflow", 6343, 4):
    end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    end.bind(("127.0.0.1", port))
    ends[end] = name, width
while True:
    for end in select.select(list(ends), [], [])[0]:
        name, width = ends[end]
        version = int.from_bytes(end.recv(9000)[:width], "big")
        open(f"/tmp/{name}", "w").write(f"version {version}\\n")
"""


@needs_ovs
def test_a_switch_and_its_ports_join_a_live_network(start: Start) -> None:
    net = start(ovs(Controller("c0")))
    net.add(Switch("s2", kind="ovs", controllers=("c0",)), Host("h3"))
    net.add(link("s1", "s2"), link("h3", "s2"))
    assert received(net, "h1", "h3") == 2
    net.remove_link("s2-eth2")
    assert net.root.run("ovs-vsctl list-ports s2").output == "s2-eth1\n"
    net.remove_node("s2")
    assert net.root.run("ovs-vsctl list-br; ovs-vsctl list-ports s1").output.split() == [
        "s1",
        "s1-eth1",
        "s1-eth2",
    ]
    net.remove_node("c0")
    assert net.root.run("pgrep -f wanlab.controller", check=False).output == ""
    assert net.root.run("ovs-vsctl get-controller s1").output == ""
    assert received(net, "h1", "h2") == 2


@needs_ovs
def test_a_network_inside_leaves_no_open_vswitch_behind(start: Start, tmp_path: Path) -> None:
    net = start(Topology())
    (tmp_path / "inside.py").write_text(INSIDE)
    done = net.root.run("wanlab-python inside.py")
    assert done.output == "2 received\n2 received\n"
    left = "pgrep -l 'ovs|python'; ip -br link; cat /run/openvswitch/*.pid 2>/dev/null"
    assert not {"ovs", "s1"} & set(net.root.run(left, check=False).output.split())


INSIDE = """
from wanlab import Host, Network, Switch, Topology, link
from wanlab.topology import Controller

switch = Switch("s1", kind="ovs", controllers=("c0",))
nodes = (Host("h1"), Host("h2"), switch, Controller("c0"))
for _ in range(2):
    with Network(Topology(nodes=nodes, links=(link("h1", "s1"), link("h2", "s1")))) as net:
        output = net["h1"].run("ping -c 2 h2").output
        print(output.split(", ")[1])
"""


@needs_ovs
def test_a_file_of_miniedit_with_open_vswitches_runs(start: Start, tmp_path: Path) -> None:
    text = (Path(__file__).parents[1] / "golden/topologies/version1.mn").read_text()
    file = tmp_path / "old.mn"
    file.write_text(text.replace('"remote"', '"ref"'))
    net = start(load(file))
    assert received(net, "h1", "h2") == 2


EVERYTHING = """
ovs-vsctl show; ovs-vsctl list bridge; ovs-vsctl list controller; ovs-ofctl -O OpenFlow13 dump-flows s1
ovs-appctl fdb/show s1; ovs-appctl dpctl/dump-flows; ovs-appctl coverage/show; cat /tmp/c0.log
cat /var/run/openvswitch/*.log; ovs-vsctl list interface
"""


@needs_ovs
def test_runs_with_open_vswitch_repeat_to_the_byte(start: Start) -> None:
    def run() -> str:
        topology = ovs(Controller("c0"))
        lossy = tuple(link(h, "s1", rate="10Mbps", delay="2ms", loss="1%") for h in ("h1", "h2"))
        with Network(replace(topology, links=lossy)) as net:
            pings = net["h1"].run("ping -c 20 -i 0.1 h2").output
            net.run_for("7s")
            return pings + net.root.run(EVERYTHING).output

    first = run()
    assert "20 packets transmitted" in first
    assert "OpenFlow 1.3" in first
    assert run() == first


def test_a_missing_open_vswitch_is_reported_before_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("wanlab.network.compatibility.shutil.which", lambda *_, **__: None)
    with pytest.raises(RequirementError) as caught:
        Network(ovs()).start()
    assert str(caught.value) == (
        "switch s1 needs ovs-vswitchd, and this computer does not have it "
        "(install the package openvswitch-switch (apt-get install openvswitch-switch))"
    )


@needs_ovs
def test_a_controller_on_the_users_computer_is_reached_over_a_relay(
    start: Start, tmp_path: Path
) -> None:
    log = tmp_path / "outside.log"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    pid = tmp_path / "pid"
    files = ["--log", str(log), "--pidfile", str(pid), "--detach"]
    words = [sys.executable, "-m", "wanlab.controller", "127.0.0.1", str(port), *files]
    subprocess.run(words, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=True)
    try:
        net = start(ovs(Controller("c0", kind="outside", port=port)))
        net.run_for("1500ms")
        assert received(net, "h1", "h2") == 2
        assert "switch 0000000000000001 connected, OpenFlow 1.3" in log.read_text()
    finally:
        os.kill(int(pid.read_text()), signal.SIGTERM)
    net.run_for("1500ms")
    log_of_switch = net.root.run("cat /var/run/openvswitch/ovs-vswitchd.log").output
    assert f"127.0.0.1:{port}: connection closed by peer" in log_of_switch


@needs_ovs
def test_only_controllers_of_the_topology_are_reached_outside(start: Start) -> None:
    net = start(ovs(Controller("c0", kind="outside", port=6690)))
    answer = net.root.run(["python3", "-c", CONNECT_THROUGH_HOST, "127.0.0.1", "22"]).output
    assert answer == '{"error": "this topology has no outside controller at 127.0.0.1:22"}\n'
    answer = net.root.run(["python3", "-c", CONNECT_THROUGH_HOST, "127.0.0.1", "6690"]).output
    assert answer == '{"error": "127.0.0.1:6690: Connection refused", "is_allowed": true}\n'


CONNECT_THROUGH_HOST = """
import json, socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect("/run/wanlab/host-service")
request = {"do": "connect", "address": sys.argv[1], "port": int(sys.argv[2])}
connection.sendall(json.dumps(request).encode())
connection.sendall(b"\\n")
print(connection.makefile().readline(), end="")
"""


def test_allowed_destinations_are_set_outside(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        net = start(Topology(), allow_connect=[f"127.0.0.1:{port}"])
        answer = net.root.run(
            ["python3", "-c", CONNECT_THROUGH_HOST, "127.0.0.1", str(port)]
        ).output
        assert answer == '{"connected": true}\n'
        answer = net.root.run(
            ["python3", "-c", CONNECT_THROUGH_HOST, "127.0.0.1", str(port - 1)]
        ).output
        assert answer.startswith('{"error": ')


@pytest.mark.parametrize("text", ["6653", ":6653", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:0"])
def test_an_allowed_destination_has_an_address_and_a_port(text: str) -> None:
    with pytest.raises(WanlabError, match="is not an address to connect to"):
        Network(Topology(), allow_connect=[text])
