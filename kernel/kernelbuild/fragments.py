"""Reads fragments of a kernel configuration, and checks that the kernel accepted them.

A fragment is a file of options about one topic. Every option has its reason in the comment directly
above it:

    # Fair queueing by hashing: Lab 17.
    CONFIG_NET_SCH_SFQ=y

The kernel's own configuration program silently drops unknown options and those whose dependencies
are missing; `vanished` finds them, so that no requested option is silently ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from .errors import BuildError

_OPTION = re.compile(r"CONFIG_(\w+)=(.*)")
_NOT_SET = re.compile(r"# CONFIG_(\w+) is not set")
_VALUE = re.compile(r'y|n|-?\d+|0x[0-9a-fA-F]+|"[^"]*"')
_OF_USER = "asked for by --config"
_SYMBOL = re.compile(r"^\s*(?:menu)?config\s+(\w+)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Option:
    """A requested option: its name without CONFIG_, its value as written, its reason, and its place
    in the fragments, as in "net.config:12"."""

    name: str
    value: str
    reason: str
    place: str

    def __str__(self) -> str:
        return f"CONFIG_{self.name}={self.value}"


def parse_fragment(text: str, name: str) -> list[Option]:
    """Return the options of one fragment; a line without an option or a reason is an error."""
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
    match = _OPTION.fullmatch(line)
    if match is None:
        raise BuildError(f"{place}: {line!r} is not an option", "write CONFIG_NAME=value")
    name, value = match.groups()
    if value == "m":
        raise BuildError(f"{place}: CONFIG_{name}=m asks for a module", "all is built in: write =y")
    if not _VALUE.fullmatch(value):
        raise BuildError(f"{place}: {value!r} is not a value", 'write y, n, a number or "text"')
    if not reason:
        hint = "write it as a comment on the line above"
        raise BuildError(f"{place}: CONFIG_{name} has no reason", hint)
    return Option(name=name, value=value, reason=reason, place=place)


def parse_requests(words: Iterable[str]) -> tuple[Option, ...]:
    """Return the options that a user asks for: each word is CONFIG_X=value or a file of such lines.

    Unlike in a fragment, no reason is needed, and a complete `.config` with "is not set" can be read.
    A later word replaces an earlier one.
    """
    found: dict[str, Option] = {}
    for word in words:
        for place, line in _requested_lines(word):
            option = _parse_option(line, _OF_USER, place)
            found[option.name] = option
    return tuple(found.values())


def _requested_lines(word: str) -> Iterator[tuple[str, str]]:
    if word.startswith("CONFIG_") and "=" in word:
        yield "--config", word
        return
    path = Path(word)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a text"
        raise BuildError(
            f"--config {word}: cannot read this file: {reason}",
            "name a file of options, or an option: --config CONFIG_TCP_CONG_WESTWOOD=y",
        ) from None
    for number, line in enumerate(text.splitlines(), start=1):
        if match := _NOT_SET.fullmatch(line.strip()):
            yield f"{path.name}:{number}", f"CONFIG_{match[1]}=n"
        elif line.strip() and not line.startswith("#"):
            yield f"{path.name}:{number}", line.strip()


def load_fragments(folder: Path, kernel: str = "") -> tuple[Option, ...]:
    """Return the options of all fragments in a folder, and in its subfolder for a kernel.

    A repeated option is an error.
    """
    paths = sorted(folder.glob("*.config"))
    if kernel:
        paths += sorted((folder / kernel).glob("*.config"))
    if not paths:
        raise BuildError(f"{folder} contains no fragment (*.config)")
    seen: dict[str, Option] = {}
    for path in paths:
        for option in parse_fragment(
            path.read_text(encoding="utf-8"), path.relative_to(folder).as_posix()
        ):
            if option.name in seen:
                what = (
                    f"{option.place}: CONFIG_{option.name} is already in {seen[option.name].place}"
                )
                raise BuildError(what, "keep one of the two")
            seen[option.name] = option
    return tuple(seen.values())


def canonical_text(options: Iterable[Option]) -> str:
    """Return the options, sorted and without comments: the only part that affects the kernel."""
    return "".join(f"{line}\n" for line in sorted(str(option) for option in options))


def parse_config(text: str) -> dict[str, str]:
    """Parse a finished kernel configuration (.config) into names and values, without unset options."""
    matches = (_OPTION.fullmatch(line) for line in text.splitlines())
    return {match[1]: match[2] for match in matches if match}


def vanished(options: Iterable[Option], config: Mapping[str, str]) -> list[tuple[Option, str]]:
    """Return the options that have another value in a configuration than requested, with that value."""
    return [
        (option, config.get(option.name, "n"))
        for option in options
        if config.get(option.name, "n") != option.value
    ]


def known_symbols(source: Path) -> set[str]:
    """Return all names that the Kconfig files below a kernel source define."""
    names: set[str] = set()
    for path in source.rglob("Kconfig*"):
        if path.is_file():
            names.update(_SYMBOL.findall(path.read_text(encoding="utf-8", errors="replace")))
    return names


def check_survived(options: Iterable[Option], config: Mapping[str, str], known: set[str]) -> None:
    """Raise BuildError with a list of the options that did not get their requested value."""
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
        what = "the kernel did not accept these options:\n" + "\n".join(lines)
        hint = (
            "Most often a dependency is missing: look for `depends on` in the Kconfig file that"
            " defines the option, add the missing option to a fragment (in a variant: with --config),"
            " or drop this one."
        )
        raise BuildError(what, hint)
