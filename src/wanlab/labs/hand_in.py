"""A hand-in: a student's work on a unit, packed into one file. `hand_in_archive` reads it.

prob1-seed4711.zip
  manifest.json       unit, seed, versions, when it was packed, and the SHA-256 of each file
  script.sh           the commands to grade (script.yaml: steps)
  transcripts/        what each terminal showed, and the commands that were typed
  sessions/           the newest session files, which `wanlab replay` repeats
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import os
import platform
import re
import stat
import time
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from wanlab import __version__
from wanlab.errors import WanlabError
from wanlab.input_file import read_input
from wanlab.machine.embedded import find_image
from wanlab.shared_folder import SharedFolder, file_error, write_output

from .shell import plain
from .unit import Unit

SCRIPT = "script"
TRANSCRIPTS = "transcripts"
COMMANDS = "commands"
PROMPT = "mininet"
"""The transcript of the prompt."""
MANIFEST = "manifest.json"
SUFFIXES = (".sh", ".yaml")
SESSIONS, SESSION_SUFFIX = "sessions", ".wanlab"
MAX_SESSION_BYTES = 16 << 20
"""The limit of all session files in a hand-in together."""
MAX_BYTES = 1 << 20
"""The limit of a script. Of a longer transcript, only the end is packed."""
MAX_TRANSCRIPTS = 100
"""A student's folder may have any number of files; the transcripts of a unit are fewer."""
MAX_FILES = 1000
MAX_HAND_IN_BYTES = 32 << 20
"""The limit of a hand-in, and of all files in it together."""
MAX_TRANSCRIPT_BYTES = MAX_HAND_IN_BYTES - MAX_SESSION_BYTES - 2 * MAX_BYTES
"""The limit of all transcripts in a hand-in together."""
SHOWN_DIGITS = 12
PROMPT_NUMBERS = 100_000
"""Numbers of the prompt's lines begin here, so that they differ from those of the shells' histories.
They grow with the file."""
TIME = "%Y-%m-%d %H:%M:%S"
# Commands that only show or measure something are not part of a solution.
_READ_ONLY = re.compile(
    r"(sudo )?(ping|iperf3|ls|cd|cat|less|man|clear|exit|history|wanlab lab|tc (-\S+ )*(qdisc|class|"
    r"filter)( show| ls|$)|sysctl (?!-w)[\w.]+$|ip (-\S+ )*\w+( show|$)|ethtool -k|set_env|\./set_env|"
    r"ifconfig|dmesg|plot_|watch|echo|pwd|nano|vi|featherpad)\b"
)
_HISTORY = re.compile(r"\s*(\d+)[ *]+(.*)")


def pack(
    unit: Unit,
    seed: int,
    home: SharedFolder,
    script: Path,
    target: Path,
    session: Path | None = None,
) -> str:
    """Write a hand-in to `target` and return its SHA-256.

    `session` is the only session file to pack; by default, the newest ones are packed. Raises
    WanlabError if a file cannot be read or written, or is a link in the student's folder.
    """
    data = packed(unit, seed, home, script, session)
    try:
        write_output(target, data)
    except OSError as error:
        raise file_error("write", target, error) from None
    return hashlib.sha256(data).hexdigest()


def packed(
    unit: Unit,
    seed: int,
    home: SharedFolder,
    script: Path,
    session: Path | None = None,
    kernel: str = "",
) -> bytes:
    """Return a hand-in, which names the kernel. Raises WanlabError if a file cannot be read."""
    files = {f"script{script.suffix}": _script(home, script)}
    try:
        files.update(_transcripts(home))
        files.update(_newest_sessions(home) if session is None else _session(session))
    except OSError as error:
        raise file_error("read", home.path / TRANSCRIPTS, error) from None
    manifest = {
        "unit": unit.name,
        "seed": seed,
        "packed": time.strftime(TIME),
        "wanlab": __version__,
        "kernel": find_image(kernel).release,
        "system": platform.platform(),
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    }
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, json.dumps(manifest, indent=2, sort_keys=True) + "\n")
        for name, data in files.items():
            archive.writestr(name, data)
    return target.getvalue()


def new_session(home: SharedFolder) -> Path:
    """Return the file for the session that begins now."""
    names = (f"session-{number}{SESSION_SUFFIX}" for number in itertools.count(1))
    transcripts = home.subfolder(TRANSCRIPTS)
    return transcripts.path / next(name for name in names if not transcripts.exists(name))


def find_script(unit: Unit, home: SharedFolder) -> Path | None:
    """Return the script that a student has written for a unit, if there is one."""
    for folder in (home, home.parent):
        for suffix in SUFFIXES:
            if folder.has_file(f"{unit.name}{suffix}"):
                return folder.path / f"{unit.name}{suffix}"
    return None


