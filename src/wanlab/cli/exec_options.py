"""How a program is run in a machine from the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from wanlab import Network


@dataclass(frozen=True)
class ExecOptions:
    """How a program in a machine is connected to our terminal and clock.

    paces_to_real: time never passes faster than on a real clock.
    hurries: while somebody types, time passes as on a real clock, and otherwise faster.
    stdin_is_for_prompt: our standard input, if it is not a terminal, holds lines for the program's
    prompt.
    variables: environment variables that the program has in addition to the machine's.
    path: folders that come first in its PATH.
    own_path: folders that come after the machine's own programs: `mn` and `wanlab` must be those.
    keep_files: a folder for the files that programs write outside the working folder; "" only reports
    them, and None does not look for them.
    shows_drops: whether to say at the end where the network lost packets.
    date: when the network begins, as `date --set` takes it; "" leaves the machine's start date.
    on_line: called with each line that is passed to a prompt.
    """

    paces_to_real: bool = False
    hurries: bool = False
    stdin_is_for_prompt: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)
    path: tuple[str, ...] = ()
    own_path: tuple[str, ...] = ()
    keep_files: str | None = None
    shows_drops: bool = True
    date: str = ""
    on_line: Callable[[str], None] = lambda line: None

    def environment(self, network: Network) -> dict[str, str]:
        """Return the variables to set, in a machine that is running."""
        if not self.path and not self.own_path:
            return dict(self.variables)
        machines, _, rest = network.environment["PATH"].partition(":")
        return {
            **self.variables,
            "PATH": ":".join([*self.path, machines, *self.own_path, rest]),
        }

    def runs_at_prompt(self, network: Network) -> bool:
        """Whether time passes while a prompt waits for a line."""
        return self.paces_to_real or network.clock == "real"
