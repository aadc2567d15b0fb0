"""wanlab's own format for topologies, in YAML: short, with units, and complete.

    name: two sites
    ip_base: 10.0.0.0/8
    nodes:
      - {host: h1, ip: 10.0.1.1/24, default_route: 10.0.1.254}
      - {host: h2, ip: 10.0.2.1/24, default_route: 10.0.2.254}
      - {switch: s1}
      - router: r1
        routes: [192.168.0.0/16 via 10.0.2.7]
    links:
      - {link: [h1, s1]}
      - link: [s1, r1]                # a is s1, b is r1
        rate: 100Mbps                 # both directions
        delay: 20ms
        queue: {kind: fifo, limit: 250KB}
        a_to_b: {loss: 0.1%}          # from s1 to r1, besides
        b_port: {ip: 10.0.1.254/24}
      - link: [r1, h2]
        queue: fq_codel
        rate: 1Gbps
        a_port: {ip: 10.0.2.254/24, mtu: 9000}

A node begins with its kind (host, switch, router, controller); its other fields are those of the
classes in `wanlab.topology.model`. A router has `frr` (the text of a frr.conf) or `frr_file` (its path).
A link's words are those of `wanlab.topology.words`. A port has number, name, ip, mac, speed and mtu; a
switch's port also vlan and trunks, any other port also nic: `{tso: off, gro: on, coalescing: 50us}`.
`extra` keeps fields of other formats.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from wanlab.errors import InputError, TopologyError
from wanlab.fields import Fields, FillPlaceholders, Problems
from wanlab.topology.check import accept, ensure
from wanlab.topology.files.plain import read_topology, topology_to_plain
from wanlab.topology.model import Source, Topology
from wanlab.yaml_text import dump_yaml, parse_yaml


def load(
    text: str,
    file: str = "",
    *,
    folder: Path | None = None,
    fill_placeholders: FillPlaceholders | None = None,
) -> Topology:
    """Return the topology that a YAML text describes.

    Names of other files in it are relative to the folder of `file`, or to `folder`. `fill_placeholders`
    replaces the placeholders of an experiment's topology by their values.
    """
    try:
        document = parse_yaml(text, file)
    except InputError as error:
        raise TopologyError(error.problems, error.source) from None
    data = fill_placeholders(document.data) if fill_placeholders else document.data
    problems = Problems(document.locate, folder or (Path(file).parent if file else None))
    problems.extend(document.problems)
    topology = read_topology(Fields(data, "", problems))
    positions = {path: document.locate(path) for path in document.lines}
    return accept(replace(topology, source=Source(file=file, places=positions)), problems, file)


def dump(topology: Topology) -> str:
    """Return the YAML text of a topology."""
    return dump_yaml(topology_to_plain(ensure(topology)), short_in_one_line=True)
