import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_type_hints

import pytest

from wanlab import operations
from wanlab.agent.perform import Performer
from wanlab.errors import TopologyError
from wanlab.operations import (
    ROOT,
    AddAddress,
    AddLink,
    AddNamespace,
    LinkEnd,
    Operation,
    SetSpeed,
    SetSysctl,
)
from wanlab.plan import plan, settling_point
from wanlab.plan.change import reshape
from wanlab.plan.needs import required_programs
from wanlab.plan.routing import programs_for
from wanlab.topology import (
    Conditions,
    Controller,
    Host,
    Port,
    Router,
    Switch,
    Topology,
    link,
    resolve,
    shapes,
)

KINDS = sorted(
    {
        kind
        for kind in vars(operations).values()
        if inspect.isclass(kind) and issubclass(kind, Operation) and kind is not Operation
    },
    key=lambda kind: kind.__name__,
)
VALUES: dict[Any, Any] = {
    **{str: "x", bool: True, int: 1, LinkEnd: LinkEnd("", "x"), tuple[str, ...]: ("x",)},
    **{str | None: "x", float | None: 0.5, tuple[int, ...]: (1,)},
}


def example(kind: type[Operation]) -> Operation:
    """Return an operation of the kind with arbitrary values."""
    hints = get_type_hints(kind)
    names = list(inspect.signature(kind).parameters)
    return kind(**{name: VALUES.get(hints[name], {"tso": True}) for name in names})


@pytest.mark.parametrize("kind", KINDS)
def test_the_agent_performs_every_operation_with_its_arguments(kind: type[Operation]) -> None:
    verb, arguments = example(kind).request()
    inspect.signature(getattr(Performer, verb)).bind(None, **arguments)


def test_the_agent_performs_no_other_operations() -> None:
    performed = {name for name in vars(Performer) if not name.startswith("_")}
    performed -= {"perform", "undo"}
    assert performed == {kind.verb for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_every_operation_is_described_in_one_line(kind: type[Operation]) -> None:
    assert example(kind).describe().count("\n") == 0
    assert example(kind).commands() != []


def test_operations_are_in_an_order_that_works() -> None:
    names = [type(it).__name__ for it in plan(resolve(shapes.dumbbell(1, rate="1Mbps")))]
    firsts = sorted(set(names), key=names.index)
    assert firsts == [
        "SetSysctl",
        "AddNamespace",
        "AddBridge",
        "AddLink",
        "AddAddress",
        "SetWire",
        "SetOffloads",
        "SetCoalesce",
        "Shape",
        "WriteFile",
        "JoinBridge",
    ]


def test_a_link_to_a_controller_is_no_wire() -> None:
    topology = Topology(
        nodes=(Host("h1"), Switch("s1"), Controller("c0")),
        links=(link("h1", "s1"), link("c0", "s1")),
    )
    assert "AddLink AddLink" not in " ".join(type(it).__name__ for it in plan(resolve(topology)))


def test_sysctls_hold_in_every_node() -> None:
    done = plan(resolve(shapes.single(2)), sysctls={"net.ipv4.tcp_rmem": "1 2 3"})
    assert [it for it in done if isinstance(it, SetSysctl) and "rmem" in it.key] == [
        SetSysctl("h1", "net.ipv4.tcp_rmem", "1 2 3"),
        SetSysctl("h2", "net.ipv4.tcp_rmem", "1 2 3"),
    ]


@pytest.mark.parametrize(
    ("topology", "is_off"),
    [
        (Topology(nodes=()), False),
        (Topology(nodes=(Host("h1"), Host("h2")), links=(link("h1", "h2"),)), False),
        (shapes.single(2), True),
    ],
)
def test_ipv6_is_off_for_new_ports_of_switches_only(topology: Topology, *, is_off: bool) -> None:
    assert any("disable_ipv6" in it.describe() for it in plan(resolve(topology))) == is_off


def test_a_gso_wire_leaves_the_ports_as_they_are() -> None:
    names = {type(it).__name__ for it in plan(resolve(shapes.single(2)), wire="gso")}
    assert names & {"SetWire", "SetOffloads", "SetCoalesce"} == set()


def test_a_speed_is_set_in_whole_megabits() -> None:
    topology = Topology(
        nodes=(Host("h1"), Host("h2")), links=(link(Port("h1", speed_bps=25_000_000), "h2"),)
    )
    speeds = [it for it in plan(resolve(topology)) if isinstance(it, SetSpeed)]
    assert speeds == [SetSpeed("h1", "h1-eth0", 25)]


def with_switch(**words: object) -> Callable[[], Topology]:
    return lambda: replace(
        shapes.minimal(),
        nodes=(Host("h1"), Host("h2"), replace(Switch("s1"), **words)),  # type: ignore[arg-type]
    )


def with_host(**words: object) -> Callable[[], Topology]:
    return lambda: replace(
        shapes.minimal(),
        nodes=(replace(Host("h1"), **words), Host("h2"), Switch("s1")),  # type: ignore[arg-type]
    )


def with_queue(kind: str) -> Callable[[], Topology]:
    return lambda: shapes.minimal(rate="1Mbps", queue=kind)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (with_switch(kind="user"), "switch s1: the switch kind user cannot be built"),
        (with_switch(kind="ivs"), "switch s1: the switch kind ivs cannot be built"),
        (with_queue("htb"), "port h1-eth0: the queue htb needs classes"),
        (with_queue("prio"), "port h1-eth0: the queue prio needs classes"),
        (
            lambda: Topology(
                nodes=(Host("h1"), Host("h2")), links=(link(Port("h1", speed_bps=1_500_000), "h2"),)
            ),
            "port h1-eth0: a port's speed must be in whole Mbit/s",
        ),
    ],
)
def test_the_error_for_an_impossible_part_names_it(make: Callable[[], Topology], said: str) -> None:
    with pytest.raises(TopologyError) as caught:
        plan(resolve(make()))
    assert str(caught.value).startswith(said)


