"""Test plans for the computer's own kernel."""

import pytest

from wanlab.operations import (
    JoinBridge,
    SetCoalesce,
    SetGroMaxSize,
    SetOffloads,
    SetSpeed,
    SetSysctl,
)
from wanlab.plan import Wire, plan
from wanlab.plan.native import (
    BACKPRESSURE,
    UDP_BACKPRESSURE,
    KernelFeatures,
    native,
    native_warnings,
)
from wanlab.topology import ensure, link, resolve, shapes
from wanlab.topology.model import Host, Port, Router, Topology

WITH, WITHOUT = (
    KernelFeatures(has_bridge_netfilter=True),
    KernelFeatures(has_bridge_netfilter=False),
)


def operations_of(
    topology: Topology, wire: Wire = "mtu", kernel: KernelFeatures | None = WITH
) -> list[object]:
    return list(native(plan(resolve(ensure(topology)), wire=wire), wire, kernel))


def test_settings_of_the_whole_computer_are_left_alone() -> None:
    keys = [op.key for op in operations_of(shapes.minimal()) if isinstance(op, SetSysctl)]
    assert "net.core.netdev_max_backlog" not in keys
    assert "net.ipv6.conf.default.disable_ipv6" in keys


def test_nics_have_no_coalescing_and_unlimited_ports_need_no_operation() -> None:
    unlimited = Topology(
        nodes=(Host("h1"), Host("h2")),
        links=(link(Port("h1", speed_bps=0), Port("h2", speed_bps=1_000_000)),),
    )
    operations = operations_of(unlimited)
    assert not any(isinstance(op, SetCoalesce) for op in operations)
    speeds = [op.interface for op in operations if isinstance(op, SetSpeed)]
    assert speeds == ["h2-eth0"]  # is refused


@pytest.mark.parametrize("wire", ["mtu", "gso"])
def test_bridge_netfilter_is_used_where_it_exists(wire: Wire) -> None:
    first, second, *rest = operations_of(shapes.minimal(), wire)
    assert first == SetSysctl("", "net.bridge.bridge-nf-call-iptables", "1")
    assert second == SetSysctl("", "net.bridge.bridge-nf-call-ip6tables", "1")
    assert rest == operations_of(shapes.minimal(), wire, None)
    plain = plan(resolve(shapes.minimal()), wire=wire)
    assert native_warnings(plain, wire, WITH) == []


def test_without_bridge_netfilter_switch_ports_use_napi_and_merge_nothing() -> None:
    operations = operations_of(shapes.minimal(), "mtu", WITHOUT)
    in_switch = {op.interface for op in operations if isinstance(op, JoinBridge)}
    offloads = {op.interface: op.features for op in operations if isinstance(op, SetOffloads)}
    assert in_switch == {"s1-eth1", "s1-eth2"}
    assert all(offloads[name] == {"tso": False, "gso": False, "gro": True} for name in in_switch)
    limits = [(op.interface, op.max_bytes) for op in operations if isinstance(op, SetGroMaxSize)]
    assert sorted(limits) == [("s1-eth1", 1), ("s1-eth2", 1)]


def test_backpressure_without_a_remedy_is_a_warning() -> None:
    switched = plan(resolve(shapes.minimal()))
    routed = plan(resolve(Topology(nodes=(Host("h1"), Router("r1")), links=(link("h1", "r1"),))))
    assert native_warnings(switched, "gso", WITHOUT) == [BACKPRESSURE]
    assert native_warnings(switched, "mtu", WITHOUT) == [UDP_BACKPRESSURE]
    assert native_warnings(routed, "gso", WITHOUT) == []
