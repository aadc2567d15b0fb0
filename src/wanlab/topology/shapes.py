"""Networks of a known shape, named as Mininet names them.

    minimal()         h1 h2 on s1               single(k)        h1..hk on s1
    linear(k, n)      s1 - s2 - ... - sk, each with n hosts
    tree(depth, fanout)                         torus(x, y, n)
    ring(k, n)        s1 - s2 - ... - sk - s1   fat_tree(k)      of k pods, with k**3 / 4 hosts
    waxman(k, seed)   k switches at random positions, linked with a probability that falls with distance

Shapes with loops (torus, ring, fat_tree, waxman) have switches that use STP.

    dumbbell(pairs=2)                           parking_lot(hops=2)

      h1 --+              +-- h3                     h1 -- s1 ==== s2 ==== s3 -- h2
           s1 ==== s2                                      |      |  |     |
      h2 --+              +-- h4                          h3     h4  h5    h6

Conditions ("rate", "delay", ...) apply to every link; in `dumbbell` and `parking_lot` to the links
drawn double, which are the bottlenecks. Hosts are listed in natural order (h2 before h10), in which
Mininet assigns addresses.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Unpack

from wanlab.errors import WanlabError, did_you_mean
from wanlab.topology.model import MAX_NODES, Host, Link, Port, Switch, Topology
from wanlab.topology.words import CONDITION_WORDS, LINK_WORDS_HELP, ConditionWords, link
from wanlab.units import whole_number

MAX_DIGITS = 6
MAX_WAXMAN_SWITCHES = 1000  # the time grows with the number of pairs
MIN_TORUS_SIZE = 3  # a ring of two switches would be two links between the same pair


def minimal(**words: Unpack[ConditionWords]) -> Topology:
    """Return two hosts on a switch."""
    return replace(single(2, **words), name="minimal")


def single(k: int = 2, **words: Unpack[ConditionWords]) -> Topology:
    """Return k hosts on a switch; host i on its port i."""
    _at_least(1, k=k)
    _refuse_too_many(f"single,{k}", k + 1)
    hosts = [f"h{i}" for i in _to(k)]
    return _topology(f"single,{k}", hosts, ["s1"], [link(host, "s1", **words) for host in hosts])


def reversed(k: int = 2, **words: Unpack[ConditionWords]) -> Topology:
    """Return k hosts on a switch; host i on its port k - i + 1."""
    _at_least(1, k=k)
    _refuse_too_many(f"reversed,{k}", k + 1)
    links = [link(Port(f"h{i}", number=0), Port("s1", number=k - i + 1), **words) for i in _to(k)]
    return _topology(f"reversed,{k}", [f"h{i}" for i in _to(k)], ["s1"], links)


def linear(k: int = 2, n: int = 1, **words: Unpack[ConditionWords]) -> Topology:
    """Return a chain of k switches with n hosts each."""
    _at_least(1, k=k, n=n)
    _refuse_too_many(f"linear,{k},{n}", k * (n + 1))
    hosts, links = [], []
    for i in _to(k):
        hosts_of_switch = [f"h{i}"] if n == 1 else [f"h{j}s{i}" for j in _to(n)]
        hosts += hosts_of_switch
        links += [link(host, f"s{i}", **words) for host in hosts_of_switch]
        if i > 1:
            links.append(link(f"s{i}", f"s{i - 1}", **words))
    return _topology(f"linear,{k},{n}", hosts, [f"s{i}" for i in _to(k)], links)


def tree(depth: int = 1, fanout: int = 2, **words: Unpack[ConditionWords]) -> Topology:
    """Return a tree of switches with `depth` levels and `fanout` children each; leaves are hosts.

    Switches are numbered depth first.
    """
    _at_least(1, depth=depth, fanout=fanout)
    _refuse_too_many(f"tree,{depth},{fanout}", _nodes_of_tree(depth, fanout))
    hosts: list[str] = []
    switches = ["s1"]
    links: list[Link] = []
    branch = [("s1", fanout)]  # each switch from the root down, and the number of missing children
    while branch:
        switch, missing = branch.pop()
        if missing == 0:
            if branch:
                links.append(link(branch[-1][0], switch, **words))
            continue
        branch.append((switch, missing - 1))
        if len(branch) == depth:
            hosts.append(f"h{len(hosts) + 1}")
            links.append(link(switch, hosts[-1], **words))
        else:
            switches.append(f"s{len(switches) + 1}")
            branch.append((switches[-1], fanout))
    return _topology(f"tree,{depth},{fanout}", hosts, switches, links)


def torus(x: int, y: int, n: int = 1, **words: Unpack[ConditionWords]) -> Topology:
    """Return a grid of x by y switches whose rows and columns are rings, with n hosts per switch."""
    _at_least(MIN_TORUS_SIZE, x=x, y=y)
    _at_least(1, n=n)
    _refuse_too_many(f"torus,{x},{y},{n}", x * y * (n + 1))
    hosts, links = [], []
    positions = [(i, j) for i in range(x) for j in range(y)]
    for i, j in positions:
        suffix = f"{i + 1}x{j + 1}"
        hosts_of_switch = [f"h{suffix}"] if n == 1 else [f"h{suffix}x{k}" for k in _to(n)]
        hosts += hosts_of_switch
        links += [link(host, f"s{suffix}", **words) for host in hosts_of_switch]
    for i, j in positions:
        for next_i, next_j in ((i, (j + 1) % y), ((i + 1) % x, j)):
            links.append(link(f"s{i + 1}x{j + 1}", f"s{next_i + 1}x{next_j + 1}", **words))
    switches = tuple(
        Switch(f"s{i + 1}x{j + 1}", dpid=f"{(i + 1) * 256 + j + 1:x}", stp=True)
        for i, j in positions
    )
    topology = _topology(f"torus,{x},{y},{n}", hosts, [], links)
    return replace(topology, nodes=topology.nodes + switches)


def dumbbell(
    pairs: int = 2, *, access: ConditionWords | None = None, **bottleneck: Unpack[ConditionWords]
) -> Topology:
    """Return hosts h1..hN on s1 and h(N+1)..h(2N) on s2, joined by one bottleneck link."""
    _at_least(1, pairs=pairs)
    _refuse_too_many(f"dumbbell,{pairs}", 2 * pairs + 2)
    hosts = [f"h{i}" for i in _to(2 * pairs)]
    edge = access or {}
    links = [link(host, "s1", **edge) for host in hosts[:pairs]]
    links.append(link("s1", "s2", **bottleneck))
    links += [link("s2", host, **edge) for host in hosts[pairs:]]
    return _topology(f"dumbbell,{pairs}", hosts, ["s1", "s2"], links)


def parking_lot(
    hops: int = 2, *, access: ConditionWords | None = None, **bottleneck: Unpack[ConditionWords]
) -> Topology:
    """Return a chain of bottlenecks: h1 to h2 crosses every hop, h(2i+1) to h(2i+2) only hop i."""
    _at_least(1, hops=hops)
    _refuse_too_many(f"parking_lot,{hops}", 3 * hops + 3)
    edge = access or {}
    links = [link("h1", "s1", **edge)]
    links += [link(f"s{i}", f"s{i + 1}", **bottleneck) for i in _to(hops)]
    links.append(link(f"s{hops + 1}", "h2", **edge))
    for i in _to(hops):
        links.append(link(f"h{2 * i + 1}", f"s{i}", **edge))
        links.append(link(f"s{i + 1}", f"h{2 * i + 2}", **edge))
    hosts = [f"h{i}" for i in _to(2 * hops + 2)]
    return _topology(f"parking_lot,{hops}", hosts, [f"s{i}" for i in _to(hops + 1)], links)


def ring(k: int = 4, n: int = 1, **words: Unpack[ConditionWords]) -> Topology:
    """Return a ring of k switches with n hosts each."""
    _at_least(3, k=k)
    _at_least(1, n=n)
    chain = linear(k, n, **words)
    nodes = tuple(
        replace(node, stp=True) if isinstance(node, Switch) else node for node in chain.nodes
    )
    closing = link(f"s{k}", "s1", **words)
    return replace(chain, name=f"ring,{k},{n}", nodes=nodes, links=(*chain.links, closing))


def fat_tree(k: int = 4, **words: Unpack[ConditionWords]) -> Topology:
    """Return a fat tree of k pods: (k/2)**2 core switches, k/2 aggregation and k/2 edge switches in
    each pod, and k/2 hosts at each edge switch.

    Al-Fares et al., "A scalable, commodity data center network architecture", SIGCOMM 2008.
    """
    if k < 2 or k % 2:
        raise WanlabError(f"a fat tree cannot have k={k}", "it must be even and at least 2")
    half = k // 2
    _refuse_too_many(f"fat_tree,{k}", half * half + k * k + k * half * half)
    cores = [f"c{i}" for i in _to(half * half)]
    aggregations = [f"a{pod}x{i}" for pod in _to(k) for i in _to(half)]
    edges = [f"e{pod}x{i}" for pod in _to(k) for i in _to(half)]
    hosts = [f"h{i}" for i in _to(len(edges) * half)]
    links: list[Link] = []
    for index, upper in enumerate(aggregations):
        group, pod = index % half, index // half
        links += [link(core, upper, **words) for core in cores[group * half : (group + 1) * half]]
        links += [link(upper, lower, **words) for lower in edges[pod * half : (pod + 1) * half]]
    links += [link(edges[index // half], host, **words) for index, host in enumerate(hosts)]
    width = FAT_TREE_STEP * len(hosts)
    rows = (cores, aggregations, edges, hosts)
    positions = {
        name: (width * (index + 0.5) / len(row), FAT_TREE_ROW * level)
        for level, row in enumerate(rows)
        for index, name in enumerate(row)
    }
    switches = [
        Switch(name, dpid=f"{number:x}", stp=True, x=positions[name][0], y=positions[name][1])
        for number, name in enumerate([*cores, *aggregations, *edges], 1)
    ]
    nodes = (*(Host(name, x=positions[name][0], y=positions[name][1]) for name in hosts), *switches)
    return Topology(name=f"fat_tree,{k}", nodes=nodes, links=tuple(links))


FAT_TREE_STEP, FAT_TREE_ROW = 90.0, 130.0
WAXMAN_ALPHA, WAXMAN_BETA = 0.4, 0.4
WAXMAN_STEP = 160.0


def waxman(k: int = 10, seed: int = 1, **words: Unpack[ConditionWords]) -> Topology:
    """Return k switches at random positions in a square, with a host each.

    Two switches are linked with the probability beta * exp(-distance / (alpha * diagonal)), with
    alpha = beta = 0.4; each is linked at least to the nearest of those before it, so that the network
    is connected. Waxman, "Routing of multipoint connections", IEEE JSAC 6 (9), 1988.
    """
    _at_least(1, k=k)
    if k > MAX_WAXMAN_SWITCHES:
        raise WanlabError(
            f"waxman,{k} has more than {MAX_WAXMAN_SWITCHES} switches; choose a smaller k"
        )
    random = Random(seed)
    side = WAXMAN_STEP * math.sqrt(k) * 1.3
    positions = [(random.uniform(0, side), random.uniform(0, side)) for _ in range(k)]
    links = [link(f"h{i}", f"s{i}", **words) for i in _to(k)]
    for i in range(1, k):
        far = [math.dist(positions[i], positions[j]) for j in range(i)]
        nearest = far.index(min(far))
        for j, distance in enumerate(far):
            chance = WAXMAN_BETA * math.exp(-distance / (WAXMAN_ALPHA * side * math.sqrt(2)))
            if random.random() < chance or j == nearest:
                links.append(link(f"s{j + 1}", f"s{i + 1}", **words))
    hosts = [Host(f"h{i + 1}", x=x, y=y + 75) for i, (x, y) in enumerate(positions)]
    switches = [Switch(f"s{i + 1}", x=x, y=y, stp=True) for i, (x, y) in enumerate(positions)]
    return Topology(name=f"waxman,{k},{seed}", nodes=(*hosts, *switches), links=tuple(links))


SHAPES: Mapping[str, Callable[..., Topology]] = {
    shape.__name__: shape
    for shape in (
        minimal,
        single,
        reversed,
        linear,
        tree,
        torus,
        dumbbell,
        parking_lot,
        ring,
        fat_tree,
        waxman,
    )
}


for _shape in SHAPES.values():  # so that help() shows more than `**words`
    _shape.__doc__ = f"{inspect.cleandoc(_shape.__doc__ or '')}\n\n{LINK_WORDS_HELP}"


def from_text(text: str) -> Topology:
    """Return the shape that `mn --topo` would make of "tree,2,fanout=3"; conditions may follow.

    Raise WanlabError if the shape, or one of its values, is wrong.
    """
    name, *items = (item.strip() for item in text.split(","))
    if name not in SHAPES:
        raise WanlabError(f'unknown shape "{name}"', did_you_mean(name, SHAPES))
    sizes = _sizes_of(SHAPES[name])
    values: dict[str, object] = {}
    for item, positional in zip(items, [*sizes, *[""] * len(items)], strict=False):
        word, equals, value = item.rpartition("=")
        word = word.strip() if equals else positional
        if not word or word in values:
            what = f'"{item}" in "{text}" is one value too many'
            raise WanlabError(what, f"{name} takes {', '.join(sizes) or 'no sizes'}")
        values[word] = _size(word, value, text) if word in sizes else value.strip()
    for word in values.keys() - sizes - set(CONDITION_WORDS):
        hint = did_you_mean(word, (*sizes, *CONDITION_WORDS))
        raise WanlabError(f'"{word}" in "{text}" is not a parameter of the shape {name}', hint)
    if missing := [size for size, needed in sizes.items() if needed and size not in values]:
        raise WanlabError(f'"{text}" lacks {" and ".join(missing)}', f"as in {name},3,3")
    return SHAPES[name](**values)


def sizes_of(name: str) -> tuple[str, ...]:
    """Return the names of the sizes that a shape takes: ("depth", "fanout") of "tree"."""
    return tuple(_sizes_of(SHAPES[name]))


def _sizes_of(shape: Callable[..., Topology]) -> dict[str, bool]:
    """Return the sizes that a shape takes, and whether each is required."""
    return {
        parameter.name: parameter.default is parameter.empty
        for parameter in inspect.signature(shape).parameters.values()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    }


def _size(word: str, value: str, text: str) -> int:
    number = whole_number(value.strip())
    if number is None or number >= 10**MAX_DIGITS:
        what = "is too large" if number else "is not a whole number"
        raise WanlabError(f'"{value}" in "{text}" {what}', f"as in {word}=3")
    return number


def _at_least(minimum: int, **sizes: int) -> None:
    for word, size in sizes.items():
        if size < minimum:
            raise WanlabError(f"{word} is {size}", f"it must be at least {minimum}")


def _refuse_too_many(shape: str, nodes: int) -> None:
    if nodes > MAX_NODES:
        raise WanlabError(f"{shape} has more than {MAX_NODES} nodes", "choose smaller sizes")


def _nodes_of_tree(depth: int, fanout: int) -> int:
    """Count the nodes of a tree; stop when there are too many."""
    nodes = level = 1
    for _ in range(depth):
        level *= fanout
        nodes += level
        if nodes > MAX_NODES:
            break
    return nodes


def _topology(name: str, hosts: list[str], switches: list[str], links: list[Link]) -> Topology:
    nodes = (*map(Host, sorted(hosts, key=_natural)), *map(Switch, switches))
    return Topology(name=name, nodes=nodes, links=tuple(links))


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts h2 before h10."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name)]


def _to(last: int) -> Iterator[int]:
    return iter(range(1, last + 1))
