"""Takes: how a number is taken out of what the commands of a step have left.

    ping.mean_ms    iperf3.sender.gbps    iperf3.sum_receiver_mbps    json(out.json).jain
    queue(s1-eth2).peak_bytes    file(out.json).exists    jain    number(REGEX)
    and, of states, those in `state_takes`: netem.loss_percent, kind(fq_codel).exists, sysctl.value

A take is parsed once, and is then a pure function of Evidence. Bytes of iperf3 are counted in units of
1024 x 1024, as iperf3 prints them; rates in units of 1000.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from wanlab import Table, iperf3, iperf3_text, ping
from wanlab.errors import WanlabError, did_you_mean

from . import state_takes

MEBI, GIBI = 1 << 20, 1 << 30


def _no_file(name: str) -> bytes:
    raise WanlabError(f"there is no file {name}")


@dataclass(frozen=True)
class Evidence:
    """What there is after a step."""

    output: str = ""
    outputs: Sequence[str] = ()
    """Of several flows at once, one each; otherwise there is only `output`."""
    read: Callable[[str], bytes] = _no_file
    """A file, by its name in the terminal's folder; WanlabError if there is none."""
    queues: Mapping[str, Table] = field(default_factory=dict)
    """What was sampled of queues (table "qdisc"), by port."""

    @property
    def all_outputs(self) -> Sequence[str]:
        return self.outputs or (self.output,)


Take = Callable[[Evidence], float]
OF_TIME = re.compile(r"^jain$|^ping\.\w+_ms$|^json\(.*\)\.(?!streams$)\w+$")
INDEX = re.compile(r"^\s*(?:.*[ :=])?([01]?\.\d+)\s*$", re.MULTILINE)
"""At the end of a line, as bc prints it: .98765, or 1.00000."""


def parse(text: str) -> Take:
    """WanlabError if there is no such take."""
    found = re.fullmatch(r"(\w+)(?:\((.*)\))?(?:\.([\w.]+))?", text.strip(), re.DOTALL)
    if not found:
        raise WanlabError(f"{text!r} is no take", "as in ping.mean_ms or json(out.json).jain")
    name, argument, rest = found[1], found[2], found[3] or ""
    if name == "number" and argument is not None and not rest:
        return _number(argument)
    if name == "jain" and argument is None and not rest:
        return _jain
    if name == "file" and argument and rest == "exists":
        return lambda evidence: _exists(evidence, argument)
    if argument and name in _WITH_ARGUMENT:
        known, take = _WITH_ARGUMENT[name]
        _check(rest, known, text)
        return lambda evidence: take(evidence, argument, rest)
    if argument is None and name in _PLAIN:
        known, plain = _PLAIN[name]
        _check(rest, known, text)
        return lambda evidence: plain(evidence, rest)
    state = state_takes.parse(name, argument, rest)
    if state is not None:
        return lambda evidence: state(evidence.output)
    names = [*_PLAIN, *(f"{name}(...)" for name in _WITH_ARGUMENT), *state_takes.NAMES]
    names += ["jain", "number(REGEX)", "file(FILE).exists"]
    raise WanlabError(f"there is no take {text!r}", did_you_mean(text, names))


def _check(rest: str, known: Sequence[str], text: str) -> None:
    if rest not in known:
        raise WanlabError(f"there is no take {text!r}", did_you_mean(rest, known))


# -- ping -----------------------------------------------------------------------------------------

_PING: dict[str, Callable[[ping.Ping], float | None]] = {
    "sent": lambda p: p.sent,
    "received": lambda p: p.received,
    "loss_percent": lambda p: p.loss_fraction * 100,
    "duplicates": lambda p: p.duplicates,
    "min_ms": lambda p: p.min_ms,
    "mean_ms": lambda p: p.mean_ms,
    "max_ms": lambda p: p.max_ms,
    "mdev_ms": lambda p: p.deviation_ms,
}


def _ping(evidence: Evidence, word: str) -> float:
    return _known(_PING[word](ping.parse(ping_in(evidence.output))), f"ping.{word}")


def ping_in(output: str) -> str:
    """The last ping in what a terminal shows."""
    start = output.rfind("PING ")
    if start < 0:
        raise WanlabError("there is no output of ping", f"there is: {_beginning(output)}")
    lines = []
    for line in output[start:].splitlines():
        lines.append(line)
        if line.startswith("rtt ") or (lines[:-1] and "packets transmitted" in lines[-2]):
            break
    # After the two lines of statistics there may be something else that was typed.
    if lines and not lines[-1].startswith(("rtt ", "pipe ")) and "packet" not in lines[-1]:
        lines = lines[:-1] if any("packets transmitted" in line for line in lines[:-1]) else lines
    return "\n".join(lines) + "\n"


# -- iperf3 ---------------------------------------------------------------------------------------

_OF_ROLE = ("mbps", "gbps", "mbytes", "gbytes", "retransmits")
_OF_TEST = (
    *("interval_max_mbps", "cwnd_max_mbytes", "sum_sender_mbps", "sum_receiver_mbps"),
    *("jitter_ms", "lost_percent"),
)


