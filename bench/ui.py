"""The web page opens within 1.5 s, loads less than 1 MB, and drags up to 1,000 nodes at 30 frames/s.

Measured in Debian's Chromium without a screen, where the processor renders the page. With `--against`,
an older checkout, whose page is built, is measured in the same run and in turn with this one; "ratio" is
this one's value divided by the other's. Of several rounds, the best value counts.

    page        time from the address to a drawn network of 50 hosts and 10 switches, with an empty
                browser cache; the fastest of several visits counts
    size        compressed size of everything that the browser could load, and of the first page
    drag        a switch follows a pointer that moves before every frame, with 60, 300 and 1,000 nodes:
                frames per second in which it has moved, the 95th percentile of the frame time, and the
                processor time of a frame in the page's thread. The larger networks also from near,
                where nodes are elements of the page
    terminals   20 terminals of 20 hosts are open and one writes 1 MB/s: the time from a key to its
                letter on the screen in another one
    many        a network of 1,000 nodes: the time from the address to the drawn canvas, and a zoom with
                the wheel
    charts      throughput and queue of 50 ports with ten samples a second, over 30 s: frames per second
                of the page, and the processor time of a frame
    growth      two flows run as fast as possible with all five charts open: how much the page's memory
                grows in an hour of network time, after the hour of samples that the page keeps
    class       a class is restarted, and all its students reconnect as the page does: the time until
                half of them, and the last, have their laboratory again
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from _chromium import find_chromium
from _drawings import HOSTS, LARGE_COUNT, SWITCHES, TERMINALS, save_networks
from _growth import growth_of
from _reconnect import reconnection_times_s
from _report import Report, Table

from wanlab import Topology, load
from wanlab.machine.defaults import KERNEL_VARIABLE

HERE = Path(__file__).parents[1]
SIZE = {"width": 1280, "height": 720}
FAR_FROM = 150
"""Networks with more nodes are drawn on a canvas."""
MAX_MANY_S = 3.0
MAX_FIRST_PAGE_S = 1.5
MAX_BYTES = 1_000_000
MIN_FRAMES_PER_S = 30.0
MAX_ECHO_MS = 500.0
MAX_GROWTH_MB_PER_HOUR = 1.0
MAX_RECONNECT_S = 15.0
VISITS, FRAMES, KEYS = 5, 150, 20
DRAG = """async ([name, frames]) => {
    const node = document.querySelector(`[aria-label="${name}"]`);
    const box = node.getBoundingClientRect();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const send = (kind, target, dx, dy) => target.dispatchEvent(new MouseEvent(kind, {
        clientX: x + dx, clientY: y + dy, button: 0, buttons: 1, bubbles: true, cancelable: true,
        view: window,
    }));
    const next = () => new Promise(requestAnimationFrame);
    send("mousedown", node, 0, 0);
    send("mousemove", window, 8, 0);
    await next();
    const times = [];
    let last = await next(), place = node.style.transform, moves = 0;
    for (let frame = 0; frame < frames; frame += 1) {
        send("mousemove", window, 8 + 60 * Math.sin(frame / 15), 60 * Math.cos(frame / 15));
        const now = await next();
        times.push(now - last);
        last = now;
        if (node.style.transform !== place) moves += 1;
        place = node.style.transform;
    }
    send("mouseup", window, 8, 0);
    return [times, moves];
}"""
ZOOM = """async (frames) => {
    const pane = document.querySelector(".react-flow__pane");
    const box = pane.getBoundingClientRect();
    const next = () => new Promise(requestAnimationFrame);
    const shown = () => document.querySelector(".react-flow__viewport").style.transform;
    const times = [];
    let last = await next(), before = shown(), changes = 0;
    for (let frame = 0; frame < frames; frame += 1) {
        const deltaY = (Math.floor(frame / 15) % 2 ? 1 : -1) * 12;
        pane.dispatchEvent(new WheelEvent("wheel", {
            clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, deltaY, ctrlKey: true,
            bubbles: true, cancelable: true, view: window,
        }));
        const now = await next();
        times.push(now - last);
        last = now;
        if (shown() !== before) changes += 1;
        before = shown();
    }
    return [times, changes];
}"""
RECORD_SOCKETS = """
window.opened = [];
window.WebSocket = class extends WebSocket {
  constructor(...words) { super(...words); window.opened.push(this); }
};
"""
CHARTS = """async ([names, frames]) => {
    const live = opened.find((socket) => socket.url.endsWith("/api/live"));
    const sample = (first_s, count) => {
        const times_s = Array.from({ length: count }, (_, row) => first_s + row / 10);
        const column = (kind, unit, scale) => (port, index) => ({
            kind, port, flow: "", unit, times_s,
            values: times_s.map((time) => scale * (1 + index / 50 + 0.3 * Math.sin(time + index))),
        });
        const columns = [
            ...names.map(column("throughput", "bit/s", 1e6)), ...names.map(column("queue", "B", 1e5)),
        ];
        live.onmessage({ data: JSON.stringify({ push: "samples", columns }) });
    };
    const next = () => new Promise(requestAnimationFrame);
    sample(1000, 300);
    await next();
    const times = [];
    let last = await next(), sampled = last, time_s = 1030;
    for (let frame = 0; frame < frames; frame += 1) {
        const now = await next();
        times.push(now - last);
        last = now;
        if (now - sampled >= 100) {
            sampled = now;
            sample((time_s += 0.1), 1);
        }
    }
    return times;
}"""
CURVES = 50
FLOOD = "while :; do head -c 100000 /dev/zero | tr '\\0' x; echo; sleep 0.1; done"


@dataclass(frozen=True)
class Checkout:
    """A copy of wanlab's source with its built page."""

    folder: Path

    @property
    def pages(self) -> Path:
        return self.folder / "src/wanlab/web/static"

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment in which this checkout's wanlab runs, on the kernel that it finds."""
        others = {name: value for name, value in os.environ.items() if name != KERNEL_VARIABLE}
        return others | {"PYTHONPATH": str(self.folder / "src"), "PYTHONUNBUFFERED": "1"}


