"""Outputs of programs, which a submission may have written, are read or refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from wanlab.errors import WanlabError
from wanlab.measure import iperf3, metrics, tc_text, traffic
from wanlab.measure.metric_values import StepOutput

DEEP = "[" * 100_000
NUMBERS = ["1e999", "9" * 400, '"inf"', '"nan"', '"' + "9" * 5000 + '"', DEEP, "[[]]", "null"]


@pytest.mark.parametrize("parse", [iperf3.parse, tc_text.parse, traffic.parse])
@pytest.mark.parametrize(
    "output",
    [
        DEEP,
        '[{"kind": "x", "options": ' + DEEP,
        '{"kind": "tcp", "start": {}, "end": {"a": ' + DEEP,
        b'[{"kind": "\xff"}]',
        b'{"kind": "\xff"}',
        "",
    ],
)
def test_output_that_is_deep_or_damaged_is_refused(
    parse: Callable[[str | bytes], object], output: str | bytes
) -> None:
    with pytest.raises(WanlabError, match="cannot parse the output"):
        parse(output)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_in_json_must_be_a_finite_number(number: str) -> None:
    extract = metrics.parse_metric("json.rate")
    with pytest.raises(WanlabError, match="there is no number rate in the JSON"):
        extract(StepOutput(f'{{"rate": {number}}}'))


@pytest.mark.parametrize("output", ["7", DEEP, "[7]", "{}", ""])
def test_the_state_of_a_qdisc_is_read_from_a_list_of_qdiscs(output: str) -> None:
    extract = metrics.parse_metric("tbf.rate_mbps")
    with pytest.raises(WanlabError, match="not the output of tc -j"):
        extract(StepOutput(output))
