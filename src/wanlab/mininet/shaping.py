"""Translates Mininet's link parameters into queueing disciplines (tc).

    parameter                   parent          qdisc
    bw                          root            5: htb, class 5:1 at that rate
                                                   (with use_tbf, use_hfsc: tbf, hfsc instead)
    enable_red, enable_ecn      5:1             6: red
    delay, jitter, loss,        5:1, 6: or      10: netem; its limit is max_queue_size
    max_queue_size                 root

They apply to what the interface sends, and a link has two interfaces: a delay of 5 ms adds 10 ms to
the round trip. netem holds both the packets that wait for the rate and those in flight; it holds 1000
packets unless max_queue_size is set.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import SupportsFloat, SupportsIndex

from .parameters import ParameterValueError

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

    def lines(self, interface: str) -> list[str]:
        """Return the lines for `tc -batch`, on an interface without a queueing discipline."""
        lines, parent = self.rate_lines(interface)
        return lines + self.delay_lines(interface, parent)[0]

    def delay_lines(self, interface: str, parent: str) -> tuple[list[str], str]:
        """Return the lines for netem, and the parent of what follows."""
        netem = self._netem_words()
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
    """Check the parameters of an interface. Raises ParameterValueError, which is a ValueError."""
    conditions = Shaping(
        bw=_bandwidth(interface, bw),
        delay=_time(interface, "delay", delay),
        jitter=_time(interface, "jitter", jitter),
        loss=_number(interface, "loss", loss, "percent: loss=1 is 1 %", minimum=0, maximum=100),
        latency_ms=_number(interface, "latency_ms", latency_ms, "milliseconds", minimum=0),
        max_queue_size=_packets(interface, max_queue_size),
        **{name: bool(value) for name, value in flags.items()},
    )
    if conditions.bw is None:
        _refuse_without_bw(interface, conditions)
    if conditions.use_tbf and conditions.use_hfsc:
        raise ParameterValueError(
            f"{interface}: use_tbf and use_hfsc exclude each other", "choose one"
        )
    return conditions


def _refuse_without_bw(interface: str, conditions: Shaping) -> None:
    """Refuse parameters that have no effect without a bandwidth."""
    parameters = {
        "use_hfsc": conditions.use_hfsc,
        "use_tbf": conditions.use_tbf,
        "enable_ecn": conditions.enable_ecn,
        "enable_red": conditions.enable_red,
        "latency_ms": conditions.latency_ms is not None,
    }
    for name, is_set in parameters.items():
        if is_set:
            raise ParameterValueError(
                f"{interface}: {name} needs a bandwidth", "add bw=10 (Mbit/s)"
            )


def _bandwidth(interface: str, bw: object) -> float | None:
    number = _number(interface, "bw", bw, "Mbit/s: bw=10 is 10 Mbit/s", minimum=0)
    if number == 0:
        raise ParameterValueError(
            f"{interface}: bw=0 would let no packet pass", "leave bw out for a link without a limit"
        )
    return number


def _number(
    interface: str,
    name: str,
    value: object,
    unit: str,
    *,
    minimum: float,
    maximum: float = float("inf"),
) -> float | None:
    if value is None:
        return None
    try:
        if not isinstance(value, str | SupportsFloat | SupportsIndex):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise ParameterValueError(f"{interface}: {name}={value!r} is not a number", unit) from None
    if isinstance(value, bool) or not minimum <= number <= maximum or number == float("inf"):
        limits = f"{minimum} to {maximum}" if maximum < float("inf") else f"{minimum} or more"
        raise ParameterValueError(
            f"{interface}: {name}={value!r} is not possible", f"{limits}, in {unit}"
        )
    return number


def _packets(interface: str, value: object) -> int | None:
    number = _number(interface, "max_queue_size", value, "packets", minimum=1)
    if number is not None and number != int(number):
        raise ParameterValueError(
            f"{interface}: max_queue_size={value!r} is not a number of packets"
        )
    return None if number is None else int(number)


def _time(interface: str, name: str, value: object) -> str | None:
    """Check a time, which needs a unit: tc reads a bare number as microseconds, which nobody means."""
    if value is None:
        return None
    match = _TIME.fullmatch(str(value))
    if isinstance(value, bool) or match is None:
        raise ParameterValueError(
            f"{interface}: {name}={value!r} is not a time", f"as in {name}='5ms'"
        )
    number, unit = match.groups()
    if not unit:
        if float(number) == 0:
            return "0ms"
        raise ParameterValueError(
            f"{interface}: {name}={value!r} has no unit",
            f"write {name}='{number}ms' for milliseconds; Mininet would read it as "
            f"microseconds, {name}='{number}us'",
        )
    if unit not in _TIME_UNITS:
        raise ParameterValueError(
            f"{interface}: {name}={value!r} has an unknown unit of time", f"as in {name}='5ms'"
        )
    return f"{number}{unit}"
