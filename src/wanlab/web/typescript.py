"""Write the protocol in TypeScript: `python -m wanlab.web.typescript > ui/src/protocol.ts`."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from wanlab.topology import CONDITION_WORDS, QUEUES, SETTINGS

from .classroom.page_state import PAGE_STATE
from .drawing.option_names import NAMES
from .measuring import queue_charts
from .protocol import commands, gallery, imports, lessons, messages, model
from .timeline import session_events

HEAD = """// Written by `python -m wanlab.web.typescript`: change the modules that it reads instead.
"""
PUSHES = (
    *messages.PUSHES,
    queue_charts.QueueChartPush,
    session_events.SessionEventsPush,
    gallery.GalleryPush,
)
SIMPLE: dict[type, str] = {
    object: "unknown",
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
ALIASES = {
    getattr(module, name): name
    for module, names in (
        (model, ("NodeKind", "ClockKind", "Wire", "Pace", "FrameColour", "End")),
        (messages, ("Phase", "Severity")),
        (commands, ("SeriesKind",)),
        (session_events, ("EventKind",)),
    )
    for name in names
}


def text() -> str:
    """Return ui/src/protocol.ts."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield HEAD
    for alias, name in ALIASES.items():
        yield f"export type {name} = {_union(get_args(alias))};"
    others = (
        *messages.REST,
        *lessons.REST,
        session_events.SessionEvent,
        *imports.REST,
        *gallery.REST,
        *PAGE_STATE,
    )
    for kind in (*others, *PUSHES, *commands.COMMANDS):
        yield ""
        yield from _interface(kind)
    for name, kinds in (("AnyCommand", commands.COMMANDS), ("AnyPush", PUSHES)):
        yield ""
        yield f"export type {name} ="
        yield "\n".join(f"  | {kind.__name__}" for kind in kinds) + ";"
    yield ""
    yield from _settings()


def _settings() -> Iterator[str]:
    """Yield the names of options, and the fields of the form for links."""
    yield "/** Names of options in the undo menu, where they are not their words. */"
    yield "export const OPTION_NAMES: Readonly<Record<string, string>> = {"
    yield from (f'  {word}: "{name}",' for word, name in sorted(NAMES.items()))
    yield "};\n"
    yield "/** Options that are conditions of a direction; all others belong to a port. */"
    yield "export const CONDITIONS: readonly string[] = ["
    yield from (f'  "{word}",' for word in CONDITION_WORDS)
    yield "];\n"
    yield "/** The settings that the form of a link has fields for; some vary in schedules. */"
    yield "export const LINK_SETTINGS = ["
    for word, it in SETTINGS.items():
        if it.label:
            varies = str(it.varies).lower()
            yield (
                f'  {{ word: "{word}", label: "{it.label}", kind: "{it.kind.name}", varies: {varies} }},'
            )
    yield "] as const;\n"
    yield "/** The queues that the default kernel has, and their labels. */"
    yield "export const QUEUES = ["
    yield from (f'  ["{kind}", "{it.label}"],' for kind, it in QUEUES.items() if it.since is None)
    yield "] as const;"
    yield ""


def _interface(kind: type[msgspec.Struct]) -> Iterator[str]:
    if doc := inspect.cleandoc(kind.__doc__ or ""):
        yield "/** " + doc.replace("*/", "* /").replace("\n", "\n * ").replace(" \n", "\n") + " */"
    yield f"export interface {kind.__name__} {{"
    config = kind.__struct_config__
    if config.tag is not None:
        yield f'  {config.tag_field}: "{config.tag}";'
    hints = get_type_hints(kind)
    may_be_left_out = issubclass(kind, commands.Command)
    for field in msgspec.structs.fields(kind):
        mark = "?" if may_be_left_out and not field.required else ""
        yield f"  {field.name}{mark}: {_type(hints[field.name])};"
    yield "}"


def _type(hint: object) -> str:
    """Return the type in TypeScript that stands for a type hint."""
    if isinstance(hint, type) and hint in SIMPLE:
        return SIMPLE[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _type(arguments[0])
    if origin is Literal:
        return ALIASES.get(hint) or _union(arguments)
    if origin in (Union, types.UnionType):
        return " | ".join(_type(argument) for argument in arguments)
    if origin is tuple:
        if arguments[-1] is not Ellipsis:
            return f"[{', '.join(_type(argument) for argument in arguments)}]"
        inside = _type(arguments[0])
        return f"({inside})[]" if "|" in inside else f"{inside}[]"
    if origin is dict:
        return f"Record<{_type(arguments[0])}, {_type(arguments[1])}>"
    assert isinstance(hint, type), f"{hint} has no counterpart in TypeScript"
    assert issubclass(hint, msgspec.Struct), f"{hint} has no counterpart in TypeScript"
    return hint.__name__


def _union(values: tuple[object, ...]) -> str:
    return " | ".join(f'"{value}"' for value in values)


if __name__ == "__main__":
    print(text(), end="")
