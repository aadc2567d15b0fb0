"""The metric language: one expression names one number in the output of programs.

    ping.mean_ms                      of the output of a step or program, as ping printed it
    iperf3.receiver.mbps              of iperf3's text or JSON (-J)
    iperf3(out.json).jain             of a file in the program's folder
    json.end.sum_sent.bytes           a value of any JSON output; json(FILE).KEY of a file
    first_number(took ([0-9.]+) s)    the group of a regular expression at its first match;
    last_number(RE)                   at its last match
    netem.delay_ms                    of `tc -j qdisc show`; also tbf.rate_mbps, kind(KIND).exists
    sysctl.value                      the last number that `sysctl NAME` prints
    queue(s1-eth2).peak_bytes         of the sampled queue of a port
    file(out.json).exists   jain   seconds

An experiment has several programs and tables, so its metrics begin with a program's name, or reduce
a column of a table:

    flow.iperf3.receiver.mbps         the program called "flow"
    mean(tcp.rtt_us)                  a table and its column
    p95(sojourn.sojourn_ns, device=s1-eth2)

An expression is parsed once and is then a pure function of a StepOutput or RunOutput. Bytes of
iperf3 are counted in units of 1024 x 1024, as iperf3 prints them; rates in units of 1000.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from wanlab.errors import WanlabError, did_you_mean
from wanlab.network import Process
from wanlab.record import Table

from . import program_metrics, state_metrics, table_metrics
from .metric_values import Extractor, Metric, MetricReader, StepOutput
from .program_metrics import last_ping

_METRIC = re.compile(r"(\w+)(?:\((.*)\))?(?:\.([^()]+))?", re.DOTALL)
_OF_PROGRAM = re.compile(r"([\w-]+)\.(.+)", re.DOTALL)
_QUEUE = re.compile(r"queue\((.+)\)\.\w+")
_FACTS = re.compile(r"ping\.(?!\w+_ms$)\w+|iperf3(?:\(.*\))?\.streams")
_MEASUREMENTS = re.compile(r"(?:ping|iperf3|queue|jain|seconds)\b.*", re.DOTALL)

READERS: Mapping[str, MetricReader] = {
    **program_metrics.READERS,
    **state_metrics.READERS,
    **table_metrics.READERS,
}


@dataclass(frozen=True)
class RunOutput:
    """The programs of an experiment's run, by their names, and the tables that it sampled."""

    programs: Mapping[str, Process]
    tables: Mapping[str, Table]


RunExtractor = Callable[[RunOutput], Metric]


def parse_metric(text: str) -> Extractor:
    """Parse a metric of one step or program; raise WanlabError if there is no such metric."""
    match = _METRIC.fullmatch(text.strip())
    if match is None:
        raise WanlabError(
            f'"{text}" is not a metric', "as in ping.mean_ms or iperf3(out.json).jain"
        )
    name, argument, path = match[1], match[2], match[3] or ""
    if name not in READERS:
        raise WanlabError(f'unknown metric "{text}"', did_you_mean(name, READERS))
    return READERS[name].extractor(text, argument, path)


def parse_run_metric(text: str) -> RunExtractor:
    """Parse a metric of an experiment's run; raise WanlabError if there is no such metric."""
    if table_metric := table_metrics.parse(text):
        return lambda run: table_metric(run.tables)
    match = _OF_PROGRAM.fullmatch(text.strip())
    if match is None or "(" in match[1]:
        hint = "as in flow.iperf3.receiver.mbps, or mean(tcp.rtt_us)"
        raise WanlabError(f'unknown metric "{text}"', hint)
    program, extract = match[1], parse_metric(match[2])
    return lambda run: extract(_output_of(run.programs, program))


def depends_on_host_speed(text: str) -> bool:
    """Whether, on the real clock, the metric also depends on the speed of this computer."""
    text = text.strip()
    return bool(_MEASUREMENTS.fullmatch(text)) and not _FACTS.fullmatch(text)


def sampled_port(text: str) -> str:
    """Return the port whose queue must be sampled for this metric; "" if none."""
    match = _QUEUE.fullmatch(text.strip())
    return match[1] if match else ""


def _output_of(programs: Mapping[str, Process], name: str) -> StepOutput:
    if name not in programs:
        raise WanlabError(f"there is no program {name!r}", did_you_mean(name, programs))
    process = programs[name]
    ended_ns = process.ended_ns
    return StepOutput(
        process.output,
        seconds=None if ended_ns is None else (ended_ns - process.started_ns) / 1e9,
    )


__all__ = [
    "Extractor",
    "Metric",
    "RunExtractor",
    "RunOutput",
    "StepOutput",
    "depends_on_host_speed",
    "last_ping",
    "parse_metric",
    "parse_run_metric",
    "sampled_port",
]
