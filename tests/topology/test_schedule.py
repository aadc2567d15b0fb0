"""Test schedules: the changes of a link and their times."""

from pathlib import Path
from typing import Any

import pytest
from made_captures import A, B, pcap, pcapng

from wanlab import input_file
from wanlab.errors import WanlabError
from wanlab.topology import Host, Topology, link, load, save
from wanlab.topology.check import check
from wanlab.topology.schedule import Change, Schedule, read_schedule, schedule_words

HOSTS = (Host("h1"), Host("h2"))
CHANGES = Schedule(
    (
        Change(at_ns=0, rate_bps=100_000_000, delay_ns=25_000_000, loss_fraction=0.0),
        Change(at_ns=15_000_000_000, loss_fraction=1.0),
        Change(at_ns=15_100_000_000, rate_bps=80_000_000, loss_fraction=0.0),
    )
)
CSV = "at,rate,delay,loss\n# a hand-over\n0s,100Mbps,25ms,0%\n\n15s,,,100%\n15.1s,80Mbps,,0%\n"
YAML = """
- {at: 0s, rate: 100Mbps, delay: 25ms, loss: 0%}
- {at: 15s, loss: 100%}
- {at: 15.1s, rate: 80Mbps, loss: 0%}
"""


@pytest.mark.parametrize(("name", "text"), [("a.csv", CSV), ("a.yaml", YAML), ("a.txt", CSV)])
def test_a_schedule_can_be_a_file_or_a_list(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert read_schedule(tmp_path / name) == CHANGES
    assert read_schedule(schedule_words(CHANGES)) == CHANGES


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "at,rate\n0s,1Mbps\n0s,2Mbps\n", "line 3: 0ns is not after 0ns"),
        ("a.csv", "at,rate\n0s,1Mbps,3\n", "line 2: 3 fields instead of 2"),
        ("a.csv", "at,rat\n0s,1Mbps\n", 'line 2: a schedule cannot change "rat"'),
        ("a.csv", "at,rate\n5,1Mbps\n", 'line 2: the time "5" has no unit'),
        ("a.csv", "at,rate\n5s,\n", "line 2: the change sets no condition"),
        ("a.csv", "rate\n1Mbps\n", 'the first line has no column "at"'),
        ("a.yaml", "\n- {rate: 1Mbps}\n", 'line 2: the change has no "at"'),
        ("a.yaml", "rate: 1Mbps\n", "is not a list of changes"),
        ("a.yaml", "[]\n", "has no change"),
        ("a.yaml", "- {at: 1s, rate: 5Mbps, rate: 1Mbps}\n", "rate"),
        ("a.yaml", "[" * 5000 + "]" * 5000, "this YAML is nested too deeply"),
        ("a.yaml", "- &a {at: 1s, rate: 5Mbps}\n- *a\n", "aliases (*name) are not allowed here"),
        ("a.yaml", "{", "cannot read this YAML"),
    ],
)
def test_the_first_wrong_line_is_named(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(WanlabError) as caught:
        read_schedule(tmp_path / name)
    assert said in caught.value.what


@pytest.mark.parametrize("ending", ["yaml", "mn"])
def test_a_topology_keeps_its_schedule(tmp_path: Path, ending: str) -> None:
    made = Topology(
        nodes=HOSTS,
        links=(link("h1", "h2", b_to_a={"schedule": CHANGES, "schedule_repeat": "30s"}),),
    )
    save(made, tmp_path / f"net.{ending}")
    read = load(tmp_path / f"net.{ending}")
    assert [port.conditions for port in read.links[0].ports] == [
        port.conditions for port in made.links[0].ports
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            {"schedule": [{"at": "1s", "rate": "1Mbps"}]},
            "the schedule changes the rate of a link that has none at first",
        ),
        (
            {"schedule": [{"at": "1s", "jitter": "1ms"}]},
            "the schedule at 1s: jitter has no effect without delay",
        ),
        (
            {"schedule": [{"at": "1s", "delay": "1ms"}], "schedule_repeat": "1s"},
            "the schedule begins again after 1s",
        ),
        ({"schedule_repeat": "1s"}, "schedule_repeat has no effect without schedule"),
        (
            {"trace": "1", "schedule": [{"at": "1s", "rate": "1Mbps"}]},
            "a link has both a trace and a rate",
        ),
    ],
)
def test_contradictory_conditions_are_a_problem(words: dict[str, Any], said: str) -> None:
    topology = Topology(nodes=HOSTS, links=(link("h1", "h2", **words),))
    assert said in [problem.what for problem in check(topology)]


