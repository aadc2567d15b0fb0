"""Mininet scripts of every kind run unmodified inside a machine. Each checks itself, on virtual time."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from machines import counts_every_byte

from wanlab import Network, Topology
from wanlab.topology.cpu import COSTS

pytestmark = [pytest.mark.machine, pytest.mark.costs(3)]

SCRIPTS = Path(__file__).parent / "scripts"
PYTHON = "/run/wanlab/bin/wanlab-python"
LONGEST = "7200s"
"""The limit of virtual time: a script that waits for ever reaches it at once."""


def machine(folder: Path) -> Network:
    return Network(Topology(), folder=folder, line_rate="1Gbps")


def run(net: Network, script: str, *arguments: str) -> str:
    target = net.folder / script
    target.write_bytes((SCRIPTS / script).read_bytes())
    return net.root.run([PYTHON, str(target), *arguments], timeout=LONGEST).output


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    with machine(tmp_path_factory.mktemp("scripts")) as net:
        yield net


@pytest.mark.parametrize(
    "script",
    [
        "commands.py",
        "late.py",
        "topologies.py",
        pytest.param("nodes.py", marks=pytest.mark.long),
        pytest.param("links.py", marks=[counts_every_byte, pytest.mark.long]),
        "mistakes.py",
        pytest.param("prompt.py", marks=pytest.mark.long),
        "ignored.py",
        "examples.py",
        "own_prompt.py",
        "parts.py",
        "rest.py",
    ],
)
def test_a_script_passes_its_own_checks(net: Network, script: str) -> None:
    assert "done" in run(net, script)
    # The script leaves nothing in the machine for the next one.
    assert net.root.run("ls /run/netns").output == ""
    assert "s1" not in net.root.run("ip -br link").output


@pytest.mark.parametrize("has_one", [True, False])
def test_hosts_have_shares_of_a_processor_and_models_of_their_own(
    tmp_path: Path, has_one: bool
) -> None:
    costs = {**dict.fromkeys(COSTS, 0), "rx_stack_ns": 10_000}
    cpu = {"model": "slow", "costs": costs} if has_one else "free"
    with Network(Topology(), folder=tmp_path, cpu=cpu) as net:
        assert "done" in run(net, "processors.py", *(["network"] if has_one else []))


def test_requests_that_mininet_ignores_are_errors_with_strict(net: Network) -> None:
    assert "done" in run(net, "ignored.py", "strict")


@pytest.mark.long
@pytest.mark.skipif(shutil.which("ovs-vsctl") is None, reason="Open vSwitch is not installed")
def test_open_vswitches_obey_their_controllers(net: Network) -> None:
    assert "done" in run(net, "openflow.py")


@pytest.mark.skipif(shutil.which("ovs-vsctl") is None, reason="Open vSwitch is not installed")
def test_switches_and_controllers_have_the_parameters_that_a_script_sets(net: Network) -> None:
    assert "done" in run(net, "switches.py")


@pytest.mark.long
@pytest.mark.skipif(shutil.which("ovs-vsctl") is None, reason="Open vSwitch is not installed")
def test_sessions_first_errors_and_controllers_are_as_in_mininet(net: Network) -> None:
    assert "done" in run(net, "sessions.py")


@pytest.mark.parametrize("between", ["bridges", "routers"])
def test_a_ping_through_a_full_queue_is_delayed_by_it(net: Network, between: str) -> None:
    least, most = map(float, run(net, "queues.py", between).split("rtt")[1].split())
    assert most <= 100 * 1514 * 8 / 10e6 * 1e3 + 1  # 100 packets at 10 Mbit/s: 121 ms
    assert least > 60
    assert most > 110


@pytest.mark.long
def test_a_script_prints_the_same_in_another_machine(tmp_path: Path) -> None:
    said = []
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        with machine(folder) as net:
            said.append(run(net, "repeated.py"))
    assert "*** Results: ['" in said[0]
    assert said[0] == said[1]


def test_readings_of_the_clock_before_the_start_change_nothing(
    tmp_path: Path,
) -> None:
    """Versions of Python read the clock a different number of times while they import modules."""
    said = []
    for readings in ("0", "4000"):
        folder = tmp_path / readings
        folder.mkdir()
        with machine(folder) as net:
            said.append((run(net, "readings.py", readings), net.now_ns))
    assert said[0] == said[1]
    assert "time of day goes back" not in said[0][0]
