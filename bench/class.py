"""In a class of 30 with running networks on 2 cores, half of all keys are echoed within 100 ms.

The students are clients without a browser: each opens the link, starts a network of two hosts and a
switch, and types into a terminal of a host. A key's time is that from sending it to its letter.

    quiet    all students type, on average a key every half second, and nothing else runs
    busy     some of the networks carry an iperf3 flow of 100 Mbit/s without end, at the pace of real
             time, which is the page's default
    memory   of all processes of the class, shared pages counted once (PSS)

The shares of the processors that the class and other programs took are in each row: on a computer that
does other work, keys take longer.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import csv
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Self
from urllib.parse import urlsplit

import httpx
from _report import Report, Table
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Origin

MAX_MEDIAN_MS = 100.0
STARTED_AT_ONCE = 4
PAUSE_S = 0.5
PATIENCE_S = 300.0
KEYS_IN_A_LINE = 40
CLEAR_LINE = b"\x15"
NETWORK = """\
nodes:
  - {host: h1, x: 100.0, y: 100.0}
  - {host: h2, x: 300.0, y: 100.0}
  - {switch: s1, x: 200.0, y: 200.0}
links:
  - {link: [h1, s1], rate: 100Mbps}
  - {link: [s1, h2], rate: 100Mbps}
