import struct

import pytest

from wanlab.errors import PeerError
from wanlab.netlink import framing

KIND = 20


def message(kind: int, body: bytes = b"", *, flags: int = 0) -> bytes:
    data = struct.pack("=IHHII", 16 + len(body), kind, flags, 1, 0) + body
    return data + bytes(-len(data) % 4)


DONE = message(3, struct.pack("=i", 0))


def test_messages_come_in_order_without_their_padding() -> None:
    dump = message(KIND, b"a") + message(KIND, b"bcd") + DONE
    assert list(framing.messages(dump, KIND)) == [b"a", b"bcd"]


def test_messages_after_done_are_not_part_of_the_dump() -> None:
    assert list(framing.messages(DONE + message(KIND, b"late"), KIND)) == []


@pytest.mark.parametrize(
    ("dump", "said"),
    [
        (b"", "ends at byte 0 without DONE"),
        (message(KIND, b"abcd"), "ends at byte 20 without DONE"),
        (message(KIND, b"abcd")[:-1], "ends at byte 19 without DONE"),
        (message(2, struct.pack("=i", -1)), "refused a dump: Operation not permitted"),
        (message(3, struct.pack("=i", -12)), "refused a dump: Cannot allocate memory"),
        (message(4), "lost messages"),
        (message(KIND, flags=0x10), "the list changed while the kernel dumped it .read it again"),
        (message(21) + DONE, "a message of kind 21 in a dump of kind 20"),
    ],
)
def test_the_error_of_a_failed_dump_is_reported(dump: bytes, said: str) -> None:
    with pytest.raises(PeerError, match=said):
        list(framing.messages(dump, KIND))


def test_attributes_are_found_by_kind_without_the_flag_of_nesting() -> None:
    data = struct.pack("=HH", 7, 1) + b"tbf\0" + struct.pack("=HHI", 8, 0x8002, 7)
    assert framing.attributes(data) == {1: b"tbf", 2: b"\x07\0\0\0"}


@pytest.mark.parametrize("length", [0, 3, 9])
def test_an_attribute_that_does_not_fit_is_refused(length: int) -> None:
    with pytest.raises(PeerError, match=f"an attribute of {length} bytes"):
        framing.attributes(struct.pack("=HHI", length, 1, 0))
