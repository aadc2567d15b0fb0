"""Test the pytest plugin with small test files."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from machines import counts_computing

from wanlab import Network, record
from wanlab.session import read as read_session

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = "wanlab.pytest_plugin"
# pytester has another home folder, but the kernel is in the user's.
CACHE = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")

Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs pytest with the plugin on a file of tests."""
    monkeypatch.delenv("WANLAB_REQUIRE_KERNEL", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", CACHE)
    is_installed = bool(entry_points(group="pytest11", name="wanlab"))

    def run_it(text: str, *arguments: str) -> pytest.RunResult:
        pytester.makepyfile(test_it=f"import pytest\nfrom wanlab import shapes\n{text}")
        plugin = [] if is_installed else ["-p", PLUGIN]
        return pytester.runpytest_inprocess(*plugin, "-p", "no:cacheprovider", *arguments)

    return run_it


# -- runs without networks ------------------------------------------------------------------------


def test_installing_wanlab_brings_the_plugin() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"wanlab": PLUGIN}


def test_a_run_without_networks_loads_nothing_of_wanlab() -> None:
    script = (
        "import sys, pytest\n"
        "before = set(sys.modules)\n"
        f"import {PLUGIN}\n"
        "print(*sorted(set(sys.modules) - before))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["wanlab", PLUGIN]


def test_tests_without_networks_are_not_affected(run: Run) -> None:
    run("def test_it(): pass", "--wanlab-seeds", "3", "-W", "error").assert_outcomes(passed=1)


# -- markers and options---------------------------------------------------------------------------


def test_a_mistake_in_a_marker_is_reported_in_one_line(run: Run) -> None:
    result = run(
        """
        @pytest.mark.topology("minimal")
        @pytest.mark.wanlab(wires="mtu")
        def test_word(network): pass

        @pytest.mark.topology("minimal,rat=10Mbps")
        def test_shape(network): pass

        @pytest.mark.topology("missing.mn")
        def test_file(network): pass

        @pytest.mark.topology("minimal")
        @pytest.mark.wanlab(scope="session")
        def test_scope(network): pass

        def test_nothing(network): pass
        """.replace("\n        ", "\n")
    )
    result.assert_outcomes(errors=5)
    result.stdout.fnmatch_lines(
        [
            '@pytest.mark.wanlab has no option "wires" (did you mean wire[?])',
            '"rat" in "minimal,rat=10Mbps" is not a parameter of the shape minimal '
            "(did you mean rate[?])",
            "cannot read *missing.mn: No such file or directory",
            '@pytest.mark.wanlab(scope="session") (scopes are function, module)',
            "test_nothing has no topology for its network (mark it: *",
        ]
    )


def test_a_test_is_run_with_several_seeds_if_asked(run: Run) -> None:
    text = """
pytestmark = pytest.mark.topology("minimal")

def test_plain(network): pass

@pytest.mark.wanlab(seeds=2, seed=7)
def test_marked(network): pass

def test_other(): pass
"""
    shown = run(text, "--collect-only", "-q").stdout
    shown.fnmatch_lines(
        [
            "test_it.py::test_plain",
            "test_it.py::test_marked[[]seed7]",
            "test_it.py::test_marked[[]seed8]",
            "test_it.py::test_other",
        ]
    )
    collected = run(text, "--collect-only", "-q", "--wanlab-seeds", "3").outlines
    assert sorted(line.partition("::")[2] for line in collected if "::" in line) == [
        "test_marked[seed7]",
        "test_marked[seed8]",
        "test_marked[seed9]",
        "test_other",
        "test_plain[seed1]",
        "test_plain[seed2]",
        "test_plain[seed3]",
    ]


@pytest.mark.parametrize("number", ["0", "many"])
def test_the_number_of_seeds_must_be_a_positive_number(run: Run, number: str) -> None:
    result = run("def test_it(): pass", "--wanlab-seeds", number)
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_without_a_kernel_tests_are_skipped_with_a_hint_to_build_one(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WANLAB_KERNEL", str(tmp_path))
    text = '@pytest.mark.topology("minimal")\ndef test_it(network): pass\n'
    skipped = run(text, "-rs")
    skipped.assert_outcomes(skipped=1)
    skipped.stdout.fnmatch_lines(["SKIPPED *build it with: wanlab kernel build)"])
    failed = run(text, "--wanlab-require")
    failed.assert_outcomes(errors=1)
    failed.stdout.fnmatch_lines(["*build it with: wanlab kernel build)"])


# -- networks ---------------------------------------------------------------------------------------


@pytest.mark.machine
def test_a_test_gets_the_requested_network(run: Run, pytester: pytest.Pytester) -> None:
    (pytester.path / "two hosts.yaml").write_text(
        "nodes: [{host: a}, {host: b}]\nlinks: [{link: [a, b], delay: 5ms}]\n"
    )
    result = run(
        """
@pytest.mark.topology(shapes.minimal(delay="10ms"))
@pytest.mark.wanlab(seed=3, wire="gso", sysctls={"net.ipv4.ip_default_ttl": "33"})
def test_marked(network, tmp_path):
    assert (network.seed, network.wire, network.folder) == (3, "gso", tmp_path)
    ping = network["h1"].run("ping -c 2 10.0.0.2").output
    assert "ttl=33 time=40.0 ms" in ping
    done = []
    network.after("5s", done.append, network.seed)
    network.run_for("5s")
    assert done == [3]

@pytest.mark.topology("two hosts.yaml")
def test_file(network):
    assert "time=10.0 ms" in network["a"].run("ping -c 2 b").output

@pytest.fixture
def topology():
    return shapes.single(3)

def test_by_fixture(network):
    assert len(network.topology.hosts) == 3

@pytest.mark.wanlab(clock="virtual")
def test_two(start_network):
    networks = [start_network(shapes.minimal(), seed=seed) for seed in (1, 2)]
    drawn = [net["h1"].run("head -c 8 /dev/urandom | od -An -tx1").output for net in networks]
    assert drawn[0] != drawn[1]
"""
    )
    result.assert_outcomes(passed=4)
    assert not (pytester.path / ".wanlab").exists()


@pytest.mark.long
@pytest.mark.machine
def test_tests_of_a_module_can_share_a_network(run: Run, pytester: pytest.Pytester) -> None:
    result = run(
        """
pytestmark = [pytest.mark.topology("minimal"), pytest.mark.wanlab(scope="module", seeds=1)]

@pytest.fixture(scope="module")
def server(module_network):
    return module_network["h2"].start("echo ready; sleep 1000")

def test_first(network, server):
    network.run_for("3s")
    assert server.output == "ready\\n"

def test_second(network, server):
    assert network.now_ns // 10**6 == 3000
    network["h1"].run("ping -c 2 10.0.0.2")
    assert not server.is_running
""",
        "--wanlab-keep-passed",
    )
    result.assert_outcomes(passed=1, failed=1)
    first = (pytester.path / ".wanlab/test_it/test_first-seed1/processes.txt").read_text()
    assert first == (
        "h2$ echo ready; sleep 1000\n  began at 0.000000 s, runs\n  output:\n    ready\n\n"
    )
    kept = pytester.path / ".wanlab/test_it/test_second-seed1"
    assert (kept / "processes.txt").read_text().startswith(first)
    # Only packets of this test are counted.
    assert record.read(kept / "record")["port"].distinct("time_ns")[10] == 1_000_000_000


@pytest.mark.machine
def test_evidence_of_a_failure_is_kept(run: Run, pytester: pytest.Pytester) -> None:
    text = """
@pytest.mark.topology("minimal,rate=10Mbps")
@pytest.mark.wanlab(limit="90s")
def test_fails(network):
    network["h2"].start("iperf3 -s -1")
    network.run_for("100ms")
    network["h1"].run("iperf3 -c 10.0.0.2 -t 1")
    network["h1"].run("echo one; echo two >&2; exit 3")

@pytest.fixture
def server(network):
    process = network["h1"].start("sleep 100")
    yield process
    assert process.stop() == 0

@pytest.mark.topology("minimal")
@pytest.mark.wanlab(limit="5s", capture="s1-eth1", every=None)
def test_hangs(server):
    server.wait()
"""
    result = run(text, "--wanlab-keep", "evidence")
    result.assert_outcomes(failed=2, errors=1)
    result.stdout.fnmatch_lines(
        [
            ">   *exit 3*",
            "E *CommandError: `echo one; echo two >&2; exit 3` in h1 failed [[]exit status 3]",
            "test_it.py:10: CommandError",
            "*- wanlab -*",
            "kept in evidence/test_it/test_fails",
            "  the network's clock showed 1.*s; seed 1, mtu wire",
            "  packets.pcapng   h1-eth0, h2-eth0",
            "  record           qdisc, port, tcp",
            "  processes.txt    3 processes",
            "  session.wanlab   wanlab replay session.wanlab",
            "  kernel.txt       *[1-9]* lines",
            "E *Failed: the test has taken 5s of virtual time: *",
            "  packets.pcapng   s1-eth1",
        ]
    )
    kept = pytester.path / "evidence/test_it/test_fails"
    assert "    one\n  errors:\n    two\n" in (kept / "processes.txt").read_text()
    assert (kept / "packets.pcapng").stat().st_size > 1_000_000  # 10 Mbit/s for 1 s, seen twice
    assert not read_session(kept / "session.wanlab").is_cut
    with Network.replay(kept / "session.wanlab") as network:
        assert network.session.difference is None
        assert network.session.processes[-1].output == "one\n"
        assert network.session.processes[-1].status == 3
    evidence = record.read(kept / "record")
    assert evidence.provenance.commands[0] == "h2$ iperf3 -s -1"
    assert evidence["tcp"].distinct("node") == ["h1", "h2"]
    assert (kept.parent / "test_hangs" / "processes.txt").exists()
    assert (kept.parents[1] / ".gitignore").read_text() == "*\n"

    passing = text.replace("; exit 3", "").replace("sleep 100", "sleep 1; exec true")
    run(passing, "--wanlab-keep", "evidence").assert_outcomes(passed=2)
    assert not any(kept.parent.iterdir())


@pytest.mark.machine
def test_a_failed_test_says_where_packets_were_lost(run: Run) -> None:
    result = run(
        """
@pytest.mark.topology("minimal")
def test_it(network):
    network["h1"].run("tc qdisc replace dev h1-eth0 root handle 1: netem loss 100%")
    network["h1"].run("ping -c 3 -i 0.2 10.0.0.2", check=False)
    raise AssertionError("no answer")
"""
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "  the network's clock showed *s; seed 1, mtu wire",
            "  h1-eth0 (netem 1:) lost 3 packets (100 %): netem: its loss of 100 %",
        ]
    )


@pytest.mark.machine
@counts_computing
def test_a_failed_test_names_nodes_whose_programs_computed_for_long(run: Run) -> None:
    result = run(
        """
@pytest.mark.topology("minimal")
def test_it(network):
    compute = "for _ in range(6): print(sum(map(sum, [range(10**6)] * 80)))"
    network["h1"].run(["python3", "-c", compute])
    raise AssertionError
"""
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["  warning: programs of h1 computed for * s of real time, while *"]
    )


@pytest.mark.machine
def test_evidence_of_a_dead_network_is_kept(run: Run, pytester: pytest.Pytester) -> None:
    result = run(
        """
@pytest.mark.topology("minimal")
def test_it(network):
    network["h1"].run("ping -c 1 10.0.0.2")
    network.machine._kernel.kill()
    network.run_for("1s")

@pytest.mark.topology("minimal")
@pytest.mark.wanlab(limit="10 parsecs")
def test_limit(network): pass

@pytest.fixture
def server(network):
    yield
    network["h2"].run("sleep 1")
    raise AssertionError("it was not asked")

@pytest.mark.topology("minimal")
def test_teardown(server): pass
"""
    )
    result.assert_outcomes(passed=1, failed=1, errors=2)
    result.stdout.fnmatch_lines(['"parsecs" in "10 parsecs" is not a unit of time*'])
    kept = pytester.path / ".wanlab/test_it/test_it"
    assert "1 received" in (kept / "processes.txt").read_text()
    assert (kept / "packets.pcapng").exists()
    origin = record.read(kept.parent / "test_teardown" / "record").provenance
    assert origin.commands == ("h2$ sleep 1",)
    assert origin.warnings == ("the network was gone when this was written",)


@pytest.mark.long
@pytest.mark.machine
def test_ctrl_c_leaves_nothing_behind(
    run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    monkeypatch.setattr(pytester, "runpytest_inprocess", pytester.runpytest_subprocess)
    result = run(
        """
import signal, tempfile, pathlib
@pytest.mark.topology("minimal")
def test_it(network):
    assert list(pathlib.Path(tempfile.gettempdir()).glob("wanlab-evidence-*"))
    network.after("1s", signal.raise_signal, signal.SIGINT)
    network.run_for("2s")
"""
    )
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert list(tmp_path.glob("wanlab-*")) == []