def test_all_impossible_parts_are_reported_at_once() -> None:
    topology = Topology(nodes=(Switch("s1", kind="ivs"), Switch("s2", kind="userns")))
    with pytest.raises(TopologyError) as caught:
        plan(resolve(topology))
    assert [problem.place for problem in caught.value.problems] == ["switch s1", "switch s2"]


def commands_of(topology: Topology, what: str) -> list[list[str]]:
    """Return the commands of each operation with this word in its description."""
    return [it.commands() for it in plan(resolve(topology)) if what in it.describe()]


def test_a_private_directory_belongs_to_the_hosts_namespace() -> None:
    topology = with_host(private_directories=(("/var/log", None), ("/srv", "/tmp/h1")))()
    in_memory, kept = commands_of(topology, "private directory")
    inside = "nsenter --net=/run/netns/h1 --mount=/run/mounts/h1"
    assert in_memory[-2:] == ["mkdir -p /var/log", f"{inside} mount -t tmpfs tmpfs /var/log"]
    assert kept[-2:] == ["mkdir -p /srv /tmp/h1", f"{inside} mount --bind /tmp/h1 /srv"]


def test_a_vlan_interface_has_its_own_address() -> None:
    topology = with_host(vlan_interfaces=(("10.1.0.1/24", 100),))()
    assert commands_of(topology, "h1-eth0.100") + commands_of(topology, "VLAN") == [
        ["ip -n h1 addr add 10.1.0.1/24 brd + dev h1-eth0.100"],
        [
            "ip -n h1 link add link h1-eth0 name h1-eth0.100 type vlan id 100",
            "ip -n h1 link set h1-eth0.100 up",
        ],
    ]


def test_a_cpu_share_is_planned_for_the_real_clock_only() -> None:
    topology = with_host(cpu=0.25, cores="0")()
    (limit,) = commands_of(topology, "CPU of h1")
    assert limit[-1] == "echo 0 > /sys/fs/cgroup/h1/cpuset.cpus"
    without = plan(resolve(topology), shares=False)
    assert not any("CPU of" in operation.describe() for operation in without)


@pytest.mark.parametrize("kind", ["bridge", "ovs"])
def test_an_interface_of_the_computer_joins_a_switch(kind: str) -> None:
    topology = with_switch(external_interfaces=("eth7",), kind=kind)()
    taken, *joined = commands_of(topology, "eth7")
    assert taken == ["ip link set eth7 up"]
    plugged = {
        "bridge": "ip link set eth7 master s1",
        "ovs": "ovs-vsctl add-port s1 eth7",
    }
    assert joined == [[plugged[kind]]]


