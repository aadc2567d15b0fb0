"""The requests of programs in a machine that wanlab itself serves, as types: see `host_service`.

A program inside is not trusted: it is root there, and may be a stranger's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec

from wanlab.json_text import PLAIN, decode_json

_NO_NUL = r"\A[^\x00]*\Z"
Text = Annotated[str, msgspec.Meta(max_length=65536, pattern=_NO_NUL)]
Title = Annotated[str, msgspec.Meta(max_length=256, pattern=_NO_NUL)]
PathText = Annotated[str, msgspec.Meta(max_length=4095, pattern=_NO_NUL)]
Names = Annotated[list[Text], msgspec.Meta(max_length=65536)]
After = Annotated[dict[Text, Names], msgspec.Meta(max_length=4096)]


class _Request(msgspec.Struct, forbid_unknown_fields=True):
    do: Title


class WordsOfPrompt(msgspec.Struct, forbid_unknown_fields=True):
    """The words that completion offers: `wanlab.mininet.words.Words`."""

    commands: Names = []
    nodes: Names = []
    switches: Names = []
    ports: Names = []
    after: After = {}


class LineRequest(_Request):
    """A prompt inside needs a line. `typed`: what was typed before the prompt appeared."""

    prompt: Text = ""
    words: WordsOfPrompt | None = None
    typed: Text = ""


class KeysRequest(_Request):
    """An interactive program reads keys."""


class TerminalRequest(_Request):
    """A window with a program in it."""

    command: Annotated[list[Text], msgspec.Meta(min_length=1, max_length=4096)]
    folder: PathText
    title: Title = "terminal"
    term: Title = "xterm"


class OpenRequest(_Request):
    """A result is to be opened on the desktop."""

    path: PathText


class ConnectRequest(_Request):
    """A connection to a controller on the user's computer."""

    address: Title
    port: Annotated[int, msgspec.Meta(ge=1, le=65535)]


class ComputingRequest(_Request):
    """A network inside ends: the inodes of its nodes' network namespaces."""

    namespaces: Annotated[dict[Title, int], msgspec.Meta(max_length=65536)]


_DECODERS: Mapping[str, msgspec.json.Decoder[object]] = {
    word: msgspec.json.Decoder(kind)
    for word, kind in (
        ("line", LineRequest),
        ("keys", KeysRequest),
        ("terminal", TerminalRequest),
        ("open", OpenRequest),
        ("connect", ConnectRequest),
        ("computing", ComputingRequest),
    )
}


class _AnyRequest(msgspec.Struct):
    do: Title


_ANY: msgspec.json.Decoder[_AnyRequest] = msgspec.json.Decoder(_AnyRequest)


def decode_request(line: bytes) -> dict[str, object]:
    """Return the fields of a request, with defaults for those that are missing.

    Raises InputError if it is no request, or one of wanlab's with a field that is missing, unknown, of
    another type or too long.
    """
    word = decode_json(line, _ANY, "request").do
    decoder: msgspec.json.Decoder[object] = _DECODERS.get(word, PLAIN)
    request: dict[str, object] = msgspec.to_builtins(decode_json(line, decoder, "request"))
    return request
