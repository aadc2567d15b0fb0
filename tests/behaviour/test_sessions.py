"""Sessions on wanlab's kernel are recorded without side effects, replayed, rewound and branched."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from wanlab import Network, shapes
from wanlab.errors import CommandError, WanlabError
from wanlab.machine.embedded import find_image
from wanlab.network import Process
from wanlab.network.replay import differences_here
from wanlab.session import RecordedSession, SessionError, read
from wanlab.session.recorded import ReceivedFrame, SentPiece

pytestmark = pytest.mark.machine

END = "12s"


class OutputLog:
    """Records the output of processes with its instants."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self.said: list[tuple[int, str, bytes]] = []

    def of(self, name: str) -> Callable[[bytes], None]:
        return lambda data: self.said.append((self._network.now_ns, name, data))


def make(folder: Path, **options: Any) -> Network:
    folder.mkdir(exist_ok=True)
    (folder / "job.sh").write_text("for i in 1 2 3 4 5 6; do echo $RANDOM; sleep 1.3; done\n")
    topology = shapes.from_text("single,3,rate=2Mbps,delay=5ms,loss=2%")
    return Network(topology, folder=folder, guest_folder="/home/lab", **options)


def act(network: Network, log: OutputLog) -> list[Process]:
    """Perform a session: traffic, a terminal with keys, a change, Ctrl-C, a timer, a file."""
    ping = network["h1"].start("ping -i 0.2 h2", on_output=log.of("ping"))
    job = network["h2"].start("bash job.sh | tee out.txt", on_output=log.of("job"))
    shell = network["h3"].start(
        ["bash", "--norc", "-i"], terminal=(24, 80), on_output=log.of("shell")
    )
    network.after("5s", lambda: network.set_link("h1", "s1", delay="20ms"))
    network.run_until("2s")
    shell.write("ls; ping -i 0.5 h1\n")
    network.run_until("4s")
    shell.write("\x03")
    network.run_until(END)
    return [ping, job, shell]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[int, str, bytes]]]:
    folder = tmp_path_factory.mktemp("session")
    with make(folder / "work", session=folder / "s.wanlab") as network:
        log = OutputLog(network)
        act(network, log)
    return folder / "s.wanlab", log.said


def test_recording_changes_nothing(
    tmp_path: Path, original: tuple[Path, list[tuple[int, str, bytes]]]
) -> None:
    with make(tmp_path / "work") as network:
        log = OutputLog(network)
        act(network, log)
    assert log.said == original[1]


def test_a_replay_in_another_folder_has_the_same_output(
    tmp_path: Path, original: tuple[Path, list[tuple[int, str, bytes]]]
) -> None:
    said: dict[str, bytes] = {}

    def note(time_ns: int, process: Process, data: bytes) -> None:
        said[process.node] = said.get(process.node, b"") + data

    with Network.replay(original[0], folder=tmp_path / "replay", on_output=note) as network:
        assert network.session.difference is None
        assert network.now_ns == 12_000_000_000
        assert network.topology.ports("h1")[0].conditions.delay_ns == 20_000_000
    for node, name in (("h1", "ping"), ("h2", "job"), ("h3", "shell")):
        assert said[node] == b"".join(data for _, of, data in original[1] if of == name)
    assert (tmp_path / "replay" / "out.txt").read_text()


def test_a_replay_can_go_on_differently(
    original: tuple[Path, list[tuple[int, str, bytes]]],
) -> None:
    with Network.replay(original[0], until="3s") as network:
        ping, job, shell = network.session.processes
        assert [process.is_running for process in (ping, job, shell)] == [True, True, True]
        network.set_link_up("h1", "s1", False)
        before = ping.output
        network.run_for("5s")
        assert ping.output == before
        assert network["h2"].run("echo new").output == "new\n"


