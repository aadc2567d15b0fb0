"""Builds switches: bridges, and Open vSwitches with their controllers.

Open vSwitch manages the queueing disciplines of its ports and removes those that it did not make. With
QoS of type "linux-noop" it leaves a port's queueing disciplines to us and to the user's `tc`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wanlab.operations import (
    ROOT,
    AddAddress,
    AddBridge,
    AwaitSwitches,
    BringUp,
    JoinBridge,
    JoinOvs,
    Operation,
    SetOvs,
    SetVlans,
    StartController,
    StartOvs,
    StartRelay,
)
from wanlab.topology.duplicates import listening_address
from wanlab.topology.loops import storm_settings
from wanlab.topology.model import Controller, Port, Switch, Topology

RECONNECT_AFTER_MS = 1000
DEFAULT_VLAN = 1
"""The VLAN in which a bridge that filters VLANs puts every new port."""


def make_bridges(topology: Topology) -> Iterator[Operation]:
    """Yield operations that make bridges without their ports."""
    for switch in topology.switches:
        if switch.kind == "bridge":
            filters = switch.vlan_filtering or any(map(_has_vlan, topology.ports(switch.name)))
            yield AddBridge(switch.name, switch.stp, switch.priority, filters)


def make_ovs(topology: Topology) -> Iterator[Operation]:
    """Yield operations that make Open vSwitches without their ports, after their controllers."""
    switches = [switch for switch in topology.switches if switch.kind == "ovs"]
    if needs_open_vswitch(topology):
        yield StartOvs()
    for controller in _listeners(topology):
        if controller.is_ours:
            yield StartController(controller.name, controller.address, controller.port)
        elif controller.kind == "outside":
            yield StartRelay(controller.name, controller.address, controller.port)
    for switch in switches:
        yield SetOvs(str(switch), tuple(ovs_arguments(switch, topology)))
    for switch in switches:
        if switch.ip:
            yield BringUp(ROOT, switch.name)
            yield AddAddress(ROOT, switch.name, switch.ip)


def needs_open_vswitch(topology: Topology) -> bool:
    """Whether a switch is an Open vSwitch, or a start command makes one with ovs-vsctl."""
    return any(switch.kind == "ovs" for switch in topology.switches) or any(
        "ovs-vsctl" in (node.start_command or "") for node in topology.nodes
    )


def join_early(topology: Topology) -> Iterator[Operation]:
    """Yield operations that plug ports into switches with a spanning tree, which takes time."""
    return _join(topology, stp=True)


def join_late(topology: Topology) -> Iterator[Operation]:
    """Yield operations that plug ports into all other switches.

    This comes last, when the nodes have announced themselves: otherwise each of a thousand hosts on a
    switch would receive the announcements of all others (for IPv6 alone eight packets from each).
    """
    yield from _join(topology, stp=False)
    for switch in topology.switches:
        for interface in switch.external_interfaces:
            if switch.kind == "ovs":
                what = f"the computer's {interface} in switch {switch.name}"
                yield JoinOvs(what, ("add-port", switch.name, interface))
            else:
                yield JoinBridge(interface, switch.name)
    for controller in _listeners(topology):
        address = listening_address(controller)
        served = {node.name for node in topology.controllers if listening_address(node) == address}
        # Its log tells switches apart by their datapath IDs, which need not differ.
        datapaths = {
            switch.dpid
            for switch in topology.switches
            if switch.kind == "ovs" and served.intersection(switch.controllers)
        }
        if controller.is_ours and datapaths:
            yield AwaitSwitches(controller.name, len(datapaths))


def _listeners(topology: Topology) -> list[Controller]:
    """Return the controllers that we start, or connect to outside: one for each address."""
    by_address: dict[tuple[str, int], Controller] = {}
    for controller in topology.controllers:
        if (address := listening_address(controller)) is not None:
            by_address.setdefault(address, controller)
    return list(by_address.values())


def _join(topology: Topology, stp: bool) -> Iterator[Operation]:
    ports = [
        (node, port)
        for link in topology.links
        for port in link.ports
        if isinstance(node := topology.node(port.node), Switch) and node.stp == stp
    ]
    for switch, port in ports:
        assert port.name is not None
        if switch.kind == "ovs":
            what = f"port {port.name} in switch {switch.name}"
            arguments = tuple(ovs_port_arguments(port))
            yield SetOvs(what, arguments) if stp else JoinOvs(what, arguments)
        elif not stp:  # with STP it was made in its bridge
            yield JoinBridge(port.name, switch.name)
    for switch, port in ports:
        if switch.kind == "bridge" and (lines := vlan_lines(port)):
            assert port.name is not None
            yield SetVlans(port.name, lines)


def _has_vlan(port: Port) -> bool:
    return port.vlan is not None or bool(port.trunks)


def vlan_lines(port: Port) -> tuple[str, ...]:
    """Return commands of bridge(8); none if the port stays in the default VLAN."""
    if not _has_vlan(port):
        return ()
    vlans = {*port.trunks, port.vlan}
    lines = [] if DEFAULT_VLAN in vlans else [f"vlan del dev {port.name} vid {DEFAULT_VLAN}"]
    lines += [f"vlan add dev {port.name} vid {vlan}" for vlan in port.trunks]
    if port.vlan is not None:
        lines.append(f"vlan add dev {port.name} vid {port.vlan} pvid untagged")
    return tuple(lines)


# -- arguments of ovs-vsctl ---------------------------------------------------------------------------


def ovs_arguments(switch: Switch, topology: Topology) -> Iterator[str]:
    """Yield the arguments that make a switch, or change it, in one transaction."""
    controllers = _distinct(
        node for node in topology.controllers if node.name in switch.controllers
    )
    yield from ("--may-exist", "add-br", switch.name)
    yield from ("--", "set", "bridge", switch.name, *_settings(switch, controllers))
    storms = storm_settings(switch.name, topology)
    connections = [[*_connection(controller), *storms] for controller in controllers]
    if switch.listen_port is not None:
        connections.append([f'target="ptcp:{switch.listen_port}"'])
    names = [f"@{switch.name}c{index}" for index, _ in enumerate(connections)]
    for name, columns in zip(names, connections, strict=True):
        yield from ("--", f"--id={name}", "create", "Controller", *columns)
    yield from ("--", "set", "bridge", switch.name, f"controller=[{','.join(names)}]")
    yield from _reports(switch)


def _distinct(controllers: Iterable[Controller]) -> list[Controller]:
    """Return the first controller of each address that the switch connects to."""
    return list({tuple(_connection(c)): c for c in reversed(list(controllers))}.values())[::-1]


def _settings(switch: Switch, controllers: list[Controller]) -> Iterator[str]:
    assert switch.dpid is not None, "a plan needs a resolved topology"
    yield f"other-config:datapath-id={int(switch.dpid, 16):016x}"
    yield f"other-config:dp-desc={switch.name}"
    yield f"fail_mode={switch.fail_mode or ('secure' if controllers else 'standalone')}"
    if not any(controller.kind == "inband" for controller in controllers):
        yield "other-config:disable-in-band=true"
    if switch.datapath == "user":
        yield "datapath_type=netdev"
    if switch.protocols:
        yield f"protocols={','.join(switch.protocols)}"
    if switch.stp:
        yield "stp_enable=true"
        if switch.priority is not None:
            yield f"other-config:stp-priority={switch.priority}"


def _connection(controller: Controller) -> list[str]:
    """Return the columns of the Controller table.

    Our controller needs no probe every 5 s: it runs on the same kernel, which reports its end at once.
    """
    address = "127.0.0.1" if controller.kind == "outside" else controller.address
    address = f"[{address}]" if ":" in address else address
    columns = [f'target="{controller.protocol}:{address}:{controller.port}"']
    columns.append(f"max_backoff={RECONNECT_AFTER_MS}")
    return [*columns, "inactivity_probe=0"] if controller.is_ours else columns


def _reports(switch: Switch) -> Iterator[str]:
    name = switch.name
    if switch.netflow is not None:
        yield from ("--", f"--id=@{name}n", "create", "NetFlow")
        yield f'targets="{switch.netflow.target}"'
        yield f"active_timeout={switch.netflow.timeout_s}"
        yield f"add_id_to_interface={str(switch.netflow.add_id).lower()}"
        yield from ("--", "set", "bridge", name, f"netflow=@{name}n")
    if switch.sflow is not None:
        yield from ("--", f"--id=@{name}s", "create", "sFlow")
        yield f'targets="{switch.sflow.target}"'
        yield f"agent={name if switch.ip else 'lo'}"
        yield f"header={switch.sflow.header_bytes}"
        yield f"sampling={switch.sflow.sampling}"
        yield f"polling={switch.sflow.polling_s}"
        yield from ("--", "set", "bridge", name, f"sflow=@{name}s")


def ovs_port_arguments(port: Port) -> Iterator[str]:
    """Yield the arguments that plug a port into its switch, with its port number."""
    name = str(port.name)
    yield from ("--may-exist", "add-port", port.node, name, *_vlan_columns(port))
    yield from ("--", "set", "Interface", name, f"ofport_request={port.number}")
    yield from ("--", f"--id=@{name}", "create", "QoS", "type=linux-noop")
    yield from ("--", "set", "Port", name, f"qos=@{name}")


def _vlan_columns(port: Port) -> Iterator[str]:
    """Yield columns of the Port table (ovs-vswitchd.conf.db(5), VLAN configuration)."""
    if port.vlan is not None:
        yield f"tag={port.vlan}"
        yield f"vlan_mode={'native-untagged' if port.trunks else 'access'}"
    if port.trunks:
        yield f"trunks={','.join(map(str, port.trunks))}"
