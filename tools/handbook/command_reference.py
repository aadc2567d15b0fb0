"""Every command of `wanlab` with its arguments and options, from the definitions that parse them."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.main import get_command

from wanlab.cli.app import app
from wanlab.cli.usage import GROUPS

SRC = Path(__file__).resolve().parents[2] / "src"
OWN_HELP = (
    "mn",
    *(
        f"kernel {verb}"
        for verb in ("build", "tree", "list", "verify", "patches", "config", "info")
    ),
)
"""Commands whose arguments other programs parse; the page shows what their --help prints."""


def commands() -> dict[str, Any]:
    """Return all commands by their words, in the order of the help."""
    top = get_command(app).commands  # type: ignore[attr-defined]
    found = {}
    for name in (name for names in GROUPS.values() for name in names):
        inner = getattr(top[name], "commands", None)
        if inner is None:
            found[name] = top[name]
        else:
            found.update({f"{name} {word}": command for word, command in inner.items()})
    return found


def as_markdown() -> str:
    """Return a section for each command."""
    found = commands()
    parts = []
    for topic, names in GROUPS.items():
        parts.append(f"## {topic}")
        for words, command in found.items():
            if words.split()[0] in names:
                parts.append(f"### wanlab {words}")
                parts.append(_printed(words) if words in OWN_HELP else _section(words, command))
    return "\n\n".join(parts)


def _printed(words: str) -> str:
    """Return what a command prints for -h."""
    done = subprocess.run(
        [sys.executable, "-m", "wanlab.cli", *words.split(), "-h"],
        env={**os.environ, "PYTHONPATH": str(SRC), "COLUMNS": "90"},
        capture_output=True,
        text=True,
        check=True,
    )
    return f"```text\n{done.stdout.rstrip()}\n```"


def _section(words: str, command: Any) -> str:
    context = command.make_context(f"wanlab {words}", [], resilient_parsing=True)
    usage = " ".join([f"wanlab {words}", *command.collect_usage_pieces(context)])
    parts = [f"```text\n{usage}\n```", _paragraphs(command.help or "")]
    rows = [record for each in command.get_params(context) if (record := _record(each, context))]
    if rows:
        lines = ["| option or argument | meaning |", "|---|---|"]
        lines += [f"| `{names}` | {text} |" for names, text in rows]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _record(parameter: Any, context: Any) -> tuple[str, str] | None:
    record = parameter.get_help_record(context)
    if record is None:
        return None
    names, text = record
    return names.replace("|", "\\|"), text.replace("|", "\\|").replace("<", "&lt;")


def _paragraphs(text: str) -> str:
    """Turn a help text into Markdown: a paragraph after \\b keeps its lines."""
    shown = []
    for paragraph in inspect.cleandoc(text).replace("\f", "").split("\n\n"):
        if paragraph.startswith("\b"):
            shown.append(f"```text\n{paragraph.lstrip(chr(8)).strip(chr(10))}\n```")
        else:
            shown.append(paragraph)
    return "\n\n".join(shown)
