"""Messages of a browser are decoded before anything acts on them, and each is answered."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest

from wanlab.web.broadcast import Browser
from wanlab.web.laboratory import Laboratory
from wanlab.web.protocol.commands import CostCommand
from wanlab.web.protocol.messages import CommandReply
from wanlab.web.server.terminal_socket import ACK, RESIZE
from wanlab.web.server.websocket import perform_message

DEEP = (
    '{"id": 7, "do": "edit", "put": {"nodes": [{"id": "a", "kind": "host", "name": "a", "options":'
)


class Recorded:
    """Stands in for the laboratory: keeps the commands."""

    def __init__(self) -> None:
        self.commands: list[object] = []

    async def perform(self, command: Any, browser: Browser) -> CommandReply:
        self.commands.append(command)
        return CommandReply(command.id)


def reply_to(message: str | bytes) -> tuple[dict[str, Any], list[object]]:
    """Return the reply to a message, and the commands that were carried out."""
    laboratory, browser = Recorded(), Browser("b1")

    async def talk() -> bytes:
        await perform_message(cast("Laboratory", laboratory), browser, message)
        return await asyncio.wait_for(browser.next_message(), 10)

    # In another thread, because Playwright leaves a running loop in this one.
    with ThreadPoolExecutor(1) as pool:
        return json.loads(pool.submit(asyncio.run, talk()).result()), laboratory.commands


def test_a_command_is_decoded_and_carried_out() -> None:
    reply, commands = reply_to('{"id": 7, "do": "cost", "branch": "1", "at_ns": 5}')
    assert reply == {"reply": 7, "ok": None}
    assert commands == [CostCommand(id=7, branch="1", at_ns=5)]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (
            '{"id": 7, "do": "cost", "branch": "1", "at_ns": -5}',
            "at_ns: expected a whole number >=",
        ),
        ('{"id": 7, "do": "marker", "text": "", "at_ns": -1}', "at_ns: expected a whole number >="),
        ('{"id": 7, "do": "continue", "branch": "1", "at_ns": 1e40}', "at_ns: expected"),
        ('{"id": 7, "do": "continue", "branch": "1", "at_ns": 9223372036854775808}', "at_ns: exp"),
        ('{"id": 7, "do": "terminal", "node": "h1", "rows": 70000}', "rows: expected"),
        ('{"id": 7, "do": "terminal", "node": "h1", "columns": 0}', "columns: expected"),
        ('{"id": 7, "do": "jump"}', "invalid value 'jump'"),
        ('{"id": 7, "do": "undo", "twice": true}', 'unknown field "twice"'),
        (DEEP + "[" * 80 + "]" * 80 + "}]}}", "nested more than 64 levels deep"),
        (DEEP + "[" * 200_000 + "]" * 200_000 + "}]}}", "nested more than 64 levels deep"),
        (b'{"id": 7, "do": "new", "label": "\xff"}', 'unknown field "label"'),
        (b'{"id": 7, "do": "edit", "label": "\xff"}', "cannot read this JSON"),
        ("\ud800", "cannot read this JSON"),
        ("", "cannot read this JSON"),
    ],
)
def test_a_message_that_is_no_command_is_refused(message: str | bytes, reason: str) -> None:
    reply, commands = reply_to(message)
    assert reason in reply["error"]["what"]
    assert reply["error"]["what"].startswith("not a command: ")
    assert reply["reply"] in (0, 7)
    assert commands == []


@pytest.mark.parametrize("size", [[0, 80], [24, 65536], [-1, 1], [24], [1e3, 80]])
def test_a_terminal_cannot_have_a_size_that_the_kernel_cannot_store(size: list[object]) -> None:
    with pytest.raises(Exception, match="Expected"):
        RESIZE.decode(json.dumps({"resize": size}))


def test_a_browser_cannot_take_back_that_it_has_displayed_output() -> None:
    with pytest.raises(Exception, match="Expected"):
        ACK.decode('{"ack": -1}')
