"""The processor of a node in files, plans and what is exported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from wanlab import Network
from wanlab.errors import TopologyError
from wanlab.machine.defaults import CPU_VARIABLE
from wanlab.network.compatibility import compatibility_warnings
from wanlab.operations import LimitCpu, SetCpu
from wanlab.plan import plan
from wanlab.topology import (
    Host,
    Router,
    Switch,
    Topology,
    dumps,
    load,
    loads,
    read_processor,
    resolve,
    save,
)
from wanlab.topology.cpu import COSTS, NO_PROCESSOR, Processor, read_cpu
from wanlab.topology.drawing import draw, read_drawing
from wanlab.topology.files.plain import node_to_plain
from wanlab.topology.model import processor_of
from wanlab.topology.references import self_contained
from wanlab.yaml_text import parse_yaml

SERVER = read_processor("server-2019")
BOARD = read_processor("board-2019")


def read(node: str) -> Topology:
    return loads(f"nodes:\n- {node}\n", "n.yaml")


@pytest.mark.parametrize(
    ("words", "short"),
    [
        ("0.5", "0.5"),
        ("server-2019", "server-2019"),
        ("free", "free"),
        ("{model: server-2019}", "server-2019"),
        ("{model: server-2019, cores: 4, speed: 1}", "server-2019"),
        (
            "{model: server-2019, cores: 1, speed: 0.1}",
            "{model: server-2019, cores: 1, speed: 0.1}",
        ),
        ("{model: board-2019, speed: 2}", "{model: board-2019, speed: 2}"),
    ],
)
def test_a_file_has_the_shortest_words(words: str, short: str) -> None:
    topology, same = read(f"{{router: r1, cpu: {words}}}"), read(f"{{router: r1, cpu: {short}}}")
    assert topology.nodes == same.nodes
    assert node_to_plain(topology.nodes[0])["cpu"] == parse_yaml(short).data


def test_a_model_in_a_file_beside_the_topology_is_copied_into_it(tmp_path: Path) -> None:
    costs = "".join(f"  {name}: {{value: 5, source: a guess}}\n" for name in COSTS)
    (tmp_path / "mine.yaml").write_text(f"cores: 2\ncosts:\n{costs}")
    (tmp_path / "net.yaml").write_text("nodes: [{host: h1, cpu: mine.yaml}]\n")
    topology = load(tmp_path / "net.yaml")
    (host,) = topology.hosts
    assert isinstance(host.cpu, Processor)
    assert (host.cpu.model, host.cpu.cores, set(host.cpu.costs.values())) == ("mine", 2, {5})
    for name in ("copy.yaml", "copy.mn"):
        save(topology, tmp_path / name)
        (tmp_path / "mine.yaml").unlink(missing_ok=True)
        assert load(tmp_path / name).hosts[0].cpu == host.cpu


def test_a_self_contained_topology_has_the_costs() -> None:
    topology = Topology(nodes=(Host("h1", cpu=SERVER), Router("r1", cpu=NO_PROCESSOR), Host("h2")))
    text = dumps(self_contained(topology), "n.yaml")
    assert text.count("copy_ps_per_byte") == 1
    assert loads(text, "n.yaml").nodes == topology.nodes
    assert dumps(loads(text, "n.yaml"), "n.yaml") == text


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (
            "{host: h1, cpu: server-2018}",
            r'there is no processor "server-2018" \(did you mean server-2019',
        ),
        ("{router: r1, cpu: {model: server-2019, core: 1}}", 'unknown field "core" of a processor'),
        ("{host: h1, cpu: {cores: 1}}", "the processor free has no cores and no speed"),
        ("{host: h1, cpu: {model: server-2019, speed: 0}}", "speed of a processor cannot be 0"),
        ("{router: r1, cpu: 2}", "a CPU share cannot be 2"),
        ("{host: h1, cpu: nan}", '"nan" is not a number'),
        ("{host: h1, cpu: [1]}", "a list is not a number"),
        ("{host: h1, cpu: nowhere.yaml}", "cannot read nowhere.yaml"),
        ("{switch: s1, cpu: server-2019}", 'unknown field "cpu"'),
        ("{host: h1, in_root: true, cpu: free}", "a host in the root namespace cannot have"),
    ],
)
def test_mistakes_name_the_field_and_the_line(node: str, message: str) -> None:
    with pytest.raises(TopologyError, match=message) as caught:
        read(node)
    assert "line 2" in str(caught.value)


def test_a_node_s_own_processor_comes_before_the_network_s() -> None:
    own, share, routed = Host("h1", cpu=BOARD), Host("h2", cpu=0.5), Router("r1", cpu=0.1)
    assert processor_of(own, SERVER) == processor_of(own, None) == BOARD
    assert processor_of(own, SERVER, share=0.5) == replace(BOARD, speed=0.5)
    assert processor_of(share, SERVER) == replace(SERVER, speed=0.5)
    assert processor_of(share, SERVER, share=0.2) == replace(SERVER, speed=0.2)
    assert processor_of(share, None) is None
    assert processor_of(routed, SERVER) == replace(SERVER, speed=0.1)
    assert processor_of(Host("h3", cpu=NO_PROCESSOR), SERVER) is None
    assert processor_of(Host("h4", in_root=True), SERVER) is None
    assert processor_of(Switch("s1"), SERVER) is None


def test_a_plan_gives_each_node_its_table() -> None:
    nodes = (Host("h1", cpu=BOARD), Host("h2", cpu=0.5), Host("h3", cpu=NO_PROCESSOR), Router("r1"))
    topology = resolve(Topology(nodes=nodes))

    def tables(cpu: Processor | None) -> dict[str, tuple[int, ...]]:
        operations = plan(topology, cpu=cpu)
        return {it.node: it.table for it in operations if isinstance(it, SetCpu)}

    assert tables(None) == {"h1": BOARD.table()}
    assert tables(SERVER) == {
        "h1": BOARD.table(),
        "h2": SERVER.share(0.5).table(),
        "r1": SERVER.table(),
    }
    limits = [it for it in plan(topology) if isinstance(it, LimitCpu)]
    assert limits == [LimitCpu("h2", 0.5, None)]


def test_limits_without_an_effect_are_named_by_node() -> None:
    nodes = (
        Host("h1", cpu=0.5),
        Host("h2", cpu=BOARD),
        Host("h3", cpu=BOARD, cores="0"),
        Router("r1", cpu=0.5),
    )
    free = list(compatibility_warnings(Topology(nodes=nodes), "virtual", None))
    assert [warning.partition(":")[0] for warning in free] == ["h1, r1", "h3"]
    modelled = list(compatibility_warnings(Topology(nodes=nodes), "virtual", SERVER))
    assert [warning.partition(":")[0] for warning in modelled] == ["h3"]


def test_a_mininet_script_says_that_it_has_no_processors() -> None:
    topology = Topology(
        nodes=(Host("h1", cpu=BOARD), Router("r1", cpu=SERVER), Host("h2", cpu=0.5))
    )
    text = dumps(topology, "n.py")
    for words in ("the processor of h1", "the processor of r1", "the CPU share and cores of h2"):
        assert words in text


def test_a_network_s_own_free_is_still_no_processor() -> None:
    assert read_cpu(NO_PROCESSOR) is None
    assert NO_PROCESSOR.is_free


@pytest.mark.parametrize("suffix", [".yaml", ".mn"])
@pytest.mark.parametrize("cpu", [SERVER, BOARD.share(0.5), NO_PROCESSOR], ids=lambda cpu: cpu.model)
def test_a_file_keeps_the_processor_of_the_network(
    tmp_path: Path, suffix: str, cpu: Processor
) -> None:
    topology = Topology(name="a", cpu=cpu, nodes=(Host("h1"),))
    save(topology, tmp_path / f"a{suffix}")
    assert load(tmp_path / f"a{suffix}").cpu == cpu
    drawn, faults = read_drawing(draw(topology))
    assert (drawn.cpu, dict(drawn.extra), faults) == (cpu, {}, [])


def test_a_mistake_in_the_processor_of_the_network_has_its_line() -> None:
    with pytest.raises(TopologyError, match=r"n.yaml: line 2 \(cpu\).*server-2018"):
        loads("name: a\ncpu: server-2018\nnodes: [{host: h1}]\n", "n.yaml")


@pytest.mark.parametrize(
    ("of_topology", "variable", "argument", "chosen"),
    [
        (SERVER, "", None, "server-2019"),
        (SERVER, "board-2019", None, "board-2019"),
        (SERVER, "board-2019", "laptop-2024", "laptop-2024"),
        (SERVER, "free", None, None),
        (SERVER, "", "free", None),
        (NO_PROCESSOR, "", None, None),
        (None, "", None, None),
    ],
)
def test_the_user_s_processor_comes_before_the_topology_s(
    monkeypatch: pytest.MonkeyPatch,
    of_topology: Processor | None,
    variable: str,
    argument: str | None,
    chosen: str | None,
) -> None:
    monkeypatch.setenv(CPU_VARIABLE, variable)
    network = Network(Topology(cpu=of_topology, nodes=(Host("h1"),)), cpu=argument)
    assert (network.cpu.model if network.cpu else None) == chosen
