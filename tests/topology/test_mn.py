"""MiniEdit's files survive reading and writing, and are written as MiniEdit writes them."""

import json
from dataclasses import replace
from importlib.resources import files as resources
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import topologies

from wanlab.errors import TopologyError
from wanlab.topology import (
    Conditions,
    Controller,
    Link,
    NetFlow,
    Port,
    Queue,
    Router,
    SFlow,
    Switch,
    Topology,
    link,
    shapes,
)
from wanlab.topology.files import mn, yaml

GOLDEN = Path(__file__).parent.parent / "golden" / "topologies"
MINIEDIT = (GOLDEN / "miniedit.mn").read_text()


def file_with(**changes: Any) -> str:
    """Return the smallest file, h1 - s1, with further keys."""
    data = {
        "version": "2",
        "hosts": [{"number": "1", "x": "1.0", "y": "2.0", "opts": {"hostname": "h1"}}],
        "switches": [{"number": "1", "x": "1.0", "y": "2.0", "opts": {"hostname": "s1"}}],
        "links": [{"src": "h1", "dest": "s1", "opts": {}}],
    }
    return json.dumps({**data, **changes})


def link_with(**opts: Any) -> Link:
    return mn.load(file_with(links=[{"src": "h1", "dest": "s1", "opts": opts}])).links[0]


def test_a_file_written_by_miniedit_comes_back_to_the_byte() -> None:
    assert mn.dump(mn.load(MINIEDIT)) == MINIEDIT


def test_the_topology_of_lab_14_comes_back_to_the_byte() -> None:
    text = (resources("wanlab") / "labs" / "units" / "lab14" / "topology.mn").read_text()
    topology = mn.load(text)
    assert mn.dump(topology) == text
    assert [str(link) for link in topology.links] == ["link h1-s1", "link s1-h3", "link h2-s1"]


def test_every_key_of_miniedit_is_read() -> None:
    topology = mn.load(MINIEDIT)
    h1, s1 = topology.hosts[0], topology.switches[0]
    assert (h1.ip, h1.default_route, h1.number, h1.x) == ("10.0.0.11/8", "10.0.0.254", 1, 150.0)
    assert h1.private_directories == (("/var/log", "/tmp/h1/log"), ("/var/run", None))
    assert h1.vlan_interfaces == (("10.1.0.1/24", 100),)
    assert (s1.kind, s1.controllers) == ("ovs", ("c0",))
    assert isinstance(topology.node("r2"), Router)
    assert topology.node("c0") == Controller("c0", x=300.0, y=60.0, port=6633)
    expected = Conditions(
        rate_bps=10_000_000,
        delay_ns=5_000_000,
        jitter_ns=1_000_000,
        loss_fraction=0.01,
        queue=Queue(limit_packets=100),
    )
    assert [port.conditions for port in topology.links[0].ports] == [expected, expected]


def test_version_1_is_written_as_version_2() -> None:
    topology = mn.load((GOLDEN / "version1.mn").read_text())
    assert [node.name for node in topology.nodes] == ["h1", "h2", "s1", "c0"]
    assert topology.switches[0].controllers == ("c0",)
    assert topology.controllers[0].kind == "remote"
    assert mn.dump(topology) == (GOLDEN / "version1.as2.mn").read_text()
    assert mn.load(mn.dump(topology)) == topology


def test_unknown_keys_are_kept() -> None:
    opts = {"hostname": "h1", "colour": "red"}
    host = {"number": "1", "x": "1.0", "y": "2.0", "opts": opts, "seen": [1, None]}
    text = file_with(hosts=[host], application={"theme": {"dark": True}}, author="me")
    written = json.loads(mn.dump(mn.load(text)))
    assert written["author"] == "me"
    assert written["application"]["theme"] == {"dark": True}
    assert written["hosts"][0]["seen"] == [1, None]
    assert written["hosts"][0]["opts"]["colour"] == "red"


def test_another_spelling_is_kept_while_its_value_is_the_same() -> None:
    text = file_with(links=[{"src": "h1", "dest": "s1", "opts": {"delay": "5000us", "loss": 0}}])
    topology = mn.load(text)
    assert json.loads(mn.dump(topology))["links"][0]["opts"] == {"delay": "5000us", "loss": 0}
    before = topology.links[0]
    slower = link(before.a, before.b, delay="6ms")
    edited = replace(topology, links=(replace(slower, extra=before.extra),))
    assert json.loads(mn.dump(edited))["links"][0]["opts"] == {"delay": "6ms", "loss": 0}


def test_settings_without_a_key_in_miniedit_get_our_own_key() -> None:
    topology = shapes.minimal()
    special = link(
        "h1", Port("s1", mtu=9000), delay="5ms", a_to_b={"loss": "1%"}, b_to_a={"rate": 9000}
    )
    text = mn.dump(replace(topology, links=(special,)))
    assert json.loads(text)["links"][0]["opts"] == {
        "delay": "5ms",
        "wanlab": {"a_to_b": {"loss": "1%"}, "b_to_a": {"rate": "9kbps"}, "b_port": {"mtu": 9000}},
    }
    assert mn.load(text).links == (special,)


