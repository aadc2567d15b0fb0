"""Test the conversation with a machine's agent, without a machine."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from wanlab.errors import MachineError, PeerError
from wanlab.machine.conversation import Conversation


def test_nothing_is_awaited_from_a_machine_that_has_sent_nonsense() -> None:
    runs = 0

    def run(until_ns: int, stop: Callable[[], bool]) -> None:
        nonlocal runs
        runs += 1
        raise PeerError("the kernel would go back in time")

    loop = cast("Any", SimpleNamespace(run=run, now_ns=0))
    ended = MachineError("the machine has ended")
    conversation = Conversation(loop, cast("Any", None), explain_end=lambda: ended, serves=False)
    for _ in range(2):
        with pytest.raises(MachineError, match="back in time"):
            conversation.run(1, lambda: False)
    assert runs == 1
