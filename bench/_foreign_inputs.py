"""More inputs for `fuzz.py`: what others wrote, or may have written to do harm.

Session files get correct checksums after each change, so the reader sees the change. Commands of a
browser reach a laboratory without a network.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import struct
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import msgspec
from _inputs import Kind as InputKind
from _inputs import changed_data, changed_text, good_folder

from wanlab.agent.host_service import decode_request as decode_in_agent
from wanlab.agent.messages import Kind, encode, encode_json
from wanlab.errors import WanlabError
from wanlab.labs import unit_file
from wanlab.machine import Channel
from wanlab.machine.channel import AgentFailure
from wanlab.measure import iperf3, iperf3_text, ping, tc_text, traffic
from wanlab.network.branching import restore_folder
from wanlab.network.host_service import HostService
from wanlab.network.replay import refuse_wrong_topologies
from wanlab.network.requests import decode_request
from wanlab.session import parse
from wanlab.session.lines import FIRST_SUM, check_sum, write_line
from wanlab.shared_folder import SharedFolder
from wanlab.topology.foreign import import_text
from wanlab.web.broadcast import Browser
from wanlab.web.laboratory import Laboratory
from wanlab.web.packets.packet_list import list_packets, packet_details
from wanlab.web.server.websocket import perform_message

Value = TypeVar("Value")

GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden"

LAB = """\
name: campus
topology:
  defaults: {kind: linux, image: alpine:3}
  kinds: {nokia_srlinux: {image: srlinux, type: ixr-d2l}}
  groups: {routers: {image: "frrouting/frr:${FRR:=10}"}}
  nodes:
    core: {group: routers, binds: ["core/frr.conf:/etc/frr/frr.conf:ro"]}
    edge: {kind: nokia_srlinux, startup-config: edge.cfg}
    br1: {kind: bridge}
    pc:
      labels: {graph-posX: "100", graph-posY: "40"}
      exec: [ip addr add 10.1.0.2/24 dev eth1, ip link set eth1 mtu 1400]
  links:
    - endpoints: ["core:eth1", "edge:ethernet-1/1"]
    - endpoints: ["core:eth2", "br1:eth1"]
    - {type: veth, endpoints: [{node: pc, interface: eth1}, {node: core, interface: eth3}], mtu: 900}