@pytest.mark.long
def test_after_rewinding_to_any_instant_the_rest_of_the_original_repeats(
    tmp_path: Path,
) -> None:
    with make(tmp_path / "work", session=True) as network:
        log = OutputLog(network)
        network["h1"].start("ping -i 0.2 h2", on_output=log.of("ping"))
        network["h2"].start("bash job.sh | tee out.txt", on_output=log.of("job"))
        network.after("5s", lambda: network.set_link("h1", "s1", delay="20ms"))
        network.run_until(END)
        original, instants = list(log.said), random.Random(17)
        for _ in range(3):
            time_ns = instants.randrange(12_000_000_000)
            network.session.rewind(time_ns)
            assert network.now_ns == time_ns
            assert network.session.difference is None
            log.said.clear()
            network.run_until(END)
            assert log.said == [said for said in original if said[0] > time_ns]


def test_a_branch_continues_beside_the_original(tmp_path: Path) -> None:
    with make(tmp_path / "work", session=True) as network:
        ping = network["h1"].start("ping -i 0.2 h2")
        network.run_until("3s")
        with network.session.branch() as branch, network.session.branch(at="1s") as early:
            assert branch.folder != network.folder
            assert (branch.folder / "job.sh").is_file()
            for each in (network, branch, early):
                each.run_until("6s")
            assert (
                branch.session.twin(ping).output == ping.output == early.session.twin(ping).output
            )
            branch.set_link("h1", "s1", delay="50ms")
            for each in (network, branch):
                each.run_until("8s")
            assert branch.session.twin(ping).output != ping.output
        late = network["h1"].start("sleep 1")
        with pytest.raises(WanlabError, match="does not run in this branch"):
            branch.session.twin(late)


def test_a_process_of_the_future_is_gone_after_a_rewind(tmp_path: Path) -> None:
    with make(tmp_path / "work", session=tmp_path / "s.wanlab") as network:
        network.run_until("1s")
        late = network["h1"].start("ping h2")
        network.run_until("2s")
        network.session.rewind("500ms")
        assert late.status == -9
        assert network.commands == []
        network.run_until("3s")
    assert read(tmp_path / "s.wanlab").user_processes() == set()
    assert read(tmp_path / "s-before-rewind-1.wanlab").user_processes() == {late.number}


def test_a_rewind_reaches_a_time_before_which_nothing_happened(tmp_path: Path) -> None:
    with make(tmp_path / "work", session=True) as network:
        network["h1"].start("sleep 100")
        network.run_until("6s")
        network.session.rewind("2s")
        assert network.now_ns == 2_000_000_000
        with network.session.branch(at="1s") as branch:
            assert branch.now_ns == 1_000_000_000


def test_an_impossible_rewind_is_refused(tmp_path: Path) -> None:
    with make(tmp_path / "work") as network, pytest.raises(CommandError, match="session=True"):
        network.session.rewind("0s")
    with make(tmp_path / "work", session=True) as network:
        network.run_until("1s")
        with pytest.raises(CommandError, match="2s is outside this session"):
            network.session.rewind("2s")


def test_a_killed_recorder_leaves_a_session(tmp_path: Path) -> None:
    with make(tmp_path / "work", session=tmp_path / "s.wanlab") as network:
        network["h1"].start("ping -i 0.2 h2")
        network.run_until("2s")
        data = (tmp_path / "s.wanlab").read_bytes()
    (tmp_path / "killed.wanlab").write_bytes(data[:-5])
    session = read(tmp_path / "killed.wanlab")
    assert session.is_cut
    with Network.replay(session) as network:
        assert network.session.difference is None
        assert 1_000_000_000 < network.now_ns <= 2_000_000_000


def test_the_first_difference_is_named_by_instant_and_process(
    original: tuple[Path, list[tuple[int, str, bytes]]],
) -> None:
    session = read(original[0])
    shell_output = [
        moment
        for moment in session.moments
        if isinstance(moment, ReceivedFrame) and "ls; ping" in moment.frame.text
    ]
    other = structs.replace(shell_output[0].frame, text="other\r\n")
    object.__setattr__(shell_output[0], "frame", other)
    with Network.replay(session, until="3s") as network:
        difference = network.session.difference
    assert difference is not None
    assert difference.at_ns - session.epoch_ns == 2_000_000_000
    assert difference.terminal == "h3: bash --norc -i"
    assert "other" in difference.recorded
    assert "job.sh" in difference.replayed


