"""The command line."""

from __future__ import annotations

import _socket
import sys
from _random import Random
from collections.abc import Callable

from . import words
from .messages import DATAGRAM, PORT, REQUEST, has_congestion
from .report import json, quantile, rate, time
from .senders import Flow, Sender
from .serve import serve
from .sizes import Sizes, arrivals, exponential, read_sizes
from .words import UsageError

SECOND_NS = 1_000_000_000
NO_ANSWER = 1
USAGE = """wanlab-traffic serve [-D] [--port N]
wanlab-traffic bulk HOST [--flows N] [--time 10s | --bytes 1MB]
wanlab-traffic onoff HOST [--flows N] [--time 10s] [--on 1s] [--off 1s] [--fixed]
wanlab-traffic poisson HOST (--load 10Mbps | --per-second N) [--time 10s] [--sizes SIZES]
wanlab-traffic request HOST [--users N] [--time 10s | --count N] [--request 100B]
                       [--sizes SIZES] [--think 1s]
wanlab-traffic udp HOST [--rate 1Mbps] [--size 1200B] [--time 10s] [--late 1s]

Takes what is sent (serve; -D: in the background, from when it listens), or sends to where that runs:
  bulk      so many flows at once, for some time or of so many bytes each
  onoff     sources that send as fast as TCP lets them, and are silent, by turns; on and off are means of
            exponential times (--fixed: the times themselves)
  poisson   transfers that begin at random, each over a connection of its own, of random sizes
  request   users that ask, wait for the answer (SIZES), think (a mean), and ask again
  udp       datagrams at a constant rate; what comes later than --late after the last is lost
SIZES: 10KB, exponential:10KB, pareto:SHAPE,LEAST,MOST (pareto:1.2,1KB,10MB), or a FILE of sizes and
probabilities.
All of them:
  --seed N          of all that is random (1)
  --congestion NAME of the sender (request: of both)
  --pacing RATE     at most so fast, packet by packet
  --port N          where `serve` listens (5202)
  --json            each flow with its times
"""

_READERS: dict[str, Callable[[str], object]] = {
    **dict.fromkeys(("on", "off", "think", "late"), words.time),
    **dict.fromkeys(("load", "rate", "pacing"), words.some(words.rate)),
    **dict.fromkeys(("request", "size"), words.size),
    **dict.fromkeys(("flows", "users", "count", "per-second"), words.count),
    "time": words.some(words.time),
    "bytes": words.some(words.size),
    "port": words.port,
    "seed": words.whole,
    "congestion": str,
    "sizes": read_sizes,
}
_COMMON = ("seed", "congestion", "pacing", "port")
_OF_KIND = {
    "bulk": ("flows", "time", "bytes"),
    "onoff": ("flows", "time", "on", "off"),
    "poisson": ("load", "per-second", "time", "sizes"),
    "request": ("users", "time", "count", "request", "sizes", "think"),
    "udp": ("rate", "size", "time", "late"),
}


class Options:
    """What was typed, and what holds where nothing was."""

    def __init__(self, given: dict[str, object]) -> None:
        self._given = given

    def __contains__(self, name: str) -> bool:
        return name in self._given

    def number(self, name: str, otherwise: int) -> int:
        value = self._given.get(name, otherwise)
        assert isinstance(value, int)
        return value

    def text(self, name: str) -> str:
        return str(self._given.get(name, ""))

    def sizes(self, otherwise: str) -> Sizes:
        value = self._given.get("sizes")
        return value if isinstance(value, Sizes) else read_sizes(otherwise)


