"""Generate random valid topologies."""

from dataclasses import fields, replace
from typing import Any

from hypothesis import strategies as st

from wanlab.topology import (
    Conditions,
    Controller,
    Host,
    Link,
    Nic,
    Port,
    Processor,
    Queue,
    Router,
    Switch,
    Topology,
)
from wanlab.topology.check import FRAME_HEADER_BYTES, MAX_MTU
from wanlab.topology.check_nodes import CONTROLLER_KINDS, SWITCH_KINDS
from wanlab.topology.cpu import NO_PROCESSOR, read_model
from wanlab.topology.model import NetFlow, SFlow
from wanlab.topology.settings import DISTRIBUTIONS, QUEUE_KINDS

SERVER = read_model("server-2019")
FRACTIONS = [field.name for field in fields(Conditions) if field.name.endswith("_fraction")]

coordinates = st.integers(-4000, 4000).map(lambda quarter: quarter / 4)
commands = st.none() | st.text("abc :#-'\"\\é\n", min_size=1, max_size=8)
octets = st.integers(1, 250)
collectors = st.sampled_from(["10.0.0.9:9996", "127.0.0.1:6343"])
addresses = st.builds("192.168.{}.{}/16".format, octets, octets)
kept_by_miniedit = st.fixed_dictionaries({"colour": st.integers()}, optional={"note": st.text()})
extras: st.SearchStrategy[dict[str, Any]] = st.just({}) | kept_by_miniedit.map(
    lambda said: {"opts": said}
)
queues = st.builds(
    Queue,
    st.sampled_from(QUEUE_KINDS),
    limit_bytes=st.none() | st.integers(MAX_MTU + FRAME_HEADER_BYTES, 10**9),
    limit_packets=st.none() | st.integers(1, 65_000),  # of the largest packets: tc counts to 4 GiB
    options=st.dictionaries(
        st.sampled_from(["target", "ecn", "interval"]), st.sampled_from(["", "5ms", "1", "no"])
    ).map(lambda options: tuple(options.items())),
)


@st.composite
def conditions(draw: Any) -> Conditions:
    if draw(st.booleans()):
        return Conditions()
    shares = {name: draw(st.floats(0.001, 1.0)) for name in FRACTIONS if draw(st.booleans())}
    for name, needed in (("loss_correlation", "loss"), ("reorder_correlation", "reorder")):
        if f"{needed}_fraction" not in shares:
            shares.pop(f"{name}_fraction", None)
    return Conditions(
        rate_bps=draw(st.integers(10_000, 10**11)),
        delay_ns=draw(st.integers(1, 10**10)),
        jitter_ns=draw(st.integers(1, 10**9)),
        distribution=draw(st.none() | st.sampled_from(DISTRIBUTIONS)),
        queue=draw(st.none() | queues),
        reorder_gap=draw(st.integers(0, 9)) if "reorder_fraction" in shares else 0,
        **shares,
    )


@st.composite
def switches(draw: Any, number: int, controllers: list[str], common: dict[str, Any]) -> Switch:
    """Generate switches; only Open vSwitches get settings that others lack."""
    switch: Switch = draw(
        st.builds(
            Switch,
            st.sampled_from([f"s{number}", f"leaf{number}"]),
            number=st.just(number),
            kind=st.sampled_from(SWITCH_KINDS),
            ip=st.none() | addresses,
            stp=st.booleans(),
            dpid=st.none() | st.just(f"a{number}"),
            **common,
        )
    )
    if switch.kind == "bridge":
        return replace(switch, vlan_filtering=draw(st.booleans()))
    switch = replace(switch, controllers=tuple(controllers))
    if switch.kind != "ovs":
        return switch
    return replace(
        switch,
        protocols=draw(st.sampled_from([(), ("OpenFlow10", "OpenFlow13"), ("OpenFlow10",)])),
        fail_mode=draw(st.sampled_from([None, "secure", "standalone"])),
        datapath=draw(st.sampled_from(["kernel", "user"])),
        listen_port=draw(st.none() | st.just(6654)),
        priority=draw(st.just(7)) if switch.stp else None,
        netflow=draw(st.none() | st.builds(NetFlow, collectors, add_id=st.booleans())),
        sflow=draw(st.none() | st.builds(SFlow, collectors, sampling=st.integers(1, 1000))),
    )


