"""Import topologies of containerlab and GNS3; everything that has no counterpart is listed."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from wanlab.errors import WanlabError
from wanlab.topology import Host, Router, Switch, check, load
from wanlab.topology.foreign import Imported, import_file, import_text, program_of

LAB = """
name: campus
mgmt: {network: fixed}
topology:
  defaults: {kind: linux, image: alpine:3}
  kinds:
    nokia_srlinux: {image: srlinux, type: ixr-d2l}
  groups:
    routers: {image: "frrouting/frr:${FRR:=10}"}
  nodes:
    core: {group: routers, binds: ["core/frr.conf:/etc/frr/frr.conf:ro", "daemons:/etc/frr/daemons"]}
    edge: {kind: nokia_srlinux, startup-config: edge.cfg}
    br1: {kind: bridge}
    pc:
      labels: {graph-posX: "100", graph-posY: "40"}
      exec:
        - ip addr add 10.1.0.2/24 dev eth1
        - ip link set eth1 mtu 1400
        - ip route add default via 10.1.0.1
        - ethtool -K eth1 tx off
    a-name-that-is-too-long: {}
  links:
    - endpoints: ["core:eth1", "edge:ethernet-1/1"]
    - endpoints: ["core:eth2", "br1:eth1"]
    - type: veth
      endpoints:
        - {node: pc, interface: eth1}
        - {node: core, interface: eth3, ipv4: 10.1.0.1/24, mac: "02:00:00:00:00:01"}
      mtu: 9000
    - endpoints: ["a-name-that-is-too-long:eth1", "br1:eth2"]
    - endpoints: ["pc:eth2", "mgmt-net:pc-eth2"]
    - {type: dummy, endpoint: {node: pc, interface: eth9}}
