"""Translates Mininet's link parameters into queueing disciplines (tc).

    parameter                   parent          qdisc
    bw                          root            5: htb, class 5:1 at that rate
                                                   (with use_tbf, use_hfsc: tbf, hfsc instead)
    enable_red, enable_ecn      5:1             6: red
    delay, jitter, loss,        5:1, 6: or      10: netem; its limit is max_queue_size
    max_queue_size                 root

They apply to packets that the interface sends, and a link has two interfaces: a delay of 5 ms adds 10 ms
to the round trip. netem holds both the packets that wait for the rate and those in flight.

Without max_queue_size it holds 1000 packets in Mininet. These are super-packets of up to 64 KB there, so
even 1 Gbit/s over 50 ms fits in. Here they are packets of the wire, of which 4167 are then in flight. So
netem holds twice the packets that are in flight, if these are more than 1000: decision 47.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import SupportsFloat, SupportsIndex

from .log import warn
from .parameters import ParameterValueError, caution, once

MTU_BITS = 1500 * 8
_warned: set[str] = set()
NETEM_PACKETS = 1000  # the limit of netem without `limit`: tc-netem(8)
FAST_BPS = 10_000_000_000
"""The rate that is assumed for a cable without a limit."""
RED = "limit 1000000 min 30000 max 35000 avpkt 1500 burst 20"
_TIME = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(\w*)\s*")
# As in netem's manual: 10ms 2ms 25% distribution normal
_TIME_AND_WORDS = re.compile(r"\s*(?P<time>[\d.]+[a-z]*)\s+(?P<words>[\w.%]+(?:\s+[\w.%]+)*)\s*")
_TIME_UNITS = (
    "s",
    "sec",
    "secs",
    "ms",
    "msec",
    "msecs",
    "us",
    "usec",
    "usecs",
    "ns",
    "nsec",
    "nsecs",
)
# By the first letter of the unit.
_SECONDS = {"s": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}


@dataclass(frozen=True, kw_only=True)
class Shaping:
    """The parameters of TCIntf.config."""

    bw: float | None = None
    delay: str | None = None
    jitter: str | None = None
    loss: float | None = None
    use_hfsc: bool = False
    use_tbf: bool = False
    latency_ms: float | None = None
    enable_ecn: bool = False
    enable_red: bool = False
    max_queue_size: int | None = None

    @property
    def is_empty(self) -> bool:
        return self == Shaping()

    def describe(self) -> str:
        """Return them in Mininet's format: 10.00Mbit 5ms delay."""
        words = []
        if self.bw is not None:
            words.append(f"{self.bw:.2f}Mbit")
        if self.delay is not None:
            words.append(f"{self.delay} delay")
        if self.jitter is not None:
            words.append(f"{self.jitter} jitter")
        if self.loss is not None:
            words.append(f"{self.loss:.5f}% loss")
        if self.enable_ecn:
            words.append("ECN")
        elif self.enable_red:
            words.append("RED")
        return " ".join(words)

    def lines(self, interface: str, wire_bps: int) -> list[str]:
        """Return the lines for `tc -batch`, on an interface without a queueing discipline."""
        lines, parent = self.rate_lines(interface)
        return lines + self.delay_lines(interface, parent, wire_bps)[0]

    def packets_in_flight(self, wire_bps: int) -> int:
        """Return how many packets are on the way during the delay, at the full rate of the link."""
        match = _TIME.match(self.delay or "")
        if match is None:
            return 0
        rate_bps = wire_bps or FAST_BPS
        if self.bw is not None:
            rate_bps = round(self.bw * 1e6)
        number, unit = match.groups()
        return round(rate_bps * float(number) * _SECONDS[unit[:1]] / MTU_BITS)

    def delay_lines(
        self, interface: str, parent: str, wire_bps: int | None = None
    ) -> tuple[list[str], str]:
        """Return the lines for netem, and the parent of what follows.

        `wire_bps` is the rate of the cable, 0 if it is unlimited.
        """
        netem = self._netem_words(wire_bps)
        if not netem:
            return [], parent
        line = f"qdisc add dev {interface} {parent} handle 10: netem {netem}"
        return [line], "parent 10:1"

    def rate_lines(self, interface: str) -> tuple[list[str], str]:
        """Return the lines for the rate, and the parent of what follows."""
        if self.bw is None:
            return [], "root"
        add = f"add dev {interface}"
        rate = f"{self.bw:f}Mbit"
        if self.use_tbf:
            latency = (
                MTU_BITS * 10 / (self.bw * 1000) if self.latency_ms is None else self.latency_ms
            )
            lines = [
                f"qdisc {add} root handle 5: tbf rate {rate} burst 15000 latency {latency:f}ms"
            ]
            parent = "parent 5:1"
        elif self.use_hfsc:
            lines = [
                f"qdisc {add} root handle 5:0 hfsc default 1",
                f"class {add} parent 5:0 classid 5:1 hfsc sc rate {rate} ul rate {rate}",
            ]
            parent = "parent 5:1"
        else:
            lines = [
                f"qdisc {add} root handle 5:0 htb default 1",
                f"class {add} parent 5:0 classid 5:1 htb rate {rate} burst 15k",
            ]
            parent = "parent 5:1"
        if self.enable_ecn or self.enable_red:
            ecn = " ecn" if self.enable_ecn else ""
            lines.append(
                f"qdisc {add} parent 5:1 handle 6: red {RED} bandwidth {rate} probability 1{ecn}"
            )
            parent = "parent 6:"
        return lines, parent

    def reason_without_latency(self) -> str:
        """Return why latency_ms limits no queue, or "". What is below tbf replaces its queue."""
        if not self.use_tbf:
            return "it needs use_tbf=True"
        if self.enable_ecn or self.enable_red:
            return "red, below tbf, takes the place of the queue it limits"
        if self._netem_words(None):
            return "netem, below tbf, takes the place of the queue it limits: use max_queue_size"
        return ""

    def _netem_words(self, wire_bps: int | None) -> str:
        words = []
        if self.delay is not None or self.jitter is not None:
            words.append(f"delay {self.delay or '0ms'}")
            if self.jitter is not None:
                words.append(self.jitter)
        if self.loss:
            words.append(f"loss {self.loss:.5f}")
        limit = self.max_queue_size
        if limit is None and wire_bps is not None:
            needed = 2 * self.packets_in_flight(wire_bps)
            limit = needed if needed > NETEM_PACKETS else None
        if limit is not None:
            words.append(f"limit {limit}")
        return " ".join(words)


