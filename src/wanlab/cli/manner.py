"""How a program in a machine is attended."""

from __future__ import annotations

from dataclasses import dataclass

from wanlab import Network


@dataclass(frozen=True)
class Manner:
    """`paces_to_real`: time is never faster than on the real clock. `stdin_is_for_prompt`: our standard
    input, where it is no terminal, has lines for the program's prompt and nothing else."""

    paces_to_real: bool = False
    stdin_is_for_prompt: bool = False

    def goes_on(self, network: Network) -> bool:
        """Whether time passes while a prompt waits."""
        return self.paces_to_real or network.clock == "real"


PLAIN = Manner()
