"""The commands on the page "Walk through wanlab in 30 minutes" print what the page shows.

pytest tests/docs/test_walkthrough.py --accept      writes today's output into the page
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from patience import PATIENCE_S

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorial" / "walkthrough.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE_NAME = re.compile(r"[Ss]ave this(?: program)? as `([\w.]+)`[^`]*\Z", re.DOTALL)
PROMPT = "mininet> "
LEFT_OUT = "..."


class Session:
    """One command after `$`, what is typed into it, and the output that the page shows."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.typed: list[str] = []
        self.shown: list[str] = []

    def transcript(self, folder: Path) -> list[str]:
        """Run the command and return its output, with the typed lines at their prompts."""
        done = subprocess.run(
            self.command,
            shell=True,
            executable="/bin/bash",
            cwd=folder,
            input="".join(f"{line}\n" for line in self.typed),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if self.typed else subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
            timeout=PATIENCE_S,
        )
        first, *answers = done.stdout.split(PROMPT)
        parts = [first]
        for line, answer in zip(self.typed, answers, strict=True):
            parts.append(f"{PROMPT}{line}\n{answer}")
        return [line.rstrip() for line in "".join(parts).splitlines()]


def sessions_of(block: str) -> list[Session]:
    sessions: list[Session] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            sessions.append(Session(line.removeprefix("$ ")))
            continue
        if line.startswith(PROMPT):
            sessions[-1].typed.append(line.removeprefix(PROMPT))
        sessions[-1].shown.append(line)
    return sessions


def agrees(shown: list[str], printed: list[str]) -> bool:
    """Return whether the output is as the page shows it; a line "..." stands for any lines."""
    pattern = "".join(
        r"(?:.*\n)*?" if line == LEFT_OUT else re.escape(line) + r"\n" for line in shown
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


def accepted(session: Session, printed: list[str]) -> list[str]:
    """Return the new output for the page; parts left out at its ends stay left out."""
    shown = session.shown
    if shown == [LEFT_OUT]:
        return shown
    if shown[:1] == [LEFT_OUT] and len(shown) > 1:
        printed = [LEFT_OUT, *printed[printed.index(shown[1]) :]]
    if len(shown) > 1 and shown[-1] == LEFT_OUT:
        printed = [*printed[: printed.index(shown[-2]) + 1], LEFT_OUT]
    return printed


def blocks(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield the page's blocks, each with the text before it."""
    for match in BLOCK.finditer(text):
        yield match, text[: match.start()]


@pytest.mark.long
@pytest.mark.machine
@pytest.mark.costs(40)
def test_the_commands_print_what_the_page_shows(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    new = text
    for match, before in blocks(text):
        language, body = match.groups()
        if language != "console":
            name = FILE_NAME.search(before)
            assert name is not None, f"no file name before:\n{body}"
            (tmp_path / name[1]).write_text(body, encoding="utf-8")
            continue
        lines: list[str] = []
        for session in sessions_of(body):
            printed = session.transcript(tmp_path)
            if request.config.getoption("--accept"):
                lines += [f"$ {session.command}", *accepted(session, printed)]
            else:
                assert agrees(session.shown, printed), (session.command, printed)
        if lines:
            shown = "\n".join(lines)
            new = new.replace(match.group(), f"```console\n{shown}\n```")
    if request.config.getoption("--accept"):
        PAGE.write_text(new, encoding="utf-8")


def test_lines_that_are_left_out_agree_with_any_output() -> None:
    assert agrees(["a", LEFT_OUT, "b"], ["a", "x", "y", "b"])
    assert agrees([LEFT_OUT], [])
    assert not agrees(["a", "b"], ["a", "x", "b"])
    assert not agrees(["a"], ["a", "b"])