def shaping(
    interface: str,
    *,
    bw: object = None,
    delay: object = None,
    jitter: object = None,
    loss: object = None,
    latency_ms: object = None,
    max_queue_size: object = None,
    **flags: object,
) -> Shaping:
    """Read the parameters of an interface.

    A value that Mininet or `tc` would report and ignore is left out, with a warning. Raises
    ParameterValueError, which is a ValueError, if Mininet needs a number and the value is none.
    """
    rate_mbps = _bandwidth(interface, bw)
    loss_percent = _number(interface, "loss", loss, "percent: loss=1 is 1 %")
    packets = _packets(interface, max_queue_size)
    latency = _number(interface, "latency_ms", latency_ms, "milliseconds")
    is_set = {name: bool(value) for name, value in flags.items()}
    if latency is not None and latency < 0:
        _ignore(interface, "latency_ms", latency_ms, "it must be 0 or more milliseconds")
        latency = None
    if rate_mbps is None:
        _drop_without_bw(interface, is_set, latency)
        latency = None
    if is_set.get("use_tbf") and is_set.get("use_hfsc"):
        _ignore(interface, "use_tbf", True, "use_hfsc takes precedence")
        is_set["use_tbf"] = False
    time = _time(interface, "delay", delay)
    variation = _time(interface, "jitter", jitter)
    if loss_percent is not None and not 0 <= loss_percent <= 100:
        advice = "from 0 to 100; delay, jitter and max_queue_size are ignored with it"
        _ignore(interface, "loss", loss, advice)
        loss_percent = time = variation = packets = None
    conditions = Shaping(
        bw=rate_mbps,
        delay=time,
        jitter=variation,
        loss=loss_percent,
        latency_ms=latency,
        max_queue_size=packets,
        **is_set,
    )
    if latency is not None and (advice := conditions.reason_without_latency()):
        _ignore(interface, "latency_ms", latency_ms, advice)
    return conditions


