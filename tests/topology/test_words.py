"""Test describing links in words."""

from dataclasses import replace

import pytest
from hypothesis import given
from strategies import conditions

from wanlab.errors import TopologyError, WanlabError
from wanlab.topology import Conditions, Port, Queue, link
from wanlab.topology.words import read_conditions, words_of


def never(word: str, error: WanlabError) -> None:
    raise AssertionError(f"{word}: {error}")


def test_words_apply_to_both_directions() -> None:
    made = link("h1", "s1", rate="10Mbps", delay="20ms", queue="fq_codel")
    expected = Conditions(rate_bps=10_000_000, delay_ns=20_000_000, queue=Queue("fq_codel"))
    assert made.a == Port("h1", conditions=expected)
    assert made.b == Port("s1", conditions=expected)


def test_one_direction_may_have_further_conditions() -> None:
    made = link("h1", "s1", delay="20ms", a_to_b={"loss": "1%"}, b_to_a={"delay": "5ms"})
    assert made.a.conditions == Conditions(delay_ns=20_000_000, loss_fraction=0.01)
    assert made.b.conditions == Conditions(delay_ns=5_000_000)


def test_a_queue_may_have_limits_and_options() -> None:
    words = {"kind": "codel", "limit": "64KiB", "packets": 50, "options": ["target 5ms", "ecn"]}
    made = link("h1", "s1", rate=1000, queue=words)
    expected = Queue("codel", limit_bytes=65536, limit_packets=50)
    expected = replace(expected, options=(("target", "5ms"), ("ecn", "")))
    assert made.a.conditions.queue == expected


def test_options_may_be_a_mapping_too() -> None:
    made = link("h1", "s1", rate=1000, queue={"options": {"target": "5ms", "ecn": None}})
    assert made.a.conditions.queue == Queue(options=(("target", "5ms"), ("ecn", "")))


def test_all_bad_words_are_reported_at_once() -> None:
    with pytest.raises(TopologyError) as caught:
        # A program without type checks could pass the misspelt word.
        link("h1", "s1", rte="1Mbps", delay="-1ms", queue={"knd": "red"}, a_to_b={"loss": "x"})  # type: ignore[call-arg]
    assert [(problem.place, problem.what) for problem in caught.value.problems] == [
        ("link h1-s1: rte", '"rte" is not a condition of a link'),
        ("link h1-s1: delay", 'the time "-1ms" is negative'),
        ("link h1-s1: queue", 'a queue has no "knd"'),
        ("link h1-s1: loss", '"x" is not a fraction'),
    ]


@given(conditions())
def test_conditions_survive_writing_and_reading(wanted: Conditions) -> None:
    assert read_conditions(words_of(wanted), Conditions(), never) == wanted