@pytest.mark.parametrize(
    ("opts", "conditions"),
    [
        ({"bw": 0.5}, Conditions(rate_bps=500_000)),
        ({"bw": "10"}, Conditions(rate_bps=10_000_000)),
        ({"bw": 0, "max_queue_size": 0, "delay": ""}, Conditions()),
        ({"delay": "20"}, Conditions(delay_ns=20_000)),
        ({"delay": 20}, Conditions(delay_ns=20_000)),
        ({"delay": "20msec"}, Conditions(delay_ns=20_000_000)),
        ({"loss": 0.5}, Conditions(loss_fraction=0.005)),
    ],
)
def test_link_values_have_mininets_meaning(opts: dict[str, Any], conditions: Conditions) -> None:
    made = link_with(**opts)
    assert (made.a.conditions, made.b.conditions) == (conditions, conditions)


def test_speedup_is_the_rate_of_the_switch() -> None:
    made = link_with(bw=10, speedup=40)
    assert (made.a.conditions.rate_bps, made.b.conditions.rate_bps) == (10_000_000, 40_000_000)


def test_speedup_survives_writing_and_reading() -> None:
    text = file_with(links=[{"src": "h1", "dest": "s1", "opts": {"bw": 10, "speedup": 40}}])
    written = json.loads(mn.dump(mn.load(text)))
    assert written["links"][0]["opts"] == {"bw": 10, "speedup": 40}


def test_port_numbers_from_a_file_are_used() -> None:
    made = link_with(port1=3, port2=7)
    assert (made.a.number, made.b.number) == (3, 7)


@pytest.mark.parametrize(
    ("kind", "controllers", "expected"),
    [
        ("default", [], "bridge"),
        ("default", ["c0"], "ovs"),
        ("legacySwitch", [], "bridge"),
        ("user", [], "user"),
    ],
)
def test_switch_types_survive_reading_and_writing(
    kind: str, controllers: list[str], expected: str
) -> None:
    opts = {"hostname": "s1", "switchType": kind, "controllers": controllers}
    switch = {"number": "1", "x": "1.0", "y": "2.0", "opts": opts}
    guide = {"hostname": "c0", "controllerType": "ref", "remoteIP": "127.0.0.1", "remotePort": 1}
    text = file_with(switches=[switch], controllers=[{"x": "1.0", "y": "1.0", "opts": guide}])
    topology = mn.load(text)
    assert topology.switches[0].kind == expected
    assert json.loads(mn.dump(topology))["switches"][0]["opts"]["switchType"] == kind


def test_a_switch_whose_start_command_calls_open_vswitch_is_one() -> None:
    for command, expected in (("ovs-vsctl set-controller s1 tcp:h:1", "ovs"), ("echo", "bridge")):
        opts = {"hostname": "s1", "switchType": "default", "startCommand": command}
        switch = {"number": "1", "x": "1.0", "y": "2.0", "opts": {**opts, "controllers": []}}
        topology = mn.load(file_with(switches=[switch]))
        assert topology.switches[0].kind == expected
        written = json.loads(mn.dump(topology))["switches"][0]["opts"]
        assert (written["switchType"], "wanlab" in written) == ("default", False)
        assert mn.load(mn.dump(topology)) == topology


FLOWS = {"nflowTarget": "10.0.0.9:9996", "nflowTimeout": "60", "nflowAddId": "1"}
SAMPLES = {
    "sflowTarget": "10.0.0.9:6343",
    "sflowSampling": "10",
    "sflowHeader": "64",
    "sflowPolling": "5",
}


def with_switch(preferences: dict[str, Any], **opts: Any) -> str:
    opts = {"hostname": "s1", "switchType": "ovs", "controllers": [], "nodeNum": 1, **opts}
    switch = {"number": "1", "x": "1.0", "y": "2.0", "opts": opts}
    return file_with(switches=[switch], application=preferences)


def test_preferences_of_miniedit_apply_to_switches_that_enable_them() -> None:
    versions = {"ovsOf10": "1", "ovsOf13": "1"}
    preferences = {"netflow": FLOWS, "sflow": SAMPLES, "openFlowVersions": versions}
    text = with_switch(preferences, netflow="1", sflow="1", dpctl="6634")
    topology = mn.load(text)
    assert topology.node("s1") == Switch(
        "s1",
        number=1,
        x=1.0,
        y=2.0,
        kind="ovs",
        protocols=("OpenFlow10", "OpenFlow13"),
        listen_port=6634,
        netflow=NetFlow("10.0.0.9:9996", timeout_s=60, add_id=True),
        sflow=SFlow("10.0.0.9:6343", header_bytes=64, sampling=10, polling_s=5),
    )
    written = json.loads(mn.dump(topology))
    assert written["switches"] == json.loads(text)["switches"]
    assert written["application"]["netflow"] == FLOWS
    assert mn.load(mn.dump(topology)) == topology


