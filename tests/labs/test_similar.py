"""Test that copies of scripts are found, in a time that is proportional to their length."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Mapping

import pytest

from wanlab.labs import similar
from wanlab.session import SessionIdentity

FORM = "equal but for numbers, names and the order of lines"
SHORT = "tc qdisc change dev s1-eth2 root netem delay 5ms\nsysctl -w a.b=1\nip link set h1 up\n"
SCRIPT = """\
#!/bin/bash
# my solution
delay=20ms
rate=1gbit
for host in h1 h2 h3; do
  wanlab-node $host sysctl -w net.ipv4.tcp_congestion_control=bbr
  wanlab-node $host sysctl -w net.ipv4.tcp_wmem="10240 87380 52428800"
  wanlab-node $host ethtool -K $host-eth0 tso off gso off
done
sudo tc qdisc del dev s1-eth2 root
sudo tc qdisc add dev s1-eth2 root handle 1: netem delay $delay
sudo tc qdisc add dev s1-eth2 parent 1: handle 2: tbf rate $rate burst 500000 limit 2500000
sudo tc qdisc change dev s2-eth1 root netem loss 0%
ip link set dev s1-eth3 mtu 1500
"""
COPY = """\
LAT=35ms; BW=600mbit   # my values
sudo tc qdisc change dev s2-eth1 root netem loss 0%
sudo tc qdisc del dev s1-eth2 root
sudo tc qdisc add dev s1-eth2 root handle 1: netem delay $LAT
sudo tc qdisc add dev s1-eth2 parent 1: handle 2: tbf rate $BW burst 300000 limit 1500000
ip link set dev s1-eth3 mtu 1400
for n in h1 h2 h3; do
        wanlab-node $n ethtool -K $n-eth0 tso off gso off
        wanlab-node $n sysctl -w net.ipv4.tcp_wmem="10240 87380 31428800"
        wanlab-node $n sysctl -w net.ipv4.tcp_congestion_control=bbr
done
"""
OTHER_SOLUTION = """\
wanlab-node h1 sysctl net.ipv4.tcp_congestion_control=bbr
wanlab-node h2 sysctl net.ipv4.tcp_congestion_control=bbr
tc qdisc replace dev s1-eth2 root tbf rate 1gbit burst 32k latency 20ms
tc qdisc replace dev s2-eth1 root netem delay 20ms
ip link set s1-eth3 mtu 1500 up
wanlab-node h1 ethtool -K h1-eth0 tso off
"""


def shingles(scripts: Mapping[str, str]) -> dict[str, similar.ScriptShingles]:
    return {name: similar.shingles(script) for name, script in scripts.items()}


def texts(*scripts: str) -> list[str]:
    named = {chr(ord("a") + number): script for number, script in enumerate(scripts)}
    return [pair.text for pair in similar.pairs("prob1", shingles(named))]


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (f"# mine\n\n  {SCRIPT}", "equal"),
        (SCRIPT.replace("20ms", "20ms   # why"), "equal"),
        (re.sub(r"\d+ms", "7ms", SCRIPT), FORM),
        ("\n".join(reversed(SCRIPT.splitlines())), FORM),
        (re.sub(r"\bdelay\b(?! \$)", "lat", SCRIPT), "97% alike"),
        (COPY, "92% alike"),
        (f"{SCRIPT}ip route add 10.0.0.0/8 via 10.1.1.1\n", "94% alike"),
        (OTHER_SOLUTION, None),
        ("echo 1\n", None),
        ("", None),
    ],
)
def test_submissions_that_are_alike_are_found(other: str, text: str | None) -> None:
    assert texts(SCRIPT, other) == ([] if text is None else [text])


@pytest.mark.parametrize(("lines", "text"), [(1, None), (2, None), (3, FORM)])
def test_scripts_of_one_or_two_lines_are_alike_only_if_equal(lines: int, text: str | None) -> None:
    script = "tc qdisc add dev s1-eth1 root netem delay 5ms\n" * lines
    assert texts(script, script.replace("5ms", "6ms", 1)) == ([] if text is None else [text])
    assert texts(script, script) == ["equal"]


def test_equal_submissions_are_named_together() -> None:
    scripts = {"d": SHORT, "b": SHORT, "a": SHORT, "c": SHORT.replace("5ms", "6ms")}
    assert similar.summary(similar.pairs("prob1", shingles(scripts))) == [
        "prob1: a, b and d are equal",
        f"prob1: a and c are {FORM}",
    ]
    assert similar.summary([]) == []


def test_many_equal_submissions_are_not_compared_with_each_other() -> None:
    scripts = dict.fromkeys((f"{number:04}" for number in range(3000)), similar.shingles(SCRIPT))
    sessions = {name: [SessionIdentity("a", "b")] for name in scripts}
    alike = similar.pairs("prob1", scripts)
    assert len(alike) == 2999
    assert len(similar.with_sessions("prob1", alike, scripts, sessions)) == 2999


def test_a_copied_session_file_is_named() -> None:
    copied = SessionIdentity("1", "a")
    sessions = {"a": [SessionIdentity("2", "b"), copied], "b": [copied], "c": []}
    found = similar.with_sessions("prob1", [], {}, sessions)
    assert [(pair.first, pair.second, pair.text) for pair in found] == [
        ("a", "b", "the same session file")
    ]


def test_students_with_equal_sessions_and_scripts_are_named_with_both() -> None:
    scripts = shingles(dict.fromkeys("abc", SHORT))
    sessions = {name: [SessionIdentity(name, "b")] for name in "bc"}
    found = similar.with_sessions("x", similar.pairs("x", scripts), scripts, sessions)
    assert [(pair.first, pair.second, pair.text) for pair in found] == [
        ("a", "b", "equal"),
        ("a", "c", "equal"),
        ("b", "c", "equal; the same was typed at the same instants"),
    ]


LONG: dict[str, Callable[[random.Random], str]] = {
    "two letters": lambda draw: f"echo {''.join(draw.choice('ab') for _ in range(60))}\n",
    "one line": lambda draw: f"{'a' * draw.randrange(9)} ",
    "no words": lambda draw: draw.choice("!?;$&|(="),
    "assignments": lambda draw: f"a{draw.randrange(99)}=1;",
    "comments": lambda draw: " #",
    "short lines": lambda draw: "a\n",
    "declarations": lambda draw: "for read ",
}


def calls_to_compare(script: str) -> int:
    """Return how many functions are called to compare a script with a nearly equal one."""
    other = f"{script[: len(script) // 2]}zz{script[len(script) // 2 :]}"
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(note)
    try:
        similar.pairs("prob1", shingles({"a": script, "b": other}))
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("kind", LONG)
def test_the_time_is_proportional_to_the_length_of_a_script(kind: str) -> None:
    draw = random.Random(1)
    script = "".join(LONG[kind](draw) for _ in range(20_000))[:20_000]
    assert calls_to_compare(script) < 2.5 * calls_to_compare(script[:10_000])


def test_a_sample_of_a_long_script_stands_for_all_of_it() -> None:
    draw = random.Random(1)
    lines = [f"echo {''.join(draw.choice('abc') for _ in range(40))} x" for _ in range(20_000)]
    shared = lines[:10_000]
    scripts = [similar.shingles("\n".join([*shared, *lines[10_000:15_000]]))]
    scripts.append(similar.shingles("\n".join([*shared, *lines[15_000:]])))
    assert all(len(it.hashes) <= similar.MAX_SHINGLES for it in scripts)
    assert scripts[0].count == pytest.approx(15_000, rel=0.05)
    assert similar.likeness(*scripts) == pytest.approx(2 / 3, abs=0.03)