@dataclass(frozen=True)
class Figure:
    """A measured value, with the limit of the claim if there is one."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    is_better_larger: bool = False

    @property
    def is_met(self) -> bool | None:
        if self.limit is None:
            return None
        return self.value >= self.limit if self.is_better_larger else self.value < self.limit


def main() -> int:
    options = _arguments()
    report = Report("ui")
    program = find_chromium()
    if program is None:
        report.note("there is no Chromium: apt-get install chromium")
        return report.finish(is_met=None)
    checkouts = [Checkout(it) for it in (HERE, options.against) if it is not None]
    for checkout in checkouts:
        if not (checkout.pages / "index.html").exists():
            report.note(f"the pages of {checkout.folder} are not built: ./dev ui")
            return report.finish(is_met=None)
    from playwright.sync_api import sync_playwright

    met: list[bool] = []
    columns = ("figure", "value", "unit", "limit", "is_met")
    table = report.table("figures", (*columns, "before", "ratio")[: 7 if options.against else 5])
    with tempfile.TemporaryDirectory(prefix="wanlab-bench-") as folder, sync_playwright() as player:
        place = Path(folder)
        save_networks(place)
        browser = player.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for name in options.only or PARTS:
            measured: list[list[list[Figure]]] = [[] for _ in checkouts]
            for _ in range(options.rounds):
                for checkout, rounds in zip(checkouts, measured, strict=True):
                    rounds.append(list(PARTS[name](browser, checkout, place, options)))
            before = {it.name: it.value for it in map(best, zip(*measured[-1], strict=True))}
            for figure in map(best, zip(*measured[0], strict=True)):
                add_row(table, figure, before[figure.name] if options.against else None)
                met += [] if figure.is_met is None else [figure.is_met]
        browser.close()
    return report.finish(is_met=all(met))


def best(rounds: Sequence[Figure]) -> Figure:
    """Return the best of the same figure in several rounds."""
    choose = max if rounds[0].is_better_larger else min
    return choose(rounds, key=lambda figure: figure.value)


def add_row(table: Table, figure: Figure, before: float | None) -> None:
    more: dict[str, Any] = {}
    if figure.limit is not None:
        more |= {"limit": figure.limit, "is_met": figure.is_met}
    if before is not None:
        ratio = round(figure.value / before, 3) if before else None
        more |= {"before": round(before, 3), "ratio": ratio}
    table.add(figure=figure.name, value=round(figure.value, 3), unit=figure.unit, **more)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=PARTS, help="by default all")
    parser.add_argument(
        "--against", type=Path, help="folder of an older checkout, whose page is built"
    )
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument(
        "--hours", type=float, default=3.0, help="of network time, in which memory may grow"
    )
    parser.add_argument("--students", type=int, default=60)
    return parser.parse_args()


# -- parts --------------------------------------------------------------------------------------------


def page_figures(
    browser: Any, checkout: Checkout, folder: Path, options: argparse.Namespace
) -> Iterator[Figure]:
    """Measure the size of the page, and how fast it opens."""
    whole = compressed_bytes(checkout.pages)
    yield Figure("all files", whole / 1000, "kB", MAX_BYTES / 1000)
    with served(checkout, folder / "many.yaml") as url:
        visits = [visit(browser, url) for _ in range(VISITS)]
    yield Figure("first page", min(seconds for seconds, _ in visits), "s", MAX_FIRST_PAGE_S)
    loaded = compressed_bytes(checkout.pages, visits[0][1])
    yield Figure("first page loads", loaded / 1000, "kB")


def drag_figures(
    browser: Any, checkout: Checkout, folder: Path, options: argparse.Namespace
) -> Iterator[Figure]:
    """Measure drags in networks of several sizes."""
    for file, switch in (("many", "s5"), ("middle", "s6"), ("thousand", "s20")):
        with served(checkout, folder / f"{file}.yaml") as url:
            yield from drags(browser, url, load(folder / f"{file}.yaml"), switch)


def many_figures(
    browser: Any, checkout: Checkout, folder: Path, options: argparse.Namespace
) -> Iterator[Figure]:
    """Measure opening and zooming of the largest network."""
    with served(checkout, folder / "thousand.yaml") as url:
        opened_s = min(open_many(browser, url) for _ in range(3))
        yield Figure("1,000 nodes, open", opened_s, "s", MAX_MANY_S)
        page = browser.new_page(viewport=SIZE)
        page.goto(url)
        _wait_for_far_layer(page, LARGE_COUNT)
        yield from motion(page, "1,000 nodes, zoom", ZOOM, FRAMES // 3, FRAMES // 3)
        page.close()


def chart_figures(
    browser: Any, checkout: Checkout, folder: Path, options: argparse.Namespace
) -> Iterator[Figure]:
    """Measure a page with growing charts."""
    with served(checkout, folder / "many.yaml") as url:
        frames, busy_ms = charts(browser, url)
    what = f"charts of {CURVES} ports"
    yield Figure(what, frames, "frames/s", MIN_FRAMES_PER_S, is_better_larger=True)
    yield Figure("charts, processor", busy_ms, "ms/frame")


def terminal_figures(
    browser: Any, checkout: Checkout, folder: Path, options: argparse.Namespace
) -> Iterator[Figure]:
    """Measure how fast keys appear."""
    with served(checkout, folder / "star.yaml") as url:
        quiet_ms, busy_ms, flood_mbs = echoes(browser, url)
    yield Figure("key to letter, all quiet", quiet_ms, "ms")
    yield Figure("flood", flood_mbs, "MB/s", is_better_larger=True)
    yield Figure("key to letter, beside the flood", busy_ms, "ms", MAX_ECHO_MS)


def growth_figures(
    browser: Any, checkout: Checkout, folder: Path, options: argparse.Namespace
) -> Iterator[Figure]:
    """Measure how the page's memory grows while a network runs."""
    with served(checkout, folder / "two.yaml") as url:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        growth = growth_of(page, url, options.hours)
        page.close()
    yield Figure("memory after an hour", growth.first_mb, "MB")
    yield Figure("growth of memory", growth.mb_per_hour, "MB/h", MAX_GROWTH_MB_PER_HOUR)
    yield Figure("growth of elements", growth.nodes_per_hour, "nodes/h")
    yield Figure("network time", growth.speed, "s/s", is_better_larger=True)


