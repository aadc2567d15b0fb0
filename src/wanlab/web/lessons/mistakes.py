"""Recognise typical mistakes in a command that a student has typed, and say what to change.

The command is compared with the line of the step that it was probably meant for: the same line in
another terminal, a server that does not run, another interface, a missing unit, a comma. A command
that resembles no step that comes soon is the student's own experiment, and gets no hint.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from wanlab.labs.outcome import text_figure
from wanlab.labs.shell import plain
from wanlab.labs.unit import CLIENT, MININET, Step

from ..protocol.lessons import StepHint
from ..terminals.shell_marks import TypedCommand

STEPS_AHEAD = 6
"""A command is compared with this many of the next steps."""
ALIKE = 0.7
NOT_FOUND = 127
NO_SERVER = re.compile(r"Connection refused|unable to connect to server|error - .*timed out")
UNIT = re.compile(r"(\d+(?:\.\d+)?)([a-zA-Z%]+)")
FAILURES = (
    (
        re.compile(r"Error: Exclusivity flag on|RTNETLINK answers: File exists"),
        "the port has a queueing discipline already: `change` in place of `add` alters it",
    ),
    (
        re.compile(
            r"Error: Qdisc not found|Error: Specified qdisc|RTNETLINK answers: No such file"
        ),
        "the port has no such queueing discipline yet: do the earlier steps first",
    ),
    (
        re.compile(r"Cannot find device|Device not found"),
        "this terminal's node has no such interface: a switch's ports are those of the client",
    ),
    (
        re.compile(r"Network is unreachable|No route to host"),
        "this node has no way to that address",
    ),
    (re.compile(r"\*\*\* Unknown command"), "Mininet's prompt does not know this command"),
)


@dataclass(frozen=True)
class Attempt:
    """A command that has ended without completing a step, and where it was typed."""

    place: str
    command: TypedCommand


def hint_for(attempt: Attempt, steps: Sequence[Step], done: Collection[int]) -> StepHint | None:
    """Return help with an attempt; `steps` are those to be typed, in order."""
    ahead = [step for step in steps if step.commands and step.n not in done][:STEPS_AHEAD]
    line = attempt.command.line
    likeness, step, wanted = max(
        ((_likeness(line, text), step, text) for step in ahead for text in step.commands),
        key=lambda found: (found[0], attempt.place in found[1].where),
        default=(0.0, None, ""),
    )
    if step is None or likeness < ALIKE:
        return None
    text = _difference(wanted, line)
    if not text and attempt.place not in step.where:
        text = f"type this in the terminal of {_listed(step.where)}, not in {_whose(attempt.place)}"
    elif not text:
        text = _failure(step, attempt.command, steps)
    return StepHint(step.n, text) if text else None


def _likeness(line: str, wanted: str) -> float:
    ours, theirs = _words(line), _words(wanted)
    if len(ours) > 2 and theirs[: len(ours)] == ours:
        return 1.0  # its options are missing
    return SequenceMatcher(None, " ".join(ours), " ".join(theirs)).ratio()


def _words(line: str) -> list[str]:
    words = line.split()
    return words[1:] if words[:1] == ["sudo"] else words


def _difference(wanted: str, line: str) -> str:
    """Return how a line differs from the step's; "" if it does not."""
    theirs, ours = _words(wanted), _words(line)
    for kind, a, b, c, d in SequenceMatcher(None, theirs, ours).get_opcodes():
        if kind == "equal":
            continue
        missing, typed = theirs[a:b], ours[c:d]
        if not missing:
            return f"leave out `{' '.join(typed)}`"
        if not typed:
            after = f" after `{theirs[a - 1]}`" if a else ""
            return f"`{' '.join(missing)}` is missing{after}"
        return _changed_words(" ".join(missing), " ".join(typed), theirs[a - 1] if a else "")
    return ""


def _changed_words(wanted: str, typed: str, before: str) -> str:
    if typed.replace(" ", "") == wanted:
        return f"write `{wanted}` without a space"
    if typed.replace(",", ".") == wanted:
        return f"write `{wanted}` with a point, not a comma"
    unit = UNIT.fullmatch(wanted)
    if unit and typed == unit[1]:
        return f"the unit is missing: `{wanted}`"
    if unit and (other := UNIT.fullmatch(typed)) and other[1] == unit[1]:
        return f"the unit is another one: `{wanted}`, not `{typed}`"
    if before == "dev":
        return f"the interface is `{wanted}`; you typed `{typed}`"
    return f"the step has `{wanted}` where you typed `{typed}`"


def _failure(step: Step, command: TypedCommand, steps: Sequence[Step]) -> str:
    """Return why the step's own command was not a success; "" if that is unknown."""
    output = plain(command.output.decode(errors="replace"))
    if "iperf3" in command.line and NO_SERVER.search(output):
        servers = [one for one in steps if one.n < step.n and one.starts]
        first = f": do step {servers[-1].n} first" if servers else ""
        return f"no server answers at that address{first}; `iperf3 -s` has to run there"
    for pattern, text in FAILURES:
        if pattern.search(output):
            return text
    if command.status == NOT_FOUND:
        return "there is no such program: compare the spelling"
    missing = [text for text in step.says if not text_figure(text, output).in_band]
    return f"the output should show `{missing[0]}`" if missing else ""


def _listed(places: Sequence[str]) -> str:
    words = [_name(place) for place in places]
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def _name(place: str) -> str:
    return {CLIENT: "the client", MININET: "Mininet's prompt"}.get(place, place)


def _whose(place: str) -> str:
    return "at Mininet's prompt" if place == MININET else f"that of {_name(place)}"
