"""A student's folder in which a program of the network has planted links and other surprises.

wanlab itself writes and reads there, outside of the network: nothing may reach the user's own files.
"""

from __future__ import annotations

import io
import itertools
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from wanlab import shapes
from wanlab.cli import lab_start
from wanlab.errors import WanlabError
from wanlab.jobs.store import results_folder
from wanlab.labs import catalog, hand_in, student_files, unit_file
from wanlab.labs.canvas import Canvas
from wanlab.labs.runner import StepRunner
from wanlab.labs.unit import Unit
from wanlab.session import SessionRecorder
from wanlab.shared_folder import SharedFolder, UnsafeFileError
from wanlab.topology.files import encoded


@pytest.fixture
def home(tmp_path: Path) -> SharedFolder:
    home = SharedFolder(tmp_path / "class" / "ada")
    home.subfolder(hand_in.TRANSCRIPTS).make()
    return home


@pytest.fixture
def unit() -> Unit:
    return unit_file.for_seed(catalog.find("prob1"), 1)


@pytest.fixture(autouse=True)
def no_kernel_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Image:
        release, manifest_hash = "6.12", "0" * 64

    monkeypatch.setattr(hand_in, "find_image", lambda kernel: Image)


def link_to(victim: Path) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(victim)


def hard_link_to(victim: Path) -> Callable[[Path], None]:
    return lambda path: os.link(victim, path)


