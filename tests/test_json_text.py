import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wanlab.errors import InputError
from wanlab.json_text import MAX_DEPTH, MAX_VALUES, PLAIN, decode_json


class Link(msgspec.Struct, forbid_unknown_fields=True):
    ends: tuple[str, str]
    rate_bps: int = 0


LINKS = msgspec.json.Decoder(list[Link])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"ends": ["a", 2]}]', "a.json: [0].ends[1]: expected a string, got a whole number"),
        ('[{"rate_bps": 1}]', 'a.json: [0]: "ends" is missing'),
        ('[{"ends": ["a", "b"], "rate": 1}]', 'a.json: [0]: unknown field "rate"'),
        ('{"ends": []}', "a.json: expected a list, got a mapping of fields"),
        ("[", "a.json: cannot read this JSON: Input data was truncated"),
    ],
)
def test_an_error_names_the_value_that_is_wrong(text: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        decode_json(text, LINKS, "a.json")
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"[" * 100_000, "nested more than"),
        (b'{"a":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 1), "nested more than"),
        (b"[" + b"[]," * (MAX_VALUES // 3) + b"[]]", "more than"),
        (b'["\xff"]', "invalid start byte"),
        ('["\ud800"]', "surrogates not allowed"),
        (b'["\\ud800"]', "cannot read this JSON"),
        (b"[1e999]", "number out of range"),
        (b"[NaN]", "cannot read this JSON"),
        (b'["' + b'\\"' * 500_000 + b"[" * 100, "cannot read this JSON"),
    ],
)
def test_json_that_is_damaged_deep_or_too_large_is_refused(data: bytes | str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        decode_json(data, PLAIN)


def test_brackets_in_strings_are_not_depth() -> None:
    text = json.dumps(["[" * 1000, '\\"{', {"[": "]" * 1000}])
    assert decode_json(text, PLAIN) == json.loads(text)


@given(VALUES)
def test_json_is_read_as_it_was_written(value: object) -> None:
    assert decode_json(json.dumps(value, ensure_ascii=False), PLAIN) == value