def script_of(unit: Unit, home: SharedFolder) -> tuple[Path, bool]:
    """Return the script to hand in, and whether it was just written from the typed commands.

    A script that was written from them before, and not changed since, is written again. Raises
    WanlabError if there is no script and nothing was typed.
    """
    name = f"{unit.name}.sh"
    path = home.path / name
    script = find_script(unit, home)
    if script not in (None, path):
        return script, False
    heading = f"# {unit.heading}: the typed commands that changed something.\n"
    text = heading + draft(home)
    try:
        before = home.read(name, MAX_BYTES).decode(errors="replace")
    except FileNotFoundError:
        before = ""
    except OSError as error:
        raise file_error("read", path, error) from None
    is_draft = before.startswith(heading) and text.startswith(before)
    if before and not is_draft:  # the student has written or changed it
        return path, False
    if text == heading:
        raise WanlabError(
            "there is no script to hand in, and no command that changes something was typed",
            f"write the commands that solve the task into {path}",
        )
    if text == before:
        return path, False
    try:
        home.write(name, text.encode())
    except OSError as error:
        raise file_error("write", path, error) from None
    return path, True


def note_line(home: SharedFolder, nodes: Sequence[str], line: str) -> None:
    """Record a line that was typed at mininet>: such lines are edited outside the machine.

    Raises OSError if a transcript cannot be written.
    """
    first, _, command = line.strip().partition(" ")
    terminal = f"root@{first}" if first in nodes else "client" if first == "sh" else ""
    transcripts = home.subfolder(TRANSCRIPTS)
    transcripts.append(PROMPT, f"{line}\n".encode())
    if terminal and command:
        status = transcripts.status(COMMANDS)
        number = PROMPT_NUMBERS + (status.st_size if status is not None else 0)
        transcripts.append(COMMANDS, f"0\t{terminal}\t{number} {command}\n".encode())


def draft(home: SharedFolder) -> str:
    """Return the commands that were typed and changed something, as a script for the client.

    Commands on a host get the prefix `wanlab-node HOST`. Commands that failed, or that only show or
    measure something, are left out.
    """
    try:
        text = home.subfolder(TRANSCRIPTS).read_end(COMMANDS, MAX_BYTES).decode(errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise file_error("read", home.path / TRANSCRIPTS / COMMANDS, error) from None
    lines: list[str] = []
    before: dict[str, str] = {}
    for line in text.splitlines():
        status, _, rest = line.partition("\t")
        terminal, _, typed = rest.partition("\t")
        match = _HISTORY.match(typed)
        # After an empty line, the history still ends with the previous command.
        if match is None or before.get(terminal) == match[1]:
            continue
        before[terminal] = match[1]
        command = match[2].strip()
        if status != "0" or not command or _READ_ONLY.match(command):
            continue
        node = terminal.rpartition("@")[2] if "@" in terminal else ""
        lines.append(f"wanlab-node {node} {command}" if node else command)
    return "".join(f"{line}\n" for line in lines)


def _script(home: SharedFolder, script: Path) -> bytes:
    """Return the script, from the student's folders or from where the user named one."""
    for folder in (home, home.parent):
        if script == folder.path / script.name:
            try:
                return folder.read(script.name, MAX_BYTES)
            except OSError as error:
                raise file_error("read", script, error) from None
    return read_input(script, max_bytes=MAX_BYTES)


def _entries(home: SharedFolder) -> list[tuple[str, os.stat_result]]:
    try:
        return home.subfolder(TRANSCRIPTS).entries()
    except FileNotFoundError:
        return []


def _transcripts(home: SharedFolder) -> Iterator[tuple[str, bytes]]:
    """Yield the transcripts, first those that are written outside of the network."""
    folder = home.subfolder(TRANSCRIPTS)
    names = [name for name, _ in _entries(home) if not name.endswith(SESSION_SUFFIX)]
    names.sort(key=lambda name: (name not in (COMMANDS, PROMPT), name))
    left_bytes = MAX_TRANSCRIPT_BYTES
    for name in names[:MAX_TRANSCRIPTS]:
        text = plain(folder.read_end(name, MAX_BYTES).decode(errors="replace")).encode()
        text = text[-MAX_BYTES:]  # a byte that is no text has become three
        left_bytes -= len(text)
        if left_bytes < 0:
            break
        yield f"{TRANSCRIPTS}/{name}", text


def _session(path: Path) -> dict[str, bytes]:
    return {f"{SESSIONS}/{path.name}": read_input(path, max_bytes=MAX_SESSION_BYTES)}


def _newest_sessions(home: SharedFolder) -> dict[str, bytes]:
    """Return the newest session files that a hand-in has space for, the oldest first."""
    folder = home.subfolder(TRANSCRIPTS)
    sessions = [entry for entry in _entries(home) if entry[0].endswith(SESSION_SUFFIX)]
    sessions.sort(key=lambda entry: entry[1].st_mtime, reverse=True)
    newest: list[tuple[str, bytes]] = []
    left_bytes = MAX_SESSION_BYTES
    for name, status in sessions:
        if stat.S_ISREG(status.st_mode) and status.st_size > left_bytes:
            break
        newest.append((f"{SESSIONS}/{name}", folder.read(name, left_bytes)))
        left_bytes -= len(newest[-1][1])
    return dict(reversed(newest))