def test_an_interface_of_the_computer_moves_into_a_host() -> None:
    topology = with_host(external_interfaces=("eth7",))()
    assert commands_of(topology, "eth7") == [
        ["ip link set eth7 netns h1", "ip -n h1 link set eth7 up"]
    ]


@pytest.mark.parametrize(
    ("text", "programs"),
    [
        ("hostname r1\n", ""),
        ("router ospf\n network 10.0.0.0/8 area 0\n", "ospfd"),
        ("interface r1-eth0\n ipv6 ospf6 area 0\nrouter ospf6\n", "ospf6d"),
        ("router bgp 65000\nrouter rip\n", "bgpd ripd"),
        ("router isis one\nrouter ripng\n", "ripngd isisd"),
        ("interface r1-eth0\n ip pim\n", "pimd"),
        ("router bgp 65000\n neighbor 10.0.0.2 bfd\n", "bfdd bgpd"),
    ],
)
def test_frr_runs_the_programs_that_its_configuration_needs(text: str, programs: str) -> None:
    assert programs_for(text) == ("zebra", "staticd", *programs.split())


def test_open_vswitch_and_frr_are_needed_where_they_are_used() -> None:
    topology = Topology(
        nodes=(Switch("s1", kind="ovs"), Switch("s2"), Router("r1", frr="router rip\n"))
    )
    assert {(need.package, need.needed_by) for need in required_programs(topology)} == {
        ("openvswitch-switch", "switch s1"),
        ("frr", "router r1"),
    }
    assert "/usr/lib/frr/ripd" in [need.program for need in required_programs(topology)]
    assert list(required_programs(shapes.minimal())) == []


def test_an_outside_controller_is_reached_through_a_relay() -> None:
    topology = with_switch(kind="ovs", controllers=("c0",))()
    guide = Controller("c0", kind="outside", address="192.0.2.7", port=6653)
    done = plan(resolve(replace(topology, nodes=(*topology.nodes, guide))))
    commands = [line for operation in done for line in operation.commands()]
    relay = "wanlab-relay 192.0.2.7 6653 --detach --pidfile /run/wanlab/c0.pid"
    assert relay in commands
    assert any('target="tcp:127.0.0.1:6653"' in line for line in commands)


def test_ports_join_when_the_nodes_have_settled() -> None:
    for kind in ("bridge", "ovs"):
        done = plan(resolve(with_switch(kind=kind)()))
        late = [operation.describe() for operation in done[settling_point(done) :]]
        assert late == ["port s1-eth1 in switch s1", "port s1-eth2 in switch s1"]
        early = plan(resolve(with_switch(kind=kind, stp=True)()))
        assert settling_point(early) == len(early)


def test_a_change_replaces_the_old_settings() -> None:
    before = Port("h1", name="h1-eth0", conditions=Conditions(delay_ns=20_000_000))
    after = replace(before, conditions=Conditions(loss_fraction=0.01))
    (shape,) = reshape("h1", before, after)
    assert shape.commands() == [
        "ip netns exec h1 tc qdisc del dev h1-eth0 root",
        "ip netns exec h1 tc qdisc add dev h1-eth0 root handle 1: netem limit 1000000 loss 1%",
    ]
    (gone,) = reshape("h1", before, replace(before, conditions=Conditions()))
    assert gone.commands() == ["ip netns exec h1 tc qdisc del dev h1-eth0 root"]
    (new,) = reshape("h1", replace(before, conditions=Conditions()), before)
    assert new.commands() == [
        "ip netns exec h1 tc qdisc add dev h1-eth0 root handle 1: netem limit 1000000 delay 20ms"
    ]
    bare = replace(before, conditions=Conditions())
    assert reshape("h1", bare, bare) == []


def test_a_router_forwards() -> None:
    topology = Topology(nodes=(Host("h1"), Router("r1")), links=(link("h1", "r1"),))
    keys = [it.key for it in plan(resolve(topology)) if isinstance(it, SetSysctl) and it.node]
    assert keys == ["net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"]


def test_a_host_in_the_root_namespace_gets_no_namespace_and_needs_no_address() -> None:
    host = Host("gateway", ip="", in_root=True)
    operations = plan(resolve(Topology(nodes=(host, Switch("s1")), links=(link("gateway", "s1"),))))
    assert [o for o in operations if isinstance(o, AddNamespace | AddAddress)] == []
    (made,) = (o for o in operations if isinstance(o, AddLink))
    assert (made.a.node, made.b.node) == (ROOT, ROOT)
