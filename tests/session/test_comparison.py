"""Test which frames of a replay count as equal to the recorded ones."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from msgspec import structs
from session_text import START, session_of

from wanlab.agent.messages import Frame, FrameReader, Kind, encode_json
from wanlab.session import Difference, SessionComparison
from wanlab.session.comparison import process_name
from wanlab.session.frames import RecordedFrame, StartCall
from wanlab.session.lines import Line
from wanlab.session.recorded import SentPiece, parse

OUTPUT = Frame(Kind.OUTPUT, 7, b"64 bytes from h2\n")
OTHER = Frame(Kind.OUTPUT, 7, b"64 bytes from h3\n")


def json_frame(kind: Kind, number: int, value: object) -> Frame:
    (frame,) = FrameReader().feed(encode_json(kind, number, value))
    return frame


def comparison(*recorded: tuple[int, Frame], digests: bool = False) -> SessionComparison:
    """Return a comparison with a recording of these frames, between events of other kinds."""
    lines: list[Line] = [{"at": 0, "began": None}]
    for at_ns, frame in recorded:
        line = RecordedFrame.of(frame, keeps_body=not digests).line()
        lines += [{"at": at_ns, "out": line}, {"at": at_ns, "step": at_ns}]
    return SessionComparison(parse(session_of(*lines), "s"))


def send(compared: SessionComparison, call_number: int, **call: Any) -> None:
    data = encode_json(Kind.CALL, call_number, call)
    compared.sent(SentPiece(0, data, tuple(FrameReader().feed(data))))


def ended(number: int, status: int, resources: object) -> Frame:
    return json_frame(Kind.ENDED, number, {"status": status, "resources": resources})


def test_equal_frames_at_equal_instants_are_counted() -> None:
    compared = comparison((5, OUTPUT), (6, OTHER))
    compared.received(5, OUTPUT)
    compared.received(6, OTHER)
    compared.ended(6)
    assert (compared.compared, compared.difference) == (2, None)


@pytest.mark.parametrize("at_ns", [4_999_999_999, 5_000_000_001])
def test_an_equal_frame_at_another_instant_is_a_difference(at_ns: int) -> None:
    compared = comparison((5_000_000_000, OUTPUT))
    compared.received(at_ns, OUTPUT)
    text, clock = "'64 bytes from h2\\n'", "s of the machine's clock"
    assert compared.difference == Difference(
        min(at_ns, 5_000_000_000),
        "",
        f"{text} at 5.000000000 {clock}",
        f"{text} at {at_ns / 1e9:.9f} {clock}",
    )
    assert compared.compared == 0


def test_another_frame_at_the_same_instant_is_a_difference_of_its_process() -> None:
    compared = comparison((5, OUTPUT))
    send(compared, 1, **{**START, "number": 7, "arguments": ["ping", "h2"]})
    compared.received(5, OTHER)
    assert compared.difference == Difference(
        5, "h1: ping h2", "'64 bytes from h2\\n'", "'64 bytes from h3\\n'"
    )


def test_only_the_first_difference_is_kept() -> None:
    compared = comparison((5, OUTPUT), (6, OUTPUT), (7, OUTPUT))
    compared.received(5, OTHER)
    first = compared.difference
    compared.received(6, OTHER)
    compared.ended(100)
    assert first is not None
    assert compared.difference is first


def test_data_of_which_the_digest_was_kept_is_compared_by_its_digest() -> None:
    equal, other = (comparison((5, OUTPUT), digests=True) for _ in range(2))
    equal.received(5, OUTPUT)
    assert (equal.compared, equal.difference) == (1, None)
    other.received(5, OTHER)
    sums = [hashlib.sha256(frame.body).hexdigest()[:12] for frame in (OUTPUT, OTHER)]
    assert other.difference == Difference(5, "", *(f"17 bytes with SHA-256 {s}" for s in sums))


def test_the_status_of_a_process_is_compared_and_its_resources_are_not() -> None:
    compared = comparison((5, ended(7, 0, {"memory": 1})), (6, ended(8, 0, {})))
    compared.received(5, ended(7, 0, {"memory": 2}))
    assert (compared.compared, compared.difference) == (1, None)
    compared.received(6, ended(8, 1, {}))
    assert compared.difference == Difference(6, "", "ended with status 0", "ended with status 1")


def test_a_process_that_ends_instead_of_another_is_a_difference() -> None:
    compared = comparison((5, ended(7, 0, {})))
    compared.received(5, ended(8, 0, {}))
    assert compared.difference is not None


@pytest.mark.parametrize("do", ["program_files", "changed_programs", "prepare"])
def test_answers_that_describe_the_computer_are_not_compared(do: str) -> None:
    compared = comparison((5, json_frame(Kind.REPLY, 3, {"iperf3": "1"})))
    send(compared, 3, do=do)
    compared.received(5, json_frame(Kind.REPLY, 3, {"iperf3": "2"}))
    assert (compared.compared, compared.difference) == (1, None)


@pytest.mark.parametrize("kind", [Kind.REPLY, Kind.FAILURE])
def test_other_answers_are_compared(kind: Kind) -> None:
    compared = comparison((5, json_frame(kind, 3, {"iperf3": "1"})))
    send(compared, 3, do="watch")
    compared.received(5, json_frame(kind, 3, {"iperf3": "2"}))
    assert compared.difference == Difference(
        5, "the answer to the call watch", "{'iperf3': '1'}", "{'iperf3': '2'}"
    )


def test_the_failure_of_a_call_that_describes_the_computer_is_compared() -> None:
    compared = comparison((5, json_frame(Kind.FAILURE, 3, {"what": "full"})))
    send(compared, 3, do="prepare")
    compared.received(5, json_frame(Kind.FAILURE, 3, {"what": "missing"}))
    assert compared.difference is not None


def test_different_data_for_a_call_names_the_call() -> None:
    compared = comparison((5, Frame(Kind.DATA, 3, b"1")))
    send(compared, 3, do="read")
    compared.received(5, Frame(Kind.DATA, 3, b"2"))
    assert compared.difference == Difference(5, "the answer to the call read", "'1'", "'2'")


def test_the_answer_of_another_call_is_a_difference() -> None:
    compared = comparison((5, json_frame(Kind.REPLY, 3, {})))
    for number in (3, 4):
        send(compared, number, do="prepare")
    compared.received(5, json_frame(Kind.REPLY, 4, {}))
    assert compared.difference is not None


def test_frames_after_the_end_of_a_cut_recording_are_no_difference() -> None:
    compared = comparison((5, OUTPUT))
    compared.received(5, OUTPUT)
    compared.received(6, OTHER)
    compared.ended(10)
    assert (compared.compared, compared.difference) == (1, None)


@pytest.mark.parametrize(("end_ns", "is_missing"), [(5, False), (6, True)])
def test_a_frame_recorded_before_the_end_that_is_missing_is_a_difference(
    end_ns: int, is_missing: bool
) -> None:
    compared = comparison((5, OUTPUT))
    compared.ended(end_ns)
    missing = Difference(5, "", "'64 bytes from h2\\n'", "nothing")
    assert compared.difference == (missing if is_missing else None)


def test_long_data_is_shown_up_to_a_limit() -> None:
    compared = comparison((5, Frame(Kind.OUTPUT, 7, b"x" * 100)))
    compared.received(5, Frame(Kind.OUTPUT, 7, b"\xff"))
    assert compared.difference == Difference(5, "", "'" + "x" * 59, "'/w=='")


def test_a_long_answer_is_shown_up_to_a_limit() -> None:
    compared = comparison((5, json_frame(Kind.REPLY, 3, ["x" * 100])))
    compared.received(5, json_frame(Kind.REPLY, 3, []))
    assert compared.difference is not None
    assert (compared.difference.recorded, compared.difference.replayed) == ("['" + "x" * 58, "[]")


def test_a_process_has_the_name_of_its_node_and_command() -> None:
    start = StartCall(**START)
    ping = structs.replace(start, node="h1", arguments=["ping", "h2"])
    assert process_name(ping) == "h1: ping h2"
    shell = structs.replace(start, node="", arguments=["/bin/bash", "-c", "ping h2 | cat"])
    assert process_name(shell) == "root: ping h2 | cat"
