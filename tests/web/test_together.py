"""Test typing into several terminals at once."""

from __future__ import annotations

import re

import pytest
from web_client import RefusedCommandError, Terminal, WebClient

from wanlab.network import StartJitter

pytestmark = pytest.mark.machine
PROMPT = "# "
LINE = "echo $EPOCHREALTIME; echo do''ne\n"


def instants(*terminals: Terminal) -> list[str]:
    """Return the times shown by the terminals, in seconds with six digits."""
    shown = [terminal.until("done\r\n") for terminal in terminals]
    return [re.findall(r"\d+\.\d{6}", text)[-1] for text in shown]


def test_several_terminals_get_a_line_at_the_same_instant(running: WebClient) -> None:
    with running.terminal("h1") as one, running.terminal("h2") as other:
        for terminal in (one, other):
            terminal.until(PROMPT)
        running.stands_still()
        for _ in range(3):
            one.shown = other.shown = b""
            running.do("type_together", terminals=[one.name, other.name], text=LINE)
            first, second = instants(one, other)
            assert first == second
            running.stands_still()
        # If keys are sent one after the other, time passes before the second one.
        one.shown = other.shown = b""
        one.type(LINE)
        [first] = instants(one)
        running.stands_still()
        other.type(LINE)
        [second] = instants(other)
        assert first < second


def test_a_terminal_that_has_ended_cannot_be_chosen(running: WebClient) -> None:
    with running.terminal("h1") as one:
        one.until(PROMPT)
        one.type("exit\r")
        running.until(
            lambda: any(
                it["id"] == one.name and it["status"] == 0
                for it in running.state["terminals"]["terminals"]
            )
        )
        with pytest.raises(RefusedCommandError, match="the terminal h1 has ended"):
            running.do("type_together", terminals=[one.name], text="ls\n")


def test_the_button_enter_starts_commands_apart_with_a_start_jitter(client: WebClient) -> None:
    unit, enter = "20", 25
    client.do("lesson", unit=unit, action="start", start_jitter="5ms")
    client.run()
    with client.terminal("h1") as one, client.terminal("h2") as other:
        for terminal in (one, other):
            terminal.until(PROMPT)
            assert "jitter: 5ms" in terminal.command("echo jitter: $WANLAB_START_JITTER", "5ms")
            terminal.type(LINE.rstrip("\n"))
        client.stands_still()
        client.do("lesson", unit=unit, action="type", step=enter)
        first, second = instants(one, other)
    jitter = StartJitter(5_000_000, seed=1)
    delays_us = [jitter.next_ns() / 1e3 for _ in range(2)]
    apart_us = 1e6 * (float(second) - float(first))
    assert apart_us == pytest.approx(delays_us[1] - delays_us[0], abs=1)
    client.stop()