"""
PROJECT: dict[str, Any] = {
    "name": "lab",
    "revision": 9,
    "topology": {
        "nodes": [
            {
                **{"name": "PC 1", "node_type": "vpcs", "node_id": "a", "x": 0, "y": 0},
                "properties": {"startup_script": "ip 10.0.0.5/24 10.0.0.1\nip dns 1.1.1.1\n"},
            },
            {
                **{"name": "SW", "node_type": "ethernet_switch", "node_id": "b"},
                "properties": {"ports_mapping": [{"port_number": 0, "type": "access", "vlan": 10}]},
            },
        ],
        "links": [
            {
                "nodes": [{"node_id": "a"}, {"node_id": "b", "port_number": 0}],
                "filters": {"delay": [20, 5], "packet_loss": [1], "bpf": ["tcp"]},
                "suspend": False,
            }
        ],
        "drawings": [{"svg": '<svg height="2" width="4"><text>A</text></svg>', "x": 1, "y": 5}],
    },
}
COMMANDS: list[dict[str, Any]] = [
    {"do": "edit", "put": {"nodes": [{"id": "a", "kind": "host", "name": "h1", "x": 1.5}]}},
    {
        "do": "edit",
        "put": {"links": [{"id": "l", "a": "a", "b": "b", "options": {"rate": "1Mbps"}}]},
    },
    {"do": "edit", "drop": ["a"], "preferences": {"seed": 3, "ip_base": "10.0.0.0/8"}},
    *({"do": name} for name in ("undo", "redo", "stop", "cancel_continue")),
    {"do": "new", "discard": True},
    {"do": "generate", "shape": "tree,depth=2,fanout=2", "discard": True},
    {"do": "open", "path": "a.yaml", "text": "nodes: [{host: h1}]", "discard": True},
    {"do": "open", "path": "a.clab.yml", "text": LAB, "discard": True},
    {"do": "draft", "take": False},
    {"do": "terminal", "node": "h1", "rows": 24, "columns": 80, "command": "ls"},
    {"do": "type", "terminal": "t1", "text": "ls\n"},
    {"do": "type_together", "terminals": ["t1"], "text": "ls\n"},
    {"do": "close_terminal", "terminal": "t1"},
    {"do": "set_link", "link": "l", "options": {"rate": "1Mbps", "loss": None}, "end": "a"},
    *({"do": name, "link": "l", "up": True} for name in ("link_up", "take_tc")),
    {"do": "take_settings", "node": "a"},
    {"do": "pace", "pace": "real", "speed": 0.5},
    {"do": "step", "duration": "100ms"},
    {"do": "step_to", "event": "drop", "port": "s1-eth1"},
    {"do": "break", "text": "queue > 1 MB", "on": True},
    *({"do": name, "branch": "1", "at_ns": 5} for name in ("continue", "cost")),
    {"do": "marker", "text": "here", "branch": "1", "at_ns": 5},
    {"do": "rename_branch", "branch": "1", "name": "x"},
    {"do": "history", "series": [{"kind": "queue", "port": "s1-eth1"}], "branch": "1"},
    {"do": "watch", "series": [{"kind": "rtt", "port": ""}]},
    {"do": "compare", "records": ["a"]},
    {"do": "capture", "port": "s1-eth1", "on": True, "filter": "tcp", "snaplen": 96},
]
UNITS = Path(unit_file.__file__).parent / "units"


# -- sessions -----------------------------------------------------------------------------------------


def _session_lines() -> list[Any]:
    lines, checksum = [], FIRST_SUM
    data = (GOLDEN / "sessions" / "two_hosts.wanlab").read_bytes()
    for line in data.splitlines(keepends=True):
        text, checksum = check_sum(line, checksum)
        lines.append(json.loads(text))
    return lines


def _make_session(numbers: Random) -> bytes:
    lines = _session_lines()
    for _ in range(numbers.choice((1, 1, 2, 4))):
        index = 0 if numbers.random() < 0.3 else numbers.randrange(len(lines))
        lines[index] = changed_data(numbers, lines[index])
        if not isinstance(lines[index], dict):
            lines[index] = {"at": lines[index]}
    data, checksum = b"", FIRST_SUM
    for line in lines:
        try:
            text, checksum = write_line(line, checksum)
        except UnicodeEncodeError:  # no program can write such a line
            continue
        data += text
    return data if numbers.random() < 0.95 else data[: numbers.randrange(len(data))]


def _read_session(data: bytes, folder: Path) -> None:
    session = parse(data, "s")
    refuse_wrong_topologies(session)
    _ = (session.identity, session.has_prompt, session.unrepeatable(), list(session.start_calls()))
    _ = session.epoch_ns
    restored = folder / "restored"
    try:
        restore_folder(session, restored)
    finally:
        _remove(restored)


def _remove(folder: Path) -> None:
    import shutil

    for path in (folder, *folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


# -- commands -----------------------------------------------------------------------------------------


def _make_command(numbers: Random) -> bytes:
    command = {"id": 7, **numbers.choice(COMMANDS)}
    if numbers.random() < 0.9:
        command = changed_data(numbers, command)
    text = json.dumps(command)
    return changed_text(numbers, text) if numbers.random() < 0.2 else text.encode()


@cache
def _laboratory() -> tuple[asyncio.AbstractEventLoop, Laboratory]:
    """Return a laboratory for all commands, and the loop that it runs in."""
    loop = asyncio.new_event_loop()

    async def make() -> Laboratory:
        return Laboratory(Path(good_folder().name))

    laboratory = _run_in(loop, make())
    atexit.register(lambda: loop.run_until_complete(laboratory.close()))
    return loop, laboratory


def _run_in(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Value]) -> Value:
    """Run a coroutine in another thread, because Playwright leaves a running loop in a test's one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(loop.run_until_complete, coroutine).result()


class _RefusedError(WanlabError):
    """A command was refused, as it should be."""


