"""Test what is known about terminals from outside: which are busy, and how much they may print."""

import pytest

from wanlab import Network, Ports, Process, Sampling, shapes

pytestmark = pytest.mark.machine

SHELL = ["/bin/bash", "--norc", "--noprofile", "-i"]
CREDIT_BYTES = 65536
MOMENT = "10ms"
A_LOOK_NS = 1_000_000
"""The agent reads the state of processes, which takes some 20 us of virtual time."""


@pytest.fixture
def shell(network: Network) -> Process:
    process = network["h1"].start(SHELL, terminal=(24, 80), credit=CREDIT_BYTES)
    network.run_for(MOMENT)
    return process


@pytest.fixture
def network():  # type: ignore[no-untyped-def]
    with Network(shapes.minimal()) as network:
        yield network


def is_busy(network: Network, process: Process) -> bool:
    return network.are_busy([process])[0]


def test_a_shell_that_waits_for_a_line_is_not_busy(network: Network, shell: Process) -> None:
    before_ns = network.now_ns
    assert not is_busy(network, shell)
    assert network.now_ns - before_ns < A_LOOK_NS


def test_a_command_and_background_jobs_are_busy(network: Network, shell: Process) -> None:
    shell.write("sleep 1\n")
    network.run_for(MOMENT)
    assert is_busy(network, shell)
    network.run_for("1s")
    assert not is_busy(network, shell)
    shell.write("sleep 1 &\n")
    network.run_for(MOMENT)
    assert is_busy(network, shell)
    network.run_for("1s")
    assert not is_busy(network, shell)


def test_a_program_in_raw_mode_is_busy(network: Network, shell: Process) -> None:
    """An editor uses raw mode too. Only a shell at its prompt counts as idle."""
    shell.write("stty raw -echo; cat; stty sane\n")
    network.run_for(MOMENT)
    assert is_busy(network, shell)


def test_a_stopped_or_ended_program_is_not_busy(network: Network, shell: Process) -> None:
    shell.write("sleep 100\n")
    network.run_for(MOMENT)
    shell.write("\x1a")  # Ctrl-Z
    network.run_for(MOMENT)
    assert not is_busy(network, shell)
    for line in ("kill -KILL %1\n", "exit\n"):
        shell.write(line)
        network.run_for("1s")
    assert not shell.is_running
    assert not is_busy(network, shell)


def test_a_program_writes_no_more_than_its_credit(network: Network, shell: Process) -> None:
    shell.write("yes 0123456789\n")
    network.run_for("1s")
    said = len(shell.output_bytes)
    assert CREDIT_BYTES <= said < 2 * CREDIT_BYTES
    network.run_for("1s")
    assert len(shell.output_bytes) == said
    shell.grant_credit(CREDIT_BYTES)
    network.run_for("1s")
    assert said + CREDIT_BYTES // 2 < len(shell.output_bytes) < 4 * CREDIT_BYTES
    shell.write("\x03")
    shell.grant_credit(1 << 20)
    network.run_for("1s")
    assert not is_busy(network, shell)


def test_the_last_output_arrives_even_without_credit(network: Network) -> None:
    process = network["h1"].start("printf %1000s x; printf last", terminal=(24, 80), credit=1)
    process.wait("10s")
    assert process.output.endswith("last")


def test_samples_are_flushed_once(network: Network) -> None:
    ports = Ports("s1-eth1")
    sampling = Sampling(network, [ports], every="100ms")
    sampling.begin()
    network.run_for("250ms")
    sampling.flush()
    assert [reading.time_ns for reading in ports.readings] == [0, 100_000_000, 200_000_000]
    network.run_for("100ms")
    sampling.flush()
    assert ports.readings[-1].time_ns == 300_000_000
    sampling.end()
