"""Test the standard tests as data: the flows of each."""

from __future__ import annotations

import pytest

from wanlab.errors import WanlabError
from wanlab.standard_tests.catalog import TESTS, find
from wanlab.standard_tests.experiment import LoadFlow, flows_of


def test_rrul_has_four_marked_flows_in_each_direction() -> None:
    flows = flows_of(find("rrul"), [("h1", "h2")])
    assert [(flow.name, flow.code_point) for flow in flows] == [
        ("up BE", 0),
        ("up BK", 8),
        ("up CS5", 40),
        ("up EF", 46),
        ("down BE", 0),
        ("down BK", 8),
        ("down CS5", 40),
        ("down EF", 46),
    ]
    assert {(flow.sender, flow.receiver) for flow in flows[:4]} == {("h1", "h2")}
    assert {(flow.sender, flow.receiver) for flow in flows[4:]} == {("h2", "h1")}
    assert len({flow.port for flow in flows}) == 8


def test_a_single_flow_needs_no_number() -> None:
    assert flows_of(find("tcp_upload"), [("a", "b")]) == [LoadFlow("up", "a", "b", 5202, 0)]


def test_each_path_of_rtt_fair_has_separate_flows() -> None:
    pairs = [("h1", "h5"), ("h2", "h6"), ("h3", "h7"), ("h4", "h8")]
    flows = flows_of(find("rtt_fair"), pairs)
    assert [flow.name for flow in flows] == [
        f"{way} {path}" for path in range(1, 5) for way in ("up", "down")
    ]


def test_the_number_of_flows_is_chosen_by_option_or_by_name() -> None:
    assert find("tcp_nup").with_flows(9).up == 9
    assert find("tcp_upload").with_flows(9).up == 1
    assert (find("tcp_12down").down, find("tcp_12down").up) == (12, 0)
    assert find("tcp_12down").with_flows(4).down == 12  # 4 is the default of the option


@pytest.mark.parametrize(("name", "hint"), [("rul", "rrul"), ("tcp_0up", "tcp_nup")])
def test_the_error_for_an_unknown_test_suggests_the_nearest_one(name: str, hint: str) -> None:
    with pytest.raises(WanlabError, match=f'no test "{name}".*did you mean {hint}'):
        find(name)


def test_every_test_has_a_name_and_a_description() -> None:
    assert all(name == test.name and test.about for name, test in TESTS.items())
