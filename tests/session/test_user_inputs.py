"""Test which inputs of a session came from its user."""

from __future__ import annotations

from session_text import START, session_of

from wanlab.session import StartCall, UserInput, parse, user_inputs

SECOND = 1_000_000_000


def test_only_what_the_user_gave_to_these_programs_after_the_instant_is_returned() -> None:
    session = parse(
        session_of(
            {"at": SECOND, "began": None},
            {"at": SECOND, "in": [{"call": 1, "body": START}]},
            {"at": 2 * SECOND, "in": [{"input": 2, "text": "early"}]},
            {"at": 3 * SECOND, "in": [{"input": 2, "text": "ls\n"}, {"input": 9, "text": "other"}]},
            {"at": 3 * SECOND, "in": [{"call": 2, "body": {"do": "watch", "number": 2}}]},
            {"at": 4 * SECOND, "in": [{"call": 3, "body": {**START, "number": 5}}]},
            {"at": 5 * SECOND, "upload": [{"folder": "new", "mode": 493, "mtime_ns": 0}]},
            {"at": 6 * SECOND, "in": [{"input_end": 2}]},
            {"at": 7 * SECOND, "end": None},
        ),
        "test",
    )
    keys, start, upload, end = user_inputs(session, SECOND, {2, 5})
    assert keys == UserInput(2 * SECOND, 2, b"ls\n")
    assert (start.at_ns, start.process) == (3 * SECOND, 5)
    assert isinstance(start.what, StartCall)
    assert (upload.at_ns, upload.process) == (4 * SECOND, 0)
    assert isinstance(upload.what, tuple)
    assert end == UserInput(5 * SECOND, 2, None)
