"""The command line of `wanlab-traffic`."""

from __future__ import annotations

import _socket
import sys
from _random import Random
from collections.abc import Callable, Iterator

from . import arguments
from .arguments import UsageError, parse_arguments
from .messages import DATAGRAM, PORT, REQUEST, has_congestion
from .report import json, quantile, rate, time
from .senders import Sender, Transfer
from .serve import serve
from .sizes import Sizes, arrivals, exponential, parse_sizes

SECOND_NS = 1_000_000_000
EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130
MAX_DATAGRAM_BYTES = 65507
HELP = {"-h", "--help"}
USAGE = """wanlab-traffic serve [-D] [--port N]
wanlab-traffic bulk HOST [--flows N] [--time 10s | --bytes 1MB]
wanlab-traffic onoff HOST [--flows N] [--time 10s] [--on 1s] [--off 1s] [--fixed]
wanlab-traffic poisson HOST (--load 10Mbps | --per-second N) [--time 10s] [--sizes SIZES]
wanlab-traffic request HOST [--users N] [--time 10s | --count N] [--request 100B]
                       [--sizes SIZES] [--think 1s]
wanlab-traffic udp HOST [--rate 1Mbps] [--size 1200B] [--time 10s] [--late 1s] [--on TIME --off TIME]
wanlab-traffic replay HOST CAPTURE [--from ADDRESS] [--time 10s] [--late 1s]

Receive (serve; with -D in the background, returning when it listens), or send to a HOST that receives:
  bulk      N parallel flows, for a time or of --bytes each
  onoff     sources that alternate between sending as fast as TCP lets them and silence; --on and --off
            are means of exponential times, or with --fixed the times themselves
  poisson   transfers of random SIZES at random times, each over a new connection
  request   users that request, wait for the answer (of SIZES), think (--think on average) and repeat
  udp       datagrams at a constant rate of payload; one that arrives --late after the last was sent is
            lost. With --on and --off, they are sent at this rate in bursts with pauses of these lengths
  replay    datagrams with the sizes and at the times of the IP packets in a file of tcpdump or Wireshark
            (pcap, pcapng); --from: of those that this address sent; --time: only the first
SIZES: 10KB, exponential:10KB, pareto:SHAPE,MIN,MAX (pareto:1.2,1KB,10MB), or a FILE of sizes and
cumulative probabilities.
Options of all senders:
  --seed N          seed of the random numbers (1)
  --congestion NAME congestion control of the sender (not udp, replay; request: of both sides)
  --pacing RATE     maximum rate, enforced packet by packet (not udp, replay)
  --dscp N          differentiated services code point of its packets, 0 to 63 (0)
  --port N          port that `serve` listens on (5202)
  --json            print JSON with the times of each flow
"""

_PARSERS: dict[str, Callable[[str], object]] = {
    **dict.fromkeys(("on", "off", "think", "late"), arguments.time),
    **dict.fromkeys(("load", "rate", "pacing"), arguments.positive(arguments.rate)),
    **dict.fromkeys(("request", "size"), arguments.size),
    **dict.fromkeys(("flows", "users", "count", "per-second"), arguments.count),
    "time": arguments.positive(arguments.time),
    "bytes": arguments.positive(arguments.size),
    "port": arguments.port,
    "dscp": arguments.code_point,
    "seed": arguments.whole_number,
    "congestion": str,
    "sizes": parse_sizes,
    "from": str,
}
_SHARED_OPTIONS = ("seed", "port", "dscp")
_TCP_OPTIONS = ("congestion", "pacing", *_SHARED_OPTIONS)
_OPTIONS_OF_KIND = {
    "bulk": ("flows", "time", "bytes"),
    "onoff": ("flows", "time", "on", "off"),
    "poisson": ("load", "per-second", "time", "sizes"),
    "request": ("users", "time", "count", "request", "sizes", "think"),
    "udp": ("rate", "size", "time", "late", "on", "off"),
    "replay": ("from", "time", "late"),
}
_DATAGRAM_KINDS = ("udp", "replay")


class TrafficOptions:
    """The options of a command line, with defaults for the others."""

    def __init__(self, values: dict[str, object]) -> None:
        self._values = values

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def number(self, name: str, default: int) -> int:
        value = self._values.get(name, default)
        assert isinstance(value, int)
        return value

    def text(self, name: str) -> str:
        return str(self._values.get(name, ""))

    def sizes(self, default: str) -> Sizes:
        value = self._values.get("sizes")
        return value if isinstance(value, Sizes) else parse_sizes(default)


