"""Our own format says everything, and says where it is wrong."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from strategies import topologies

from wanlab.errors import TopologyError
from wanlab.topology import Conditions, Host, Queue, Topology
from wanlab.topology.files import yaml

GOLDEN = Path(__file__).parent.parent / "golden" / "topologies"


def test_a_file_in_our_own_writing_comes_back_to_the_byte() -> None:
    text = (GOLDEN / "two_sites.yaml").read_text()
    assert yaml.dump(yaml.load(text)) == text


def test_the_example_in_the_documentation_is_that_file() -> None:
    assert yaml.__doc__ is not None
    example = yaml.__doc__.split("\n\n")[1]
    text = "\n".join(line[4:] for line in example.splitlines())
    documented, golden = yaml.load(text), yaml.load((GOLDEN / "two_sites.yaml").read_text())
    assert documented.links == golden.links
    assert [node.name for node in documented.nodes] == [node.name for node in golden.nodes]


def test_directions_may_differ() -> None:
    topology = yaml.load((GOLDEN / "two_sites.yaml").read_text())
    towards, back = topology.links[1].ports
    queue = Queue(limit_bytes=250_000)
    assert back.conditions == Conditions(rate_bps=10**8, delay_ns=2 * 10**7, queue=queue)
    assert towards.conditions == replace(back.conditions, loss_fraction=0.001)
    assert back.ip == "10.0.1.254/24"


def test_texts_stay_texts() -> None:
    text = "nodes:\n- {host: no, mac: 10:20:30:40:50:51}\n- {host: y}\n"
    assert yaml.load(text).nodes == (Host("no", mac="10:20:30:40:50:51"), Host("y"))


def test_an_empty_file_is_not_a_topology() -> None:
    with pytest.raises(TopologyError) as caught:
        yaml.load("", "a.yaml")
    assert str(caught.value) == "a.yaml: line 1: nothing is not a mapping of fields"


@pytest.mark.parametrize(
    "text",
    ["nodes: !!int abc", "a: !!python/object:x.Y {}", "? [1]\n: 2", "\x00", "name: !!binary eA=="],
)
def test_odd_yaml_is_refused(text: str) -> None:
    with pytest.raises(TopologyError):
        yaml.load(text)


def test_nesting_without_end_is_refused() -> None:
    with pytest.raises(TopologyError):
        yaml.load("[" * 5_000)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(topologies())
def test_any_topology_survives_writing_and_reading(topology: Topology) -> None:
    assert yaml.load(yaml.dump(topology)) == topology