def test_a_state_holds_until_the_next_change() -> None:
    conditions = link("h1", "h2", delay="5ms", schedule=CHANGES).a.conditions
    states = [(at_ns, state.rate_bps, state.delay_ns) for at_ns, state in conditions.states()]
    assert states == [
        (0, 100_000_000, 25_000_000),
        (15_000_000_000, 100_000_000, 25_000_000),
        (15_100_000_000, 80_000_000, 25_000_000),
    ]


def test_a_schedule_that_repeats_too_often_is_a_problem() -> None:
    """Each repetition takes computing time, so a period of nanoseconds would never end."""
    conditions: dict[str, Any] = {"schedule": [{"at": "1ns", "rate": "1Mbps"}], "rate": "5Mbps"}
    assert problems_of({**conditions, "schedule_repeat": "2ns"}) == [
        "the schedule repeats after 2ns, which is too often"
    ]
    assert problems_of({**conditions, "schedule_repeat": "100us"}) == []


def problems_of(words: dict[str, Any]) -> list[str]:
    topology = Topology(nodes=(Host("h1"), Host("h2")), links=(link("h1", "h2", **words),))
    return [problem.what for problem in check(topology)]


def test_an_unclosed_quotation_mark_is_named(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_text('at,rate,delay,"loss\n1s,,,100%\n')
    with pytest.raises(WanlabError, match="line 1: unexpected end of data"):
        read_schedule(str(path))


@pytest.mark.parametrize("name", ["a\0b.csv", "x" * 300, "/dev/zero"])
def test_an_invalid_name_of_a_schedule_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_file.read_input, "__kwdefaults__", {"max_bytes": 1 << 16})
    with pytest.raises(WanlabError, match="the schedule"):
        read_schedule(name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.5 1.2\n1 0\n", [(500_000_000, 1_200_000), (10**9, 1_000)]),
        ("\ufefftime,throughput\n0,1.5\n0.4,2\n", [(0, 1_500_000), (400_000_000, 2_000_000)]),
        ("# FCC\n1234567890.5\t3\n1234567891.5\t4e0\n", [(0, 3_000_000), (10**9, 4_000_000)]),
        ("t [s];rate [kbit/s]\r\n0 ; 800\r\n2;900\r\n", [(0, 800_000), (2 * 10**9, 900_000)]),
        ("time_s, bandwidth_bps\n0,5000\n", [(0, 5000)]),
        ("s Mbps\n0 7\n", [(0, 7_000_000)]),
    ],
)
def test_two_columns_of_numbers_are_times_and_rates(
    tmp_path: Path, text: str, expected: list[tuple[int, int]]
) -> None:
    path = tmp_path / "norway.txt"
    path.write_text(text)
    changes = read_schedule(str(path)).changes
    assert [(change.at_ns, change.rate_bps) for change in changes] == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1\n0 2\n", "line 2: 0ns is not after 0ns"),
        ("0 1\n1 -2\n", 'the first line has no column "at"'),
        ("0 1 2\n1 2 3\n", "or write times in s and Mbit/s in two columns"),
        ("time,rate\n", 'the first line has no column "at"'),
    ],
)
def test_a_trace_of_rates_with_a_mistake_is_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(text)
    with pytest.raises(WanlabError, match=message):
        read_schedule(str(path))


@pytest.mark.parametrize("made", [pcap, pcapng])
def test_a_capture_is_a_schedule_of_the_rates_of_its_frames(tmp_path: Path, made: Any) -> None:
    path = tmp_path / "starlink.csv"  # recognised by its content
    each_ms = [(ms * 1_000_000, 1236) for ms in range(200)]  # 10 Mbit/s with 14 bytes more
    path.write_bytes(made([*each_ms, (420_000_000, 611)]))
    assert [(change.at_ns, change.rate_bps) for change in read_schedule(path).changes] == [
        (0, 10_000_000),
        (200_000_000, 1_000),
        (400_000_000, 50_000),
    ]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (pcap([(0, 1500, A, B), (10**6, 40, B, A)]), "has packets in both directions"),
        (pcapng([]), "has no packets"),
    ],
)
def test_a_capture_that_is_no_schedule_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(data)
    with pytest.raises(WanlabError) as caught:
        read_schedule(path)
    assert said in caught.value.what
