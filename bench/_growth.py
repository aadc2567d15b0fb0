"""How the memory of the page grows while a network runs with all charts open."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

ALL_CHARTS = """
localStorage.setItem("wanlab.charts", JSON.stringify({
    state: { kinds: ["throughput", "queue", "cwnd", "rtt", "drops"], seconds: 60 }, version: 0,
}));
"""
KEPT_S = 3600.0
"""The page keeps the samples of so much network time, so its memory grows before."""
LOOK_MS = 500
PATIENCE_S = 3600.0


@dataclass(frozen=True)
class Growth:
    """What has grown since the first hour of network time.

    speed   network time that passed in a second
    """

    first_mb: float
    mb_per_hour: float
    nodes_per_hour: float
    speed: float


def growth_of(page: Any, url: str, hours: float) -> Growth:
    """Run two flows as fast as possible, with five charts, for `hours` of network time (> 1)."""
    page.set_default_timeout(120_000)
    page.add_init_script(ALL_CHARTS)
    page.goto(url)
    page.get_by_role("group", name="Clock").get_by_label("Pace").select_option(
        label="as fast as possible"
    )
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("status").get_by_text("running").wait_for()
    _types(page, "h2", "iperf3 -s > /dev/null &")
    _types(page, "h1", "iperf3 -c 10.0.0.2 -P 2 -t 86000 > /dev/null")
    page.get_by_role("tab", name="Charts").click()
    page.locator(".uplot").nth(4).wait_for()
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    began = time.monotonic()
    _wait_until(page, KEPT_S * 1.05)
    at_s, first = _clock_s(page), _used(session)
    _wait_until(page, KEPT_S * hours)
    end_s, last = _clock_s(page), _used(session)
    passed_h = (end_s - at_s) / 3600
    return Growth(
        first_mb=first["JSHeapUsedSize"] / 1e6,
        mb_per_hour=(last["JSHeapUsedSize"] - first["JSHeapUsedSize"]) / 1e6 / passed_h,
        nodes_per_hour=(last["Nodes"] - first["Nodes"]) / passed_h,
        speed=end_s / (time.monotonic() - began),
    )


def _types(page: Any, node: str, line: str) -> None:
    page.get_by_role("button", name="+ Terminal").click()
    page.get_by_role("menuitem", name=node, exact=True).click()
    terminal = page.get_by_role("group", name=f"Terminal {node}", exact=True)
    terminal.locator(".xterm-rows").get_by_text("#").first.wait_for()
    terminal.locator(".xterm-screen").click()
    page.keyboard.type(line)
    page.keyboard.press("Enter")


def _clock_s(page: Any) -> float:
    """Return the network's time; the clock shows "1:02:03" or "12.3 s"."""
    seconds = 0.0
    for part in str(page.locator(".clock-time").inner_text()).removesuffix(" s").split(":"):
        seconds = 60 * seconds + float(part)
    return seconds


def _wait_until(page: Any, at_s: float) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while (now_s := _clock_s(page)) < at_s:
        if time.monotonic() > deadline:
            raise SystemExit(f"after {PATIENCE_S:g} s, the network's time is {now_s:g} s")
        page.wait_for_timeout(LOOK_MS)


def _used(session: Any) -> dict[str, float]:
    """Return what the page uses, without what is garbage."""
    for _ in range(3):
        session.send("HeapProfiler.collectGarbage")
    metrics = session.send("Performance.getMetrics")["metrics"]
    return {metric["name"]: float(metric["value"]) for metric in metrics}
