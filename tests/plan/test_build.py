import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import get_type_hints

import pytest

from wanlab.agent import operations
from wanlab.agent.operations import End, Operation, SetSpeed, SetSysctl
from wanlab.agent.perform import Performer
from wanlab.errors import TopologyError
from wanlab.plan import plan
from wanlab.plan.change import reshape
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
    (
        kind
        for kind in vars(operations).values()
        if inspect.isclass(kind) and issubclass(kind, Operation) and kind is not Operation
    ),
    key=lambda kind: kind.__name__,
)
VALUES = {str: "x", bool: True, int: 1, End: End("", "x"), tuple[str, ...]: ("x",)}


def example(kind: type[Operation]) -> Operation:
    """One of the kind, with any values."""
    hints = get_type_hints(kind)
    names = list(inspect.signature(kind).parameters)
    return kind(**{name: VALUES.get(hints[name], {"tso": True}) for name in names})


@pytest.mark.parametrize("kind", KINDS)
def test_the_agent_performs_every_operation_with_its_arguments(kind: type[Operation]) -> None:
    name, arguments = example(kind).request()
    inspect.signature(getattr(Performer, name)).bind(None, **arguments)


def test_the_agent_performs_nothing_else() -> None:
    performed = {name for name in vars(Performer) if not name.startswith("_")} - {"perform"}
    assert performed == {kind.name for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_every_operation_says_in_one_line_what_it_is(kind: type[Operation]) -> None:
    assert example(kind).describe().count("\n") == 0
    assert example(kind).commands() != []


def test_operations_come_in_an_order_in_which_they_can_be_done() -> None:
    names = [type(it).__name__ for it in plan(resolve(shapes.dumbbell(1, rate="1Mbps")))]
    firsts = sorted(set(names), key=names.index)
    assert firsts == [
        *("SetSysctl", "AddNamespace", "AddBridge", "AddLink", "AddAddress"),
        *("SetOffloads", "SetModeration", "Shape", "WriteFile", "JoinBridge"),
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


def test_a_gso_wire_leaves_the_ports_as_they_are() -> None:
    names = {type(it).__name__ for it in plan(resolve(shapes.single(2)), wire="gso")}
    assert names & {"SetOffloads", "SetModeration"} == set()


def test_a_speed_is_given_in_whole_megabits() -> None:
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
        (with_switch(kind="ovs"), "switch s1: the switch kind ovs cannot be built"),
        (with_switch(external_interfaces=("eth7",)), "switch s1: the embedded machine has no ext"),
        (with_host(private_directories=(("/var", None),)), "host h1: private directories cannot"),
        (with_host(vlan_interfaces=(("10.1.1.1", 5),)), "host h1: VLAN interfaces cannot"),
        (with_host(cpu=0.5), "host h1: its share of the computer"),
        (with_host(cores="0"), "host h1: its share of the computer"),
        (with_host(scheduler="cfs"), "host h1: its share of the computer"),
        (with_queue("htb"), "port h1-eth0: the queue htb needs classes"),
        (with_queue("prio"), "port h1-eth0: the queue prio needs classes"),
        (
            lambda: Topology(
                nodes=(Host("h1"), Host("h2")), links=(link(Port("h1", speed_bps=1_500_000), "h2"),)
            ),
            "port h1-eth0: a port's speed is in whole Mbit/s",
        ),
    ],
)
def test_what_cannot_be_built_is_refused_by_name(make: Callable[[], Topology], said: str) -> None:
    with pytest.raises(TopologyError) as caught:
        plan(resolve(make()))
    assert str(caught.value).startswith(said)


def test_all_that_cannot_be_built_is_told_at_once() -> None:
    topology = replace(
        shapes.minimal(),
        nodes=(
            Host("h1", private_directories=(("/var", None),)),
            Host("h2", vlan_interfaces=(("10.1.1.1", 5),)),
            Switch("s1", kind="ovs"),
        ),
    )
    with pytest.raises(TopologyError) as caught:
        plan(resolve(topology))
    assert [problem.place for problem in caught.value.problems] == [
        "host h1",
        "host h2",
        "switch s1",
    ]


def test_a_change_replaces_what_was_there() -> None:
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
