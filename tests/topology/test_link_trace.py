"""Test reading, checking and writing link traces, which are mahimahi's files."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_captures import A, B, pcap, pcapng

from wanlab.errors import TopologyError, WanlabError
from wanlab.topology import Host, Topology, link, link_trace, load, save
from wanlab.topology.link_trace import LinkTrace, read_trace, trace_words
from wanlab.topology.references import self_contained

HOSTS = (Host("h1"), Host("h2"))


@given(st.lists(st.integers(0, 10**6), min_size=1).map(sorted).filter(lambda at_ms: at_ms[-1] > 0))
def test_a_written_trace_is_read_back_unchanged(at_ms: list[int]) -> None:
    trace = LinkTrace(tuple(at_ms))
    assert read_trace(trace_words(trace)) == trace == read_trace(at_ms)


def test_a_trace_knows_its_capacity() -> None:
    assert read_trace("1").mean_bps == 1504 * 8 * 1000
    assert read_trace([0, 0, 4]).mean_bps == 3 * 1504 * 8 * 250


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1\n2\nx\n", 'line 3: "x" is not a time in ms'),
        ("1\n\n2\n", 'line 2: "" is not a time in ms'),
        ("1\n-2\n", 'line 2: "-2" is not a time in ms'),
        ("5\n4\n", "line 2: 4 is less than 5 in the line above"),
        ("0\n0\n", "has no delivery opportunity after time 0"),
        ("", "has no delivery opportunity after time 0"),
        ("4294967296\n", "line 1"),
    ],
)
def test_the_first_wrong_line_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "a.trace"
    path.write_text(text)
    with pytest.raises(WanlabError) as caught:
        read_trace(path)
    assert str(path) in caught.value.what
    assert said in caught.value.what


@pytest.mark.parametrize("ending", ["yaml", "mn"])
def test_a_topology_names_the_file_beside_it(tmp_path: Path, ending: str) -> None:
    (tmp_path / "up.trace").write_text("1\n3\n")
    topology = Topology(
        nodes=HOSTS,
        links=(link("h1", "h2", a_to_b={"trace": tmp_path / "up.trace", "trace_once": True}),),
    )
    path = tmp_path / f"net.{ending}"
    save(topology, path)
    assert '"up.trace"' in path.read_text() or "trace: up.trace" in path.read_text()
    read = load(path)
    a, b = read.links[0].ports
    assert a.conditions.trace == LinkTrace((1, 3))
    assert a.conditions.trace_once
    assert b.conditions.trace is None
    path.rename(tmp_path / f"alone.{ending}")
    save(self_contained(read), path)
    (tmp_path / "up.trace").unlink()
    assert load(path).links[0].a.conditions.trace == LinkTrace((1, 3))


def test_a_wrong_line_is_a_problem_of_the_topology(tmp_path: Path) -> None:
    (tmp_path / "up.trace").write_text("1\nx\n")
    path = tmp_path / "net.yaml"
    text = "nodes: [{host: h1}, {host: h2}]\nlinks:\n  - link: [h1, h2]\n    trace: up.trace\n"
    path.write_text(text)
    with pytest.raises(TopologyError) as caught:
        load(path)
    (problem,) = caught.value.problems
    assert problem.place == "line 4 (links[0].trace)"
    assert problem.what.endswith('up.trace, line 2: "x" is not a time in ms')


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"trace": "1", "rate": "1Mbps"}, "a link has both a trace and a rate"),
        ({"trace_once": True}, "trace_once has no effect without trace"),
    ],
)
def test_contradictory_conditions_are_a_problem(words: dict[str, str], said: str) -> None:
    from wanlab.topology.check import check

    topology = Topology(nodes=HOSTS, links=(link("h1", "h2", **words),))  # type: ignore[arg-type]
    assert [problem.what for problem in check(topology)] == [said]


def test_a_queue_can_be_combined_with_a_trace() -> None:
    from wanlab.topology.check import check

    topology = Topology(nodes=HOSTS, links=(link("h1", "h2", trace="1", queue="codel"),))
    assert check(topology) == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a\0b", "embedded null byte"),
        ("x" * 300, "File name too long"),
        ("/dev/zero", "is larger than"),
    ],
)
def test_an_invalid_name_of_a_trace_is_refused(
    name: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_trace, "MAX_FILE_BYTES", 1 << 16)
    with pytest.raises(WanlabError, match=reason):
        read_trace(name)


@pytest.mark.parametrize("made", [pcap, pcapng])
def test_a_capture_is_a_trace_of_the_bytes_that_it_delivered(tmp_path: Path, made: Any) -> None:
    path = tmp_path / "lte.dat"  # recognised by its content
    path.write_bytes(
        made(
            [
                (0, 1500),  # exactly an opportunity
                (1_000_000, 1500),
                (1_501_000, 1500),  # nearer to 2 ms
                (3_000_000, 748),  # half of one
                (8_499_000, 748),
                (9_000_000, 3004),  # two
            ]
        )
    )
    assert read_trace(path) == LinkTrace((0, 1, 2, 8, 9, 9))
    assert trace_words(read_trace(path)) == str(path)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (pcap([(0, 1500, A, B), (10**6, 40, B, A)]), "has packets in both directions"),
        (pcap([(0, 1500)]), "fill no opportunity after the first ms"),
        (pcap([(0, 1500), (10**9, 1500)])[:-1], "is cut off after packet 1"),
        (pcap([]), "has no packets"),
    ],
)
def test_a_capture_that_is_no_trace_is_refused(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(data)
    with pytest.raises(WanlabError) as caught:
        read_trace(path)
    assert str(path) in caught.value.what
    assert said in caught.value.what


def test_a_topology_may_name_a_capture(tmp_path: Path) -> None:
    (tmp_path / "up.pcap").write_bytes(pcap([(0, 1500), (10**6, 1500)]))
    (tmp_path / "net.yaml").write_text(
        "nodes: [{host: h1}, {host: h2}]\nlinks: [{link: [h1, h2], trace: up.pcap}]\n"
    )
    (port, _) = load(tmp_path / "net.yaml").links[0].ports
    assert port.conditions.trace == LinkTrace((0, 1))
