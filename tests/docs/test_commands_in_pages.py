"""The commands that the pages show exist, with the options that the pages give them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from handbook.command_reference import OWN_HELP, commands

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "docs" / "index.md"]
PAGES += [
    path
    for folder in ("tutorial", "how-to", "explanation", "reference", "evidence")
    for path in sorted((ROOT / "docs" / folder).rglob("*.md"))
]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$|^((?:    [^\n]*\n)+)", re.M | re.S)
BEGINNING = re.compile(r"^(?:\$ )?(?:[A-Z_]+=\S+ )*wanlab ")
ENDS = ("|", "&&", ";", ">", "#", "--")
TAKES_COMMAND = ("exec", "python", "capture")
"""Their arguments are other programs' options."""


def shown() -> Iterator[tuple[str, str]]:
    """Yield each command line of a page, with the page."""
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            if match[1] not in (None, "", "console", "sh", "text"):
                continue
            block = (match[2] or match[3] or "").replace("\\\n", " ")
            for line in block.splitlines():
                if BEGINNING.match(line.strip()):
                    yield path.name, BEGINNING.sub("", line.strip())
        for inline in re.findall(r"(?<!`)`wanlab ([^`\n]+)`", text):
            yield path.name, inline


def problem(line: str, known: dict[str, Any]) -> str | None:
    """Return what is wrong with the words after `wanlab`; None if nothing is."""
    words = shlex.split(re.split(r"   +", line)[0].replace("'", "").replace('"', ""))
    if not words or words[0].startswith("-") or not re.fullmatch(r"[a-z]+", words[0]):
        return None
    name = next((name for name in (" ".join(words[:2]), words[0]) if name in known), None)
    if name is None:
        groups = {command.split()[0] for command in known}
        is_group = words[0] in groups and (len(words) == 1 or not re.fullmatch(r"[a-z]+", words[1]))
        return None if is_group else f"no command {' '.join(words[:2])}"
    if name in OWN_HELP or name in TAKES_COMMAND:
        return None
    options = {
        option for each in known[name].params for option in (*each.opts, *each.secondary_opts)
    }
    for word in words[len(name.split()) :]:
        if word in ENDS:
            return None
        option = word.rstrip(",.").partition("=")[0]
        if re.fullmatch(r"--?[a-z][a-z-]*", option) and option not in {*options, "-h", "--help"}:
            return f"wanlab {name} has no option {option}"
    return None


def test_commands_and_options_in_pages_exist() -> None:
    known = commands()
    lines = list(shown())
    assert len(lines) > 150
    found = [(page, line, what) for page, line in lines if (what := problem(line, known))]
    assert found == []


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("plan s.yaml -o s.pdf", None),
        ("plan s.yaml --outptu s.pdf", "wanlab plan has no option --outptu"),
        ("plam s.yaml", "no command plam s.yaml"),
        ("lab rum 14", "no command lab rum"),
        ("exec -- ls --colour", None),
    ],
)
def test_a_wrong_command_is_found(line: str, what: str | None) -> None:
    assert problem(line, commands()) == what
