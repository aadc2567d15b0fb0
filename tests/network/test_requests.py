"""Requests of programs in a machine are checked whole before anything acts on them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wanlab.errors import InputError
from wanlab.network.requests import decode_request


def encoded(**fields: object) -> bytes:
    return json.dumps(fields).encode()


def test_fields_that_are_missing_get_their_defaults() -> None:
    assert decode_request(b'{"do": "terminal", "command": ["sh"], "folder": "/"}') == {
        "do": "terminal",
        "command": ["sh"],
        "folder": "/",
        "title": "terminal",
        "term": "xterm",
    }


def test_a_prompt_s_request_with_all_its_words_is_accepted() -> None:
    words = {
        "commands": ["nodes"],
        "nodes": ["h1"],
        "switches": [],
        "ports": [],
        "after": {"a": []},
    }
    request = encoded(do="line", prompt="mininet> ", words=words, typed="")
    assert decode_request(request)["words"] == words


WRONG = [
    encoded(do="terminal"),
    encoded(do="terminal", term=1, title=[], command=5, folder={}),
    encoded(do="terminal", command=[], folder="/"),
    encoded(do="terminal", command=["a\0b"], folder="/"),
    encoded(do="terminal", command=["sh"], folder="/", title="x" * 257),
    encoded(do="terminal", command=["sh"], folder="/", more=1),
    encoded(do="open"),
    encoded(do="open", path="\0"),
    encoded(do="open", path="a/" * 5000),
    encoded(do="line", prompt=5),
    encoded(do="line", words={"commands": "no list"}),
    b'{"do": "line", "prompt": "\\ud800"}',
    encoded(do="keys", x=1),
    encoded(do="connect"),
    encoded(do="connect", address="127.0.0.1", port=True),
    encoded(do="connect", address="127.0.0.1", port=0),
    b"[" * 100_000,
    b'{"do": ' + b"[" * 100_000,
    b'{"do":"' + b"A" * 900_000 + b'"}',
    b"\xff\xfe",
    b"",
    b"null",
    b'{"do": {}}',
]


@pytest.mark.parametrize("line", WRONG, ids=range(len(WRONG)))
def test_a_wrong_request_is_refused_with_its_reason(line: bytes) -> None:
    with pytest.raises(InputError):
        decode_request(line)


VALUES = [
    None,
    True,
    -1,
    1 << 70,
    1.5,
    "",
    "\0",
    "x" * 70_000,
    [],
    [1],
    ["a"],
    {},
    {"after": {"a": 1}},
]
words = st.sampled_from(["line", "keys", "terminal", "open", "connect", "other"])
fields = st.sampled_from(
    ["prompt", "words", "typed", "command", "folder", "title", "term", "path", "address", "port"]
)


@given(words, st.dictionaries(fields, st.sampled_from(VALUES), max_size=6))
def test_any_request_is_decoded_or_refused(word: str, arguments: dict[str, object]) -> None:
    try:
        request = decode_request(json.dumps({"do": word, **arguments}).encode())
    except InputError:
        return
    assert request["do"] == word
