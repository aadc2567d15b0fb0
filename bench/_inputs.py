"""Inputs for `fuzz.py`: good ones, changed at random, and how wanlab reads them."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from wanlab import record, shapes
from wanlab.errors import WanlabError
from wanlab.experiments import load_experiment
from wanlab.mininet.options import split
from wanlab.mininet.util import netParse
from wanlab.plan import plan_script
from wanlab.record import Provenance, Record, Table
from wanlab.topology import check, loads
from wanlab.topology.link_trace import read_trace
from wanlab.topology.schedule import read_schedule
from wanlab.units import parse_fraction, parse_rate, parse_size, parse_time
from wanlab.web.drawing.document import document_of

GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden" / "topologies"
MAX_NODES_PLANNED = 200
PARSERS = (parse_rate, parse_time, parse_size, parse_fraction)

YAML = """\
name: two sites
ip_base: 10.0.0.0/8
nodes:
  - {host: h1, ip: 10.0.1.1/24, default_route: 10.0.1.254, mac: "00:00:00:00:00:01"}
  - {host: h2, ip: 10.0.2.1/24, private_directories: [/var/run], cpu: 0.5, cores: "0-1"}
  - {host: h3, vlan_interfaces: [[10.9.0.1/24, 100]], start_command: "echo one"}
  - {switch: s1, kind: ovs, controllers: [c0], protocols: [OpenFlow13], fail_mode: secure}
  - {switch: s2, stp: true, priority: 4096}
  - router: r1
    routes: [192.168.0.0/16 via 10.0.2.7]
  - {controller: c0, kind: learning, port: 6633}
links:
  - {link: [h1, s1], rate: 10Mbps, queue: {kind: red, limit: 250KB, options: [ecn, min 3000]}}
  - link: [s1, r1]
    rate: 100Mbps
    delay: 20ms
    jitter: 2ms
    distribution: normal
    a_to_b: {loss: 0.1%, loss_correlation: 25%}
    b_port: {ip: 10.0.1.254/24, mtu: 9000, nic: {tso: off, gro: on, coalescing: 50us}}
  - {link: [r1, h2], queue: fq_codel, rate: 1Gbps, a_port: {ip: 10.0.2.254/24, name: r1-eth9}}
  - {link: [h3, s2], schedule: [{at: 1s, rate: 1Mbps}, {at: 2s, loss: 5%}], rate: 5Mbps,
     schedule_repeat: 10s}
  - {link: [s1, s2], trace: 1 1 2 5 9, trace_once: true}
"""
EXPERIMENT = """\
experiment: pings
about: Round trips.
parameters: {delay: 5ms, rate: 10Mbps, buffer: 1bdp, count: 3}
bdp: {rate: rate, delay: delay}
topology:
  nodes: [{host: h1}, {host: h2}]
  links:
    - {link: [h1, h2], rate: "{rate}", delay: "{delay}", queue: {limit: "{buffer}"}}
programs:
  - {as: ping, on: h1, at: 10ms, run: "ping -c {count} -i 0.01 h2"}
samplers: {every: 10ms, ports: [h1-eth0]}
until: ping
metrics:
  mean: ping.ping.mean_ms
  sent: growth(port.tx_packets)
