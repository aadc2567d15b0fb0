"""Test that a drawn network gets addresses with which all hosts reach each other."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from web_client import Server, WebClient

from wanlab.errors import WanlabError
from wanlab.web.drawing.addressing import addressed
from wanlab.web.protocol.model import Document, Elements

KINDS = {"h": "host", "s": "switch", "r": "router"}


def drawing(*links: str, ip_base: str = "10.0.0.0/8") -> Document:
    """Return a document with links such as "h1 s1"; the first letter of a name is the kind."""
    names = dict.fromkeys(name for link in links for name in link.split())
    nodes = [{"id": name, "kind": KINDS[name[0]], "name": name} for name in names]
    pairs = [link.split() for link in links]
    lines = [{"id": f"{a}-{b}", "a": a, "b": b} for a, b in pairs]
    content = {"nodes": nodes, "links": lines, "preferences": {"ip_base": ip_base}}
    return msgspec.convert(content, Document)


def options(elements: Elements) -> dict[str, Any]:
    return {node.id: node.options for node in elements.nodes}


def test_each_segment_gets_a_subnet_and_routers_know_the_others() -> None:
    elements = addressed(drawing("h1 s1", "h2 s1", "s1 r1", "r1 r2", "r2 h3"))
    assert options(elements) == {
        "h1": {"ip": "10.0.1.10/24", "default_route": "10.0.1.1"},
        "h2": {"ip": "10.0.1.11/24", "default_route": "10.0.1.1"},
        "r1": {"routes": ["10.0.3.0/24 via 10.0.2.2"]},
        "r2": {"routes": ["10.0.1.0/24 via 10.0.2.1"]},
        "h3": {"ip": "10.0.3.10/24", "default_route": "10.0.3.1"},
    }
    ends = {
        link.id: (link.a_options.get("ip"), link.b_options.get("ip")) for link in elements.links
    }
    assert ends == {
        "h1-s1": (None, None),
        "h2-s1": (None, None),
        "s1-r1": (None, "10.0.1.1/24"),
        "r1-r2": ("10.0.2.1/24", "10.0.2.2/24"),
        "r2-h3": ("10.0.3.1/24", None),
    }


def test_routes_take_the_fewest_routers_also_in_a_ring() -> None:
    elements = addressed(drawing("r1 r2", "r2 r3", "r3 r4", "r4 r1", "r3 h1"))
    assert options(elements)["r1"]["routes"] == [
        "10.0.2.0/24 via 10.0.1.2",
        "10.0.3.0/24 via 10.0.4.1",
        "10.0.5.0/24 via 10.0.1.2",
    ]


def test_a_host_with_two_links_has_an_address_at_each() -> None:
    elements = addressed(drawing("h1 r1", "h1 r2", "r1 r2"))
    assert options(elements)["h1"] == {"default_route": "10.0.1.1"}
    assert [link.a_options["ip"] for link in elements.links[:2]] == ["10.0.1.10/24", "10.0.2.10/24"]


def test_a_small_ip_base_is_divided_and_a_smaller_one_refused() -> None:
    elements = addressed(drawing("h1 r1", "r1 h2", ip_base="192.168.7.0/24"))
    assert options(elements)["h1"]["ip"] == "192.168.7.74/26"
    with pytest.raises(WanlabError, match="too small for 2 networks"):
        addressed(drawing("h1 r1", "r1 h2", ip_base="10.0.0.0/30"))


def test_a_network_without_routers_needs_none() -> None:
    with pytest.raises(WanlabError, match="only networks with routers"):
        addressed(drawing("h1 s1", "h2 s1"))


@pytest.mark.machine
def test_hosts_behind_two_routers_reach_each_other(server: Server) -> None:
    document = drawing("h1 s1", "s1 r1", "r1 r2", "r2 h2")
    with server.connect_client() as client:
        client.do("edit", put=msgspec.to_builtins(Elements(document.nodes, document.links)))
        assert {it["fix"] for it in client.state["problems"]["problems"]} == {"address"}
        client.do("address")
        assert client.state["problems"]["problems"] == []
        assert client.state["document"]["undo"] == "Address the network"
        reaches(client)


def reaches(client: WebClient) -> None:
    client.run()
    with client.terminal("h1") as terminal:
        terminal.until("# ")
        terminal.command("ping -c 1 h2", "1 received")
