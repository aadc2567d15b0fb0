"""`rewind 10s` at the prompt: returns the network, and the prompt, to an earlier instant.

The line never reaches the machine. A new machine replays the session up to the earlier instant and
then replaces the machine that requested the line. Programs that ran at that instant continue.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

from wanlab import Network
from wanlab.errors import WanlabError
from wanlab.units import parse_time

from .progress import ReplayProgress

COMMAND = "rewind"
USAGE = f"usage: {COMMAND} TIME, as in {COMMAND} 10s: how far to go back"
_LINE = re.compile(rf"\s*{COMMAND}(\s.*)?$")


class Rewinder:
    """Performs the prompt's command. `before` is called before the network is rewound."""

    def __init__(self, network: Network, before: Callable[[], None] = lambda: None) -> None:
        self._network = network
        self.before = before

    @property
    def is_possible(self) -> bool:
        return bool(self._network.session.content())

    def perform(self, line: str) -> bool:
        """Rewind the network as the line says; return whether it was rewound.

        After a rewind, the request for the line cannot be answered: it belongs to the old machine.
        """
        match = _LINE.match(line)
        assert match is not None
        network = self._network
        try:
            back_ns = parse_time((match[1] or "").strip())
        except WanlabError:
            self._say(USAGE)
            return False
        target_ns = network.now_ns - back_ns
        if target_ns < 0 or back_ns <= 0:
            self._say(f"the network has run for {network.now_ns / 1e9:.6f} s: {USAGE}")
            return False
        self.before()
        folder, on_time = network.folder, network.on_time
        network.on_time = ReplayProgress().show if sys.stderr.isatty() else None
        try:
            network.session.rewind(target_ns)
        finally:
            network.on_time = on_time
        self._say(f"*** back at {network.now_ns / 1e9:.6f} s")
        if network.session.difference is not None:
            self._say(
                "*** the replay differed from the session: something in it cannot be repeated exactly"
            )
        if network.folder != folder:
            network.session.keep_folder()
            self._say(f"*** files that programs write from now on are in {network.folder}")
        return True

    @staticmethod
    def is_rewind(line: str) -> bool:
        return _LINE.match(line) is not None

    @staticmethod
    def _say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)
