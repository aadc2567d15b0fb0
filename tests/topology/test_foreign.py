"""Import topologies of containerlab and GNS3; everything that has no counterpart is listed."""

from __future__ import annotations

import contextlib
import gc
import json
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from wanlab.errors import WanlabError
from wanlab.topology import Host, Router, Switch, check, load, loads, save
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


CLAB = "topology:\n  nodes: {a: {}, b: {}}\n  "
NODE = {"node_id": "a", "node_type": "vpcs"}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (CLAB + "links: [{endpoints: [7, a]}]", r"topology.links\[0\].endpoints\[0\]: expected"),
        (CLAB + "links: [{endpoints: 7}]", r"links\[0\].endpoints: expected a list"),
        (CLAB + "links: {a: b}", "topology.links: expected a list"),
        (CLAB + "links: [a]", r"topology.links\[0\]: expected a mapping"),
        (CLAB + "links: [{endpoints: ['a:1', 'b:1'], mtu: big}]", r"links\[0\].mtu: expected"),
        ("topology: {nodes: [a]}", "topology.nodes: expected a mapping of fields"),
        ("topology: {nodes: {a: {exec: [{b: c}]}}}", r"topology.nodes.a.exec\[0\]: expected"),
        ("topology: {nodes: {a: {labels: [b]}}}", "topology.nodes.a.labels: expected"),
        ("topology: {nodes: {a: {}}, kinds: {linux: 7}}", "topology.kinds"),
        ("topology: 7", "topology: expected a mapping"),
        (
            "topology: {nodes: {" + ", ".join(f"n{n}: {{}}" for n in range(20_001)) + "}}",
            "20001 no",
        ),
    ],
)
def test_a_wrong_field_of_containerlab_is_named(text: str, what: str) -> None:
    with pytest.raises(WanlabError, match=f"^x.clab.yml.*{what}"):
        import_text(text, "x.clab.yml")


@pytest.mark.parametrize(
    ("topology", "what"),
    [
        ({"nodes": 7}, "topology.nodes: expected a list or null, got"),
        ({"nodes": [7]}, r"topology.nodes\[0\]: expected a mapping"),
        ({"nodes": [{"node_type": "vpcs"}]}, '"node_id" is missing'),
        ({"nodes": [{**NODE, "properties": []}]}, r"nodes\[0\].properties: expected a mapping"),
        ({"nodes": [{**NODE, "x": "left"}]}, r"nodes\[0\].x: expected a number"),
        ({"links": [{"nodes": {}}]}, r"topology.links\[0\].nodes: expected a list"),
        ({"links": [{"nodes": [], "filters": {"delay": 5}}]}, r"filters\[...\]: expected a list"),
        ({"drawings": [{"svg": 1}]}, r"drawings\[0\].svg: expected a string"),
        ({"drawings": [[[[]] * 9]] * 9}, "expected"),
    ],
)
def test_a_wrong_field_of_gns3_is_named(topology: dict[str, object], what: str) -> None:
    with pytest.raises(WanlabError, match=f"^x.gns3.*{what}"):
        import_text(json.dumps({"revision": 9, "topology": topology}), "x.gns3")


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"revision": 9, "topology": {"a":' + "[" * 999, "\ud800"]
)
def test_a_project_of_gns3_with_deep_or_damaged_json_is_refused(text: str) -> None:
    with pytest.raises(WanlabError, match=r"^x.gns3 is not a project of GNS3"):
        import_text(text, "x.gns3")


def test_numbers_with_thousands_of_digits_are_refused_or_kept_as_commands(tmp_path: Path) -> None:
    many = "9" * 5000
    commands = f"['ip link set eth1 mtu {many}', 'ip a add 1.1.1.1/{many} dev eth1']"
    text = f"topology: {{nodes: {{a: {{exec: {commands}}}}}}}"
    (imported,) = import_text(text, "x.clab.yml").topology.hosts
    assert many in (imported.start_command or "")
    stored = tmp_path / "project-files" / "docker" / "a" / "etc" / "network"
    stored.mkdir(parents=True)
    (stored / "interfaces").write_text(
        f"iface eth{many} inet static\n address 10.0.0.1\n netmask {many}\n"
    )
    node = {"name": "PC", "node_type": "docker", "node_id": "a"}
    assert len(import_file(gns3(tmp_path, topology={"nodes": [node]})).topology.hosts) == 1


LONG_NAMES = (f"  {'x' * 20}{'y' * (n % 7)}{n}z: {{}}\n" for n in range(2_000))
TEXTS = {"revision": 9, "topology": {"drawings": [{"svg": "<text>" * 200_000}]}}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.clab.yml", "topology: {nodes: {a: {}}}\n# " + "${a-" * 200_000),
        (
            "x.gns3",
            json.dumps({"revision": 9, "topology": {"drawings": [{"svg": "<text>" * 200_000}]}}),
        ),
        ("x.gns3", json.dumps({"revision": 9, "topology": {"nodes": [NODE] * 2_000}})),
        (
            "x.clab.yml",
            "topology:\n nodes:\n"
            + "".join(f"  {'x' * 20}{'y' * (n % 7)}{n}z: {{}}\n" for n in range(2_000)),
        ),
    ],
)
def test_large_files_are_imported_in_linear_time(name: str, text: str) -> None:
    before_s = time.process_time()
    import_text(text, name)
    assert time.process_time() - before_s < 20  # under a second on an idle computer


