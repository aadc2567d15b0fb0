"""Test timers, which fire whichever call lets time pass, and reports of processes and time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from wanlab import Capture, Network, Ports, Sampling, shapes
from wanlab.errors import CommandError, MachineError
from wanlab.machine.embedded import EmbeddedMachine

pytestmark = pytest.mark.machine

SECOND_NS = 1_000_000_000


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    topology = shapes.minimal(delay="1ms")
    with Network(topology, folder=tmp_path_factory.mktemp("appointments")) as network:
        yield network


@pytest.fixture
def since(net: Network) -> Callable[[], int]:
    """Return a function that gives the time since the test began."""
    began_ns = net.now_ns
    return lambda: net.now_ns - began_ns


Since = Callable[[], int]


def test_a_scheduled_action_runs_at_its_time(net: Network, since: Since) -> None:
    done: list[tuple[str, int]] = []
    net.after("2s", lambda: done.append(("second", since())))
    net.after("1s", lambda: done.append(("first", since())))
    net.after("2s", lambda: done.append(("third", since())))
    net.run_for("1999ms")
    assert done == [("first", SECOND_NS)]
    net.run_for("1ms")
    assert done[1:] == [("second", 2 * SECOND_NS), ("third", 2 * SECOND_NS)]


def test_a_link_goes_down_during_a_wait_for_a_program(net: Network) -> None:
    net.after("2500ms", net.set_link_up, "h1", "s1", False)
    net.after("4500ms", net.set_link_up, "h1", "s1", True)
    output = net["h1"].run("ping -c 6 -W 1 10.0.0.2", check=False).output
    came = [line.split("icmp_seq=")[1].split()[0] for line in output.splitlines() if "ttl=" in line]
    assert came == ["1", "2", "3", "6"]


def test_an_action_may_let_time_pass_and_set_timers(net: Network, since: Since) -> None:
    times_ms: list[int] = []

    def again() -> None:
        net.run_for("100ms")
        times_ms.append(since() // 1_000_000)
        if len(times_ms) < 3:
            net.after("1s", again)

    net.after("1s", again)
    net.run_for("10s")
    assert times_ms == [1100, 2200, 3300]
    assert since() == 10 * SECOND_NS


def test_a_timer_set_on_output_fires_in_time(net: Network, since: Since) -> None:
    times_ms: list[int] = []

    def note(data: bytes) -> None:
        net.after("250ms", lambda: times_ms.append(since() // 1_000_000))

    net["h1"].start("sleep 1; echo now; sleep 5", on_output=note)
    net.after("4s", lambda: None)
    net.run_for("10s")
    assert len(times_ms) == 1
    assert 1250 <= times_ms[0] < 1270


def test_a_timer_can_be_cancelled(net: Network) -> None:
    done: list[str] = []
    appointment = net.after("1s", done.append, "it")
    net.after("1s", done.append, "the other")
    appointment.cancel()
    net.run_for("2s")
    assert done == ["the other"]


def test_an_overdue_timer_fires_as_soon_as_time_may_pass(net: Network) -> None:
    done: list[str] = []
    net.after("1ns", done.append, "it")
    net.set_link_up("h1", "s1", True)  # starting it takes the agent a moment
    assert done == []
    net.run_for("1ns")
    assert done == ["it"]


def test_the_kernels_messages_can_be_read(net: Network) -> None:
    net["h1"].run("echo a word of the kernel > /dev/kmsg")
    assert b"a word of the kernel" in net.read([["log", ""]])[0]


def test_an_error_in_a_timer_propagates_from_the_call_that_lets_time_pass(
    net: Network, since: Since
) -> None:
    def fail() -> None:
        raise CommandError("too late")

    net.after("3s", fail)
    with pytest.raises(CommandError, match="too late"):
        net["h1"].run("sleep 100")
    assert since() == 3 * SECOND_NS


def test_each_started_process_is_reported(net: Network) -> None:
    started: list[str] = []
    net.on_process = lambda process: started.append(f"{process.node}: {process.command}")
    net["h1"].run("true")
    net["h2"].start("sleep 1")
    net.on_process = None
    assert started == ["h1: true", "h2: sleep 1"]


def test_on_time_reports_how_far_time_has_passed(net: Network, since: Since) -> None:
    heard: list[tuple[int, int | None]] = []
    began_ns = net.now_ns
    net.on_time = lambda now_ns, end_ns: heard.append((now_ns, end_ns))
    net.run_for("3s")
    assert heard[0] == (began_ns, began_ns + 3 * SECOND_NS)
    assert len(heard) > 2
    assert heard == sorted(heard)
    heard.clear()
    net["h1"].run("sleep 1")
    net.on_time = None
    # The end of a process is not known in advance; the last report says that it has ended.
    assert {end_ns for _, end_ns in heard} == {None, net.now_ns}
    assert heard[-1] == (net.now_ns, net.now_ns)


def test_timers_change_nothing(start: Callable[..., Network]) -> None:
    def ping(count: int) -> tuple[str, int]:
        net = start(shapes.minimal(delay="1ms", loss="20%"))
        for number in range(1, count + 1):
            net.after(number * 7_000_000, lambda: None)
        return net["h1"].run("ping -i 0.03 -c 50 10.0.0.2", check=False).output, net.now_ns

    assert ping(0) == ping(60)


def test_a_folder_below_tmp_can_be_made_visible(
    start: Callable[..., Network], tmp_path: Path
) -> None:
    for name in ("shown", "hidden", "work"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    net = start(shapes.minimal(), folder=tmp_path / "work", visible_folders=[tmp_path / "shown"])
    script = "cat file; echo; cat ../shown/file; echo; ls ..; touch ../shown/file"
    done = net["h1"].run(script, check=False)
    assert done.output.split() == ["work", "shown", "shown", "work"]
    assert "Read-only file system" in done.stderr


def test_measurements_before_the_machine_died_are_kept(start: Callable[..., Network]) -> None:
    net = start(shapes.minimal())
    capture, ports = Capture("h1-eth0"), Ports("h1-eth0")
    with pytest.raises(MachineError), Sampling(net, [capture, ports], every="100ms") as sampling:
        net["h1"].run("ping -c 3 10.0.0.2")
        sampling.sample()  # the agent has sent everything by now
        machine = net.machine
        assert isinstance(machine, EmbeddedMachine)
        machine._kernel.kill()
        net.run_for("1s")
    assert capture.file.stat().st_size > 6 * 98
    times_ns = sampling.tables()["port"].distinct("time_ns")
    assert times_ns[:3] == [0, 100_000_000, 200_000_000]