def _ignore(interface: str, name: str, value: object, advice: str) -> None:
    """Warn that a parameter is ignored, as in Mininet."""
    what = f"{interface}: {name}={value!r} has no effect, as in Mininet"
    caution(ParameterValueError(what, advice), key=f"{name}={value!r}: {advice}")


def _drop_without_bw(interface: str, is_set: dict[str, bool], latency_ms: float | None) -> None:
    """Drop the parameters that have no effect without a bandwidth."""
    for name in ("use_hfsc", "use_tbf", "enable_ecn", "enable_red"):
        if is_set.get(name):
            _ignore(interface, name, True, "it needs a bandwidth: add bw=10 (Mbit/s)")
            is_set[name] = False
    if latency_ms is not None:
        _ignore(interface, "latency_ms", latency_ms, "it needs use_tbf and a bandwidth")


def _bandwidth(interface: str, bw: object) -> float | None:
    number = _number(interface, "bw", bw, "Mbit/s: bw=10 is 10 Mbit/s")
    if number is not None and number <= 0:
        _ignore(interface, "bw", bw, "leave bw out for a link without a limit")
        return None
    return number


def _number(interface: str, name: str, value: object, unit: str) -> float | None:
    if value is None:
        return None
    try:
        if not isinstance(value, str | SupportsFloat | SupportsIndex):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise ParameterValueError(f"{interface}: {name}={value!r} is not a number", unit) from None
    if isinstance(value, bool) or not -float("inf") < number < float("inf"):
        raise ParameterValueError(f"{interface}: {name}={value!r} is not possible", unit)
    return number


def _packets(interface: str, value: object) -> int | None:
    number = _number(interface, "max_queue_size", value, "packets")
    if number is None:
        return None
    if number < 0:
        _ignore(interface, "max_queue_size", value, "a number of packets")
        return None
    if number < 1:
        what = f"{interface}: max_queue_size={value!r} lets no packet through"
        hint = "leave it out for netem's 1000 packets"
        caution(ParameterValueError(what, hint), key=f"max_queue_size={value!r}")
    elif number != int(number):
        what = f"{interface}: max_queue_size={value!r} counts as {int(number)} packets"
        hint = "write a whole number"
        caution(ParameterValueError(what, hint), key=f"max_queue_size={value!r}")
    return int(number)


def _time(interface: str, name: str, value: object) -> str | None:
    """Return a time as netem reads it: with its unit, and with netem's words that may follow it."""
    if value is None:
        return None
    text = str(value)
    match = _TIME.fullmatch(text)
    if match is None and (followed := _TIME_AND_WORDS.fullmatch(text)) is not None:
        time = _time(interface, name, followed["time"])
        return None if time is None else f"{time} {' '.join(followed['words'].split())}"
    if isinstance(value, bool) or match is None:
        _ignore(interface, name, value, f"it is not a time: write it as in {name}='5ms'")
        return None
    number, unit = match.groups()
    if not unit:
        if float(number) == 0:
            return "0ms"
        what = f"{interface}: {name}={value!r} has no unit, and tc reads it as microseconds"
        hint = f"write {name}='{number}ms' or {name}='{number}us'"
        caution(ParameterValueError(what, hint), key=f"{name}={value!r}")
        return f"{number}us"
    if unit not in _TIME_UNITS:
        advice = f"{unit!r} is not a unit of time: write it as in {name}='5ms'"
        _ignore(interface, name, value, advice)
        return None
    return f"{number}{unit}"


def warn_of_small_queue(interface: str, packets: int, in_flight: int) -> None:
    """Warn once of a max_queue_size that does not even hold the packets in flight."""
    once(
        _warned,
        f"{packets} {in_flight}",
        warn,
        f"*** Warning: {interface}: max_queue_size={packets} also limits the packets in flight, which "
        f"are {in_flight} at the full rate of the link; TCP will be slower\n",
    )