def test_a_yaml_file_is_recognised_by_its_fields() -> None:
    assert program_of("lab.yml", "name: x\ntopology:\n  nodes: {}\n") == "containerlab"
    assert program_of("lab.yml", "name: x\nnodes: []\n") == ""


def test_a_file_of_another_program_must_be_imported_first(tmp_path: Path) -> None:
    with pytest.raises(WanlabError, match="wanlab import"):
        load(tmp_path / "lab.clab.yml")


INHERITED = "topology:\n  {part}\n  nodes:\n" + "".join(
    f"    n{number}: {{kind: linux, group: g}}\n" for number in range(300)
)
MANY = ", ".join(["ip link"] * 3000)


@pytest.mark.parametrize(
    "part",
    [
        f"defaults: {{exec: [{MANY}]}}",
        f"kinds: {{linux: {{binds: [{MANY}]}}}}",
        f"groups: {{g: {{labels: {{{', '.join(f'l{number}: a' for number in range(3000))}}}}}}}",
    ],
    ids=["exec", "binds", "labels"],
)
def test_fields_that_many_nodes_inherit_are_limited(part: str) -> None:
    """With 20,000 nodes, a file of 300 KB became 100 million commands."""
    with pytest.raises(WanlabError, match=r"more than 500000 fields .those of defaults"):
        import_text(INHERITED.replace("{part}", part), "a.clab.yml")


def test_the_texts_of_files_that_many_routers_name_are_limited() -> None:
    """20,000 routers with one file of 1 MB took 20 GB."""
    files = []

    def read_file(name: str) -> str | None:
        files.append(name)
        return "x" * 1_000_000 if name == "frr.conf" else None

    text = INHERITED.replace(
        "{part}", 'defaults: {image: frr, binds: ["frr.conf:/etc/frr/frr.conf"]}'
    )
    with pytest.raises(WanlabError, match=r"too long files frr.conf .at most 16 Mi characters"):
        import_text(text, "a.clab.yml", read_file)
    assert files.count("frr.conf") == 1


def _switches(ports: list[dict[str, object]], links: int) -> str:
    """Return a project of a switch with these ports, and a second switch, joined by many links."""
    nodes = [
        {"name": name, "node_type": "ethernet_switch", "node_id": name, "properties": properties}
        for name, properties in (("a", {"ports_mapping": ports}), ("b", {}))
    ]
    ends = [{"node_id": "b", "port_number": 0}]
    joined = [{"nodes": [{"node_id": "a", "port_number": n}, *ends]} for n in range(links)]
    return json.dumps({"revision": 9, "topology": {"nodes": nodes, "links": joined}})


def test_the_vlans_of_trunks_are_limited() -> None:
    """20,000 trunks of 4,094 VLANs took minutes and a gigabyte."""
    access = [{"port_number": n, "type": "access", "vlan": n % 4094 + 1} for n in range(4094)]
    trunks = [{"port_number": n, "type": "dot1q", "vlan": 1} for n in range(200)]
    with pytest.raises(WanlabError, match="carry more than 500000 VLANs altogether"):
        import_text(_switches([*trunks, *access], links=200), "a.gns3")


def test_a_switch_of_many_ports_is_read_in_linear_time() -> None:
    """Each link went through all ports of its switches: 20,000 links took minutes."""
    ports = [{"port_number": n, "type": "access", "vlan": 5} for n in range(100_000)]
    began = time.process_time()
    imported = import_text(_switches([*ports, {"port_number": 99_999, "vlan": 7}], 3000), "a.gns3")
    assert time.process_time() - began < 10
    assert {link.a.vlan for link in imported.topology.links} == {5}


def test_cycles_are_collected_again_after_a_file_was_read() -> None:
    """The collector took half of the time; an error must not leave it off."""
    for text in ("nodes: [{host: h1}]", "nodes: 5"):
        with contextlib.suppress(WanlabError):
            loads(text, "a.yaml")
        assert gc.isenabled()


def test_a_host_without_an_address_gets_none(tmp_path: Path) -> None:
    """One by rule, 10.0.0.1/8, would be in the way of what a lab's user types: 10.0.1.10/24."""
    text = "name: x\ntopology:\n  nodes: {a: {kind: linux}, b: {kind: linux}}\n"
    text += "  links: [{endpoints: ['a:eth1', 'b:eth1']}]\n"
    imported = import_text(text, "x.clab.yml")
    assert [host.ip for host in imported.topology.hosts] == ["", ""]
    assert "a, b: has no address in the file, and gets none" in map(str, imported.notes)
    for name in ("x.yaml", "x.mn"):
        save(imported.topology, tmp_path / name)
        assert [host.ip for host in load(tmp_path / name).hosts] == ["", ""], name
    assert "ip: none" in (tmp_path / "x.yaml").read_text()
