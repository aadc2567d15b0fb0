"""Fragments of a kernel configuration, and whether the kernel took them.

A fragment is a file of options about one topic. Every option has its reason in the comment directly
above it:

    # Fair queueing by hashing: Lab 17.
    CONFIG_NET_SCH_SFQ=y

The kernel's own configuration program drops without a word what it does not know or what lacks
something it depends on; `vanished` finds those, so that nothing asked for is silently ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .errors import BuildError

_OPTION = re.compile(r"CONFIG_(\w+)=(.*)")
_NOT_SET = re.compile(r"# CONFIG_(\w+) is not set")
_VALUE = re.compile(r'y|n|-?\d+|0x[0-9a-fA-F]+|"[^"]*"')
_SYMBOL = re.compile(r"^\s*(?:menu)?config\s+(\w+)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option as asked for: its name without CONFIG_, its value as written, why, and where."""

    name: str
    value: str
    reason: str
    place: str

    def __str__(self) -> str:
        return f"CONFIG_{self.name}={self.value}"


def parse_fragment(text: str, name: str) -> list[Option]:
    """The options of one fragment; a line that is none, or one without a reason, is an error."""
    options: list[Option] = []
    reason: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        place = f"{name}:{number}"
        if not line.strip():
            reason = []
        elif line.startswith("#"):
            if _NOT_SET.fullmatch(line):
                hint = f"write CONFIG_{line.split()[1].removeprefix('CONFIG_')}=n"
                raise BuildError(f"{place}: this form of an option is not used here", hint)
            reason.append(line.lstrip("#").strip())
        else:
            options.append(_parse_option(line, " ".join(reason), place))
            reason = []
    return options


def _parse_option(line: str, reason: str, place: str) -> Option:
    found = _OPTION.fullmatch(line)
    if found is None:
        raise BuildError(f"{place}: {line!r} is not an option", "write CONFIG_NAME=value")
    name, value = found.groups()
    if value == "m":
        raise BuildError(f"{place}: CONFIG_{name}=m asks for a module", "all is built in: write =y")
    if not _VALUE.fullmatch(value):
        raise BuildError(f"{place}: {value!r} is no value", 'write y, n, a number or "text"')
    if not reason:
        hint = "write it as a comment on the line above"
        raise BuildError(f"{place}: CONFIG_{name} has no reason", hint)
    return Option(name=name, value=value, reason=reason, place=place)


def load_fragments(folder: Path) -> tuple[Option, ...]:
    """The options of all fragments in a folder; the same option twice is an error."""
    paths = sorted(folder.glob("*.config"))
    if not paths:
        raise BuildError(f"{folder} holds no fragment (*.config)")
    seen: dict[str, Option] = {}
    for path in paths:
        for option in parse_fragment(path.read_text(encoding="utf-8"), path.name):
            if option.name in seen:
                what = (
                    f"{option.place}: CONFIG_{option.name} is already in {seen[option.name].place}"
                )
                raise BuildError(what, "keep one of the two")
            seen[option.name] = option
    return tuple(seen.values())


def canonical_text(options: Iterable[Option]) -> str:
    """The options alone, sorted: what reaches the compiler, whatever the comments say."""
    return "".join(f"{line}\n" for line in sorted(str(option) for option in options))


def parse_config(text: str) -> dict[str, str]:
    """A finished kernel configuration (.config): name to value; what is not set is not in it."""
    found = (_OPTION.fullmatch(line) for line in text.splitlines())
    return {match[1]: match[2] for match in found if match}


def vanished(options: Iterable[Option], config: Mapping[str, str]) -> list[tuple[Option, str]]:
    """The options that a configuration does not hold as asked for, each with the value it has."""
    return [
        (option, config.get(option.name, "n"))
        for option in options
        if config.get(option.name, "n") != option.value
    ]


def known_symbols(source: Path) -> set[str]:
    """All names that the Kconfig files below a kernel source define."""
    names: set[str] = set()
    for path in source.rglob("Kconfig*"):
        if path.is_file():
            names.update(_SYMBOL.findall(path.read_text(encoding="utf-8", errors="replace")))
    return names


def check_survived(options: Iterable[Option], config: Mapping[str, str], known: set[str]) -> None:
    """Raise an error that lists every option that did not become what was asked for."""
    options = tuple(options)
    lines = [
        f"  {option} became {value}   ({option.place}: {option.reason})"
        for option, value in vanished(options, config)
        if option.name in known
    ]
    lines += [
        f"  {option}: this kernel has no such option   ({option.place}: {option.reason})"
        for option in options
        if option.name not in known
    ]
    if lines:
        what = "the kernel did not take these options:\n" + "\n".join(lines)
        hint = (
            "Most often something they depend on is missing: look for `depends on` in the Kconfig"
            " file that defines the option, add what is missing to a fragment, or drop the option."
        )
        raise BuildError(what, hint)
