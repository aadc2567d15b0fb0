"""Test what is known about programs that compute, which takes no virtual time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from wanlab import Network, Topology, shapes
from wanlab.network import collect_computing, computing_real_s, computing_warnings
from wanlab.run.run import Run

Start = Callable[..., Network]
COMPUTE = ["python3", "-c", "for _ in range(30): print(sum(range(1_000_000)))"]
MS = 1_000_000


def test_a_node_that_computes_for_long_is_named() -> None:
    seen = {"h1": 0.9, "h2": 1.1, "h3": 30.0}
    said = [warning.split(":")[0] for warning in computing_warnings(seen, 5000 * MS)]
    assert said == [
        "programs of h2 computed for 1.1 s of real time, while 5s passed in the network",
        "programs of h3 computed for 30.0 s of real time, while 5s passed in the network",
    ]
    assert len(list(computing_warnings(seen, 299_999 * MS))) == 1
    assert list(computing_warnings(seen, 300_000 * MS)) == []


@pytest.mark.machine
def test_computing_counts_for_the_node_of_the_program(start: Start) -> None:
    net = start(shapes.single(3), traps="inprocess")
    before = computing_real_s(net)
    assert set(before) == {"h1", "h2", "h3"}
    now_ns = net.now_ns
    net["h2"].run(COMPUTE)
    net["h3"].run("true")
    after = computing_real_s(net)
    assert net.now_ns == now_ns
    assert after["h1"] == before["h1"]
    assert before["h3"] < after["h3"] < after["h2"] / 3
    assert after["h2"] > 0.02  # no computer adds 30 million numbers in less


@pytest.mark.machine
@pytest.mark.parametrize("options", [{"traps": "ptrace"}, {"clock": "real"}])
def test_computing_is_counted_on_virtual_time_in_process_only(
    start: Start, options: dict[str, str]
) -> None:
    net = start(shapes.single(2), **options)
    net["h1"].run(COMPUTE)
    assert computing_real_s(net) == {}


SCRIPT = f"""
from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo
for hosts in 2, 3:
    net = Mininet(SingleSwitchTopo(hosts), controller=None)
    net.start()
    net["h2"].pexec({COMPUTE!r})
    net.stop()
"""


@pytest.mark.machine
def test_a_script_s_networks_count_together_when_they_have_ended(
    start: Start, tmp_path: Path
) -> None:
    net = start(Topology(), folder=tmp_path, traps="inprocess")
    seen = collect_computing(net)
    (tmp_path / "script.py").write_text(SCRIPT)
    net.root.run(["/run/wanlab/bin/wanlab-python", "script.py"], check=True)
    assert set(seen) == {"h1", "h2", "h3"}
    assert max(seen["h1"], seen["h3"]) < seen["h2"] / 3
    assert seen["h2"] > 0.04


@pytest.mark.machine
def test_a_run_knows_how_long_its_programs_computed(tmp_path: Path) -> None:
    run = Run("x", {}, 1, tmp_path)
    with run.network(shapes.single(2), traps="inprocess") as net:
        net["h1"].run(COMPUTE)
    assert run.computing_real_s["h1"] > 0.02
    assert not [table for table in run.record().tables if "comput" in table]