def main(typed: list[str]) -> int:
    try:
        return _main(typed)
    except UsageError as error:
        print(f"wanlab-traffic: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"wanlab-traffic: {reason(error.strerror or str(error))}", file=sys.stderr)
        return NO_ANSWER
    except KeyboardInterrupt:
        return 130


def _main(typed: list[str]) -> int:
    if not typed or typed[0] in ("help", "-h", "--help"):
        print(USAGE, end="")
        return 0 if typed else 2
    kind = typed[0]
    if kind == "serve":
        plain, given = words.read(typed[1:], {"port": words.port}, {"D"})
        if plain:
            raise UsageError(f'"{plain[0]}" is one word too many')
        options = Options(given)
        return serve(options.number("port", PORT), "D" in options)
    if kind not in _OF_KIND:
        raise UsageError(f'"{kind}" is no kind of traffic: {", ".join(("serve", *_OF_KIND))}')
    readers = {name: _READERS[name] for name in (*_OF_KIND[kind], *_COMMON)}
    flags = {"json"} | ({"fixed"} if kind == "onoff" else set())
    plain, given = words.read(typed[1:], readers, flags)
    if len(plain) != 1:
        raise UsageError(f"{kind} needs one HOST, and has {len(plain)}")
    return _send(kind, plain[0], Options(given))


def _send(kind: str, host: str, options: Options) -> int:
    try:
        found = _socket.getaddrinfo(host, options.number("port", PORT), 0, _socket.SOCK_STREAM)
    except _socket.gaierror:
        raise UsageError(f'there is no host "{host}"') from None
    family, _, _, _, address = found[0]
    told: dict[str, object] = {"kind": kind, "host": host, "seed": options.number("seed", 1)}
    congestion = options.text("congestion")
    told["congestion"] = congestion or None
    if not has_congestion(congestion):
        raise UsageError(f'this kernel has no congestion control "{congestion}"')

    def sender() -> Sender:
        """Its time begins now: what is drawn has been drawn."""
        return Sender(address, family, congestion, options.number("pacing", 0))

    if kind == "udp":
        return _tell_datagrams(told, _datagrams(sender(), options), options)
    flows = _flows(kind, sender, options)
    return _tell_flows(told, flows, options)


def _flows(kind: str, sender: Callable[[], Sender], options: Options) -> list[Flow]:
    until_ns = options.number("time", 10 * SECOND_NS)
    seed = options.number("seed", 1)
    numbers = Random(seed)
    if kind == "bulk":
        if "time" in options and "bytes" in options:
            raise UsageError("bulk takes --time or --bytes, not both")
        return sender().bulk(options.number("flows", 1), options.number("bytes", 0), until_ns)
    if kind == "onoff":
        on_ns, off_ns = options.number("on", SECOND_NS), options.number("off", SECOND_NS)
        is_fixed = "fixed" in options
        count = options.number("flows", 1)
        periods = [_periods(numbers, on_ns, off_ns, until_ns, is_fixed) for _ in range(count)]
        return sender().onoff(count, periods, until_ns)
    if kind == "poisson":
        if ("load" in options) == ("per-second" in options):
            raise UsageError("poisson takes --load or --per-second")
        sizes = options.sizes("pareto:1.2,1KB,10MB")
        per_second = options.number("per-second", 0) or (
            options.number("load", 0) / 8 / sizes.mean_bytes
        )
        instants = arrivals(numbers, per_second, until_ns)
        drawn = [sizes.draw(numbers) for _ in instants]
        return sender().arrivals(instants, drawn)
    most = options.number("count", 0)
    asked_bytes = options.number("request", 100)
    if asked_bytes < REQUEST.size:
        raise UsageError(f"a request has {REQUEST.size} bytes at least")
    return sender().requests(
        options.number("users", 1),
        asked_bytes,
        options.sizes("10KB"),
        options.number("think", 0),
        most,
        until_ns if "time" in options or not most else 0,
        seed,
    )


def _periods(
    numbers: Random, on_ns: int, off_ns: int, until_ns: int, is_fixed: bool
) -> list[tuple[int, int]]:
    """When a source sends. One that does not end a period before the next goes on."""
    found = []
    at_ns = 0.0
    while at_ns < until_ns:
        end_ns = at_ns + (on_ns if is_fixed else exponential(numbers, on_ns))
        found.append((round(at_ns), round(end_ns)))
        at_ns = end_ns + (off_ns if is_fixed else exponential(numbers, off_ns))
        if on_ns + off_ns <= 0:
            raise UsageError("on and off cannot both be 0")
    return found


def _datagrams(sender: Sender, options: Options) -> dict[str, float]:
    size = options.number("size", 1200)
    if not DATAGRAM.size <= size <= 65507:
        raise UsageError(f"a datagram has {DATAGRAM.size} to 65507 bytes")
    interval_ns = size * 8 * SECOND_NS / options.number("rate", 10**6)
    count = max(1, round(options.number("time", 10 * SECOND_NS) / interval_ns))
    number = options.number("seed", 1) % 2**32
    told = sender.datagrams(interval_ns, size, count, number, options.number("late", SECOND_NS))
    return {"sent": count, "size_bytes": size, "interval_ns": interval_ns, **told}


def _tell_flows(told: dict[str, object], flows: list[Flow], options: Options) -> int:
    ended = [flow for flow in flows if not flow.error]
    total = sum(flow.bytes for flow in ended)
    last_ns = max((flow.end_ns for flow in ended), default=0)
    goodput_bps = total * 8e9 / last_ns if last_ns else 0.0
    if told["kind"] in ("bulk", "onoff"):  # all begin at once
        goodput_bps = sum(flow.goodput_bps for flow in ended)
    if "json" in options:
        told |= {"seconds": last_ns / 1e9, "bytes": total, "goodput_bps": goodput_bps}
        told |= _completion(ended)
        told["flows"] = [
            {
                "number": flow.number,
                "start_ns": flow.start_ns,
                "end_ns": flow.end_ns,
                "bytes": flow.bytes,
                "goodput_bps": flow.goodput_bps,
                "error": flow.error or None,
            }
            for flow in flows
        ]
        print(json(told))
    elif not flows:
        print("no flow began in this time")
    elif ended:
        marks = ", ".join(
            f"{name.removeprefix('completion_').removesuffix('_s')} {time(seconds * 1e9)}"
            for name, seconds in _completion(ended).items()
        )
        print(f"{len(ended)} flows, {total} bytes in {time(last_ns)}: {rate(goodput_bps)}")
        print(f"completion times: {marks}")
    failed = len(flows) - len(ended)
    if failed:
        first = reason(next(flow.error for flow in flows if flow.error))
        print(f"wanlab-traffic: {failed} of {len(flows)} failed: {first}", file=sys.stderr)
    return NO_ANSWER if failed else 0


def reason(error: str) -> str:
    if error == "Connection refused":
        return "nobody listens there; start `wanlab-traffic serve -D`"
    return error[:1].lower() + error[1:]


def _completion(flows: list[Flow]) -> dict[str, float]:
    """How long flows took: mean, and the times below which so many percent are."""
    times_s = sorted((flow.end_ns - flow.start_ns) / 1e9 for flow in flows)
    if not times_s:
        return {}
    marks = {"median": 0.5, "p95": 0.95, "p99": 0.99, "longest": 1.0}
    return {
        "completion_mean_s": sum(times_s) / len(times_s),
        **{f"completion_{name}_s": quantile(times_s, part) for name, part in marks.items()},
    }


def _tell_datagrams(told: dict[str, object], came: dict[str, float], options: Options) -> int:
    lost = came["sent"] - came["datagrams"]
    if "json" in options:
        print(json({**told, **came, "lost": lost}))
        return 0
    share = 100 * lost / came["sent"]
    print(
        f"{came['sent']} datagrams sent, {came['datagrams']} came, {lost} lost ({share:.4g} %), "
        f"{came['late']} late, {came['duplicates']} twice"
    )
    if came["datagrams"]:
        names = ("least_delay_ns", "mean_delay_ns", "greatest_delay_ns")
        delays = " / ".join(time(came[name]) for name in names)
        print(f"delay least / mean / greatest {delays}, jitter {time(came['jitter_ns'])}")
    return 0
