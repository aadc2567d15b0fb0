"""What Mininet's link parameters mean to tc.

    bw                          root    5: htb, class 5:1 at that rate      (use_tbf, use_hfsc: instead)
    enable_red, enable_ecn      5:1     6: red
    delay jitter loss           5:1,    10: netem; its limit is max_queue_size
    max_queue_size              6:, or root

Each holds for what leaves through the interface, and a link has two: a delay of 5 ms adds 10 ms to the
round trip. netem holds what waits for the rate and what is under way alike; it takes 1000 packets
unless max_queue_size says otherwise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .parameters import ValueWithoutSense

MTU_BITS = 1500 * 8
RED = "limit 1000000 min 30000 max 35000 avpkt 1500 burst 20"
_TIME = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(\w*)\s*")
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


@dataclass(frozen=True, kw_only=True)
class Shaping:
    """The parameters of TCIntf.config. A mistake in them is a ValueError."""

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

    def words(self) -> str:
        """As Mininet shows it: 10.00Mbit 5ms delay."""
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

    def lines(self, interface: str) -> list[str]:
        """For `tc -batch`, on an interface without a queueing discipline."""
        lines, parent = self.rate_lines(interface)
        return lines + self.delay_lines(interface, parent)[0]

    def delay_lines(self, interface: str, parent: str) -> tuple[list[str], str]:
        """(lines, where the next one goes)"""
        netem = self._netem_words()
        if not netem:
            return [], parent
        line = f"qdisc add dev {interface} {parent} handle 10: netem {netem}"
        return [line], "parent 10:1"

    def rate_lines(self, interface: str) -> tuple[list[str], str]:
        """(lines, where the next one goes)"""
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

    def _netem_words(self) -> str:
        words = []
        if self.delay is not None or self.jitter is not None:
            words.append(f"delay {self.delay or '0ms'}")
            if self.jitter is not None:
                words.append(self.jitter)
        if self.loss:
            words.append(f"loss {self.loss:.5f}")
        if self.max_queue_size is not None:
            words.append(f"limit {self.max_queue_size}")
        return " ".join(words)


def shaping(
    who: str,
    *,
    bw: Any = None,
    delay: Any = None,
    jitter: Any = None,
    loss: Any = None,
    latency_ms: Any = None,
    max_queue_size: Any = None,
    **flags: bool,
) -> Shaping:
    """Reads parameters as they were given for an interface."""
    made = Shaping(
        bw=_bandwidth(who, bw),
        delay=_time(who, "delay", delay),
        jitter=_time(who, "jitter", jitter),
        loss=_number(who, "loss", loss, "percent: loss=1 is 1 %", least=0, most=100),
        latency_ms=_number(who, "latency_ms", latency_ms, "milliseconds", least=0),
        max_queue_size=_packets(who, max_queue_size),
        **{name: bool(value) for name, value in flags.items()},
    )
    if made.bw is None:
        _refuse_what_needs_bw(who, made)
    if made.use_tbf and made.use_hfsc:
        raise ValueWithoutSense(f"{who}: use_tbf and use_hfsc exclude each other", "choose one")
    return made


def _refuse_what_needs_bw(who: str, made: Shaping) -> None:
    wanted = {
        "use_hfsc": made.use_hfsc,
        "use_tbf": made.use_tbf,
        "enable_ecn": made.enable_ecn,
        "enable_red": made.enable_red,
        "latency_ms": made.latency_ms is not None,
    }
    for name, is_wanted in wanted.items():
        if is_wanted:
            raise ValueWithoutSense(f"{who}: {name} needs a bandwidth", "add bw=10 (Mbit/s)")


def _bandwidth(who: str, bw: Any) -> float | None:
    number = _number(who, "bw", bw, "Mbit/s: bw=10 is 10 Mbit/s", least=0)
    if number == 0:
        raise ValueWithoutSense(
            f"{who}: bw=0 would let nothing pass", "leave bw out for a link without a limit"
        )
    return number


def _number(
    who: str, name: str, value: Any, unit: str, *, least: float, most: float = float("inf")
) -> float | None:
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueWithoutSense(f"{who}: {name}={value!r} is not a number", unit) from None
    if isinstance(value, bool) or not least <= number <= most or number == float("inf"):
        limits = f"{least} to {most}" if most < float("inf") else f"{least} or more"
        raise ValueWithoutSense(f"{who}: {name}={value!r} is not possible", f"{limits}, in {unit}")
    return number


def _packets(who: str, value: Any) -> int | None:
    number = _number(who, "max_queue_size", value, "packets", least=1)
    if number is not None and number != int(number):
        raise ValueWithoutSense(f"{who}: max_queue_size={value!r} is not a number of packets")
    return None if number is None else int(number)


def _time(who: str, name: str, value: Any) -> str | None:
    """tc takes a bare number for microseconds, which nobody means."""
    if value is None:
        return None
    found = _TIME.fullmatch(str(value))
    if isinstance(value, bool) or found is None:
        raise ValueWithoutSense(f"{who}: {name}={value!r} is not a time", f"as in {name}='5ms'")
    number, unit = found.groups()
    if not unit:
        if float(number) == 0:
            return "0ms"
        raise ValueWithoutSense(
            f"{who}: {name}={value!r} has no unit",
            f"write {name}='{number}ms' for milliseconds; Mininet would take it for "
            f"microseconds, {name}='{number}us'",
        )
    if unit not in _TIME_UNITS:
        raise ValueWithoutSense(
            f"{who}: {name}={value!r} has a unit that is none of time", f"as in {name}='5ms'"
        )
    return f"{number}{unit}"
