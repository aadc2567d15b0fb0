"""Test the window as a whole: keyboard, sizes, accessibility, reloads, a lost server."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable

import pytest
from axe import findings
from playwright.sync_api import expect
from served import Server
from student import LIMIT_MS, Student

expect.set_options(timeout=LIMIT_MS)
ROUTED = """\
nodes:
  - {host: h1, x: 100, y: 100}
  - {host: h2, x: 500, y: 300}
  - {router: r1, x: 300, y: 200}
links: [{link: [h1, r1]}, {link: [r1, h2]}]
"""


def opens(student: Student, server: Server, text: str = ROUTED) -> None:
    (server.folder / "network.yaml").write_text(text)
    student.opens("network.yaml")


def overflow(student: Student) -> list[str]:
    """Return the elements that extend beyond the window."""
    found: list[str] = student.page.evaluate(
        """() => [...document.querySelectorAll('.top-bar *, .dock .bar *, .side .bar *')]
            .filter((it) => it.getClientRects().length && !it.closest('.phase-running'))
            .filter((it) => it.getBoundingClientRect().right > innerWidth + 1
                || it.getBoundingClientRect().bottom > innerHeight + 1)
            .map((it) => it.className + ' ' + it.textContent)"""
    )
    return found


@pytest.mark.long
def test_the_window_fits_1024_pixels_and_a_zoom_of_200_percent(
    student: Student, server: Server
) -> None:
    opens(student, server)
    for width, height in ((1024, 768), (720, 450)):
        student.page.set_viewport_size({"width": width, "height": height})
        devices = student.boxes_at_rest(".device")
        assert overflow(student) == []
        assert student.page.evaluate("() => document.documentElement.scrollWidth") <= width
        canvas = student.canvas.bounding_box()
        assert canvas["height"] >= 130
        assert canvas["width"] >= 250
        tools = student.boxes(".palette-tool")
        assert len(tools) == 9
        assert all(tool["bottom"] <= canvas["y"] + canvas["height"] for tool in tools)
        assert len(devices) == 3
        assert all(is_inside(node, canvas) for node in devices)
        student.picture(f"{width} pixels")
    # A zoom set by hand does not change.
    student.page.emulate_media(reduced_motion="reduce")  # in one step, without intermediate sizes
    student.page.get_by_role("button", name="Zoom in").click()
    student.page.set_viewport_size({"width": 1024, "height": 768})
    before = student.boxes_at_rest(".device")
    student.page.set_viewport_size({"width": 1280, "height": 720})
    after = student.boxes_at_rest(".device")
    assert [one["top"] for one in after] == [one["top"] for one in before]


@pytest.mark.long
def test_a_drawing_returns_to_its_place_when_the_terminals_shrink(
    student: Student,
) -> None:
    for kind, down in (("Host", 0.2), ("Switch", 0.8)):
        student.draws(kind, 0.5, down)
    student.links("h1", "s1")
    student.runs()
    student.opens_terminal("h1")
    before = student.boxes_at_rest(".device")
    student.makes_terminals_large()
    assert student.boxes_at_rest(".device") != before
    student.makes_terminals_small()
    assert student.boxes_at_rest(".device") == before
    student.stops()


@pytest.mark.long
@pytest.mark.machine
def test_nodes_added_beside_large_terminals_are_visible_when_these_shrink(
    student: Student, server: Server
) -> None:
    opens(student, server, "nodes: [{host: h1, x: 100, y: 100}]\n")
    student.runs()
    student.opens_terminal("h1")
    student.page.emulate_media(reduced_motion="reduce")
    student.page.get_by_role("button", name="Zoom in").click()
    student.makes_terminals_large()
    student.draws_again()
    student.draws("Host", 0.9, 0.5)
    student.makes_terminals_small()
    tiles = student.boxes_at_rest(".tile")
    canvas = student.canvas.bounding_box()
    assert all(is_inside(node, canvas) for node in tiles)
    student.stops()


def is_inside(node: dict[str, float], frame: dict[str, float]) -> bool:
    return (
        node["left"] >= frame["x"]
        and node["top"] >= frame["y"]
        and node["right"] <= frame["x"] + frame["width"]
        and node["bottom"] <= frame["y"] + frame["height"]
    )


def test_tables_of_lessons_can_be_scrolled_with_the_keyboard(student: Student) -> None:
    lesson = student.reads_lesson("Lab 1:")
    table = lesson.locator(".table").first
    expect(table).to_have_attribute("tabindex", "0")


DIALOGS = {
    ("File", "Generate…"): "Generate a network",
    ("File", "Open…"): "Open",
    ("File", "Save as…"): "Save as",
    ("File", "New"): "Save the changes?",
    ("Help", "About wanlab"): "About wanlab",
    ("Help", "Keyboard shortcuts…"): "Keyboard shortcuts",
    ("Help", "Gallery of published figures…"): "Gallery of published figures",
    ("Edit", "Preferences…"): "Preferences",
}
MENUS = ("File", "Edit", "View", "Run", "Help")


@pytest.mark.long
@pytest.mark.machine
def test_axe_finds_no_accessibility_problems(student: Student, server: Server) -> None:
    opens(student, server)
    page = student.page

    def looks_at(name: str) -> None:
        dialog = page.get_by_role("dialog", name=name)
        dialog.wait_for()
        page.get_by_text("Loading").wait_for(state="hidden")
        assert findings(student, "dialog[open]") == [], name
        student.picture(name)
        student.presses("Escape")
        dialog.wait_for(state="hidden")

    student.draws("Host", 0.8, 0.2)  # there is something to save
    student.presses("Escape")
    for (menu, entry), name in DIALOGS.items():
        student.chooses(menu, entry)
        looks_at(name)
    for menu in MENUS:
        page.get_by_role("menubar").get_by_role("menuitem", name=menu, exact=True).click()
        page.get_by_role("menu", name=menu).wait_for()
        assert findings(student, ".menu-bar") == [], menu
        student.presses("Escape")
    student.reads_lesson("Lab 1:")
    assert findings(student) == []
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("button", name="Start from step…").click()
    looks_at("Start from a later step")
    student.shows("Properties")
    student.canvas.get_by_role("group", name="host h1").click()
    student.shows("Problems")
    assert findings(student) == []
    student.runs()
    student.opens_terminal("h1")
    assert findings(student) == []
    page.get_by_role("button", name="Step to…").click()
    page.get_by_role("menuitem", name="Add a breakpoint").click()
    looks_at("Add a breakpoint")
    expect(student.canvas.get_by_role("img", name="link h1–r1")).to_be_attached()  # noqa: RUF001
    student.opens_link_menu("h1", "r1")
    assert findings(student, "[role=menu]") == []
    page.get_by_role("menuitem", name="Capture packets at h1-eth0").click()
    looks_at("Capture packets at h1-eth0")
    student.shows("Charts")
    page.get_by_role("figure").first.wait_for()
    assert findings(student) == []
    # Check the other colours as well.
    page.get_by_role("button", name="Dark theme").click()
    assert findings(student) == []
    student.chooses("Edit", "Preferences…")
    looks_at("Preferences")


WIDTHS = """() => {
    const choice = document.querySelector(".clock-runs");
    const whole = choice.cloneNode(true);
    whole.style.maxWidth = "none";
    choice.after(whole);
    const widths = [choice.offsetWidth, whole.offsetWidth];
    whole.remove();
    return widths;
}"""


def _place_of_clock(student: Student) -> list[float]:
    """Return the positions of the speed and the theme button."""
    clock = student.page.get_by_role("group", name="Clock").get_by_label("Speed")
    theme = student.page.get_by_role("button", name=re.compile("theme$"))
    return [box[side] for box in (clock.bounding_box(), theme.bounding_box()) for side in "xy"]


@pytest.mark.machine
def test_the_clock_stays_in_its_row_and_is_not_cut_off_at_1024_pixels(
    student: Student, server: Server
) -> None:
    opens(student, server)
    student.runs()
    student.stands_still()
    idle = _place_of_clock(student)
    student.types(student.opens_terminal("h1"), "sleep 100")
    student.page.locator(".clock-moving").wait_for()
    assert _place_of_clock(student)[1::2] == idle[1::2]
    assert idle[3] < idle[1], "the theme button is in the first row"
    student.picture("a command runs")
    student.page.set_viewport_size({"width": 1024, "height": 768})
    student.page.get_by_label("Time passes").wait_for()
    shown, whole = student.page.evaluate(WIDTHS)
    assert shown == whole
    assert overflow(student) == []
    student.opens_terminal("h1")
    assert overflow(student) == []
    student.picture("the clock at 1024 pixels")


@pytest.mark.long
@pytest.mark.machine
def test_f6_leads_out_of_a_terminal_and_around_the_window(student: Student, server: Server) -> None:
    opens(student, server)
    student.runs()
    terminal = student.opens_terminal("h1")
    student.types(terminal, "echo $((6 * 7)) typed")
    student.reads(terminal, "42 typed")
    seen = []
    for _ in range(5):
        student.presses("F6")
        seen.append(
            student.page.evaluate(
                "() => ['.top-bar', '.canvas-area', '.timeline', '.dock', '.side'].find("
                "(name) => document.querySelector(name).contains(document.activeElement))"
            )
        )
    assert seen == [".side", ".top-bar", ".canvas-area", ".timeline", ".dock"]
    expect(terminal.locator("textarea")).to_be_focused()
    student.presses("Shift+F6")
    expect(terminal.locator("textarea")).not_to_be_focused()
    # A terminal whose program has ended lets Tab through.
    student.types(terminal, "exit")
    terminal.get_by_text("The program has ended").wait_for()
    terminal.locator("textarea").focus()
    student.presses("Tab")
    expect(terminal.locator("textarea")).not_to_be_focused()


@pytest.mark.long
def test_a_lesson_keeps_its_scroll_position(student: Student) -> None:
    lesson = student.reads_lesson("Lab 5:")
    lesson.evaluate("(it) => it.scrollTo(0, 900)")
    student.page.wait_for_function("() => localStorage['wanlab.lesson'].includes('900')")

    def is_where_it_was() -> None:
        student.page.wait_for_function("() => document.querySelector('.lesson')?.scrollTop === 900")

    student.shows("Properties")
    student.shows("Lessons")
    is_where_it_was()
    student.chooses("File", "New")
    is_where_it_was()
    student.page.reload()
    student.is_connected()
    is_where_it_was()
    # On the left, it remains visible while properties are shown.
    student.page.get_by_role("button", name="More actions").click()
    student.page.get_by_role("button", name="Move left").click()
    is_where_it_was()
    expect(student.page.get_by_role("region", name="Properties")).to_be_visible()
    student.picture("lesson on the left")


@pytest.mark.long
def test_a_lessons_files_are_offered_first(student: Student) -> None:
    student.starts_lesson("Lab 5:")
    student.chooses("File", "Open…")
    dialog = student.page.get_by_role("dialog", name="Open")
    expect(dialog.get_by_role("button", name="Lab 5.mn")).to_be_visible()


def test_what_ran_is_not_shown_as_running_once_the_server_has_gone(
    student: Student, server: Server
) -> None:
    server.end(signal.SIGKILL)
    banner = student.page.get_by_role("alert").filter(has_text="The connection to wanlab is lost")
    banner.wait_for()
    expect(student.page.get_by_role("button", name="Run", exact=True)).to_be_disabled()
    expect(student.page.get_by_role("button", name="Stop", exact=True)).to_be_disabled()
    frame = banner.bounding_box()
    assert frame is not None
    assert frame["y"] + frame["height"] <= student.page.locator(".top-bar").bounding_box()["y"] + 1
    student.page.goto("about:blank")  # the page would keep trying to connect and logging errors
    student.console_errors.clear()


@pytest.mark.long
@pytest.mark.machine
def test_terminals_stay_tiled_after_a_reload_and_get_the_focus(
    student: Student, server: Server
) -> None:
    opens(student, server)
    student.runs()
    student.opens_terminal("h1")
    student.opens_terminal("h2")
    student.page.get_by_role("button", name="Tile").click()
    expect(student.page.locator(".pane")).to_have_count(2)
    student.page.on("dialog", lambda dialog: dialog.accept())
    student.page.reload()
    student.is_connected()
    expect(student.page.locator(".pane")).to_have_count(2)
    student.shows("Problems")
    student.shows("Terminals")
    expect(student.page.locator(".pane-active textarea")).to_be_focused()
    student.stops()
    student.page.get_by_text("Ended when the network was stopped.").first.wait_for()
    student.clears()
    expect(student.page.locator(".terminal-pane")).to_have_count(0)


@pytest.mark.long
@pytest.mark.machine
def test_settings_of_tc_in_a_terminal_are_shown_on_the_canvas_and_can_be_copied(
    student: Student, server: Server
) -> None:
    opens(student, server, "nodes: [{host: h1}, {host: h2}]\nlinks: [{link: [h1, h2]}]\n")
    student.runs()
    terminal = student.opens_terminal("h1")
    student.types(terminal, "tc qdisc add dev h1-eth0 root handle 1: netem delay 20ms loss 1%")
    tbf = "tc qdisc add dev h1-eth0 parent 1: tbf rate 100mbit burst 15000 limit 250000; sleep 2"
    student.types(terminal, tbf)
    label = student.page.locator(".line-text").filter(has_text="100Mbps")
    label.wait_for()
    student.selects_link("h1", "h2")
    note = student.page.get_by_role("group", name="Set by tc")
    expect(note).to_contain_text("100Mbps · 20ms · loss 1% · fifo 250KB")
    student.picture("set by tc")
    note.get_by_role("button", name="Copy into the drawing").click()
    expect(note).to_have_count(0)
    form = student.page.get_by_role("region", name="Properties")
    form.get_by_role("radio", name="h1 → h2").click()
    expect(form.get_by_label("Rate", exact=True)).to_have_value("100Mbps")
    expect(form.get_by_label("Delay", exact=True)).to_have_value("20ms")


@pytest.mark.long
@pytest.mark.machine
def test_time_can_pass_without_a_command_and_in_slow_motion(
    student: Student, server: Server
) -> None:
    opens(student, server)
    student.runs()
    clock = student.page.get_by_role("group", name="Clock")
    clock.get_by_text("idle: no command runs").wait_for()
    clock.get_by_label("Time passes").select_option(label="always")
    expect(clock.locator(".clock-mood")).to_contain_text("×")  # noqa: RUF001
    before = student.clock_s()
    student.page.wait_for_function(
        "(before) => parseFloat(document.querySelector('.clock-time').textContent) > before + 0.5",
        arg=before,
    )
    student.chooses_pace("×0.01")  # noqa: RUF001
    expect(clock.locator(".clock-mood")).to_have_text(re.compile(r"×0\.0\d*"))  # noqa: RUF001
    student.picture("slow motion")
    clock.get_by_label("Time passes").select_option(label="while a command runs")
    clock.get_by_text("idle: no command runs").wait_for()


@pytest.mark.long
@pytest.mark.machine
def test_charts_opened_late_show_the_flow_through_a_link(student: Student, server: Server) -> None:
    text = "nodes: [{host: h1}, {host: h2}, {host: h3}, {switch: s1}]\nlinks: "
    text += "[{link: [h1, s1]}, {link: [h2, s1]}, {link: [s1, h3], rate: 20Mbps, delay: 5ms}]\n"
    opens(student, server, text)
    student.runs()
    student.chooses_pace("as fast as possible")
    h3 = student.opens_terminal("h3")
    student.types(h3, "iperf3 -s -1 -D; sleep 0.1")
    h1 = student.opens_terminal("h1")
    student.types(h1, "iperf3 -c h3 -t 3 > /dev/null; echo ov''er")
    student.reads(h1, "over")
    student.shows("Charts")
    student.page.get_by_role("button", name="cwnd", exact=True).click()
    student.selects_link("s1", "h3")
    figure = student.page.get_by_role("figure", name="cwnd")
    rows = figure.locator(".plot-row")
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text("h1 → h3:5201")
    queue = student.page.get_by_role("figure", name="Queue").locator(".plot-row")
    expect(queue.filter(has_text="s1-eth3")).to_have_count(1)
    student.picture("charts opened late")
    student.selects_link("h2", "s1")
    expect(rows).to_have_count(0)


def test_advice_is_given_before_a_run(student: Student, server: Server) -> None:
    opens(student, server)
    student.shows("Problems")
    problems = student.page.get_by_role("list", name="Problems")
    expect(problems).to_contain_text("the router has no address, so it forwards nothing")
    expect(problems).to_contain_text("the host has no default route")
    expect(student.page.get_by_role("button", name="Run", exact=True)).to_be_enabled()


def test_assets_are_compressed_and_the_page_has_its_own_font(
    server: Server, come: Callable[..., Student]
) -> None:
    student = come(server)
    fonts = "() => [...document.fonts].map(({ family, status }) => `${family} ${status}`)"
    assert student.page.evaluate(fonts) == ["Inter loaded"]
    sizes: list[list[int]] = student.page.evaluate(
        "() => performance.getEntriesByType('resource').filter((it) => it.name.endsWith('.js'))"
        ".map((it) => [it.encodedBodySize, it.decodedBodySize])"
    )
    assert sizes
    loaded = student.page.evaluate(
        "() => performance.getEntriesByType('resource').map((it) => it.name)"
    )
    assert not [name for name in loaded if "TerminalPane" in name], "no terminal is open"
    assert all(encoded < 0.6 * decoded for encoded, decoded in sizes if decoded > 2000)


def is_over(a: dict[str, float], b: dict[str, float]) -> bool:
    return min(a["right"], b["right"]) > max(a["left"], b["left"]) and min(
        a["bottom"], b["bottom"]
    ) > max(a["top"], b["top"])


@pytest.mark.parametrize("size", [(1024, 768), (1920, 1080)])
def test_nodes_of_an_opened_file_are_beside_the_zoom_buttons_and_the_overview(
    student: Student, server: Server, size: tuple[int, int]
) -> None:
    student.page.set_viewport_size({"width": size[0], "height": size[1]})
    # Links with conditions in all directions: steep ones, flat ones, and on both sides.
    places = [(0, 0), (900, 0), (0, 600), (900, 600), (450, 0), (450, 600), (0, 300), (900, 300)]
    text = "nodes:\n  - {switch: s1, x: 450, y: 300}\n" + "".join(
        f"  - {{host: h{n}, x: {x}, y: {y}}}\n" for n, (x, y) in enumerate(places, 1)
    )
    text += "links:\n" + "".join(
        f"  - {{link: [h{n}, s1], rate: 10Mbps, delay: 5ms}}\n" for n in range(1, len(places) + 1)
    )
    opens(student, server, text)
    student.page.wait_for_function(
        "() => { const it = [...document.querySelectorAll('.device')].map("
        "(one) => one.getBoundingClientRect()); const now = JSON.stringify(it);"
        "const is = now === window.before; window.before = now; return is && it.length === 9; }"
    )
    fixed = student.boxes(".zoom, .react-flow__minimap, .palette")
    assert len(fixed) >= 2
    for node in student.boxes(".tile, .device-texts"):
        assert not [one for one in fixed if is_over(node, one)]
    texts = student.boxes(".device-texts")
    names, conditions = student.boxes(".line-end"), student.boxes(".line-text:not(.line-end)")
    assert len(names) == 16
    assert len(conditions) == 8
    assert not [one for one in names + conditions if any(is_over(one, text) for text in texts)]
    assert not [one for one in names if any(is_over(one, other) for other in conditions)]
    student.picture(f"{size[0]} pixels")


@pytest.mark.long
@pytest.mark.machine
def test_a_check_reports_its_progress_in_one_place(student: Student) -> None:
    student.starts_lesson("Lab 1:")
    student.runs()
    student.page.evaluate(
        "() => { window.most = 0; new MutationObserver(() => { window.most = Math.max(window.most,"
        " document.querySelectorAll('.toast').length) }).observe(document.body,"
        " { childList: true, subtree: true }) }"
    )
    student.page.get_by_role("button", name="Check", exact=True).click()
    results = student.page.get_by_role("region", name="Check results")
    results.wait_for()
    assert student.page.evaluate("() => window.most") <= 1
    # The results are there after a reload, but not beside a check that runs.
    student.page.on("dialog", lambda dialog: dialog.accept())
    student.page.reload()
    student.is_connected()
    expect(results).to_contain_text(re.compile(r"\d of \d+ points"))
    student.page.evaluate(
        "() => { window.seen = []; new MutationObserver(() => window.seen.push("
        "['.lesson-working', '.check-results'].filter((one) => document.querySelector(one))"
        ".join())).observe(document.body, { childList: true, subtree: true }) }"
    )
    student.page.get_by_role("button", name="Check", exact=True).click()
    student.page.wait_for_function(
        "() => window.seen.includes('.lesson-working') && window.seen.at(-1) === '.check-results'"
    )
    assert ".lesson-working,.check-results" not in student.page.evaluate("() => window.seen")


@pytest.mark.long
@pytest.mark.machine
def test_the_clock_names_the_port_that_makes_time_pass_slowly(
    student: Student, server: Server
) -> None:
    opens(student, server, "nodes: [{host: h1}, {host: h2}]\nlinks: [{link: [h1, h2]}]\n")
    student.runs()
    student.page.get_by_role("group", name="Clock").get_by_text("idle: no command runs").wait_for()
    student.page.evaluate(
        """() => {
            const live = opened.find((socket) => socket.url.endsWith("/api/live"));
            const receive = live.onmessage;
            live.onmessage = () => {};  // the true clock, pushed a moment later, would win
            const push = (message) => receive.call(live, { data: JSON.stringify(message) });
            push({ push: "clock", now_ns: 5e9, speed: 0.01, pace: "fast", wanted_speed: 1, stalled: "",
                   runs_always: false, is_paused: false, is_moving: true, clock: "virtual" });
            const column = (port, value) => ({ kind: "throughput", port, flow: "", unit: "bit/s",
                                               times_s: [5], values: [value] });
            push({ push: "samples", columns: [column("h1-eth0", 417e9), column("h2-eth0", 1e9)] });
        }"""
    )
    clock = student.page.get_by_role("group", name="Clock")
    expect(clock.locator(".clock-slow")).to_have_text("slow: 417 Gbit/s at h1-eth0")
