"""Displays a network in a notebook: its clock, its nodes, and where their ports lead."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from wanlab.notebook import Html, LiveOutput, TimeLine, as_html, heading, table, together
from wanlab.topology.model import Controller, Host, Node, Port, Topology
from wanlab.topology.words import words_of

if TYPE_CHECKING:
    from .network import Network


def show(network: Network) -> None:
    """Display a network, and update the display whenever its time has passed."""
    output = LiveOutput()

    def update() -> None:
        output.show(network_html(network), repr(network))

    update()
    if isinstance(network.on_time, TimeLine):
        network.on_time.others.append(update)


def network_html(network: Network) -> Html:
    """Return the network as it is now, as HTML."""
    topology = network.topology
    rows = [
        (node.name, node.kind_of_node, _addresses(node, topology), _ports(node, topology))
        for node in topology.nodes
    ]
    warnings = [together("<br>" * (index > 0), text) for index, text in enumerate(network.warnings)]
    return together(
        heading(f"network {topology.name}".strip(), _state(network)),
        table(("node", "is a", "addresses", "ports"), rows),
        heading("Warnings", together(*warnings)) if warnings else "",
    )


def _state(network: Network) -> str:
    seed = "" if network.seed is None else f", seed {network.seed}"
    settings = f"{network.machine_kind} machine, {network.clock} clock{seed}, {network.wire} wire"
    if not network.is_running:
        return f"not running; {settings}"
    return f"clock {network.now_ns / 1e9:.6f} s; {settings}"


def _addresses(node: Node, topology: Topology) -> Html:
    host_addresses = [node.ip] if isinstance(node, Host) and node.ip else []
    addresses = dict.fromkeys(
        [*host_addresses, *(port.ip for port in topology.ports(node.name) if port.ip)]
    )
    return Html("<br>".join(as_html(address) for address in addresses))


def _ports(node: Node, topology: Topology) -> Html:
    if isinstance(node, Controller):
        return Html()
    return Html("<br>".join(map(as_html, _port_lines(node, topology))))


def _port_lines(node: Node, topology: Topology) -> Iterator[str]:
    for link in topology.links:
        for port, other in (link.ports, link.ports[::-1]):
            if port.node == node.name:
                conditions = _conditions(port)
                yield f"{port.name} to {other.node}{': ' * bool(conditions)}{conditions}"


def _conditions(port: Port) -> str:
    texts = []
    for word, value in words_of(port.conditions).items():
        if isinstance(value, dict):
            value = " ".join(str(part) for part in value.values())
        texts.append(f"{word} {value}")
    return ", ".join(texts)