"""


def notes_of(imported: Imported) -> list[str]:
    return [str(note) for note in imported.notes]


def campus(tmp_path: Path) -> Imported:
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "frr.conf").write_text("router ospf\n")
    (tmp_path / "campus.clab.yml").write_text(LAB)
    return import_file(tmp_path / "campus.clab.yml")


def test_nodes_of_containerlab_become_hosts_switches_and_routers(tmp_path: Path) -> None:
    topology = campus(tmp_path).topology
    kinds = {node.name: type(node) for node in topology.nodes}
    assert kinds == {
        "core": Router,
        "edge": Router,
        "br1": Switch,
        "pc": Host,
        "a-name-that-is": Host,
    }
    core, pc = topology.node("core"), topology.node("pc")
    assert isinstance(core, Router)
    assert isinstance(pc, Host)
    assert core.frr == "router ospf\n"
    assert (pc.ip, pc.default_route, pc.start_command) == (
        "10.1.0.2/24",
        "10.1.0.1",
        "ethtool -K eth1 tx off",
    )
    assert (pc.x, pc.y) == (100, 40)
    assert check(topology) == []


def test_links_of_containerlab_keep_their_ports(tmp_path: Path) -> None:
    topology = campus(tmp_path).topology
    ends = [tuple((port.node, port.name) for port in link.ports) for link in topology.links]
    assert ends == [
        (("core", "eth1"), ("edge", "ethernet-1-1")),
        (("core", "eth2"), ("br1", None)),
        (("pc", "eth1"), ("core", "eth3")),
        (("a-name-that-is", "eth1"), ("br1", None)),
    ]
    pc, core = topology.links[2].ports
    assert (pc.mtu, core.mtu, core.ip, core.mac) == (1400, 9000, "10.1.0.1/24", "02:00:00:00:00:01")


def test_everything_in_containerlab_without_a_counterpart_is_listed(tmp_path: Path) -> None:
    notes = notes_of(campus(tmp_path))
    for words in (
        "the management network (eth0) does not exist here",
        "edge: a node of the kind nokia_srlinux becomes a Linux router",
        "edge: not imported: type, startup-config",
        "core: not imported: bind daemons:/etc/frr/daemons",
        "edge:ethernet-1/1: is called ethernet-1-1 here",
        "a-name-that-is-too-long: is called a-name-that-is here",
        "a-name-that-is: has no address in the file",
        "pc: runs on start, with this computer's programs: ethtool -K eth1 tx off",
        "pc:eth2 - mgmt-net:pc-eth2: a link of type mgmt-net is left out",
        "link 6: a link of type dummy is left out",
        "images are not used: alpine:3, frrouting/frr:10, srlinux",
    ):
        assert any(words in note for note in notes), (words, notes)


def test_files_outside_the_folder_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.conf").write_text("router bgp 1\n")
    (tmp_path / "lab").mkdir()
    lab = tmp_path / "lab" / "x.clab.yml"
    lab.write_text(
        "topology:\n  nodes:\n"
        "    r: {kind: linux, image: frr, binds: ['../secret.conf:/etc/frr/frr.conf']}\n"
    )
    imported = import_file(lab)
    assert "r: cannot read ../secret.conf" in notes_of(imported)[0]
    assert imported.topology.routers[0].frr is None


def gns3(tmp_path: Path, **more: Any) -> Path:
    def node(name: str, kind: str, id_: str, **fields: Any) -> dict[str, Any]:
        return {"name": name, "node_type": kind, "node_id": id_, "x": 0, "y": 0, **fields}

    def link(*ends: tuple[str, int], **fields: Any) -> dict[str, Any]:
        nodes = [{"node_id": id_, "adapter_number": 0, "port_number": port} for id_, port in ends]
        return {"nodes": nodes, **fields}

    ports = [
        {"port_number": 0, "type": "access", "vlan": 10},
        {"port_number": 1, "type": "dot1q", "vlan": 1},
    ]
    topology = {
        "computes": [],
        "nodes": [
            node("PC 1", "vpcs", "a", x=-30),
            node("SW", "ethernet_switch", "b", properties={"ports_mapping": ports}),
            node("R1", "dynamips", "c", x=70),
            node("NAT", "nat", "d"),
        ],
        "links": [
            link(
                ("a", 0), ("b", 0), filters={"delay": [20, 5], "packet_loss": [1], "bpf": ["tcp"]}
            ),
            link(("b", 1), ("c", 0), suspend=True),
            link(("c", 1), ("d", 0)),
        ],
        "drawings": [
            {"svg": '<svg height="20" width="40"><text>A &amp; B</text></svg>', "x": 10, "y": 5},
            {"svg": '<svg height="50" width="90"><rect width="90"/></svg>', "x": -4, "y": -5},
            {"svg": "logo.png", "x": 0, "y": 0},
        ],
    }
    file = tmp_path / "lab.gns3"
    file.write_text(json.dumps({"name": "lab", "revision": 9, "topology": topology, **more}))
    return file


def test_a_project_of_gns3_keeps_addresses_vlans_filters_and_texts(tmp_path: Path) -> None:
    stored = tmp_path / "project-files" / "vpcs" / "a"
    stored.mkdir(parents=True)
    (stored / "startup.vpc").write_text("set pcname PC1\nip 10.0.0.5/24 10.0.0.1\nip dns 1.1.1.1\n")
    imported = import_file(gns3(tmp_path))
    topology = imported.topology
    pc = topology.hosts[0]
    assert (pc.name, pc.ip, pc.default_route, pc.x) == ("PC-1", "10.0.0.5/24", "10.0.0.1", 0)
    first, second = topology.links
    assert first.b.conditions == first.a.conditions
    conditions = first.a.conditions
    assert (conditions.delay_ns, conditions.jitter_ns) == (20_000_000, 5_000_000)
    assert conditions.loss_fraction == 0.01
    assert (first.b.vlan, second.a.vlan, second.a.trunks) == (10, 1, (10,))
    assert topology.extra["labels"] == [{"text": "A & B", "x": 30.0, "y": 15.0}]
    assert topology.extra["frames"] == [
        {"text": "", "x": -4.0, "y": -5.0, "width": 90.0, "height": 50.0}
    ]
    notes = notes_of(imported)
    for words in (
        "NAT: a node of type nat is left out",
        "R1 - NAT: this link is left out",
        "R1: a dynamips node becomes a Linux router",
        "PC 1 - SW: the filter bpf is not imported",
        "SW - R1: the link is suspended in GNS3 but up here",
        'PC 1: "ip dns 1.1.1.1" is not imported',
        "pictures and lines of the drawing (1) are not imported",
    ):
        assert any(words in note for note in notes), (words, notes)
    assert check(topology) == []


def test_a_portable_project_is_read_with_its_files(tmp_path: Path) -> None:
    project = tmp_path / "lab.gns3project"
    with zipfile.ZipFile(project, "w") as archive:
        archive.write(gns3(tmp_path), "project.gns3")
        archive.writestr("project-files/vpcs/a/startup.vpc", "ip 10.9.0.1 255.255.0.0\n")
    assert import_file(project).topology.hosts[0].ip == "10.9.0.1/16"


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("x.clab.yml", "topology: [", "cannot read this YAML"),
        ("x.clab.yml", "name: x\n", 'it lacks "topology"'),
        ("x.clab.yml", "topology: {nodes: {{ range 3 }}}", "is a Go template"),
        ("x.gns3", "{", "is not a project of GNS3"),
        ("x.gns3", '{"topology": {}, "revision": 4}', "is a project of GNS3 1"),
        ("x.txt", "", "is not a topology of containerlab or GNS3"),
    ],
)
def test_a_file_without_a_topology_is_an_error(name: str, text: str, what: str) -> None:
    with pytest.raises(WanlabError, match=what):
        import_text(text, name)


def test_a_yaml_file_is_recognised_by_its_fields() -> None:
    assert program_of("lab.yml", "name: x\ntopology:\n  nodes: {}\n") == "containerlab"
    assert program_of("lab.yml", "name: x\nnodes: []\n") == ""


def test_a_file_of_another_program_must_be_imported_first(tmp_path: Path) -> None:
    with pytest.raises(WanlabError, match="wanlab import"):
        load(tmp_path / "lab.clab.yml")
