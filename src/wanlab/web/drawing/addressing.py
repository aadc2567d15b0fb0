"""Address a drawn network: a subnet for each segment, addresses, default routes and static routes.

A segment is what one broadcast reaches: links that are joined by switches. Each segment with a router
gets a subnet of the document's IP base. Routers have its first addresses, hosts those from `.10` on if
the subnet is large enough. A host's default route leads to the first router of its segment, and a
router gets a route to each segment that it is not part of, by the least number of routers.
"""

from __future__ import annotations

import ipaddress
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from wanlab.errors import WanlabError

from ..protocol.model import Document, DrawnLink, DrawnNode, Elements, End
from .document import network_links

USUAL_PREFIX = 24
FIRST_HOST = 10

IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, eq=False)
class Attachment:
    """Where a host or a router is attached to a segment."""

    link: str
    end: End
    node: DrawnNode


@dataclass
class BroadcastSegment:
    """The hosts and routers that one broadcast reaches."""

    attachments: list[Attachment] = field(default_factory=list)
    addresses: dict[Attachment, str] = field(default_factory=dict)
    """With the length of the prefix: "10.0.1.1/24"."""
    subnet: str = ""

    def of_kind(self, kind: str) -> list[Attachment]:
        """Return the attachments of nodes of a kind."""
        return [one for one in self.attachments if one.node.kind == kind]

    def address_of(self, node: str) -> str:
        """Return the first address of a node here, without its prefix."""
        ours = [text for one, text in self.addresses.items() if one.node.id == node]
        return ours[0].partition("/")[0]


def addressed(document: Document) -> Elements:
    """Return the nodes and links of a document with addresses and routes.

    Raises WanlabError if there is no router, or if the IP base is too small.
    """
    segments = [segment for segment in _segments(document) if segment.of_kind("router")]
    if not segments:
        raise WanlabError(
            "only networks with routers need this",
            "without a router, all hosts share one network and get their addresses when it runs",
        )
    subnets = _subnets(document.preferences.ip_base, segments)
    for segment, subnet in zip(segments, subnets, strict=True):
        _number(segment, subnet)
    nodes, links = _with_addresses(document, segments)
    for id_, node in nodes.items():
        if node.kind == "router" and not node.options.get("frr"):
            options = {**node.options, "routes": list(_routes(id_, segments))}
            nodes[id_] = msgspec.structs.replace(node, options=_without_empty(options))
    return Elements(nodes=tuple(nodes.values()), links=tuple(links.values()))


def _segments(document: Document) -> Iterator[BroadcastSegment]:
    """Yield the segments, in the order of their first links."""
    nodes = {node.id: node for node in document.nodes}
    links = network_links(document)
    pending = {link.id: link for link in links}
    while pending:
        first = next(iter(pending))
        segment, waiting = BroadcastSegment(), deque([pending.pop(first)])
        while waiting:
            link = waiting.popleft()
            ends: tuple[tuple[End, str], ...] = (("a", link.a), ("b", link.b))
            for end, id_ in ends:
                if nodes[id_].kind != "switch":
                    segment.attachments.append(Attachment(link.id, end, nodes[id_]))
                    continue
                beside = [other for other in pending.values() if id_ in (other.a, other.b)]
                for other in beside:
                    waiting.append(pending.pop(other.id))
        yield segment


def _subnets(ip_base: str, segments: list[BroadcastSegment]) -> list[IPNetwork]:
    """Return a subnet for each segment: of the usual size, or as large as the base allows."""
    base: IPNetwork = ipaddress.ip_network(ip_base, strict=False)
    count = len(segments) + 1  # the first subnet, 10.0.0.0/24, is left out if there is another
    prefix = max(base.prefixlen + (count - 1).bit_length(), USUAL_PREFIX)
    largest = max(len(segment.attachments) for segment in segments)
    if prefix > base.max_prefixlen or (1 << (base.max_prefixlen - prefix)) - 2 < largest:
        raise WanlabError(
            f"the IP base {ip_base} is too small for {len(segments)} networks",
            "choose a larger one in Edit > Preferences, for example 10.0.0.0/8",
        )
    subnets: Iterator[IPNetwork] = base.subnets(new_prefix=prefix)
    next(subnets)
    return [next(subnets) for _ in segments]


def _number(segment: BroadcastSegment, subnet: IPNetwork) -> None:
    segment.subnet = str(subnet)
    routers, hosts = segment.of_kind("router"), segment.of_kind("host")
    room = (1 << (subnet.max_prefixlen - subnet.prefixlen)) - 2
    is_large = room >= FIRST_HOST + len(hosts) and len(routers) < FIRST_HOST
    first_host = FIRST_HOST if is_large else len(routers) + 1
    numbers = [*range(1, len(routers) + 1), *range(first_host, first_host + len(hosts))]
    for attachment, number in zip([*routers, *hosts], numbers, strict=True):
        segment.addresses[attachment] = f"{subnet[number]}/{subnet.prefixlen}"


def _with_addresses(
    document: Document, segments: list[BroadcastSegment]
) -> tuple[dict[str, DrawnNode], dict[str, DrawnLink]]:
    """Return the nodes and links at which addresses stand: a host with one link has its own."""
    nodes: dict[str, DrawnNode] = {}
    links = {link.id: link for link in document.links}
    changed: dict[str, DrawnLink] = {}
    counts: dict[str, int] = {}
    for link in network_links(document):
        for id_ in (link.a, link.b):
            counts[id_] = counts.get(id_, 0) + 1
    for segment in segments:
        gateway = segment.address_of(segment.of_kind("router")[0].node.id)
        for attachment, address in segment.addresses.items():
            node = nodes.get(attachment.node.id, attachment.node)
            is_own = node.kind == "host" and counts[node.id] == 1
            if node.kind == "host":
                first = node.id not in nodes
                own: dict[str, object] = {"ip": address if is_own else None}
                route = {"default_route": gateway} if first else {}
                options = _without_empty({**node.options, **own, **route})
                node = msgspec.structs.replace(node, options=options)
            nodes[node.id] = node
            link = changed.get(attachment.link, links[attachment.link])
            changed[link.id] = _with_ip(link, attachment.end, None if is_own else address)
    return nodes, changed


def _with_ip(link: DrawnLink, end: End, address: str | None) -> DrawnLink:
    before = link.a_options if end == "a" else link.b_options
    options = _without_empty({**before, "ip": address})
    if end == "a":
        return msgspec.structs.replace(link, a_options=options)
    return msgspec.structs.replace(link, b_options=options)


def _without_empty(options: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in options.items() if value not in (None, [])}


def _routes(router: str, segments: list[BroadcastSegment]) -> Iterator[str]:
    """Yield the routes of a router to the segments that it is not part of."""
    via: dict[str, str] = {router: ""}
    reached = [segment for segment in segments if _is_part(router, segment)]
    known = {id(segment) for segment in reached}
    waiting = deque([router])
    while waiting:
        here = waiting.popleft()
        for segment in segments:
            if not _is_part(here, segment):
                continue
            if id(segment) not in known:
                known.add(id(segment))
                yield f"{segment.subnet} via {via[here]}"
            for attachment in segment.of_kind("router"):
                next_router = attachment.node.id
                if next_router not in via:
                    via[next_router] = via[here] or segment.address_of(next_router)
                    waiting.append(next_router)


def _is_part(router: str, segment: BroadcastSegment) -> bool:
    return any(one.node.id == router for one in segment.attachments)