def test_a_switch_without_the_option_reports_no_flows() -> None:
    topology = mn.load(with_switch({"netflow": FLOWS, "sflow": SAMPLES}, netflow="0"))
    assert topology.switches[0] == Switch("s1", number=1, x=1.0, y=2.0, kind="ovs", extra=ANY)


def test_a_switch_without_a_target_reports_no_flows() -> None:
    text = with_switch({}, netflow="1", sflow="1")
    topology = mn.load(text)
    assert (topology.switches[0].netflow, topology.switches[0].sflow) == (None, None)
    assert json.loads(mn.dump(topology))["switches"] == json.loads(text)["switches"]


def test_another_reporting_target_is_kept_under_our_own_key() -> None:
    topology = mn.load(with_switch({"netflow": FLOWS}, netflow="1"))
    switch = replace(topology.switches[0], netflow=NetFlow("127.0.0.1:2055"))
    edited = replace(topology, nodes=(switch,), links=())
    assert json.loads(mn.dump(edited))["switches"][0]["opts"]["wanlab"] == {
        "netflow": {"target": "127.0.0.1:2055"}
    }
    assert mn.load(mn.dump(edited)).switches[0] == switch


def test_openflow_1_0_alone_is_not_stored_as_a_choice() -> None:
    assert mn.load(with_switch({"openFlowVersions": {"ovsOf10": "1"}})).switches[0].protocols == ()


def test_ports_that_miniedit_would_renumber_are_refused() -> None:
    with pytest.raises(TopologyError, match='ports from "6634" on') as caught:
        mn.load(with_switch({"dpctl": "6634"}))
    assert [problem.place for problem in caught.value.problems] == ["application.dpctl"]


def test_a_syntax_error_names_line_and_column() -> None:
    with pytest.raises(TopologyError) as caught:
        mn.load('{\n  "hosts": [,]\n}', "lab.mn")
    assert str(caught.value) == "lab.mn: line 2, column 13: this is not JSON: expecting value"


def test_too_deep_nesting_is_refused() -> None:
    with pytest.raises(TopologyError):
        mn.load("[" * 100_000)


def test_an_unknown_version_is_refused() -> None:
    with pytest.raises(TopologyError) as caught:
        mn.load(file_with(version="3"))
    assert str(caught.value) == 'version: unknown version "3" (it must be "1" or "2")'


def _spoil(value: Any, data: st.DataObject) -> Any:
    """Return the value with one random part replaced or removed."""
    spoilt: list[Any] = [
        None,
        -1,
        10**20,
        1.5,
        "x",
        "",
        [],
        {},
        [[]],
        {"host": "h9", "switch": None},
    ]
    if not isinstance(value, (dict, list)) or not value or data.draw(st.integers(0, 5)) == 0:
        return data.draw(st.sampled_from(spoilt))
    places = sorted(value) if isinstance(value, dict) else list(range(len(value)))
    place = data.draw(st.sampled_from(places))
    copy = value.copy()
    copy[place] = _spoil(value[place], data)
    return copy


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_file_is_read_or_refused_without_a_crash(data: st.DataObject) -> None:
    whole = json.loads(MINIEDIT)
    whole["links"][0]["opts"]["wanlab"] = {"a_port": {"mtu": 9000}, "a_to_b": {"queue": "red"}}
    whole["switches"][0]["opts"]["wanlab"] = {"stp": True}
    text = json.dumps(_spoil(whole, data))
    try:
        written = mn.dump(mn.load(text))
    except TopologyError as error:
        assert error.problems
    else:
        assert mn.dump(mn.load(written)) == written


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(topologies())
def test_any_topology_survives_writing_and_reading(topology: Topology) -> None:
    text = mn.dump(topology)
    assert mn.load(text) == topology
    assert mn.dump(mn.load(text)) == text


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(topologies())
def test_a_file_survives_the_way_through_yaml(topology: Topology) -> None:
    text = mn.dump(topology)
    assert mn.dump(yaml.load(yaml.dump(mn.load(text)))) == text


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        ("1.23456789ms", Conditions(delay_ns=1_234_568)),
        ("0.0000000004s", Conditions()),
        (
            "10ms 2ms distribution normal",
            Conditions(delay_ns=10_000_000, jitter_ns=2_000_000, distribution="normal"),
        ),
        (
            "10ms 2ms 25%",
            Conditions(delay_ns=10_000_000, jitter_ns=2_000_000, delay_correlation_fraction=0.25),
        ),
    ],
)
def test_a_delay_is_rounded_and_may_have_netems_words(text: str, conditions: Conditions) -> None:
    link = link_with(delay=text)
    assert link.a.conditions == link.b.conditions == conditions


@pytest.mark.parametrize("text", ["10ms 2ms distribution flat", "10ms soon", "1.5 parsecs"])
def test_a_delay_that_netem_does_not_read_is_a_problem(text: str) -> None:
    with pytest.raises(TopologyError):
        link_with(delay=text)
