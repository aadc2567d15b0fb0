"""Test that keys of a lost connection are neither lost nor doubled."""

from __future__ import annotations

import pytest
from web_client import Terminal, WebClient

from wanlab.web.terminals.key_streams import MAX_STREAMS, KeyStreams


def test_the_server_says_how_many_keys_of_a_stream_have_arrived() -> None:
    streams = KeyStreams()
    first = streams.connect("page")
    assert first.received_bytes == 0
    assert first.receive(b"ls")
    first.end()
    assert streams.connect("page").received_bytes == 2
    assert streams.connect("another").received_bytes == 0


def test_keys_that_an_older_connection_delivers_late_are_ignored() -> None:
    streams = KeyStreams()
    old = streams.connect("page")
    new = streams.connect("page")
    assert new.receive(b"ls")
    assert not old.receive(b"ls")
    assert new.received_bytes == 2
    old.end()
    assert new.receive(b"\r")


def test_connected_streams_are_never_forgotten() -> None:
    streams = KeyStreams()
    kept = streams.connect("kept")
    for number in range(2 * MAX_STREAMS):
        streams.connect(f"gone {number}").end()
    assert kept.receive(b"x")
    assert len(streams._received_bytes) <= MAX_STREAMS + 2


@pytest.mark.machine
def test_a_page_that_connects_again_continues_its_stream(running: WebClient) -> None:
    name = running.terminal("h1").name
    with Terminal(running.server, name, page="p1") as before:
        before.type("echo al")
        before.until_received(7)
        with Terminal(running.server, name, page="p1") as after:
            after.until_received(7)
            before.type("this is late")
            after.type("l of $((6 * 7))\r")
            after.until("all of 42")
            after.until_received(len("echo all of $((6 * 7))\r"))
            assert b"late" not in after.shown