@pytest.mark.parametrize("planted", [link_to, hard_link_to])
@pytest.mark.parametrize("name", ["mininet", "commands"])
def test_a_transcript_is_not_appended_to_a_file_of_the_user(
    home: SharedFolder,
    victim: Path,
    planted: Callable[[Path], Callable[[Path], None]],
    name: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    planted(victim)(home.path / "transcripts" / name)
    transcripts, shown = lab_start.Transcripts(home, ["h1"]), list[bytes]()
    for data in (b"touch PWNED\n", b"more\n"):
        transcripts.show_and_log(shown.append, data)
        transcripts.note_line("h1 touch PWNED")
    assert shown == [b"touch PWNED\n", b"more\n"]
    stderr = capsys.readouterr().err
    assert stderr.count("wanlab: the transcript is incomplete: ") == 1
    assert f"transcripts/{name} " in stderr
    assert "is a symbolic link (remove it" in stderr or "has a second name (a hard link)" in stderr


def test_a_fifo_in_place_of_a_transcript_does_not_stop_the_session(
    home: SharedFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(home.path / "transcripts" / "mininet")
    lab_start.Transcripts(home, []).show_and_log(lambda data: None, b"text")
    assert "mininet is a FIFO (remove it" in capsys.readouterr().err


def test_a_link_in_place_of_the_transcripts_folder_is_not_entered(
    home: SharedFolder, victim: Path
) -> None:
    (home.path / "transcripts").rmdir()
    (home.path / "transcripts").symlink_to(victim.parent)
    for use in (
        lambda: hand_in.note_line(home, ["h1"], "h1 ls"),
        lambda: hand_in.new_session(home),
        lambda: hand_in.draft(home),
    ):
        with pytest.raises(UnsafeFileError, match="transcripts is a symbolic link"):
            use()


def test_the_files_of_a_unit_are_not_written_through_links(
    home: SharedFolder, unit: Unit, victim: Path
) -> None:
    """set_env.sh and the lesson depend on the seed, so they are written at every start."""
    student_files.install(home, [unit])
    script = home.path / "NTP_Problems" / "Problem1" / "set_env.sh"
    script.unlink()
    for target in (victim, victim.with_name("new")):
        script.symlink_to(target)
        with pytest.raises(UnsafeFileError, match=r"set_env.sh is a symbolic link \(remove it"):
            student_files.install(home, [unit])
        script.unlink()
    os.link(victim, script)
    student_files.install(home, [unit])  # in place of the second name; the victim stays
    assert script.read_bytes().startswith(b"#!/bin/sh\n")


def test_a_folder_of_a_unit_that_has_become_a_link_is_not_entered(
    home: SharedFolder, unit: Unit, victim: Path
) -> None:
    (home.path / "NTP_Problems").symlink_to(victim.parent)
    with pytest.raises(UnsafeFileError, match="NTP_Problems is a symbolic link"):
        student_files.install(home, [unit])


def test_a_folder_that_lab_start_would_make_is_not_entered_if_it_is_a_link(
    tmp_path: Path, unit: Unit, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier network in the current folder has left it."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    Path("problem1").symlink_to(victim.parent)
    with pytest.raises(WanlabError, match="problem1 is a symbolic link"):
        lab_start.start(
            "prob1", seed=1, clock="virtual", folder=Path("problem1"), without_tmux=True
        )


def test_a_session_does_not_begin_in_a_file_elsewhere(home: SharedFolder, victim: Path) -> None:
    transcripts = home.path / "transcripts"
    (transcripts / "session-1.wanlab").symlink_to(victim.with_name("new"))
    session = hand_in.new_session(home)
    assert session == transcripts / "session-2.wanlab"
    session.symlink_to(victim.with_name("new"))  # after the name was chosen
    with pytest.raises(WanlabError, match=r"session-2.wanlab is a symbolic link"):
        SessionRecorder(session, home.path)


@pytest.mark.parametrize(
    "name", ["transcripts/h1", "transcripts/session-1.wanlab", "transcripts/commands"]
)
@pytest.mark.parametrize("target", ["bashrc", "new"])
def test_a_hand_in_packs_no_file_of_the_user(
    home: SharedFolder, unit: Unit, victim: Path, name: str, target: str
) -> None:
    home.write("prob1.sh", b"true\n")
    (home.path / name).symlink_to(victim.with_name(target))
    zipped = home.path.with_name("prob1.zip")
    with pytest.raises(WanlabError, match=rf"{name} is a symbolic link \(remove it"):
        hand_in.pack(unit, 1, home, home.path / "prob1.sh", zipped)
    assert not zipped.exists()


def test_a_script_that_is_a_link_is_not_handed_in(
    home: SharedFolder, unit: Unit, victim: Path
) -> None:
    for folder in (home.path, home.path.parent):
        (folder / "prob1.sh").symlink_to(victim)
    assert hand_in.find_script(unit, home) is None
    with pytest.raises(UnsafeFileError, match=r"prob1.sh is a symbolic link"):
        hand_in.script_of(unit, home)
    with pytest.raises(UnsafeFileError, match=r"prob1.sh is a symbolic link"):
        hand_in.packed(unit, 1, home, home.path / "prob1.sh")


def test_a_script_is_written_from_the_typed_commands_until_the_student_changes_it(
    home: SharedFolder, unit: Unit
) -> None:
    script = home.path / "prob1.sh"
    numbers = itertools.count(1)

    def types(command: str) -> None:
        line = f"0\troot@h1\t{next(numbers)} {command}\n".encode()
        home.subfolder(hand_in.TRANSCRIPTS).append(hand_in.COMMANDS, line)

    with pytest.raises(WanlabError, match="no command that changes something was typed"):
        hand_in.script_of(unit, home)
    types("ping -c 1 10.0.0.2")
    with pytest.raises(WanlabError, match="no command that changes something was typed"):
        hand_in.script_of(unit, home)
    assert not script.exists()
    types("ip link set h1-eth0 mtu 1400")
    assert hand_in.script_of(unit, home) == (script, True)
    assert hand_in.script_of(unit, home) == (script, False)
    types("ip link set h1-eth0 mtu 1300")
    assert hand_in.script_of(unit, home) == (script, True)
    assert script.read_text().splitlines()[1:] == [
        "wanlab-node h1 ip link set h1-eth0 mtu 1400",
        "wanlab-node h1 ip link set h1-eth0 mtu 1300",
    ]
    script.write_text(script.read_text().replace("1300", "1200"))
    types("ip link set h1-eth0 mtu 1500")
    assert hand_in.script_of(unit, home) == (script, False)
    assert "1200" in script.read_text()


@pytest.mark.parametrize("name", ["transcripts/h1", "transcripts/session-1.wanlab", "prob1.sh"])
def test_a_hand_in_does_not_wait_for_a_fifo(home: SharedFolder, unit: Unit, name: str) -> None:
    home.write("prob1.sh", b"true\n")
    (home.path / name).unlink(missing_ok=True)
    os.mkfifo(home.path / name)
    with pytest.raises(UnsafeFileError, match=f"{name} is a FIFO"):
        hand_in.packed(unit, 1, home, home.path / "prob1.sh")


def test_a_hand_in_reads_only_the_end_of_a_huge_transcript(home: SharedFolder, unit: Unit) -> None:
    home.write("prob1.sh", b"true\n")
    with home.create("transcripts/h1") as file:
        file.truncate(1 << 40)
    for number in range(hand_in.MAX_TRANSCRIPTS + 20):
        home.write(f"transcripts/x{number}", b"")
    home.write("transcripts/session-1.wanlab", b"a session")
    with zipfile.ZipFile(
        io.BytesIO(hand_in.packed(unit, 1, home, home.path / "prob1.sh"))
    ) as packed:
        assert packed.getinfo("transcripts/h1").file_size <= hand_in.MAX_BYTES
        assert packed.read("sessions/session-1.wanlab") == b"a session"
        assert len(packed.namelist()) <= hand_in.MAX_TRANSCRIPTS + 3


def test_a_hand_in_is_not_written_through_a_link(
    home: SharedFolder, unit: Unit, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home.path)
    home.write("prob1.sh", b"true\n")
    for target in (victim, victim.with_name("new")):
        Path("prob1-seed1.zip").unlink(missing_ok=True)
        Path("prob1-seed1.zip").symlink_to(target)
        with pytest.raises(UnsafeFileError, match=r"prob1-seed1.zip is a symbolic link"):
            hand_in.pack(unit, 1, home, Path("prob1.sh").absolute(), Path("prob1-seed1.zip"))


def test_a_drawing_is_neither_saved_nor_opened_through_a_link(
    home: SharedFolder, victim: Path
) -> None:
    canvas = Canvas(home.path / "none.mn")
    canvas.perform("new", True, home)
    for name in ("a.mn", "b.mn"):
        (home.path / name).symlink_to(victim if name == "a.mn" else victim.with_name("new"))
        for word in ("save", "open"):
            with pytest.raises(UnsafeFileError, match="mn is a symbolic link"):
                canvas.perform(word, name, home)


@pytest.mark.parametrize("name", ["/etc/passwd", "../../../user/key", "/home/admin/../x"])
def test_the_steps_of_a_submission_name_only_files_of_its_home_folder(
    home: SharedFolder, unit: Unit, name: str
) -> None:
    runner = StepRunner(unit, home.path)
    with pytest.raises(WanlabError, match="is not in the home folder"):
        runner._topology_file(name)
    with pytest.raises(WanlabError, match="there is no file"):
        runner._reader("/home/admin/x")(name)


def test_the_results_of_a_submission_are_read_from_regular_files_only(
    home: SharedFolder, unit: Unit, victim: Path
) -> None:
    read = StepRunner(unit, home.path)._reader("/home/admin")
    home.write("a.json", b"{}")
    assert read("a.json") == read("~/a.json") == b"{}"
    (home.path / "link.json").symlink_to(victim)
    os.mkfifo(home.path / "fifo.json")
    (home.path / "zero.json").symlink_to("/dev/zero")
    for name in ("link.json", "fifo.json", "zero.json"):
        with pytest.raises(UnsafeFileError, match=f"{name} is a "):
            read(name)


def test_the_results_of_a_run_replace_no_folder_of_the_user(
    tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of a run is emptied first: a link in its place would empty another folder."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    final = Path("results", "prob1-seed1")
    for name in ("results", "results/prob1-seed1.partial"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).symlink_to(victim.parent)
        with (
            pytest.raises(UnsafeFileError, match=f"{name} is a symbolic link"),
            results_folder(final),
        ):
            pass
        Path(name).unlink()
    final.symlink_to(victim.parent)
    with results_folder(final) as folder:
        (folder / "report.txt").write_text("done")
    assert not final.is_symlink()
    assert (final / "report.txt").read_text() == "done"


def test_a_set_user_id_bit_is_not_carried_into_the_files_of_a_unit(
    home: SharedFolder, unit: Unit
) -> None:
    script = home.path / "NTP_Problems" / "Problem1" / "set_env.sh"
    script.parent.mkdir(parents=True)
    script.touch()
    script.chmod(0o6777)
    student_files.install(home, [unit])
    assert script.stat().st_mode & 0o7777 == 0o755


def test_a_topology_that_the_student_has_drawn_is_opened(home: SharedFolder, unit: Unit) -> None:
    home.write(student_files.student_topology(unit), encoded(shapes.single(3), "x.mn"))
    student_files.install(home, [unit])
    assert (home.path / student_files.student_topology(unit)).read_bytes() == encoded(
        shapes.single(3), "x.mn"
    )
