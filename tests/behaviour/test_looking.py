"""Test samplers, traces and captures on every kind of machine, and inside one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wanlab import Capture, Flows, Network, Ports, Queues, Sampling, Topology, sample, shapes
from wanlab.measure import Acks, Cpu, Sampler, Softnet

pytestmark = pytest.mark.machine

PORT = "s1-eth2"


def everything(file: Path) -> list[Sampler]:
    """Return all samplers that work on every kind of machine."""
    return [
        Queues(PORT),
        Flows("h1", "h2"),
        Ports(PORT),
        Softnet(),
        Cpu(),
        Capture(PORT, file=file),
    ]


def test_counters_and_packets_are_read(tmp_path: Path) -> None:
    file = tmp_path / "packets.pcapng"
    with Network(shapes.minimal(rate="10Mbps"), folder=tmp_path) as net:
        with Sampling(net, everything(file), every="20ms") as sampling:
            net["h1"].run("ping -c 3 -i 0.1 h2")
        tables = sampling.tables()
    assert {"qdisc", "port", "softnet", "cpu", "cpu_work"} <= set(tables)
    sent = tables["port"]["tx_packets"]
    assert int(sent[-1]) - int(sent[0]) >= 3
    assert len(tables["cpu_work"]) >= 10
    assert file.stat().st_size > 6 * 98


def test_without_a_connection_there_are_no_acks(tmp_path: Path) -> None:
    with Network(shapes.minimal(), folder=tmp_path) as net:
        assert len(sample(net, Acks("h1"), until="10ms")["ack"]) == 0


INSIDE = """
import json
from wanlab import Capture, Network, Queues, Sampling, shapes
from wanlab.measure import Sojourns

with Network(shapes.minimal(rate="10Mbps")) as net:
    looking = [Queues("s1-eth2"), Sojourns("s1-eth2"), Capture("s1-eth2")]
    with Sampling(net, looking, every="10ms") as sampling:
        net["h1"].run("ping -c 3 -i 0.1 h2")
    tables = sampling.tables()
    ends = {name: int(table["time_ns"][-1]) for name, table in tables.items() if len(table)}
    print(json.dumps([len(tables["qdisc"]), ends, looking[2].file.stat().st_size]))
"""


def test_a_program_inside_a_machine_can_inspect_its_network(tmp_path: Path) -> None:
    with Network(Topology(), folder=tmp_path) as net:
        (tmp_path / "program.py").write_text(INSIDE)
        said = net.root.run(["/run/wanlab/bin/wanlab-python", "program.py"]).output
    samples, ends, size = json.loads(said)
    assert samples >= 2 * 20
    assert 200_000_000 < ends["sojourn"] <= ends["qdisc"] < 300_000_000
    assert size > 6 * 98