def main(command: list[str]) -> int:
    """Run a command line without the program's name; return the exit status."""
    try:
        return _main(command)
    except UsageError as error:
        print(f"wanlab-traffic: {error}", file=sys.stderr)
        return EXIT_USAGE
    except OSError as error:
        print(f"wanlab-traffic: {explain(error.strerror or str(error))}", file=sys.stderr)
        return EXIT_FAILED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _main(command: list[str]) -> int:
    if not command or command[0] == "help" or not HELP.isdisjoint(command):
        print(USAGE, end="")
        return 0 if command else EXIT_USAGE
    kind = command[0]
    if kind == "serve":
        positional, values = parse_arguments(command[1:], {"port": arguments.port}, {"D"})
        if positional:
            raise UsageError(f'unexpected argument "{positional[0]}"')
        options = TrafficOptions(values)
        return serve(options.number("port", PORT), "D" in options)
    if kind not in _OPTIONS_OF_KIND:
        kinds = ", ".join(("serve", *_OPTIONS_OF_KIND))
        raise UsageError(f'"{kind}" is not a kind of traffic; the kinds are {kinds}')
    shared = _SHARED_OPTIONS if kind in _DATAGRAM_KINDS else _TCP_OPTIONS
    parsers = {name: _PARSERS[name] for name in (*_OPTIONS_OF_KIND[kind], *shared)}
    flags = {"json"} | ({"fixed"} if kind == "onoff" else set())
    positional, values = parse_arguments(command[1:], parsers, flags)
    if kind == "replay" and len(positional) != 2:
        raise UsageError("replay needs a HOST and a CAPTURE")
    if kind != "replay" and len(positional) != 1:
        raise UsageError(f"{kind} needs exactly one HOST, not {len(positional)}")
    return _send(kind, positional[0], TrafficOptions(values), *positional[1:])


def _send(kind: str, host: str, options: TrafficOptions, capture: str = "") -> int:
    try:
        port = options.number("port", PORT)
        addresses = _socket.getaddrinfo(host, port, 0, _socket.SOCK_STREAM)
    except _socket.gaierror:
        raise UsageError(f'cannot resolve the host name "{host}"') from None
    family, _, _, _, address = addresses[0]
    congestion = options.text("congestion")
    report: dict[str, object] = {
        "kind": kind,
        "host": host,
        "seed": options.number("seed", 1),
        "congestion": congestion or None,
    }
    if not has_congestion(congestion):
        raise UsageError(f'this kernel has no congestion control "{congestion}"')

    def sender() -> Sender:
        """Make the sender. Its time begins now, so all random numbers must have been drawn."""
        pacing_bps, dscp = options.number("pacing", 0), options.number("dscp", 0)
        return Sender(address, family, congestion, pacing_bps, dscp)

    if kind == "replay":
        from .replay import packets_of  # which most transfers do not need

        packets = packets_of(capture, options.text("from"), options.number("time", 0), family)
        return _print_datagrams(report, _replay(sender(), packets, options), options)
    if kind == "udp":
        return _print_datagrams(report, _send_datagrams(sender(), options), options)
    return _print_transfers(report, _send_transfers(kind, sender, options), options)


def _send_transfers(
    kind: str, sender: Callable[[], Sender], options: TrafficOptions
) -> list[Transfer]:
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
            raise UsageError("poisson needs either --load or --per-second")
        sizes = options.sizes("pareto:1.2,1KB,10MB")
        per_second = options.number("per-second", 0) or (
            options.number("load", 0) / 8 / sizes.mean_bytes
        )
        times_ns = arrivals(numbers, per_second, until_ns)
        sizes_bytes = [sizes.draw(numbers) for _ in times_ns]
        return sender().arrivals(times_ns, sizes_bytes)
    max_requests = options.number("count", 0)
    request_bytes = options.number("request", 100)
    if request_bytes < REQUEST.size:
        raise UsageError(f"a request needs at least {REQUEST.size} bytes")
    return sender().requests(
        options.number("users", 1),
        request_bytes,
        options.sizes("10KB"),
        options.number("think", 0),
        max_requests,
        until_ns if "time" in options or not max_requests else 0,
        seed,
    )


def _periods(
    numbers: Random, on_ns: int, off_ns: int, until_ns: int, is_fixed: bool
) -> list[tuple[int, int]]:
    """Return the begin and end in ns of the periods in which a source sends."""
    periods = []
    begin_ns = 0.0
    while begin_ns < until_ns:
        end_ns = begin_ns + (on_ns if is_fixed else exponential(numbers, on_ns))
        periods.append((round(begin_ns), round(end_ns)))
        begin_ns = end_ns + (off_ns if is_fixed else exponential(numbers, off_ns))
        if on_ns + off_ns <= 0:
            raise UsageError("--on and --off cannot both be 0")
    return periods


def _send_datagrams(sender: Sender, options: TrafficOptions) -> dict[str, float]:
    size = options.number("size", 1200)
    if not DATAGRAM.size <= size <= MAX_DATAGRAM_BYTES:
        raise UsageError(f"--size must be from {DATAGRAM.size} to {MAX_DATAGRAM_BYTES} bytes")
    interval_ns = size * 8 * SECOND_NS / options.number("rate", 10**6)
    until_ns = options.number("time", 10 * SECOND_NS)
    on_ns, off_ns = options.number("on", until_ns), options.number("off", 0)
    if ("on" in options) != ("off" in options):
        raise UsageError("udp needs both --on and --off, or neither")
    if not on_ns:
        raise UsageError("--on must be more than 0")
    times_ns = _burst_times(interval_ns, on_ns, off_ns, until_ns)
    number = options.number("seed", 1) % 2**32
    late_ns = options.number("late", SECOND_NS)
    packets = ((at_ns, size) for at_ns in times_ns)
    received = sender.datagrams(packets, size, number, late_ns)
    return {"size_bytes": size, "interval_ns": interval_ns, **received}


