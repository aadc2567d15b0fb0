"""Write traces of links into a folder: `python make.py [FOLDER]`.

The traces depend only on a seed, so every run writes the same files.

    constant.trace   12 Mbit/s: one packet per ms
    cellular.trace   20 s of a cellular link: the rate varies around 12 Mbit/s, with fades
    leo.trace        31 s of a satellite link: every 15 s an outage of 80 ms, then a new rate

The traces are realistic, but synthetic. Mahimahi has traces measured on the networks of Verizon,
T-Mobile and AT&T: https://github.com/ravinet/mahimahi/tree/master/traces
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Iterator
from pathlib import Path

PACKETS_PER_MS = 1 / 12
"""Packets of 1504 bytes per ms, for each Mbit/s."""


def constant() -> Iterator[int]:
    """Yield the times of 12 Mbit/s, in ms. One line is enough, because a trace repeats itself."""
    yield 1


def cellular(seed: int = 1, seconds: int = 20) -> Iterator[int]:
    """Yield the delivery times of a cellular link, in ms.

    The logarithm of the rate is an Ornstein-Uhlenbeck process: it returns to its mean and receives
    random changes.
    """
    numbers = random.Random(seed)
    level, fade_ms = 0.0, 0
    for slot in range(seconds * 50):
        level += -0.03 * level + numbers.gauss(0, 0.15)
        fade_ms = max(0, fade_ms - 20) or (300 if numbers.random() < 0.003 else 0)
        mbps = 0.3 if fade_ms else min(40.0, 12 * math.exp(level))
        yield from _at_random(numbers, slot * 20, 20, mbps)
    yield seconds * 1000


def leo(seed: int = 1, seconds: int = 31) -> Iterator[int]:
    """Yield the delivery times of a satellite link, in ms.

    Every 15 s another satellite takes over: after an outage, the link has another mean rate. The
    rate varies around this mean every 100 ms.
    """
    numbers = random.Random(seed)
    mbps = 20.0
    for slot in range(seconds * 10):
        since_ms = slot * 100 % 15_000
        if slot and since_ms == 0:
            mbps = numbers.uniform(8, 40)
            yield from _at_random(numbers, slot * 100 + 80, 20, mbps)
        else:
            yield from _at_random(numbers, slot * 100, 100, mbps * numbers.uniform(0.8, 1.2))
    yield seconds * 1000


def _at_random(numbers: random.Random, begin_ms: int, length_ms: int, mbps: float) -> Iterator[int]:
    """Yield delivery opportunities of a Poisson process, in ms."""
    per_ms = mbps * PACKETS_PER_MS
    at_ms = begin_ms + numbers.expovariate(per_ms)
    while at_ms < begin_ms + length_ms:
        yield int(at_ms)
        at_ms += numbers.expovariate(per_ms)


TRACES = {"constant": constant, "cellular": cellular, "leo": leo}


def write(folder: Path) -> None:
    """Write all traces into a folder."""
    for name, make in TRACES.items():
        lines = "".join(f"{at_ms}\n" for at_ms in make())
        (folder / f"{name}.trace").write_text(lines, encoding="ascii")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        type=Path,
        default=Path(__file__).parent,
        help="where to write the traces; it is created if it does not exist (default: beside make.py)",
    )
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    write(folder)
