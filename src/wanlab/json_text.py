"""Read JSON that comes from outside: its size and depth first, then its types, all at once.

A few megabytes of brackets expand to gigabytes of lists, and deep nesting ends programs that follow it.
So a text is measured before it is decoded. msgspec then decodes it into the structures of the caller:
after that, no field is missing or of another type.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TypeVar

import msgspec

from wanlab.errors import InputError, Problem

MAX_DEPTH = 64
MAX_VALUES = 4_000_000
"""A list, mapping, key or value takes about 60 bytes of memory on average."""

Value = TypeVar("Value")
PLAIN: msgspec.json.Decoder[object] = msgspec.json.Decoder()
"""Decodes any JSON into mappings, lists, strings and numbers."""

# The possessive quantifiers keep the time linear, also in a string that does not end.
_STRING = re.compile(rb'(?s)"[^"\\]*+(?:\\.[^"\\]*+)*+"?')
_STRUCTURE = b"[]{},:"
_NOT_STRUCTURE = bytes(set(range(256)) - set(_STRUCTURE))
_STEPS = {byte: {"[": 1, "{": 1, "]": -1, "}": -1}.get(chr(byte), 0) for byte in _STRUCTURE}
_POSITION = re.compile(r"(?s)(.*) - at `(.*)`")
_FIELD = re.compile(r"Object (missing required|contains unknown) field `(.*)`")
_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "object": "a mapping of fields",
    "array": "a list",
    "null": "null",
}


def decode_json(data: bytes | str, decoder: msgspec.json.Decoder[Value], source: str = "") -> Value:
    """Decode JSON as `decoder` says. Raises InputError, with the path of the value that is wrong.

    `source` names the input in the message.
    """
    try:
        data = data.encode() if isinstance(data, str) else data
        if problem := _problem_of_size(data):
            raise InputError([problem], source)
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise InputError([problem_of(error)], source) from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InputError([Problem("", f"cannot read this JSON: {error}")], source) from None


def problem_of(error: msgspec.ValidationError) -> Problem:
    """Return what msgspec has found, in the words of wanlab's other messages."""
    text, path = str(error), ""
    if match := _POSITION.fullmatch(text):
        text, path = match[1], match[2].removeprefix("$").removeprefix(".")
    if match := _FIELD.fullmatch(text):
        missing = match[1].startswith("missing")
        text = f'"{match[2]}" is missing' if missing else f'unknown field "{match[2]}"'
    text = re.sub(r"`([\w |]+)`", lambda types: _in_words(types[1]), text)
    return Problem(path, text[:1].lower() + text[1:])


def _in_words(types: str) -> str:
    """Return "a list or null" for "array | null"."""
    return " or ".join(_TYPES.get(name, name) for name in types.split(" | "))


def _problem_of_size(data: bytes) -> Problem | None:
    brackets = data.count(b"[") + data.count(b"{")
    if brackets <= MAX_DEPTH and data.count(b",") <= MAX_VALUES:
        return None
    structure = _STRING.sub(b"", data).translate(None, _NOT_STRUCTURE)
    if len(structure) > MAX_VALUES:
        return Problem("", f"this JSON has more than {MAX_VALUES} values")
    if max(accumulate(map(_STEPS.__getitem__, structure)), default=0) > MAX_DEPTH:
        return Problem("", f"this JSON is nested more than {MAX_DEPTH} levels deep")
    return None
