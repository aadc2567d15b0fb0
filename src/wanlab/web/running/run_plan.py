"""The network to run and its settings, and whether the drawing still matches them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import msgspec

from wanlab import Network, Topology
from wanlab.errors import WanlabError

from ..protocol.model import Document, DrawnLink, DrawnNode, Elements, Options

COSMETIC_OPTIONS = ("x", "y", "extra")


@dataclass(frozen=True)
class RunPlan:
    """The network to run and its settings, from the document's preferences or from a lesson.

    make      returns the network, not yet started
    home      the working directory of terminals, if not that of the machine
    prepare   called with the network once it has started, in its thread
    """

    document: Document
    topology: Topology
    make: Callable[[], Network]
    home: str | None = None
    environment: dict[str, str] = field(default_factory=dict)
    prepare: Callable[[Network], None] = lambda network: None

    def is_stale(self, document: Document) -> bool:
        """Return whether a document draws another network than the one that was started."""
        return meaning(document) != meaning(self.document)

    def with_link(self, link: DrawnLink) -> RunPlan:
        """Return the plan with a link as it was changed in the running network."""
        links = tuple(link if old.id == link.id else old for old in self.document.links)
        return replace(self, document=msgspec.structs.replace(self.document, links=links))

    def with_elements(self, elements: Elements) -> RunPlan:
        """Return the plan with nodes and links as they were changed in the running network."""
        nodes = {node.id: node for node in elements.nodes}
        links = {link.id: link for link in elements.links}
        document = msgspec.structs.replace(
            self.document,
            nodes=tuple(nodes.get(node.id, node) for node in self.document.nodes),
            links=tuple(links.get(link.id, link) for link in self.document.links),
        )
        return replace(self, document=document)

    def node_id(self, name: str) -> str:
        """Return the id of the node that was started with this name."""
        for node in self.document.nodes:
            if node.name == name:
                return node.id
        raise WanlabError(f"the running network has no node {name}", "is another document open?")

    def node(self, id_: str) -> DrawnNode:
        """Return a node that was started."""
        for node in self.document.nodes:
            if node.id == id_:
                return node
        raise WanlabError(
            "this node is not in the running network", "stop the network and run it again"
        )


def meaning(document: Document) -> tuple[object, ...]:
    """Return the parts of a document that decide how its network behaves, so not positions."""
    nodes = tuple(
        (node.id, node.kind, node.name, _without_cosmetics(node.options)) for node in document.nodes
    )
    links = tuple(
        (link.id, link.a, link.b, link.options, link.a_options, link.b_options)
        for link in document.links
    )
    chosen = document.preferences
    settings = (chosen.ip_base, chosen.clock, chosen.wire, chosen.seed, chosen.application)
    return nodes, links, *settings


def _without_cosmetics(options: Options) -> Options:
    return {name: value for name, value in options.items() if name not in COSMETIC_OPTIONS}