def _replay(
    sender: Sender, packets: list[tuple[int, int]], options: TrafficOptions
) -> dict[str, float]:
    """Send datagrams of these times and sizes; return means of both with the server's report."""
    number = options.number("seed", 1) % 2**32
    sizes = [size for _, size in packets]
    received = sender.datagrams(packets, max(sizes), number, options.number("late", SECOND_NS))
    intervals = max(1, len(packets) - 1)
    return {
        "size_bytes": sum(sizes) // len(sizes),
        "interval_ns": (packets[-1][0] - packets[0][0]) / intervals,
        **received,
    }


def _burst_times(interval_ns: float, on_ns: int, off_ns: int, until_ns: int) -> Iterator[int]:
    """Yield when datagrams are sent: at least one in each burst. Only the last burst may be shorter."""
    for begin_ns in range(0, until_ns, on_ns + off_ns):
        length_ns = min(on_ns, until_ns - begin_ns)
        count = max(1, round(length_ns / interval_ns))
        for index in range(count):
            yield begin_ns + round(index * interval_ns)


def _print_transfers(
    report: dict[str, object], transfers: list[Transfer], options: TrafficOptions
) -> int:
    completed = [transfer for transfer in transfers if not transfer.error]
    total = sum(transfer.received_bytes for transfer in completed)
    last_ns = max((transfer.end_ns for transfer in completed), default=0)
    counted = sum(transfer.counted_bytes for transfer in completed)
    counted_ns = max((transfer.counted_until_ns for transfer in completed), default=0)
    goodput_bps = counted * 8e9 / counted_ns if counted_ns else 0.0
    if "json" in options:
        report |= {"seconds": last_ns / 1e9, "bytes": total, "goodput_bps": goodput_bps}
        report |= _completion_times(completed)
        report["flows"] = [
            {
                "number": transfer.number,
                "start_ns": transfer.start_ns,
                "end_ns": transfer.end_ns,
                "bytes": transfer.received_bytes,
                "goodput_bps": transfer.goodput_bps,
                "error": transfer.error or None,
            }
            for transfer in transfers
        ]
        print(json(report))
    elif not transfers:
        print("no flow began in this time")
    elif completed:
        times = ", ".join(
            f"{name.removeprefix('completion_').removesuffix('_s')} {time(seconds * 1e9)}"
            for name, seconds in _completion_times(completed).items()
        )
        print(f"{len(completed)} flows, {total} bytes in {time(last_ns)}: {rate(goodput_bps)}")
        print(f"completion times: {times}")
    failed = len(transfers) - len(completed)
    if failed:
        cause = explain(next(transfer.error for transfer in transfers if transfer.error))
        print(f"wanlab-traffic: {failed} of {len(transfers)} failed: {cause}", file=sys.stderr)
    return EXIT_FAILED if failed else 0


def explain(error: str) -> str:
    """Return the system's error message as the end of a sentence, with a remedy if there is one."""
    if error == "Connection refused":
        return "no server listens there; start `wanlab-traffic serve -D`"
    return error[:1].lower() + error[1:]


def _completion_times(transfers: list[Transfer]) -> dict[str, float]:
    """Return mean and quantiles of the transfers' durations in seconds, by their names in the JSON."""
    times_s = sorted((transfer.end_ns - transfer.start_ns) / 1e9 for transfer in transfers)
    if not times_s:
        return {}
    quantiles = {"median": 0.5, "p95": 0.95, "p99": 0.99, "longest": 1.0}
    return {
        "completion_mean_s": sum(times_s) / len(times_s),
        **{
            f"completion_{name}_s": quantile(times_s, fraction)
            for name, fraction in quantiles.items()
        },
    }


def _print_datagrams(
    report: dict[str, object], received: dict[str, float], options: TrafficOptions
) -> int:
    sent, arrived = received["sent"], received["datagrams"]
    lost = sent - arrived
    if "json" in options:
        print(json({**report, **received, "lost": lost}))
        return 0
    print(
        f"{sent} datagrams sent, {arrived} received, {lost} lost ({100 * lost / sent:.4g} %), "
        f"{received['late']} reordered, {received['duplicates']} duplicates"
    )
    if arrived:
        names = ("least_delay_ns", "mean_delay_ns", "greatest_delay_ns")
        delays = " / ".join(time(received[name]) for name in names)
        print(f"delay min / mean / max {delays}, jitter {time(received['jitter_ns'])}")
    return 0
