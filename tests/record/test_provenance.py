import json

import pytest

from wanlab.errors import RecordError
from wanlab.record import Provenance

WHOLE = Provenance(
    wanlab="0.1.0",
    topology="h1 -- h2\n",
    commands=("iperf3 -c 10.0.0.3 -t 90", "ping -c 90 10.0.0.3"),
    seed=7,
    machine="embedded",
    kernel_release="6.12.94",
    kernel_manifest="ab12",
    tools={"iperf3": "3.12", "ping": "20221126"},
    clock="virtual",
    wire="gso",
    settings={"line_rate_bps": 40_000_000_000, "sysctls": {"net.ipv4.tcp_sack": "0"}},
    warnings=("12 packets were dropped outside a queue",),
    parameters={"limit_bytes": 2_621_440, "rates": [1, 2.5], "name": "Ørsted"},
)


def test_a_provenance_is_read_back_unchanged() -> None:
    assert Provenance.from_data(json.loads(WHOLE.to_json())) == WHOLE


def test_the_text_does_not_depend_on_the_order_of_parameters() -> None:
    one = Provenance(wanlab="1", tools={"a": "1", "b": "2"}, parameters={"x": 1, "y": 2})
    two = Provenance(wanlab="1", tools={"b": "2", "a": "1"}, parameters={"y": 2, "x": 1})
    assert one.to_json() == two.to_json()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}])
def test_a_parameter_that_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(RecordError, match="the provenance cannot be written"):
        Provenance(wanlab="1", parameters={"x": value}).to_json()


def test_a_wrong_type_is_named_with_its_place() -> None:
    data = json.loads(WHOLE.to_json()) | {"commands": ["ping", 3]}
    with pytest.raises(RecordError, match=r"Expected `str`, got `int` - at `\$.commands\[1\]`"):
        Provenance.from_data(data)