def _read_command(data: bytes, folder: Path) -> None:
    """Send a command to a laboratory. AssertionError if it is not answered, or by an internal error."""

    loop, laboratory = _laboratory()

    async def talk() -> dict[str, Any]:
        browser = Browser("b1")
        await perform_message(laboratory, browser, data)
        while True:
            reply: dict[str, Any] = json.loads(await asyncio.wait_for(browser.next_message(), 5))
            if "reply" in reply:
                return reply

    reply = _run_in(loop, talk())
    if "error" in reply:
        assert "internal error" not in reply["error"]["what"], reply
        raise _RefusedError(reply["error"]["what"])


# -- captures -----------------------------------------------------------------------------------------


def _make_capture(numbers: Random) -> bytes:
    """Return a pcapng file with an interface and packets, some bytes of which are changed."""

    def block(kind: int, body: bytes) -> bytes:
        length = 12 + len(body)
        return struct.pack("<II", kind, length) + body + struct.pack("<I", length)

    start = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + b"which was 0 at 5.000000000 s"
    options = struct.pack("<HHH", 1, 0, 0) + b"\0\0" + struct.pack("<HHB3x", 9, 1, 9)
    data = block(0x0A0D0D0A, start) + block(1, options)
    for size in (14, 60, 200):
        packet = bytes(numbers.randrange(256) for _ in range(size))
        data += block(6, struct.pack("<IIIII", 0, 1, 2, size, size) + packet)
    if numbers.random() < 0.2:
        data = struct.pack("<IHHiIIIIIII", 0xA1B2C3D4, 2, 4, 0, 0, 99, 1, 5, 6, 14, 14) + bytes(14)
    changed = bytearray(data)
    for _ in range(numbers.choice((1, 2, 4, 16))):
        changed[numbers.randrange(len(changed))] = numbers.choice((0, 1, 13, 16, 127, 255))
    return bytes(
        changed[: numbers.randrange(len(changed) + 1)] if numbers.random() < 0.2 else changed
    )


def _read_capture(data: bytes, folder: Path) -> None:
    (folder / "a.pcapng").write_bytes(data)
    shared = SharedFolder(folder)
    page = list_packets(shared, "a.pcapng")
    msgspec.json.encode(page)
    for number in {1, page.scanned} - {0}:
        packet_details(shared, "a.pcapng", number)


# -- the agent's frames and the requests of programs --------------------------------------------------


REQUESTS: list[dict[str, Any]] = [
    {"do": "line", "prompt": "mininet> ", "typed": "ls", "words": {"nodes": ["h1"], "after": {}}},
    {"do": "keys"},
    {"do": "terminal", "command": ["xterm"], "folder": "/tmp", "title": "h1", "term": "xterm"},
    {"do": "open", "path": "results/a.pdf"},
    {"do": "connect", "address": "127.0.0.1", "port": 6653},
    {"do": "paths", "node": "h1"},
]


def _make_request(numbers: Random) -> bytes:
    text = json.dumps(changed_data(numbers, numbers.choice(REQUESTS)))
    return changed_text(numbers, text) if numbers.random() < 0.3 else text.encode()


def _read_request(data: bytes, folder: Path) -> None:
    """Read a request as the agent does, and then as the user's side does."""
    decode_in_agent(data)
    channel, service = Channel(lambda sent: None), HostService()
    service["line"] = service["keys"] = lambda connection: connection.answer({})
    service.attach(channel)
    channel.feed(encode(Kind.REQUEST, 1, data))
    channel.deliver_requests()
    decode_request(data)


def _make_frames(numbers: Random) -> bytes:
    """Return frames of an agent, some bytes of which are changed."""
    bodies: list[tuple[Kind, Any]] = [
        (Kind.REPLY, {"pid": 42}),
        (Kind.FAILURE, {"error": "File exists", "kind": "FileExistsError", "index": 3}),
        (Kind.ENDED, {"status": 0, "user_ns": 5}),
        (Kind.REQUEST, {"do": "keys"}),
    ]
    data = bytearray(encode(Kind.READY, 0))
    for number in range(1, numbers.choice((2, 3, 9))):
        kind, body = numbers.choice(bodies)
        data += encode_json(kind, number, changed_data(numbers, body))
        data += encode(numbers.choice((Kind.OUTPUT, Kind.STDERR, Kind.DATA)), number, b"some text")
    for _ in range(numbers.choice((0, 1, 2, 8))):
        data[numbers.randrange(len(data))] = numbers.choice((0, 1, 7, 11, 64, 255))
    return bytes(data[: numbers.randrange(len(data)) + 1] if numbers.random() < 0.2 else data)


