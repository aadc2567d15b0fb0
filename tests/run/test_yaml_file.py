from __future__ import annotations

from pathlib import Path

import pytest

from wanlab import Run
from wanlab.errors import InputError, WanlabError
from wanlab.experiments import Experiment, Metric, load_experiment
from wanlab.jobs.origin import key_of
from wanlab.measure.metrics import RunOutput, parse_run_metric
from wanlab.record import Table
from wanlab.run.key import origin_of

TEXT = """
experiment: pings
parameters: {delay: 5ms, rate: 10Mbps, buffer: 1bdp, count: 3}
bdp: {rate: rate, delay: delay}
topology:
  nodes: [{host: h1}, {host: h2}]
  links:
    - {link: [h1, h2], rate: "{rate}", delay: "{delay}", queue: {limit: "{buffer}"}}
programs:
  - {as: ping, on: h1, at: 10ms, run: "ping -c {count} -i 0.01 h2; echo '{{done}}' in 7 s"}
samplers: {every: 10ms, ports: [h1-eth0]}
until: ping
metrics:
  mean: ping.ping.mean_ms
  sent: growth(port.tx_packets)
  said: ping.last_number(in (\\d+) s)
vary: {delay: [5ms, 10ms]}
repeats: 2
full: {vary: {delay: [1ms]}, repeats: 9}
plots: [lines mean over delay]
"""


def written(folder: Path, text: str) -> Experiment:
    path = folder / "pings.yaml"
    path.write_text(text)
    return load_experiment(path)


def test_a_file_can_describe_everything_that_a_function_can(tmp_path: Path) -> None:
    made = written(tmp_path, TEXT)
    assert made.name == "pings"
    assert made.parameters == {"delay": "5ms", "rate": "10Mbps", "buffer": "1bdp", "count": 3}
    runs = [({"delay": delay}, seed) for delay in ("5ms", "10ms") for seed in (1, 2)]
    assert list(made.design.runs()) == runs
    assert made.full is not None
    assert made.full.repeats == 9
    assert made.plots == ("lines mean over delay",)


@pytest.mark.machine
def test_an_experiment_in_a_file_is_run(tmp_path: Path) -> None:
    result = written(tmp_path, TEXT).run(cache=False, here=True, delay="4ms")
    assert result.metrics["mean"].unit == "ms"
    assert round(result["mean"], 2) == 10.67  # 16, 8 and 8: the first one waits for ARP
    assert result.metrics["said"] == Metric(7)
    assert result["sent"] >= 3
    assert "{done} in 7 s" in result.record.raw["ping.txt"].decode()
    assert '"queueLimit"' not in result.record.provenance.topology


@pytest.mark.machine
def test_a_program_that_fails_fails_the_run(tmp_path: Path) -> None:
    failing = TEXT.replace("in 7 s", "in 7 s; exit 3")
    with pytest.raises(WanlabError, match="exit status 3"):
        written(tmp_path, failing).run(cache=False, here=True)


BRACES = """
nodes: [{host: h1}, {host: h2}]
links:
  - {link: [h1, h2], rate: "{rate}", delay: "{delay}", a_to_b: {queue: {limit: "{buffer}"}}}
"""


def in_a_file_of_its_own(folder: Path, topology: str) -> Experiment:
    (folder / "net.yaml").write_text(topology)
    before, _, rest = TEXT.partition("topology:")
    return written(folder, f"{before}topology: net.yaml\n{rest[rest.index('programs:') :]}")


@pytest.mark.machine
def test_a_topology_in_a_file_may_contain_literal_braces(tmp_path: Path) -> None:
    result = in_a_file_of_its_own(tmp_path, BRACES).run(cache=False, here=True, delay="4ms")
    assert round(result["mean"], 2) == 10.67  # as above


def test_a_mistake_in_a_topology_is_quoted_unchanged(tmp_path: Path) -> None:
    with pytest.raises(WanlabError) as found:
        written(tmp_path, TEXT).run(cache=False, here=True, buffer="big")
    assert str(found.value).startswith('topology: links[0].queue: "big" is not a size')
    wrong = in_a_file_of_its_own(tmp_path, BRACES.replace("[h1, h2], ", "[h1, h3], "))
    with pytest.raises(WanlabError, match=r'^net.yaml: line 4 \(links\[0\]\): .* "h3"'):
        wrong.run(cache=False, here=True)


