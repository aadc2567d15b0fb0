"""Test `wanlab replay`, and the ways to record a session on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from session_text import lines_of, session_of, written

pytestmark = pytest.mark.machine

PING = ("exec", "--topo", "single,2", "--node", "h1", "--session", "s.wanlab", "--")


@pytest.fixture
def session(wanlab: Any) -> Path:
    """Record a session in which a program reads standard input."""
    command = "ping -c 2 h2; read word; echo got $word; ls; sleep 1; echo end"
    ran = wanlab(*PING, "bash", "-c", command, input=b"hello\n")
    assert ran.status == 0, ran.errors
    (wanlab.folder / "said").write_bytes(ran.output)
    path: Path = wanlab.folder / "s.wanlab"
    return path


def test_a_session_is_shown_verified_and_continued(wanlab: Any, session: Path) -> None:
    said = (wanlab.folder / "said").read_bytes()
    assert b"got hello\ns.wanlab\n" in said
    assert wanlab("replay", "s.wanlab").output == said
    verified = wanlab("replay", "s.wanlab", "--verify")
    assert verified.status == 0
    assert verified.output.startswith(b"equal: all output up to 2.")
    continued = wanlab("replay", "s.wanlab", "--until", "1.5s", "--continue", input=b"")
    assert continued.status == 0
    assert continued.output == said
    early = wanlab("replay", "s.wanlab", "--until", "500ms")
    assert early.output in said
    assert b"got" not in early.output


@pytest.mark.long
def test_a_prompt_is_replayed_and_continued_with_other_lines(wanlab: Any) -> None:
    lines = b"h1 ping -c 2 h2\nh2 hostname\n"
    first = wanlab("mn", "--session", "s.wanlab", input=lines)
    assert first.status == 0, first.errors
    assert wanlab("replay", "s.wanlab", "--verify").status == 0
    continued = wanlab(
        "replay", "s.wanlab", "--until", "500ms", "--continue", input=b"h1 echo other\n"
    )
    assert continued.status == 0, continued.errors
    assert b"other" in continued.output
    assert b"2 received" in continued.output


def test_a_script_is_replayed(wanlab: Any) -> None:
    (wanlab.folder / "net.py").write_text(
        "from mininet.net import Mininet\nfrom mininet.topo import LinearTopo\n"
        "net = Mininet(LinearTopo(2)); net.start(); net.pingAll(); net.stop()\n"
    )
    ran = wanlab("python", "--session", "s.wanlab", "net.py")
    assert ran.status == 0, ran.errors
    (wanlab.folder / "net.py").unlink()
    assert wanlab("replay", "s.wanlab", "--verify").status == 0


def test_a_session_that_cannot_be_replayed_is_refused_in_one_line(
    wanlab: Any, session: Path
) -> None:
    data = session.read_bytes()
    lines = data.splitlines(keepends=True)
    wrong = {
        "none": (b"", "has no complete line"),
        "edited": (data.replace(b"hello", b"howdy"), "has been changed"),
        "text": (b"hello\n", "is not a session file"),
        "newer": (
            json.dumps({"session": {"format": 99, "wanlab": "99"}}).encode() + b"\n",
            "has format 99",
        ),
        "wire": (session_of(wire="tin can"), "invalid enum value 'tin can'"),
    }
    for name, (content, message) in wrong.items():
        (wanlab.folder / name).write_bytes(content)
        ran = wanlab("replay", name)
        assert ran.status == 1
        assert message in ran.errors
        assert ran.errors.count("\n") == 1
    (wanlab.folder / "cut").write_bytes(b"".join(lines[:-4]) + lines[-4][:10])
    ran = wanlab("replay", "cut")
    assert ran.status == 0
    assert "was cut short: the program that recorded it was killed after" in ran.errors
    assert wanlab("replay", "missing").status == 1
    for folder in ("edited", "edited/inside"):
        ran = wanlab("replay", "s.wanlab", "--folder", folder)
        assert ran.status == 1
        assert f"cannot work in the folder '{folder}'" in ran.errors
    both = wanlab("replay", "s.wanlab", "--verify", "--continue")
    assert "cannot be combined" in both.errors


def test_a_difference_is_reported_and_sets_the_status(wanlab: Any, session: Path) -> None:
    lines = lines_of(session.read_bytes())
    for line in lines:
        if line.get("out", {}).get("text") == "got hello\n":
            line["out"]["text"] = "got bread\n"
    session.write_bytes(written(lines))
    ran = wanlab("replay", "s.wanlab", "--verify")
    assert ran.status == 1
    assert "differs from 1." in ran.errors
    assert "recorded: 'got bread\\n'" in ran.errors
    assert "replayed: 'got hello\\n'" in ran.errors


@pytest.mark.long
def test_a_lab_writes_its_session_beside_the_transcripts(wanlab: Any) -> None:
    for lines in (b"h1 ping -c 1 h2\nsh ls -R\n", b"h1 hostname\n"):
        ran = wanlab("lab", "start", "prob1", "--folder", "home", "--no-tmux", input=lines)
        assert ran.status == 0, ran.errors
    transcripts = wanlab.folder / "home" / "transcripts"
    sessions = sorted(path.name for path in transcripts.glob("*.wanlab"))
    assert sessions == ["session-1.wanlab", "session-2.wanlab"]
    for name in sessions:
        ran = wanlab("replay", f"home/transcripts/{name}", "--verify")
        assert ran.status == 0, ran.errors


@pytest.mark.long
def test_the_prompt_can_be_rewound_into_the_middle_of_a_command(wanlab: Any) -> None:
    back = b"rewind\nrewind 99s\nrewind 1s\n"
    lines = b"h1 ping -c 5 h2\nrewind 2500ms\nh2 hostname\n" + back + b"h1 echo there\n"
    ran = wanlab("mn", "--session", "s.wanlab", input=lines)
    assert ran.status == 0, ran.errors
    # After each rewind, the last replies are shown again.
    assert [ran.output.count(b"icmp_seq=%d" % number) for number in (1, 2, 3, 5)] == [1, 1, 2, 3]
    assert ran.output.count(b"there\n") == 1
    assert ran.errors.count("*** back at ") == 2
    assert ran.errors.count("usage: rewind TIME") == 2
    assert wanlab("replay", "s.wanlab", "--verify").status == 0
    assert wanlab("replay", "s-before-rewind-1.wanlab", "--verify").status == 0