def class_figures(
    browser: Any, checkout: Checkout, folder: Path, options: argparse.Namespace
) -> Iterator[Figure]:
    """Measure the return of a class after a restart of its server."""
    with ThreadPoolExecutor(1) as pool:  # Playwright's event loop runs in this thread
        measured = pool.submit(reconnection_times_s, checkout.environment, options.students)
        times_s = sorted(measured.result())
    name = f"{options.students} students reconnect"
    yield Figure(f"{name}, half", median(times_s), "s")
    yield Figure(f"{name}, last", times_s[-1], "s", MAX_RECONNECT_S)


Part = Callable[[Any, Checkout, Path, argparse.Namespace], Iterator[Figure]]
PARTS: dict[str, Part] = {
    "page": page_figures,
    "drag": drag_figures,
    "many": many_figures,
    "charts": chart_figures,
    "terminals": terminal_figures,
    "growth": growth_figures,
    "class": class_figures,
}


# -- measuring ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def served(checkout: Checkout, file: Path) -> Iterator[str]:
    """Run a checkout's `wanlab web` as a process of its own, and yield its address."""
    command = [sys.executable, "-m", "wanlab.cli", "web", "--no-browser", file.name]
    process = subprocess.Popen(
        command, cwd=file.parent, env=checkout.environment, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        lines = (re.search(r"http://\S+", line) for line in process.stdout)
        address = next(filter(None, lines), None)
        assert address, "the server does not print its address"
        yield address[0]
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


def compressed_bytes(folder: Path, names: set[str] | None = None) -> int:
    """Return the compressed size of all files of a folder, or of those with these names."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name[0] != "."]
    return sum(
        len(gzip.compress(path.read_bytes()))
        for path in files
        if names is None or path.name in names
    )


def visit(browser: Any, url: str) -> tuple[float, set[str]]:
    """Return the seconds until all nodes are drawn, and the names of the files that were loaded."""
    context = browser.new_context(viewport=SIZE)
    page = context.new_page()
    names = {"index.html"}
    page.on("request", lambda request: names.add(request.url.partition("?")[0].rpartition("/")[2]))
    began = time.monotonic()
    page.goto(url)
    _wait_for_nodes(page, HOSTS + SWITCHES)
    seconds = time.monotonic() - began
    context.close()
    return seconds, names


def _wait_for_nodes(page: Any, count: int) -> None:
    page.wait_for_function(
        "count => document.querySelectorAll('.react-flow__node').length === count", arg=count
    )


def drags(browser: Any, url: str, topology: Topology, switch: str) -> Iterator[Figure]:
    """Drag a switch; in a network whose nodes are drawn on a canvas, also one of those from near."""
    count = len(topology.nodes)
    frames = FRAMES if count < FAR_FROM else FRAMES // 3
    what = f"{count:,} nodes, drag"
    page = browser.new_page(viewport=SIZE)
    page.goto(url)
    if count < FAR_FROM:
        _wait_for_nodes(page, count)
    else:
        _wait_for_far_layer(page, count)
        _point_at(page, next(node for node in topology.nodes if node.name == switch))
    yield from motion(page, what, DRAG, [f"switch {switch}", frames], frames)
    if count >= FAR_FROM:
        page.keyboard.press("Control+z")
        page.get_by_role("button", name="Zoom in").click(click_count=1)
        page.keyboard.press("Control+0")
        page.wait_for_function(
            "() => { const count = document.querySelectorAll('.react-flow__node').length;"
            " return count > 20 && count < 300; }"
        )
        name = page.locator("[aria-label^='switch s']").first.get_attribute("aria-label")
        yield from motion(page, f"{what} from near", DRAG, [name, frames], frames)
    page.close()


def motion(page: Any, what: str, script: str, argument: object, frames: int) -> Iterator[Figure]:
    """Run a script that moves something before every frame; yield three figures of its frames."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    before_s = _busy_s(session)
    times_ms, moves = page.evaluate(script, argument)
    busy_ms = 1000 * (_busy_s(session) - before_s) / frames
    rate = 1000 * moves / sum(times_ms)
    yield Figure(what, rate, "frames/s", MIN_FRAMES_PER_S, is_better_larger=True)
    yield Figure(f"{what}, slowest 5 %", sorted(times_ms)[int(frames * 0.95)], "ms")
    yield Figure(f"{what}, processor", busy_ms, "ms/frame")


def open_many(browser: Any, url: str) -> float:
    """Return the seconds until the network of 1,000 nodes is drawn, with an empty browser cache."""
    context = browser.new_context(viewport=SIZE)
    page = context.new_page()
    began = time.monotonic()
    page.goto(url)
    _wait_for_far_layer(page, LARGE_COUNT)
    seconds = time.monotonic() - began
    context.close()
    return seconds


def _wait_for_far_layer(page: Any, count: int) -> None:
    """Wait until a whole large network is fitted to the window and drawn."""
    page.wait_for_function(
        "count => { const shown = document.querySelector('.react-flow__viewport')?.style.transform;"
        "const is = shown === window.shownBefore && shown !== 'translate(0px, 0px) scale(1)'"
        " && document.querySelector('.far-layer')?.dataset.nodes === String(count);"
        "window.shownBefore = shown; return is; }",
        arg=count,
        timeout=120_000,
    )


def _point_at(page: Any, node: Any) -> None:
    """Move the pointer to a node; in a large network it becomes an element of the page then."""
    x, y = page.evaluate(
        """([x, y]) => {
            const box = document.querySelector(".canvas").getBoundingClientRect();
            const { a: zoom, e, f } = new DOMMatrix(
                getComputedStyle(document.querySelector(".react-flow__viewport")).transform);
            return [box.x + x * zoom + e, box.y + y * zoom + f];
        }""",
        [node.x, node.y],
    )
    page.mouse.move(x, y)
    page.locator(f"[aria-label$=' {node.name}']").wait_for()


def charts(browser: Any, url: str) -> tuple[float, float]:
    """Return frames per second of a page with growing charts, and processor time per frame in ms."""
    context = browser.new_context(viewport=SIZE)
    context.add_init_script(RECORD_SOCKETS)
    page = context.new_page()
    page.goto(url)
    _wait_for_nodes(page, HOSTS + SWITCHES)
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("button", name="Stop", exact=True).and_(page.locator(":enabled")).wait_for(
        timeout=90_000
    )
    page.get_by_role("status").get_by_text("running").wait_for(timeout=90_000)
    page.get_by_role("tab", name="Charts").click()
    page.locator(".uplot").nth(1).wait_for()
    names = [f"h{number}-eth0" for number in range(1, CURVES + 1)]
    session = context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    before_s = _busy_s(session)
    times_ms = page.evaluate(CHARTS, [names, FRAMES])
    busy_ms = 1000 * (_busy_s(session) - before_s) / len(times_ms)
    assert page.locator(".plot-row").count() == 2 * CURVES, "not all curves are drawn"
    context.close()
    return 1000 * len(times_ms) / sum(times_ms), busy_ms


def _busy_s(session: Any) -> float:
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(float(metric["value"]) for metric in metrics if metric["name"] == "TaskDuration")


def echoes(browser: Any, url: str) -> tuple[float, float, float]:
    """Return the median time from a key to its letter in ms, idle and beside a flooded terminal.

    The third value is the rate of the flood in MB/s.
    """
    page = browser.new_page(viewport=SIZE)
    received = [0]

    def count(data: str | bytes) -> None:
        received[0] += len(data)

    page.on("websocket", lambda socket: socket.on("framereceived", count))
    page.set_default_timeout(120_000)
    page.goto(url)
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("button", name="Stop", exact=True).and_(page.locator(":enabled")).wait_for()
    for number in range(1, TERMINALS + 1):
        page.get_by_role("button", name="+ Terminal").click()
        page.get_by_role("menuitem", name=f"h{number}", exact=True).click()
        page.get_by_role("group", name=f"Terminal h{number}", exact=True).locator(
            ".xterm-rows"
        ).wait_for()
    quiet_ms = _echo(page, f"h{TERMINALS}")
    page.get_by_role("tab", name="h1", exact=True).click()
    _terminal(page, "h1").locator(".xterm-screen").click()
    page.keyboard.type(FLOOD)
    page.keyboard.press("Enter")
    page.get_by_role("tab", name=f"h{TERMINALS}", exact=True).click()
    before, began = received[0], time.monotonic()
    busy_ms = _echo(page, f"h{TERMINALS}")
    flood_mbs = (received[0] - before) / 1e6 / (time.monotonic() - began)
    page.close()
    return quiet_ms, busy_ms, flood_mbs


def _terminal(page: Any, node: str) -> Any:
    return page.get_by_role("group", name=f"Terminal {node}", exact=True)


def _echo(page: Any, node: str) -> float:
    terminal = _terminal(page, node)
    terminal.locator(".xterm-screen").click()
    times_ms = []
    for number in range(KEYS):
        letter = "abcdefghijklmnopqrst"[number]
        before = terminal.locator(".xterm-rows").inner_text().count(letter)
        began = time.monotonic()
        page.keyboard.press(letter)
        page.wait_for_function(
            "([node, letter, before]) => document.querySelector("
            "`[aria-label='Terminal ${node}'] .xterm-rows`).innerText.split(letter).length - 1 > before",
            arg=[node, letter, before],
        )
        times_ms.append(1000 * (time.monotonic() - began))
    return median(times_ms)


if __name__ == "__main__":
    sys.exit(main())
