"""Test our own format, which describes everything and locates mistakes."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from strategies import topologies

from wanlab.errors import TopologyError
from wanlab.topology import (
    Conditions,
    Host,
    NetFlow,
    Port,
    Queue,
    Router,
    SFlow,
    Switch,
    Topology,
    load,
    save,
)
from wanlab.topology.files import yaml

GOLDEN = Path(__file__).parent.parent / "golden" / "topologies"


def test_a_file_that_we_wrote_survives_reading_and_writing_to_the_byte() -> None:
    text = (GOLDEN / "two_sites.yaml").read_text()
    assert yaml.dump(yaml.load(text)) == text


def test_the_example_in_the_documentation_is_that_file() -> None:
    assert yaml.__doc__ is not None
    example = yaml.__doc__.split("\n\n")[1]
    text = "\n".join(line[4:] for line in example.splitlines())
    documented, golden = yaml.load(text), yaml.load((GOLDEN / "two_sites.yaml").read_text())
    assert documented.links == golden.links
    assert [node.name for node in documented.nodes] == [node.name for node in golden.nodes]


def test_directions_may_differ() -> None:
    topology = yaml.load((GOLDEN / "two_sites.yaml").read_text())
    towards, back = topology.links[1].ports
    queue = Queue(limit_bytes=250_000)
    assert back.conditions == Conditions(rate_bps=10**8, delay_ns=2 * 10**7, queue=queue)
    assert towards.conditions == replace(back.conditions, loss_fraction=0.001)
    assert back.ip == "10.0.1.254/24"


def test_texts_that_look_like_numbers_stay_texts() -> None:
    text = "nodes:\n- {host: no, mac: 10:20:30:40:50:51}\n- {host: y}\n"
    assert yaml.load(text).nodes == (Host("no", mac="10:20:30:40:50:51"), Host("y"))


SWITCHES = """nodes:
- {controller: c0, port: 6653}
- switch: s1
  kind: ovs
  stp: true
  priority: 4096
  controllers: [c0]
  protocols: [OpenFlow10, OpenFlow13]
  fail_mode: standalone
  datapath: user
  listen_port: 6654
  netflow: {target: "10.0.0.9:9996", timeout_s: 60, add_id: true}
  sflow: {target: "10.0.0.9:6343", sampling: 10}
- {switch: s2, vlan_filtering: true}
- {host: h1}
links:
- link: [s1, s2]
  a_port: {vlan: 5, trunks: [10, 20]}
- link: [h1, s2]
  b_port: {vlan: 10}
"""


def test_yaml_describes_switches_completely() -> None:
    topology = yaml.load(SWITCHES)
    assert topology.nodes[1] == Switch(
        "s1",
        kind="ovs",
        stp=True,
        priority=4096,
        controllers=("c0",),
        protocols=("OpenFlow10", "OpenFlow13"),
        fail_mode="standalone",
        datapath="user",
        listen_port=6654,
        netflow=NetFlow("10.0.0.9:9996", timeout_s=60, add_id=True),
        sflow=SFlow("10.0.0.9:6343", sampling=10),
    )
    assert topology.links[0].a == Port("s1", vlan=5, trunks=(10, 20))
    assert yaml.load(yaml.dump(topology)) == topology


@pytest.mark.parametrize(
    ("field", "ours"),
    [
        ("nodes: [{host: h1, gateway: 10.0.0.1}]", "default_route"),
        ("nodes: [{host: h1, addresses: 10.0.0.1/24}]", "ip"),
        ("nodes: [{host: h1}, {host: h2}]\nlinks: [{link: [h1, h2], bandwidth: 5Mbps}]", "rate"),
        ("nodes: [{host: h1}, {host: h2}]\nlinks: [{link: [h1, h2], latency: 5ms}]", "delay"),
    ],
)
def test_the_error_for_another_programs_word_suggests_ours(field: str, ours: str) -> None:
    with pytest.raises(TopologyError, match=rf"unknown field .* \(did you mean {ours}\?\)"):
        yaml.load(field)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "{switch: s1, kind: ovs, sflow: {sampling: 9}}",
            'line 2 (nodes[0].sflow): a collector needs a target (as in "target: 127.0.0.1:9996")',
        ),
        (
            '{switch: s1, kind: ovs, netflow: {target: "1.1.1.1:1", header: 9}}',
            'line 2 (nodes[0].netflow.header): unknown field "header" '
            "(choose from: add_id, target, timeout_s)",
        ),
        (
            "{router: r1, frr_file: r1.conf}",
            'line 2 (nodes[0].frr_file): "r1.conf" is a relative path, '
            "but this input is not in a file; use an absolute path",
        ),
        (
            "{router: r1, frr_file: /nowhere/r1.conf}",
            "line 2 (nodes[0].frr_file): cannot read /nowhere/r1.conf: No such file or directory",
        ),
    ],
)
def test_unknown_fields_of_a_node_are_reported_with_their_place(text: str, problem: str) -> None:
    with pytest.raises(TopologyError) as caught:
        yaml.load(f"nodes:\n- {text}\n")
    assert str(caught.value) == problem


def test_a_router_has_its_text_for_frr_in_the_file_or_beside_it(tmp_path: Path) -> None:
    text = "router ospf\n network 10.0.0.0/8 area 0\n"
    (tmp_path / "r1.conf").write_text(text)
    file = tmp_path / "two.yaml"
    file.write_text(
        'nodes:\n- {router: r1, frr_file: r1.conf}\n- {router: r2, frr: "router rip\\n"}\n'
    )
    topology = load(file)
    assert topology.nodes == (Router("r1", frr=text), Router("r2", frr="router rip\n"))
    save(topology, file)
    assert load(file) == topology


def test_an_empty_file_is_not_a_topology() -> None:
    with pytest.raises(TopologyError) as caught:
        yaml.load("", "a.yaml")
    assert str(caught.value) == "a.yaml: line 1: nothing is not a mapping of fields"


@pytest.mark.parametrize(
    "text",
    ["nodes: !!int abc", "a: !!python/object:x.Y {}", "? [1]\n: 2", "\x00", "name: !!binary eA=="],
)
def test_odd_yaml_is_refused(text: str) -> None:
    with pytest.raises(TopologyError):
        yaml.load(text)


def test_too_deep_nesting_is_refused() -> None:
    with pytest.raises(TopologyError):
        yaml.load("[" * 500)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(topologies())
def test_any_topology_survives_writing_and_reading(topology: Topology) -> None:
    assert yaml.load(yaml.dump(topology)) == topology


@pytest.mark.parametrize("text", ["\x85", "a\x85b", "\u2028", "a\u2029 b", "two\nlines", "# none"])
def test_a_text_keeps_its_line_ends(text: str) -> None:
    topology = Topology(nodes=(Host("h1", number=1, extra={"note": text}),))
    assert yaml.load(yaml.dump(topology)) == topology