@dataclass(frozen=True)
class Side:
    """One side's total of a test."""

    bits_per_second: float
    bytes: float
    retransmits: int | None


@dataclass(frozen=True)
class Measured:
    """What is known of a run of iperf3, whichever way it was printed."""

    sides: Mapping[str, Side]
    rates_bps: Sequence[float]
    """Of intervals, all streams together."""
    windows_bytes: Sequence[float]
    jitter_ms: float | None
    lost_percent: float | None


def _iperf3(evidence: Evidence, word: str) -> float:
    tests = [read_test(output) for output in evidence.all_outputs]
    if word in ("sum_sender_mbps", "sum_receiver_mbps"):
        return sum(_side(t, word.split("_")[1]).bits_per_second for t in tests) / 1e6
    test = tests[0]
    role, _, what = word.partition(".")
    if what:
        side = _side(test, role)
        return {
            "mbps": lambda: side.bits_per_second / 1e6,
            "gbps": lambda: side.bits_per_second / 1e9,
            "mbytes": lambda: side.bytes / MEBI,
            "gbytes": lambda: side.bytes / GIBI,
            "retransmits": lambda: _known(side.retransmits, "the number of retransmissions"),
        }[what]()
    if word == "interval_max_mbps":
        return max(test.rates_bps) / 1e6
    if word == "cwnd_max_mbytes":
        return _largest(test.windows_bytes) / MEBI
    return _known(getattr(test, word), f"iperf3.{word}")


def _side(test: Measured, role: str) -> Side:
    if role not in test.sides:
        raise WanlabError(f"iperf3 says nothing of the {role}")
    return test.sides[role]


def read_test(output: str) -> Measured:
    """The last test in what iperf3 printed, as text or JSON."""
    start = output.find("{")
    return _from_json(output[start:]) if start >= 0 else _from_text(output)


def _from_json(text: str) -> Measured:
    measured = iperf3.parse(text[: text.rindex("}") + 1])
    sides = {
        role: Side(t.bits_per_second, t.bytes, t.retransmits)
        for role, name in (("sender", "sent"), ("receiver", "received"))
        if (t := measured.totals.get(name))
    }
    rates: dict[float, float] = {}
    for interval in measured.intervals:
        if not interval.omitted:
            rates[interval.start_s] = rates.get(interval.start_s, 0) + interval.bits_per_second
    windows = [float(i.snd_cwnd_bytes) for i in measured.intervals if i.snd_cwnd_bytes is not None]
    received = measured.totals.get("received") or next(iter(measured.totals.values()), None)
    lost = None
    if received and received.packets:
        lost = (received.lost_packets or 0) / received.packets * 100
    jitter = received.jitter_ms if received else None
    return Measured(sides, list(rates.values()), windows, jitter, lost)


def _from_text(output: str) -> Measured:
    lines = iperf3_text.parse(_last_test(output))
    sides: dict[str, Side] = {}
    for role in ("sender", "receiver"):
        own = [line for line in lines if line.role == role]
        for line in [line for line in own if line.stream == "SUM"] or own[-1:]:
            sides[role] = Side(line.bits_per_second, line.bytes, line.retransmits)
    intervals = [line for line in lines if not line.role]
    together = [line for line in intervals if line.stream == "SUM"] or intervals
    ends = [line for line in lines if line.jitter_ms is not None]
    final = ([line for line in ends if line.role == "receiver"] or ends)[-1:]
    lost = [100 * (e.lost_packets or 0) / e.packets for e in final if e.packets]
    return Measured(
        sides,
        [line.bits_per_second for line in together],
        [line.cwnd_bytes for line in intervals if line.cwnd_bytes is not None],
        final[0].jitter_ms if final else None,
        lost[0] if lost else None,
    )


def _last_test(output: str) -> str:
    """A server prints one test after the other."""
    tests = output.split("Accepted connection from")
    return tests[-1] if "bits/sec" in tests[-1] else output


# -- files ----------------------------------------------------------------------------------------

_OF_JSON = (
    *("sender_mbps", "receiver_mbps", "retransmits", "cwnd_max_mbytes", "rtt_mean_ms"),
    *("rtt_max_ms", "streams", "jain"),
)


def _json(evidence: Evidence, file: str, word: str) -> float:
    measured = iperf3.parse(evidence.read(file))
    if word in ("sender_mbps", "receiver_mbps"):
        total = measured.sent if word == "sender_mbps" else measured.received
        return total.bits_per_second / 1e6
    if word == "retransmits":
        return _known(measured.sent.retransmits, word)
    if word == "streams":
        return float(len(measured.streams))
    own = [interval for interval in measured.intervals if not interval.omitted]
    if word == "cwnd_max_mbytes":
        return _largest([float(i.snd_cwnd_bytes) for i in own if i.snd_cwnd_bytes]) / MEBI
    if word == "jain":
        carried: dict[int, float] = {}
        for interval in own:
            carried[interval.stream] = carried.get(interval.stream, 0) + interval.bytes
        return jain_index(list(carried.values()))
    times_ms = [i.rtt_us / 1000 for i in own if i.rtt_us]
    return _largest(times_ms) if word == "rtt_max_ms" else _mean(times_ms)


