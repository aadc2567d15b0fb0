"""The tests by name: flows, pings and other traffic between a client and a server.

The names are Flent's (T. Hoiland-Jorgensen et al., "Flent: The FLExible Network Tester", VALUETOOLS
2017), and so is the shape of a test: pings run alone for a while, then under load, then alone again.
"Up" is from the client to the server.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from wanlab.errors import WanlabError, did_you_mean

# Differentiated services code points by name: RFC 2474, RFC 3246, RFC 3662.
CODE_POINTS = {"BE": 0, "BK": 8, "CS5": 40, "EF": 46}
CLASSES = tuple(CODE_POINTS)
LONG_PATHS_MS = (10, 40, 80, 160)
"""The RTTs that the paths of rtt_fair add to the bottleneck's RTT, one for each pair of hosts."""


@dataclass(frozen=True, kw_only=True)
class StandardTest:
    """The traffic of one test."""

    name: str
    about: str
    up: int = 0
    """TCP flows from client to server; they send as fast as they can."""
    down: int = 0
    is_marked: bool = False
    """Whether flows and pings are marked with the classes BE, BK, CS5 and EF in turn."""
    pairs: int = 1
    """Pairs of hosts, each with flows `up` and `down`; the paths have different RTTs."""
    udp_share: float = 0.0
    """Rate of datagrams up, as a fraction of the bottleneck's rate; 0 is none."""
    has_voice: bool = False
    """Whether there is a telephone call (64 kbit/s, a packet every 20 ms) in each direction."""
    has_web: bool = False
    """Whether a user loads pages from the server."""

    @property
    def ping_classes(self) -> tuple[str, ...]:
        return ("BE", "BK", "EF") if self.is_marked else ("BE",)

    def with_flows(self, count: int) -> StandardTest:
        """Return the test with `count` flows in each direction in which it has more than one.

        A test whose name says how many, such as tcp_8up, keeps its number.
        """
        if self.name not in TESTS:
            return self
        up, down = (count if flows > 1 else flows for flows in (self.up, self.down))
        return replace(self, up=up, down=down)


TESTS: Mapping[str, StandardTest] = {
    test.name: test
    for test in (
        StandardTest(name="ping", about="ping without load"),
        StandardTest(name="tcp_upload", about="one TCP flow up", up=1),
        StandardTest(name="tcp_download", about="one TCP flow down", down=1),
        StandardTest(name="tcp_bidir", about="one TCP flow in each direction", up=1, down=1),
        StandardTest(name="tcp_nup", about="4 TCP flows up", up=4),
        StandardTest(name="tcp_ndown", about="4 TCP flows down", down=4),
        StandardTest(
            name="rrul",
            about="4 flows up, 4 down, marked BE, BK, CS5 and EF: realtime response under load",
            up=4,
            down=4,
            is_marked=True,
        ),
        StandardTest(name="rrul_be", about="rrul without marks (all best effort)", up=4, down=4),
        StandardTest(
            name="rtt_fair",
            about="flows up and down on 4 paths with increasing RTTs",
            up=1,
            down=1,
            pairs=len(LONG_PATHS_MS),
        ),
        StandardTest(
            name="udp_flood",
            about="UDP datagrams up at 1.1 times the bottleneck's rate",
            udp_share=1.1,
        ),
        StandardTest(
            name="voip",
            about="a VoIP call beside one TCP flow in each direction",
            up=1,
            down=1,
            has_voice=True,
        ),
        StandardTest(
            name="web", about="web pages loaded beside 4 TCP flows down", down=4, has_web=True
        ),
    )
}
_COUNTED = re.compile(r"tcp_(\d{1,3})(up|down)")


def find(name: str) -> StandardTest:
    """Return a test by its name; "tcp_8up" is tcp_nup with 8 flows. Raises WanlabError if unknown."""
    if match := _COUNTED.fullmatch(name):
        count, direction = int(match[1]), match[2]
        if count:
            about = f"{count} TCP flow{'s' if count > 1 else ''} {direction}"
            return StandardTest(
                name=name,
                about=about,
                up=count if direction == "up" else 0,
                down=count if direction == "down" else 0,
            )
    if name not in TESTS:
        raise WanlabError(f'there is no test "{name}"', did_you_mean(name, TESTS))
    return TESTS[name]
