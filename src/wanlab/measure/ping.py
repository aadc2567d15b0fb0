"""Parse the output of ping (iputils).

    PING 10.0.0.3 (10.0.0.3) 56(84) bytes of data.
    64 bytes from 10.0.0.3: icmp_seq=1 ttl=64 time=20.1 ms

    --- 10.0.0.3 ping statistics ---
    1 packets transmitted, 1 received, 0% packet loss, time 0ms
    rtt min/avg/max/mdev = 20.074/20.074/20.074/0.000 ms

Every line must be known, and there must be as many replies as the summary counts (or none, as with -q
and -f). So a truncated text is an error, never a shorter result.
"""

import re
from dataclasses import dataclass

from wanlab.errors import WanlabError
from wanlab.record import Table


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One line of a reply. `time_ms` is None if the packet was too short to carry a time."""

    sequence: int
    time_ms: float | None
    ttl: int | None
    source: str
    size_bytes: int
    duplicate: bool
    received_s: float | None
    """The time that -D prints before the line, in seconds since 1970."""


@dataclass(frozen=True, kw_only=True)
class Ping:
    """One run of ping. The four times are None if no reply carried a time."""

    target: str
    replies: tuple[Reply, ...]
    problems: tuple[str, ...]
    """Lines about packets without a reply: "From ... Destination Host Unreachable"."""
    sent: int
    received: int
    duplicates: int
    errors: int
    duration_ms: int
    min_ms: float | None
    mean_ms: float | None
    max_ms: float | None
    deviation_ms: float | None

    @property
    def loss_fraction(self) -> float:
        return (self.sent - self.received) / self.sent

    def table(self, *, start_ns: int = 0, interval_ns: int = 1_000_000_000) -> Table:
        """Return the replies at the times when their packets were sent: `start_ns`, then every interval.

        Columns: time_ns, sequence, ttl, rtt_ms, duplicate. A packet that got no reply has no row.
        """
        replies = sorted(self.replies, key=lambda reply: reply.sequence)
        return Table.of(
            {
                "time_ns": [start_ns + (reply.sequence - 1) * interval_ns for reply in replies],
                "sequence": [reply.sequence for reply in replies],
                "ttl": [reply.ttl for reply in replies],
                "rtt_ms": [reply.time_ms for reply in replies],
                "duplicate": [reply.duplicate for reply in replies],
            }
        )


_HEADER = re.compile(r"PING (?P<target>\S+?) ?\(")
_REPLY = re.compile(
    r"(?:\[(?P<received>\d+\.\d+)\] )?"
    r"(?P<size>\d+) bytes from (?P<source>.+?): icmp_seq=(?P<sequence>\d+)"
    r"(?: ttl=(?P<ttl>\d+))?(?: time=(?P<time>[\d.]+) ms)?(?P<duplicate> \(DUP!\))?"
)
_PROBLEM = re.compile(
    r"(?:\[\d+\.\d+\] )?(?:no answer yet for icmp_seq=\d+|From \S+.* icmp_seq=\d+ .*)"
    r"|ping: .*|WARNING: .*"
)
# ^C is the terminal's echo of the key that ends ping; the dots are those of -f.
_NOTHING = re.compile(r"(?:\^C|[.E\b ])*")
_STATISTICS = re.compile(r"(?:\^C)?--- .* ping statistics ---")
_COUNTS = re.compile(
    r"(?P<sent>\d+) packets transmitted, (?P<received>\d+) received"
    r"(?:, \+(?P<duplicates>\d+) duplicates)?(?:, \+(?P<corrupted>\d+) corrupted)?"
    r"(?:, \+(?P<errors>\d+) errors)?, [\d.]+% packet loss, time (?P<duration>\d+)ms"
)
_TIMES = re.compile(
    r"rtt min/avg/max/mdev = (?P<min>[\d.]+)/(?P<mean>[\d.]+)/(?P<max>[\d.]+)/(?P<deviation>[\d.]+)"
    r" ms(?:, pipe \d+)?(?:, ipg/ewma [\d.]+/[\d.]+ ms)?"
)
_NO_TIMES = re.compile(r"\s*(?:pipe \d+)?")


def parse(text: str) -> Ping:
    """Parse the whole output of one run of ping; raise WanlabError if it is not complete."""
    try:
        return _parse(text)
    except ValueError as error:  # another program's: "1.2.3 ms", or thousands of digits
        raise WanlabError(f"the output of ping has a wrong number: {error}") from None


def _parse(text: str) -> Ping:
    lines = text.splitlines()
    header = _HEADER.match(lines[0]) if lines else None
    if header is None:
        printed = lines[0].strip() if lines else "nothing"
        raise WanlabError(f"ping did not start: it printed {printed!r}")
    end = next((n for n, line in enumerate(lines) if _STATISTICS.fullmatch(line)), None)
    if end is None:
        raise WanlabError(
            "the output of ping has no summary", "ping was killed; end it with SIGINT instead"
        )
    replies, problems = _read_body(lines[1:end])
    counts = _COUNTS.fullmatch(lines[end + 1]) if len(lines) > end + 1 else None
    if counts is None:
        raise _unknown_line(lines[end + 1 : end + 2], end + 2)
    times = _TIMES.fullmatch(lines[end + 2]) if len(lines) > end + 2 else None
    if times is None and not _NO_TIMES.fullmatch("\n".join(lines[end + 2 :])):
        raise _unknown_line(lines[end + 2 :], end + 3)
    received, duplicates = int(counts["received"]), int(counts["duplicates"] or 0)
    if replies and len(replies) != received + duplicates:
        raise WanlabError(
            f"the output of ping is cut: it counts {received + duplicates} replies"
            f" and shows {len(replies)}"
        )
    return Ping(
        target=header["target"],
        replies=tuple(replies),
        problems=tuple(problems),
        sent=int(counts["sent"]),
        received=received,
        duplicates=duplicates,
        errors=int(counts["errors"] or 0),
        duration_ms=int(counts["duration"]),
        min_ms=float(times["min"]) if times else None,
        mean_ms=float(times["mean"]) if times else None,
        max_ms=float(times["max"]) if times else None,
        deviation_ms=float(times["deviation"]) if times else None,
    )


def parse_reply(line: str) -> Reply | None:
    """Parse one line of ping; return None if it is not a reply."""
    match = _REPLY.fullmatch(line.strip())
    try:
        return None if match is None else _reply(match)
    except ValueError:
        return None


def _reply(match: re.Match[str]) -> Reply:
    return Reply(
        sequence=int(match["sequence"]),
        time_ms=float(match["time"]) if match["time"] else None,
        ttl=int(match["ttl"]) if match["ttl"] else None,
        source=match["source"],
        size_bytes=int(match["size"]),
        duplicate=match["duplicate"] is not None,
        received_s=float(match["received"]) if match["received"] else None,
    )


def _read_body(lines: list[str]) -> tuple[list[Reply], list[str]]:
    replies, problems = [], []
    for number, line in enumerate(lines, start=2):
        reply = parse_reply(line)
        if reply is not None:
            replies.append(reply)
        elif _PROBLEM.fullmatch(line.strip()):
            problems.append(line.strip())
        elif not _NOTHING.fullmatch(line):
            raise _unknown_line([line], number)
    return replies, problems


def _unknown_line(lines: list[str], number: int) -> WanlabError:
    shown = repr(lines[0]) if lines else "there is none"
    return WanlabError(f"cannot parse line {number} of the output of ping: {shown}")
