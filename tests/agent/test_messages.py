import pytest
from hypothesis import given
from hypothesis import strategies as st

from wanlab.agent.messages import (
    HEADER,
    MAX_BODY_BYTES,
    MAX_BYTES,
    Frame,
    FrameReader,
    Kind,
    encode,
    encode_json,
)

CONVERSATION = [
    Frame(Kind.READY, 0, b""),
    Frame(Kind.CALL, 7, b'{"do":"start"}'),
    Frame(Kind.INPUT, 3, bytes(range(256))),
    Frame(Kind.INPUT_END, 3, b""),
    Frame(Kind.OUTPUT, 2**32 - 1, b"x" * 1000),
]

frames = st.lists(
    st.sampled_from(Kind).flatmap(
        lambda kind: st.builds(
            Frame,
            st.just(kind),
            st.integers(0, 2**32 - 1),
            st.binary(max_size=min(100, MAX_BYTES[kind])),
        )
    ),
    max_size=8,
)


def stream(of: list[Frame]) -> bytes:
    return b"".join(encode(*frame) for frame in of)


def read_in_pieces(data: bytes, size: int) -> list[Frame]:
    reader = FrameReader()
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    return [frame for piece in pieces for frame in reader.feed(piece)]


@pytest.mark.parametrize("size", [1, 7, 16, 48, 1 << 20])
def test_pieces_of_any_size_make_the_same_frames(size: int) -> None:
    assert read_in_pieces(stream(CONVERSATION), size) == CONVERSATION


@given(frames, st.lists(st.integers(0, 60), max_size=30))
def test_a_stream_cut_anywhere_makes_the_same_frames(said: list[Frame], cuts: list[int]) -> None:
    reader = FrameReader()
    rest = stream(said)
    heard = []
    for cut in cuts:
        heard += reader.feed(rest[:cut])
        rest = rest[cut:]
    assert heard + reader.feed(rest) == said


def test_a_frame_consists_of_length_kind_number_and_body() -> None:
    assert encode(Kind.INPUT, 0x01020304, b"ab") == bytes.fromhex("02000000 05 04030201 6162")


def test_json_is_encoded_without_spaces_and_decoded_unchanged() -> None:
    value = {"do": "start", "name": "ä\n", "list": [1, None, True]}
    (frame,) = FrameReader().feed(encode_json(Kind.CALL, 1, value))
    assert frame.json() == value
    assert b" " not in frame.body


def test_a_frame_is_complete_with_its_last_byte() -> None:
    data = encode(Kind.OUTPUT, 1, b"body")
    reader = FrameReader()
    assert reader.feed(data[:-1]) == []
    assert reader.feed(data[-1:]) == [Frame(Kind.OUTPUT, 1, b"body")]


@pytest.mark.parametrize("kind", Kind)
def test_a_frame_that_is_too_long_for_its_kind_is_refused_by_its_header(kind: Kind) -> None:
    reader = FrameReader()
    with pytest.raises(ValueError, match=f"kind {kind.name} with {MAX_BYTES[kind] + 1} bytes"):
        reader.feed(HEADER.pack(MAX_BYTES[kind] + 1, kind, 1))


def test_no_frame_is_as_long_as_a_header_can_say() -> None:
    assert set(MAX_BYTES) == set(Kind)
    assert max(MAX_BYTES.values()) == MAX_BODY_BYTES < 1 << 30


def test_an_unknown_kind_of_frame_is_refused() -> None:
    with pytest.raises(ValueError, match="an unknown kind, 99"):
        FrameReader().feed(HEADER.pack(0, 99, 1))


@pytest.mark.parametrize("body", [b"[" * 100_000, b"\xff", b"9" * 5000, b"", b"{"])
def test_what_is_no_readable_json_is_a_value_error(body: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (json's own message)
        Frame(Kind.REPLY, 1, body).json()