vary: {delay: [5ms, 10ms]}
repeats: 2
full: {vary: {delay: [1ms]}, repeats: 9}
plots: [lines mean over delay]
"""
CSV = "at,rate,delay,loss\n0s,100Mbps,25ms,0%\n15s,,,100%\n15.1s,80Mbps,32ms,0%\n"
TRACE = "0\n1\n1\n2\n5\n9\n9\n12\n"
QUANTITIES = ("10Mbps", "1.5 Gbit/s", "20ms", "250us", "64KiB", "1500B", "0.1%", "100%", "1e3")
SHAPES = (
    "minimal",
    "single,3",
    "linear,3,n=2",
    "tree,depth=2,fanout=3",
    "torus,3,3",
    "dumbbell,2",
    "parking_lot,hops=3",
    "single,4,rate=10Mbps,delay=5ms,loss=1%",
    "reversed,5,queue=fq_codel",
)
OPTIONS = (
    "--ipbase 10.0.0.0/8",
    "--seed 7 --wire gso",
    "--clock real --memory 4GB",
    "--topo tree,2,2 --link tc,bw=10,delay=5ms",
    "--line-rate 1Gbps",
)
# Texts that parsers tend to mishandle: signs, huge numbers, control characters, quotes, other formats.
ODD = (
    "-1",
    "0",
    "1e308",
    "99999999999999999999999",
    "NaN",
    "Infinity",
    "0x10",
    "1_000",
    "٣",
    "²",
    "9" * 5000,
    "\x1d",
    "\x85",
    "\u3000",
    "",
    " ",
    "\0",
    "\x1b[2J",
    "\ufeff",
    "\u2028",
    "\ud7ff",
    "é" * 40,
    "x" * 5000,
    '"',
    "'",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "- ",
    "\n",
    "\t",
    "&a",
    "*a",
    "!!python/x",
    "%",
    "null",
    "true",
    "[]",
    "{}",
    "/dev/zero",
    "../../etc/passwd",
    "a\0b",
    "lo",
    "255.255.255.255/8",
    "[" * 300,
    "{a: " * 200,
    "1ns",
    "9999999s",
    "tree,30,2",
    "single,999999",
    "10.0.0.0/33",
)


@dataclass(frozen=True)
class Kind:
    """A kind of input: its share of all inputs, and the functions that make and read one."""

    share: int
    make: Callable[[Random], bytes]
    read: Callable[[bytes, Path], object]


# -- changes ------------------------------------------------------------------------------------------


def changed_text(numbers: Random, text: str) -> bytes:
    """Return a text after a few random changes."""
    for _ in range(numbers.choice((1, 1, 2, 3, 8))):
        start = numbers.randrange(len(text) + 1)
        end = min(len(text), start + numbers.choice((0, 1, 2, 5, 20)))
        match numbers.randrange(6):
            case 0:
                text = text[:start] + text[end:]
            case 1:
                text = text[:start] + numbers.choice(ODD) + text[end:]
            case 2:
                text = text[:end] + text[start:]
            case 3:
                text = text[:start] + chr(numbers.randrange(1, 0x2000)) + text[end:]
            case 4:
                text = _with_other_word(numbers, text)
            case _:
                lines = text.splitlines(keepends=True)
                numbers.shuffle(lines)
                text = text if numbers.random() < 0.7 else "".join(lines)
    data = text.encode(errors="surrogatepass")
    if numbers.random() < 0.05:
        position = numbers.randrange(len(data) + 1)
        data = data[:position] + bytes([numbers.randrange(256)]) + data[position:]
    return data


def _with_other_word(numbers: Random, text: str) -> str:
    """Replace a word by another one of the text, or by an odd one; the structure stays."""
    words = text.replace(",", " ").replace("}", " ").replace("]", " ").split()
    if not words:
        return numbers.choice(ODD)
    other = numbers.choice(words) if numbers.random() < 0.5 else numbers.choice(ODD)
    return text.replace(numbers.choice(words), other, 1)


def changed_data(numbers: Random, data: Any) -> Any:
    """Return JSON data with one value, key or type changed at a random position."""
    if isinstance(data, dict) and data and numbers.random() < 0.93:
        key = numbers.choice(list(data))
        if numbers.random() < 0.08:
            return {name: value for name, value in data.items() if name != key}
        if numbers.random() < 0.05:
            return {**data, numbers.choice(ODD): data[key]}
        return {**data, key: changed_data(numbers, data[key])}
    if isinstance(data, list) and data and numbers.random() < 0.93:
        index = numbers.randrange(len(data))
        if numbers.random() < 0.1:
            return [*data, data[index]]
        return [*data[:index], changed_data(numbers, data[index]), *data[index + 1 :]]
    odd: list[Any] = [None, True, -1, 2**70, 1e300, [], {}, [data], {"a": data}, str(data)]
    return numbers.choice([*odd, *ODD])


# -- kinds --------------------------------------------------------------------------------------------


def _make_mn(numbers: Random) -> bytes:
    path = numbers.choice(sorted(GOLDEN.glob("*.mn")))
    if numbers.random() < 0.3:
        return changed_text(numbers, path.read_text(encoding="utf-8"))
    data = json.loads(path.read_text(encoding="utf-8"))
    if numbers.random() < 0.3:
        data["labels"] = [{"text": "a", "x": 1.0, "y": 2}]
        data["run"] = {"wire": "gso", "seed": 3, "clock": "virtual"}
    for _ in range(numbers.choice((1, 1, 2, 4))):
        data = changed_data(numbers, data)
    return json.dumps(data).encode()


def _read_topology(data: bytes, name: str) -> None:
    """Read a topology, write it as a document, and plan it if it is small."""
    topology = loads(data.decode(errors="replace"), name)
    document_of(topology)
    if len(topology.nodes) <= MAX_NODES_PLANNED:
        plan_script(topology)


def _read_shape(data: bytes, folder: Path) -> None:
    topology = shapes.from_text(data.decode(errors="replace"))
    if len(topology.nodes) <= MAX_NODES_PLANNED:
        check(topology)


def _read_quantity(data: bytes, folder: Path) -> None:
    text = data.decode(errors="replace")
    errors: list[Exception] = []
    for parse in PARSERS:
        try:
            parse(text)
        except Exception as error:
            errors.append(error)
    if wrong := [error for error in errors if not isinstance(error, WanlabError)]:
        raise wrong[0]
    if len(errors) == len(PARSERS):
        raise errors[0]


def _read_experiment(data: bytes, folder: Path) -> None:
    path = folder / "experiment.yaml"
    path.write_bytes(data)
    load_experiment(path)


def _read_in_file(read: Callable[[object], object], name: str) -> Callable[[bytes, Path], object]:
    def read_file(data: bytes, folder: Path) -> object:
        path = folder / name
        path.write_bytes(data)
        return read(path)

    return read_file


def _read_options(data: bytes, folder: Path) -> None:
    arguments = data.decode(errors="replace").split()
    with contextlib.suppress(ValueError):  # refuses an option; `mn` prints the message
        split(arguments)
    netParse(arguments[-1] if arguments else "")


@cache
def good_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder that is removed when this program ends."""
    return tempfile.TemporaryDirectory(prefix="wanlab-bench-")


