"""Programs in a network leave links in the working folder, which wanlab itself then uses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PRECIOUS = "precious\n"


@pytest.fixture
def victim(wanlab: Any) -> Iterator[Path]:
    """A file of the user outside of the working folder, to which nothing may happen."""
    file: Path = wanlab.folder.parent / f"{wanlab.folder.name}-home" / "bashrc"
    file.parent.mkdir()
    file.write_text(PRECIOUS)
    yield file
    assert file.read_text() == PRECIOUS
    assert [path.name for path in file.parent.iterdir()] == ["bashrc"]


@pytest.mark.machine
@pytest.mark.costs(5)
def test_a_program_cannot_have_the_transcript_appended_to_a_file_of_the_user(
    wanlab: Any, victim: Path
) -> None:
    lines = (
        f"h1 ln -sf {victim} /home/admin/transcripts/mininet\n"
        f"h1 ln -sf {victim} /home/admin/transcripts/commands\n"
        'h1 echo "touch PWNED # appended from inside a network"\n'
        "exit\n"
    )
    ran = wanlab("lab", "start", "3", "--no-tmux", "--folder", "f", input=lines.encode())
    assert b"touch PWNED" in ran.output
    assert ran.status == 0, ran.errors
    assert ran.errors.count("the transcript is incomplete: ") == 1
    assert "transcripts/mininet is a symbolic link (remove it: programs" in ran.errors
    again = wanlab("lab", "start", "3", "--no-tmux", "--folder", "f", input=b"exit\n")
    assert again.status == 1
    assert "transcripts/mininet is a symbolic link (remove it: programs" in again.errors
    packed = wanlab("lab", "hand-in", "3", "--folder", "f")
    assert packed.status == 1
    assert "is a symbolic link (remove it: programs" in packed.errors


@pytest.mark.machine
def test_a_capture_and_a_session_are_not_written_through_links(wanlab: Any, victim: Path) -> None:
    plant = f"ln -s {victim} a.pcapng; ln -s {victim.with_name('new')} b.wanlab; mkfifo c.pcapng"
    assert wanlab("exec", "--topo", "single,2", "--", "sh", "-c", plant).status == 0
    capture = ("capture", "--topo", "single,2", "--at", "h1")
    for options, name in (
        ((*capture, "-w", "a.pcapng"), "a.pcapng is a symbolic link"),
        ((*capture, "-w", "c.pcapng"), "c.pcapng is a FIFO"),
        (("exec", "--topo", "single,2", "--session", "b.wanlab"), "b.wanlab is a symbolic link"),
    ):
        ran = wanlab(*options, "--", "true")
        assert ran.status == 1
        assert f"{name} (remove it: " in ran.errors


@pytest.mark.machine
def test_a_link_that_appears_during_the_run_is_not_followed_at_its_end(
    wanlab: Any, victim: Path
) -> None:
    """The session file is open before the network starts."""
    swap = f"rm -f s.wanlab; ln -s {victim} s.wanlab; echo text"
    command = ("exec", "--topo", "single,2", "--session", "s.wanlab", "--", "sh", "-c", swap)
    ran = wanlab(*command)
    assert (ran.status, ran.output) == (0, b"text\n"), ran.errors
