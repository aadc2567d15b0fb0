"""A machine can share any folder except those that it makes for itself."""

from pathlib import Path

import pytest

from wanlab import Network, Topology
from wanlab.machine import working_folder
from wanlab.machine.working_folder import can_be_shared


@pytest.fixture(autouse=True)
def nothing_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(working_folder, "_reported", set())


@pytest.mark.parametrize(
    "folder", ["/", "/etc", "/boot", "/run", "/proc", "/proc/1", "/sys/fs", "/dev", "/run/wanlab"]
)
def test_a_folder_that_the_machine_makes_itself_is_not_shared(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """At /proc nothing would work; below /etc, the machine would write the computer's files."""
    assert not can_be_shared(Path(folder), guest_folder=folder)
    assert not can_be_shared(Path(folder))
    (line,) = capsys.readouterr().err.splitlines()  # once
    assert line.startswith(f"wanlab: a machine cannot share {folder}: files that programs write")


@pytest.mark.parametrize("folder", ["/home/me", "/etc/lab", "/tmp", "/dev/shm/lab", "/run/user/1"])
def test_any_other_folder_is_shared(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert can_be_shared(Path(folder), guest_folder=folder)
    assert capsys.readouterr().err == ""


def test_a_folder_that_is_mounted_elsewhere_is_shared() -> None:
    assert can_be_shared(Path("/etc"), guest_folder="/run/experiment")
    assert not can_be_shared(Path("/"), guest_folder="/run/experiment")


@pytest.mark.machine
def test_a_network_starts_in_the_root_folder(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """This happens in containers; files written there stay in the machine's memory."""
    monkeypatch.setattr("os.access", lambda path, mode: True)  # as root, for everybody
    with Network(Topology(), folder="/") as net:
        done = net.root.run("pwd; readlink /proc/self/ns/net | cut -c1-4; echo x > /x; cat /x")
    assert done.output == "/\nnet:\nx\n"
    assert not Path("/x").exists()
    assert "cannot share /" in capsys.readouterr().err