def _exists(evidence: Evidence, file: str) -> float:
    try:
        evidence.read(file)
    except WanlabError:
        return 0.0
    return 1.0


# -- queues and fairness --------------------------------------------------------------------------


def _queue(evidence: Evidence, port: str, word: str) -> float:
    table = evidence.queues.get(port)
    if table is None:
        raise WanlabError(f"nothing was sampled of the queue of {port}")
    rows: dict[int, dict[str, tuple[str, str, int]]] = {}
    columns = (table[name] for name in ("time_ns", "handle", "parent", "kind", "backlog_bytes"))
    for time_ns, handle, parent, kind, backlog in zip(*columns, strict=True):
        own = rows.setdefault(int(time_ns), {})
        own[str(handle)] = (str(parent), str(kind), int(backlog))
    waiting = [float(waiting_bytes(own)) for own in rows.values()]
    if word == "first_bytes":
        return waiting[0] if waiting else 0.0
    return _largest(waiting) if word == "peak_bytes" else _mean(waiting)


def waiting_bytes(qdiscs: Mapping[str, tuple[str, str, int]]) -> int:
    """What waits before the bottleneck. A delay line (netem) above a queue counts what is under it,
    too, and its own packets are on their way already; so the innermost other queues are counted, each
    once."""
    parents = {parent.partition(":")[0] + ":" for parent, _, _ in qdiscs.values()}
    leaves = [(kind, backlog) for h, (_, kind, backlog) in qdiscs.items() if h not in parents]
    if any(kind != "netem" for kind, _ in leaves):
        return sum(backlog for kind, backlog in leaves if kind != "netem")
    # The delay line is the innermost: the queue around it holds what it does not.
    held = sum(backlog for _, backlog in leaves)
    around = [backlog for _, kind, backlog in qdiscs.values() if kind != "netem"]
    return max(0, max(around, default=held) - held)


def _jain(evidence: Evidence) -> float:
    """What fairness.sh prints; of several flows, the index of their throughputs."""
    if len(evidence.outputs) > 1:
        tests = [read_test(output) for output in evidence.outputs]
        return jain_index([_side(test, "receiver").bits_per_second for test in tests])
    found = INDEX.findall(evidence.output)
    if not found:
        raise WanlabError(
            "there is no index of fairness", f"there is: {_beginning(evidence.output)}"
        )
    return float(found[-1])


def jain_index(shares: Sequence[float]) -> float:
    squares = sum(share * share for share in shares)
    if not squares:
        raise WanlabError("no flow carried anything, so there is no index of fairness")
    return sum(shares) ** 2 / (len(shares) * squares)


# -- the rest -------------------------------------------------------------------------------------


def _number(pattern: str) -> Take:
    try:
        regex = re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise WanlabError(f"{pattern!r} is not a regular expression: {error}") from None
    if regex.groups < 1:
        raise WanlabError(f"{pattern!r} has no group", r"as in number(rate (\d+)Mbit)")

    def take(evidence: Evidence) -> float:
        found = regex.search(evidence.output)
        if not found:
            raise WanlabError(f"nothing in the output is like {pattern!r}")
        try:
            return float(found[1].replace(",", ""))
        except ValueError:
            raise WanlabError(f"{found[1]!r} is not a number") from None

    return take


_PLAIN: dict[str, tuple[Sequence[str], Callable[[Evidence, str], float]]] = {
    "ping": (tuple(_PING), _ping),
    "iperf3": (
        (*(f"{role}.{word}" for role in ("sender", "receiver") for word in _OF_ROLE), *_OF_TEST),
        _iperf3,
    ),
}
_WITH_ARGUMENT: dict[str, tuple[Sequence[str], Callable[[Evidence, str, str], float]]] = {
    "json": (_OF_JSON, _json),
    "queue": (("first_bytes", "peak_bytes", "mean_bytes"), _queue),
}


def is_of_the_computer(text: str) -> bool:
    """Whether a take measures what, on the real clock, the speed of this computer has a part in."""
    text = text.strip()
    return text.startswith(("iperf3.", "queue(")) or bool(OF_TIME.search(text))


def ports_in(text: str) -> str:
    """The port whose queue a take needs; "" if it needs none."""
    found = re.fullmatch(r"queue\((.+)\)\.\w+", text.strip())
    return found[1] if found else ""


def _known(value: float | None, what: str) -> float:
    if value is None:
        raise WanlabError(f"{what} is not told")
    return float(value)


def _largest(values: Sequence[float]) -> float:
    if not values:
        raise WanlabError("nothing was measured of it")
    return max(values)


def _mean(values: Sequence[float]) -> float:
    return _largest(values) and sum(values) / len(values)


def _beginning(text: str) -> str:
    return repr(text.strip()[:80]) if text.strip() else "nothing"