"""
FLOW = "wanlab-node h2 iperf3 -s -D; sleep 1; wanlab-node h1 iperf3 -c h2 -t 86000"


def main() -> int:
    options = _arguments()
    report = Report("class")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        folder = Path(place) / "class"
        folder.mkdir()
        names = [f"Student {number:02}" for number in range(1, options.students + 1)]
        (folder / "students.csv").write_text("\n".join(["student", *names, ""]), encoding="utf-8")
        words = ["web", "--no-browser", "--class", str(folder), "--nice", str(options.nice)]
        server = subprocess.Popen(
            [sys.executable, "-m", "wanlab.cli", *words],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert server.stdout is not None
            if not any("Ctrl-C" in line for line in server.stdout):
                raise SystemExit("the server has not started")
            return asyncio.run(_measure(report, options, folder, server.pid))
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(PATIENCE_S)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=30.0, help="of each measurement")
    parser.add_argument("--nice", type=int, default=5, help="niceness of the networks")
    parser.add_argument("--flows", type=int, nargs="*", default=[2, 8], help="busy networks")
    return parser.parse_args()


async def _measure(report: Report, options: argparse.Namespace, folder: Path, server: int) -> int:
    with (folder / "tokens.csv").open(encoding="utf-8", newline="") as file:
        links = {row["student"]: row["link"] for row in csv.DictReader(file) if row["student"]}
    began = time.monotonic()
    gate = asyncio.Semaphore(STARTED_AT_ONCE)
    students = await asyncio.gather(
        *(
            Typist(name, link, folder / "students" / name).begin(gate)
            for name, link in links.items()
        )
    )
    starts = sorted(student.start_s for student in students)
    started = report.table("started", ("students", "all_s", "median_s", "max_s"))
    started.add(
        students=len(students),
        all_s=round(time.monotonic() - began, 1),
        median_s=round(median(starts), 1),
        max_s=round(starts[-1], 1),
    )
    memory = report.table("memory", ("processes", "total_mb", "each_mb", "idle_server_mb"))
    processes = below(server)
    total_mb = sum(map(pss_mb, [server, *processes]))
    memory.add(
        processes=len(processes) + 1,
        total_mb=round(total_mb),
        each_mb=round(total_mb / len(students), 1),
        idle_server_mb=round(pss_mb(server)),
    )
    keys = report.table(
        "keys",
        ("flows", "typists", "keys", "median_ms", "p95_ms", "max_ms", "class_cpu", "others_cpu"),
    )
    await _type(keys, students, options.seconds, flows=0, server=server, what="quiet")
    busy = 0
    for flows in options.flows:
        await asyncio.gather(*(student.begin_flow() for student in students[busy:flows]))
        busy = flows
        await _type(keys, students[busy:], options.seconds, flows, server, "beside flows")
        await _type(keys, students[:busy], options.seconds, flows, server, "in busy networks")
    await asyncio.gather(*(student.end() for student in students))
    return report.finish(is_met=keys.rows[0]["median_ms"] < MAX_MEDIAN_MS)


async def _type(
    table: Table, students: Sequence[Typist], seconds: float, flows: int, server: int, what: str
) -> None:
    """Let students type for some time, and add what was measured."""
    for student in students:
        student.times_ms.clear()
    use = ProcessorUse(server)
    await asyncio.gather(*(student.type_for(seconds) for student in students))
    times_ms = sorted(time_ms for student in students for time_ms in student.times_ms)
    table.add(
        what=what,
        flows=flows,
        typists=len(students),
        keys=len(times_ms),
        median_ms=round(median(times_ms), 1),
        p95_ms=round(quantiles(times_ms, n=20)[-1], 1),
        max_ms=round(times_ms[-1], 1),
        **use.shares(),
    )


class Typist:
    """A student who types into a terminal of a network."""

    def __init__(self, name: str, link: str, folder: Path) -> None:
        self.times_ms: list[float] = []
        self.start_s = 0.0
        self._name = name
        self._link = link
        self._folder = folder
        self._random = random.Random(name)
        self._numbers = iter(range(1, 1000))

    async def begin(self, gate: asyncio.Semaphore) -> Self:
        """Open the link, start a network and open a terminal."""
        (self._folder / "two.yaml").write_text(NETWORK, encoding="utf-8")
        async with gate:
            began = time.monotonic()
            async with httpx.AsyncClient(verify=False, timeout=PATIENCE_S) as client:
                await client.get(self._link)
                cookies = client.cookies.items()
            self._host = urlsplit(self._link).netloc
            self._cookie = "; ".join(f"{name}={value}" for name, value in cookies)
            self._live = await self._connect("/api/live")
            await self._do("open", path="two.yaml")
            await self._do("run")
            await self._until(lambda message: message.get("phase") == "running")
            state = await self._state()
            (node,) = (it for it in state["document"]["document"]["nodes"] if it["name"] == "h1")
            opened = await self._do("terminal", node=node["id"])
            self._terminal = await self._connect(f"/api/terminals/{opened['terminal']}")
            await self._read_until(b"# ")
            self.start_s = time.monotonic() - began
        self._tasks = [asyncio.create_task(self._read_pushes())]
        return self

    async def begin_flow(self) -> None:
        """Start a flow without end in the network."""
        await self._stop_reading()
        opened = await self._do("terminal", node="client")
        flow = await self._connect(f"/api/terminals/{opened['terminal']}")
        await flow.send(f"{FLOW}\r".encode())
        await self._read_until(b"Mbits/sec", flow)
        self._tasks = [
            asyncio.create_task(self._read_pushes()),
            asyncio.create_task(self._read_on(flow)),
        ]

    async def type_for(self, seconds: float) -> None:
        """Type keys at random instants, each after the letter of the one before."""
        end = time.monotonic() + seconds
        await asyncio.sleep(self._random.uniform(0, PAUSE_S))
        count = 0
        while time.monotonic() < end:
            letter = b"abcdefghijklmnopqrstuvwxyz"[count % 26 : count % 26 + 1]
            began = time.perf_counter()
            await self._terminal.send(letter)
            await self._read_until(letter)
            self.times_ms.append((time.perf_counter() - began) * 1000)
            count += 1
            await asyncio.sleep(self._random.uniform(0.5, 1.5) * PAUSE_S)
            if count % KEYS_IN_A_LINE == 0:
                await self._terminal.send(CLEAR_LINE)
                await self._read_until(b"\x1b[K")

    async def end(self) -> None:
        """Close all connections."""
        await self._stop_reading()
        await self._live.close()
        await self._terminal.close()

    # -- the protocol -----------------------------------------------------------------------------

    async def _connect(self, path: str) -> ClientConnection:
        return await connect(
            f"ws://{self._host}{path}",
            origin=Origin(f"http://{self._host}"),
            additional_headers={"Cookie": self._cookie},
            max_size=None,
            open_timeout=PATIENCE_S,
            ping_interval=None,
            compression=None,
        )

    async def _do(self, what: str, **words: object) -> Any:
        number = next(self._numbers)
        await self._live.send(json.dumps({"id": number, "do": what, **words}))
        reply = await self._until(lambda message: message.get("reply") == number)
        if "error" in reply:
            raise SystemExit(f"{self._name}: {what}: {reply['error']}")
        return reply["ok"]

    async def _until(self, holds: Any) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE_S):
            async for text in self._live:
                message: dict[str, Any] = json.loads(text)
                if message.get("phase") == "failed":
                    raise SystemExit(f"{self._name}: {message['error']}")
                if holds(message):
                    return message
        raise SystemExit(f"{self._name}: the server has closed the connection")

    async def _state(self) -> dict[str, Any]:
        async with httpx.AsyncClient(verify=False, timeout=PATIENCE_S) as client:
            answer = await client.get(
                f"http://{self._host}/api/state", headers={"Cookie": self._cookie}
            )
        state: dict[str, Any] = answer.json()
        return state

    async def _read_pushes(self) -> None:
        async for _ in self._live:
            pass

    async def _stop_reading(self) -> None:
        for task in self._tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _read_on(self, terminal: ClientConnection) -> None:
        async for data in terminal:
            if isinstance(data, bytes):
                await terminal.send(json.dumps({"ack": len(data)}))

    async def _read_until(self, words: bytes, terminal: ClientConnection | None = None) -> None:
        """Read a terminal until words appear after the last that were looked for."""
        terminal, shown = terminal or self._terminal, b""
        async with asyncio.timeout(PATIENCE_S):
            while words not in re.sub(rb"\x1b\]633;[^\x07]*\x07", b"", shown):
                data = await terminal.recv()
                if isinstance(data, bytes):
                    shown += data
                    await terminal.send(json.dumps({"ack": len(data)}))


# -- the computer -------------------------------------------------------------------------------------


class ProcessorUse:
    """How much of the processors the class takes, and how much all others take."""

    def __init__(self, server: int) -> None:
        self._server = server
        self._before = self._read()

    def shares(self) -> dict[str, float]:
        """Return the shares of all processors' time since the beginning."""
        total, busy, own = (
            now - before for now, before in zip(self._read(), self._before, strict=True)
        )
        return {"class_cpu": round(own / total, 2), "others_cpu": round((busy - own) / total, 2)}

    def _read(self) -> tuple[int, int, int]:
        fields = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]
        ticks = [int(field) for field in fields]
        idle = ticks[3] + ticks[4]
        return sum(ticks), sum(ticks) - idle, sum(map(_ticks, [self._server, *below(self._server)]))


def below(pid: int) -> list[int]:
    """Return all processes that a process has started, and those that these have started."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            parents[int(entry.name)] = int(fields[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return sorted(found - {pid})


def _stat(pid: int) -> list[str]:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def _ticks(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[11]) + int(fields[12]) if fields else 0


def pss_mb(pid: int) -> float:
    """Return the memory of a process in MB; a page that n processes share counts 1/n."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return sum(_number(lines, "Pss:")) * 1024 / 1e6


def _number(lines: Iterable[str], name: str) -> Iterable[int]:
    return (int(line.split()[1]) for line in lines if line.startswith(name))


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sys.exit(main())