switched = st.none() | st.booleans()
coalescing_times_ns = st.none() | st.integers(0, 10**6).map(lambda us: us * 1000)
processors = st.builds(
    Processor,
    model=st.sampled_from(["server-2019", "mine"]),
    cores=st.integers(1, 16),
    speed=st.sampled_from([0.1, 1.0, 7.0]),
    costs=st.sampled_from([SERVER.costs, {**SERVER.costs, "call_ns": 7}]),
)
cpus = st.none() | st.sampled_from([0.5, 1.0]) | st.just(NO_PROCESSOR) | processors
nics = st.builds(Nic, tso=switched, gro=switched, coalescing_ns=coalescing_times_ns)


@st.composite
def links(draw: Any, names: Any, switches: Any) -> Link:
    a, b = draw(st.permutations(names))[:2]
    first = draw(conditions())
    second = draw(st.just(first) | conditions())
    mtu = draw(st.none() | st.integers(68, 65535))
    speed_bps = draw(st.none() | st.integers(0, 10**11))
    vlans: dict[str, Any] = {"vlan": 10, "trunks": (20, 30)}
    if a not in switches or draw(st.booleans()):
        vlans = {}
    nic = Nic() if b in switches else draw(nics)
    return Link(
        Port(a, mtu=mtu, conditions=first, **vlans),
        Port(b, speed_bps=speed_bps, nic=nic, conditions=second),
        extra=draw(extras),
    )


@st.composite
def topologies(draw: Any) -> Topology:
    """Generate a topology with its nodes in the order of a `.mn` file."""
    common: dict[str, st.SearchStrategy[Any]] = {
        "x": coordinates,
        "y": coordinates,
        "start_command": commands,
    }
    common |= {"stop_command": commands, "extra": extras}
    controllers = draw(st.lists(st.sampled_from(["c0", "c1"]), unique=True))
    ip_base, gateway = draw(
        st.sampled_from([("10.0.0.0/8", "10.0.0.254"), ("172.16.0.9/16", "172.16.0.254")])
    )
    hosts = [
        draw(
            st.builds(
                Host,
                st.just(f"h{i}"),
                number=st.just(i),
                default_route=st.none() | st.just(gateway),
                private_directories=st.sampled_from([(), (("/a", None), ("/b", "/c"))]),
                external_interfaces=st.sampled_from([(), ("eth9",)]),
                cpu=cpus,
                cores=st.none() | st.sampled_from(["0", "0,1"]),
                scheduler=st.sampled_from([None, "cfs", "rt"]),
                **common,
            )
        )
        for i in range(1, draw(st.integers(1, 3)) + 1)
    ]
    middle = [
        draw(
            switches(i, controllers, common)
            | st.builds(
                Router,
                st.just(f"r{i}"),
                number=st.just(i),
                routes=st.sampled_from([(), ("10.0.2.0/24 via 10.0.1.2",)]),
                frr=st.none() | st.just("router rip\n network 10.0.0.0/8\n"),
                cpu=cpus,
                **common,
            )
        )
        for i in range(1, draw(st.integers(1, 3)) + 1)
    ]
    guides = [
        draw(
            st.builds(
                Controller,
                st.just(name),
                kind=st.sampled_from(CONTROLLER_KINDS),
                port=st.just(6633 + place),
                **common,
            )
        )
        for place, name in enumerate(controllers)
    ]
    names = [node.name for node in (*hosts, *middle)]
    bridging = [node.name for node in middle if isinstance(node, Switch)]
    drawn = tuple(draw(st.lists(links(names, bridging), max_size=4)))
    linked = {port.node for it in drawn for port in it.ports}
    vlan_interfaces = st.sampled_from([(), (("10.1.0.1/24", 100), ("10.2.0.1/24", 7))])
    hosts = [
        replace(host, vlan_interfaces=draw(vlan_interfaces)) if host.name in linked else host
        for host in hosts
    ]
    return Topology(
        name=draw(st.sampled_from(["", "no", "two sites", "3"])),
        ip_base=ip_base,
        cpu=draw(st.none() | st.just(NO_PROCESSOR) | processors),
        nodes=(*hosts, *middle, *guides),
        links=drawn,
        extra=draw(st.sampled_from([{}, {"seen": [1, 2.5, None, True]}])),
    )