@cache
def _good_record() -> Path:
    folder = Path(good_folder().name) / "record"
    times = np.arange(200) * 10_000_000
    tables = {"qdisc": Table.of({"time_ns": times, "device": ["s1-eth2"] * 200, "drops": times})}
    provenance = Provenance(wanlab="0.1.0", seed=1, parameters={"limit": 2})
    record.write(Record(provenance, tables, {"ping.txt": b"PING \xff\x00"}), folder)
    return folder


def _make_record(numbers: Random) -> bytes:
    """Return the name of a part of a record, a newline, and the damaged content of that part."""
    names = ("provenance.json", "qdisc.parquet", "raw/ping.txt")
    name = numbers.choice(names)
    content = (_good_record() / name).read_bytes()
    if name == "provenance.json" and numbers.random() < 0.7:
        content = json.dumps(changed_data(numbers, json.loads(content))).encode()
    else:
        damaged = bytearray(content)
        for _ in range(numbers.choice((1, 1, 3, 20))):
            damaged[numbers.randrange(len(damaged))] = numbers.randrange(256)
        end = len(damaged) if numbers.random() < 0.7 else numbers.randrange(len(damaged))
        content = bytes(damaged[:end])
    return f"{name}\n".encode() + content


def _read_record(data: bytes, folder: Path) -> None:
    name, _, content = data.partition(b"\n")
    damaged = folder / "record"
    shutil.rmtree(damaged, ignore_errors=True)
    shutil.copytree(_good_record(), damaged)
    (damaged / name.decode()).write_bytes(content)
    record.read(damaged)


KINDS = {
    "mn": Kind(6, _make_mn, lambda data, folder: _read_topology(data, str(folder / "a.mn"))),
    "yaml": Kind(
        5,
        lambda numbers: changed_text(numbers, YAML),
        lambda data, folder: _read_topology(data, str(folder / "a.yaml")),
    ),
    "shapes": Kind(2, lambda numbers: changed_text(numbers, numbers.choice(SHAPES)), _read_shape),
    "quantities": Kind(
        2, lambda numbers: changed_text(numbers, numbers.choice(QUANTITIES)), _read_quantity
    ),
    "experiments": Kind(2, lambda numbers: changed_text(numbers, EXPERIMENT), _read_experiment),
    "schedules": Kind(
        1, lambda numbers: changed_text(numbers, CSV), _read_in_file(read_schedule, "a.csv")
    ),
    "traces": Kind(
        1, lambda numbers: changed_text(numbers, TRACE), _read_in_file(read_trace, "a.trace")
    ),
    "options": Kind(
        1, lambda numbers: changed_text(numbers, numbers.choice(OPTIONS)), _read_options
    ),
    "records": Kind(1, _make_record, _read_record),
}