def test_changing_the_design_in_the_file_keeps_finished_runs_valid(tmp_path: Path) -> None:
    def key(text: str) -> str:
        made = written(tmp_path, text)
        return key_of(origin_of(made, made.resolve({})), 1)

    before = key(TEXT)
    assert key(TEXT.replace("[5ms, 10ms]", "[5ms, 10ms, 20ms]")) == before
    assert key(TEXT.replace("at: 10ms", "at: 11ms")) != before


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("{rate}", "{rat}", 'no parameter "rat".*did you mean rate'),
        ("until: ping", "until: pong", 'no program "pong"'),
        ("until: ping", "duration: 1s\nuntil: ping", "when a run ends"),
        ("ping.ping.mean_ms", "ping.ping.mean", 'unknown metric "ping.mean"'),
        ("ping.ping.mean_ms", "mean(tcp)", "unknown metric"),
        (
            "metrics:",
            "metric:",
            r'line 13 \(metric\): unknown field "metric".*did you mean metrics',
        ),
        ("  mean:", "  delay:", "delay is the name of a parameter and of a metric"),
        ("delay: [5ms, 10ms]", "dely: [5ms]", "no parameter 'dely'"),
        ("lines mean over delay", "line mean over delay", "did you mean lines"),
        ("{rate: rate, delay: delay}", "{rate: rate}", "bdp must name two parameters"),
        (
            "on: h1, at",
            "att: 1s, on: h1, at",
            r'line 10 \(programs\[0\].att\): unknown field "att"',
        ),
    ],
)
def test_a_mistake_in_a_file_is_reported(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in TEXT
    with pytest.raises(WanlabError, match=f"(?s){says}"):
        written(tmp_path, TEXT.replace(old, new, 1))


def test_all_mistakes_in_a_file_are_reported_at_once(tmp_path: Path) -> None:
    wrong = TEXT.replace("until: ping", "until: pong").replace("metrics:", "metric:")
    wrong = wrong.replace("full: {vary: {delay: [1ms]}", "full: {vary: {delay: 1ms}")
    with pytest.raises(InputError) as raised:
        written(tmp_path, wrong)
    places = [problem.place for problem in raised.value.problems]
    assert places == ["line 12 (until)", "line 19 (full.vary.delay)", "line 13 (metric)"]


@pytest.mark.parametrize("value", ["2bdq", "2 BDPs", "2bpd"])
def test_a_mistyped_bdp_is_reported(tmp_path: Path, value: str) -> None:
    run = Run("pings", {}, 1, tmp_path)
    with pytest.raises(WanlabError, match=r"is not a unit .did you mean 2bdp"):
        written(tmp_path, TEXT)(run, buffer=value)
    with pytest.raises(WanlabError, match=r'as in "64KiB": .*; or as .*products: "2bdp"'):
        run.buffer_bytes(value.replace(" BDPs", "bd"), rate="1Mbps", rtt="10ms")


# -- metrics ----------------------------------------------------------------------------------------

TABLE = Table.of({"time_ns": [0, 1, 2, 3], "node": ["a", "a", "b", "b"], "rtt_us": [1, 3, 10, 20]})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mean(tcp.rtt_us)", Metric(8.5, "us")),
        ("median(tcp.rtt_us, node=a)", Metric(2, "us")),
        ("growth(tcp.rtt_us, node=b)", Metric(10, "us")),
        ("count(tcp.rtt_us, node = a)", Metric(2, "")),
        ("p50(tcp.rtt_us)", Metric(6.5, "us")),
        ("max(tcp.rtt_us, time_ns=1)", Metric(3, "us")),
    ],
)
def test_a_metric_is_read_from_a_table(text: str, expected: Metric) -> None:
    assert parse_run_metric(text)(RunOutput({}, {"tcp": TABLE})) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("mean(tpc.rtt_us)", "did you mean tcp"),
        ("mean(tcp.rt_us)", "did you mean rtt_us"),
        ("mean(tcp.rtt_us, node=c)", "has no values of node c"),
        ("mean(tcp.node)", "holds text,"),
        ("flow.seconds", "no program 'flow'"),
    ],
)
def test_a_metric_without_a_value_says_what_is_missing(text: str, says: str) -> None:
    with pytest.raises(WanlabError, match=says):
        parse_run_metric(text)(RunOutput({}, {"tcp": TABLE}))


def test_an_unknown_reduction_is_reported() -> None:
    with pytest.raises(WanlabError, match="did you mean mean"):
        parse_run_metric("meen(tcp.rtt_us)")