class _Listener:
    def output_arrived(self, kind: Kind, data: bytes) -> None: ...

    def ended(self, result: dict[str, int]) -> None: ...


def _read_frames(data: bytes, folder: Path) -> None:
    channel = Channel(lambda sent: None)
    HostService().attach(channel)
    calls = [channel.call("read") for _ in range(4)]
    for _ in range(4):
        channel.new_process(_Listener())
    for start in range(0, len(data), 50):
        channel.feed(data[start : start + 50])
    channel.deliver_requests()
    for call in filter(channel.is_answered, calls):
        with contextlib.suppress(AgentFailure):
            channel.answer(call)


# -- JSON and YAML ------------------------------------------------------------------------------------


def _json_of(path: str) -> Callable[[Random], bytes]:
    def make(numbers: Random) -> bytes:
        text = (GOLDEN / "counters" / path).read_text(encoding="utf-8")
        if numbers.random() < 0.3:
            return changed_text(numbers, text)
        return json.dumps(changed_data(numbers, json.loads(text))).encode()

    return make


def _text_of(*paths: str) -> Callable[[Random], bytes]:
    def make(numbers: Random) -> bytes:
        path = GOLDEN / "counters" / numbers.choice(paths)
        return changed_text(numbers, path.read_text(encoding="utf-8"))

    return make


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _make_unit(numbers: Random) -> bytes:
    path = numbers.choice(sorted(UNITS.glob("*/lab.yaml")))
    return changed_text(numbers, path.read_text(encoding="utf-8"))


def _read_unit(data: bytes, folder: Path) -> None:
    (folder / "lab.yaml").write_bytes(data)
    unit_file.read(folder)


FLOW = {"number": 1, "start_ns": 1, "end_ns": 9, "bytes": 5, "goodput_bps": 1.5, "error": None}
TRAFFIC = {
    **{"kind": "tcp", "host": "h2", "seed": 1, "congestion": "cubic", "seconds": 1.5},
    **{"bytes": 5, "goodput_bps": 1.5, "flows": [FLOW, FLOW]},
}
FOREIGN_KINDS = {
    "sessions": InputKind(2, _make_session, _read_session),
    "containerlab": InputKind(
        1,
        lambda numbers: changed_text(numbers, LAB),
        lambda data, folder: import_text(_text(data), "a.clab.yml"),
    ),
    "gns3": InputKind(
        1,
        lambda numbers: json.dumps(changed_data(numbers, PROJECT)).encode(),
        lambda data, folder: import_text(_text(data), "a.gns3"),
    ),
    "commands": InputKind(1, _make_command, _read_command),
    "captures": InputKind(1, _make_capture, _read_capture),
    "iperf3": InputKind(1, _json_of("iperf3_tcp.json"), lambda data, folder: iperf3.parse(data)),
    "iperf3_text": InputKind(
        1,
        _text_of("iperf3_text.txt", "iperf3_text_streams.txt"),
        lambda data, folder: iperf3_text.parse(_text(data)),
    ),
    "ping": InputKind(
        1,
        _text_of("ping_plain.txt", "ping_flood.txt", "ping_duplicates.txt", "ping_loss.txt"),
        lambda data, folder: ping.parse(_text(data)).table(),
    ),
    "tc": InputKind(1, _json_of("qdisc_all.json"), lambda data, folder: tc_text.parse(data)),
    "traffic": InputKind(
        1,
        lambda numbers: json.dumps(changed_data(numbers, TRAFFIC)).encode(),
        lambda data, folder: traffic.parse(data),
    ),
    "frames": InputKind(1, _make_frames, _read_frames),
    "requests": InputKind(1, _make_request, _read_request),
    "units": InputKind(1, _make_unit, _read_unit),
}