def with_header(session: RecordedSession, **values: Any) -> RecordedSession:
    return replace(session, header=structs.replace(session.header, **values))


def test_sessions_that_cannot_be_replayed_here_are_refused(
    tmp_path: Path, original: tuple[Path, list[tuple[int, str, bytes]]]
) -> None:
    path = original[0]
    with pytest.raises(SessionError, match="session on the real clock cannot be replayed"):
        Network.replay(with_header(read(path), clock="real"))
    other = hashlib.sha256(b"other").hexdigest()
    with pytest.raises(SessionError, match=r"different kernel.*--anyway"):
        Network.replay(with_header(read(path), kernel_manifest=other))
    with pytest.raises(SessionError, match=r"different kernel.*--anyway"):
        Network.replay(with_header(read(path), kernel_manifest=other, kernel="6.6"))
    session = read(path)
    session.programs["no-such-program"] = "1.0"
    for moment in session.moments:
        if isinstance(moment, SentPiece) and b"ping -i 0.2" in moment.data:
            frame = moment.frames[0]
            body = frame.body.replace(b"ping -i", b"no-such-program -i")
            object.__setattr__(moment, "frames", (frame._replace(body=body),))
    with pytest.raises(WanlabError, match="no-such-program, which this computer does not have"):
        Network.replay(session)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(SessionError, match="is not empty"):
        Network.replay(path, folder=tmp_path / "full")


def test_a_session_on_the_real_clock_is_recorded_and_not_replayed(tmp_path: Path) -> None:
    with make(tmp_path / "work", clock="real", session=tmp_path / "s.wanlab") as network:
        assert network["h1"].run("echo said").output == "said\n"
    assert "said" in (tmp_path / "s.wanlab").read_text()
    with pytest.raises(SessionError, match="real clock"):
        Network.replay(tmp_path / "s.wanlab")


def test_a_session_is_replayed_on_the_same_kernel_whatever_its_name(
    monkeypatch: pytest.MonkeyPatch, original: tuple[Path, list[tuple[int, str, bytes]]]
) -> None:
    """If the name decided, a kernel of that name would be built, which takes minutes."""
    monkeypatch.setenv("WANLAB_KERNEL", str(find_image().folder))
    session = with_header(read(original[0]), kernel="9.99-of-somebody")
    with Network.replay(session, until="1s") as network:
        assert network.session.difference is None


def test_another_version_of_wanlabs_python_is_named(
    original: tuple[Path, list[tuple[int, str, bytes]]],
) -> None:
    assert not any("wanlab's Python" in each for each in differences_here(read(original[0])))
    (difference,) = differences_here(with_header(read(original[0]), python_version="3.9.1"))
    assert difference.startswith("wanlab's Python: recorded with 3.9.1, here is 3.")


def test_a_warm_up_is_the_same_in_a_second_run_and_in_a_branch(tmp_path: Path) -> None:
    """This is why sweeps run the warm-up again instead of branching (decision 37)."""

    def warm_up(folder: Path, loss: str) -> tuple[str, str, str]:
        network = make(folder, seed=3, session=True)
        with network:
            ping = network["h1"].start("ping -i 0.1 h2")
            network.run_until("3s")
            until_then = ping.output
            with network.session.branch() as branch:
                branched = branch.session.twin(ping).output
            network.set_link("h1", "s1", loss=loss)
            network.run_until("6s")
            return until_then, branched, ping.output

    first, second = warm_up(tmp_path / "a", "0%"), warm_up(tmp_path / "b", "40%")
    assert first[0] == first[1] == second[0] == second[1]
    assert first[0].count("ttl=") > 10
    assert first[2] != second[2]
