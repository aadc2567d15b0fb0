"""Test the teacher's page of a class and a student's page in a browser."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from class_client import TWO_HOSTS, ClassServer, class_folder
from dev.places import UI
from playwright.sync_api import expect
from student import LIMIT_MS
from web_client import free_port

from wanlab.labs import hand_in_archive
from wanlab.machine.embedded import landlock_version
from wanlab.web.server.app import STATIC

pytestmark = [
    pytest.mark.machine,
    pytest.mark.costs(8),
    pytest.mark.skipif(not landlock_version(), reason="no Landlock here"),
]
expect.set_options(timeout=LIMIT_MS)
AXE = UI / "node_modules" / "axe-core" / "axe.min.js"
GRADES = (
    "student,unit,seed,points,of,percent,handed_in,late,missed,notes,error\n"
    'Ada Lovelace,ex3,7,7.5,10,75.0,2026-11-20 17:05,yes,"the rate of the path; the queue",,\n'
    "Bob,ex3,8,0,10,0.0,,,,,\n"
)


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClassServer]:
    if not (STATIC / "class.html").exists():
        pytest.skip("the pages are not built: ./dev ui")
    names = ("Ada Lovelace", "Bob", "Zoë <i>")
    port = free_port()
    address = ("--port", str(port), "--url", f"http://127.0.0.1:{port}/some/path/")
    with ClassServer(class_folder(tmp_path_factory.mktemp("ui"), *names), *address) as server:
        yield server


def opened(browser: Any, link: str, **options: Any) -> Any:
    page = browser.new_context(**options).new_page()
    page.set_default_timeout(LIMIT_MS)
    page.goto(link)
    return page


def line(page: Any, name: str) -> Any:
    return page.get_by_role("row", name=re.compile(re.escape(name))).first


def findings(page: Any) -> list[str]:
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: ./dev ui")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found: dict[str, Any] = page.evaluate("() => axe.run(document)")
    return [f"{it['id']}: {it['nodes'][0]['html'][:160]}" for it in found["violations"]]


def picture(page: Any, name: str) -> None:
    if folder := os.environ.get("WANLAB_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


@pytest.mark.long
def test_a_teacher_follows_a_class(browser: Any, school: ClassServer) -> None:
    teacher = opened(browser, school.url)
    errors: list[str] = []
    teacher.on("pageerror", lambda error: errors.append(str(error)))
    expect(teacher.get_by_role("heading", name="wanlab class")).to_be_visible()
    expect(line(teacher, "Ada Lovelace")).to_contain_text("never")
    expect(line(teacher, "Zoë <i>")).to_be_visible()
    assert findings(teacher) == []

    # A student opens the page, does something, and hands it in.
    student = opened(browser, school.links()["Ada Lovelace"])
    student.get_by_role("tab", name="Lessons").click()
    student.get_by_role("button", name=re.compile("^Exercise 3")).click()
    student.get_by_role("button", name="Start", exact=True).click()
    expect(line(teacher, "Ada Lovelace")).to_contain_text("online")
    expect(line(teacher, "Ada Lovelace")).to_contain_text(re.compile(r"Exercise 3 *2 of \d+"))
    (school.folder / "students" / "Ada Lovelace" / "exercise3" / "ex3.sh").write_text("echo mine\n")
    student.get_by_role("button", name="Hand in", exact=True).click()
    expect(student.get_by_role("button", name="Hand in again")).to_be_visible()
    (handed_in,) = (school.folder / "hand-ins" / "Ada Lovelace").iterdir()
    assert re.fullmatch(r"ex3-seed\d+-[\d-]+\.zip", handed_in.name)
    packed = hand_in_archive.read(handed_in)
    assert (packed.manifest.unit, packed.script) == ("ex3", "echo mine\n")
    assert packed.manifest.seed == school.row("Ada Lovelace")["seed"]
    assert student.get_by_role("button", name="Make a report").count() == 0

    # Grades appear once they have been calculated.
    (school.folder / "grades").mkdir()
    (school.folder / "grades" / "grades.csv").write_text(GRADES)
    expect(line(teacher, "Ada Lovelace")).to_contain_text("7.5 of 10")
    teacher.get_by_role("button", name="Ada Lovelace").first.click()
    expect(teacher.get_by_text("the rate of the path; the queue")).to_be_visible()
    expect(teacher.get_by_text("late", exact=True)).to_be_visible()
    assert findings(teacher) == []

    # The teacher can see and stop networks.
    bob = school.student("Bob")
    (bob.folder / "two.yaml").write_text(TWO_HOSTS)
    with bob.connect_client() as client:
        client.do("open", path="two.yaml")
        client.run()
        expect(line(teacher, "Bob")).to_contain_text("3 nodes")
        picture(teacher, "class")
        teacher.on("dialog", lambda dialog: dialog.accept())
        teacher.route("**/api/class/stop/*", lambda route: route.fulfill(status=503))
        teacher.get_by_role("button", name="Stop the network of Bob").click()
        expect(teacher.get_by_role("status")).to_have_text(
            "The network of Bob was not stopped: wanlab answered with HTTP status 503"
            " (reload the page)."
        )
        teacher.unroute("**/api/class/stop/*")
        teacher.get_by_role("button", name="Stop the network of Bob").click()
        client.until(lambda: client.state["run"]["phase"] == "stopped")
    expect(line(teacher, "Bob")).to_contain_text("just now")
    expect(teacher.get_by_role("status")).to_have_text("")

    # The table is sorted, searched and exported.
    column = teacher.get_by_role("columnheader", name="Grade").first
    for order in ("ascending", "descending"):
        column.get_by_role("button").click()
        expect(column).to_have_attribute("aria-sort", order)
    expect(teacher.locator("tbody > tr:first-child > th[scope=row]").first).to_contain_text("Ada")
    teacher.get_by_role("searchbox").fill("bob")
    expect(line(teacher, "Bob")).to_be_visible()
    expect(teacher.get_by_role("button", name="Ada Lovelace")).to_have_count(0)
    with teacher.expect_download() as download:
        teacher.get_by_role("link", name="Download CSV").click()
    table = Path(download.value.path()).read_text(encoding="utf-8")
    (row,) = [it for it in table.splitlines() if it.startswith("Ada")]
    assert row.endswith(",7.5,10.0,yes")
    assert errors == []

    # The page keeps its content if the server does not answer.
    teacher.get_by_role("searchbox").fill("")
    teacher.route("**/api/class", lambda route: route.abort())
    expect(teacher.get_by_role("status")).to_contain_text("does not answer")
    expect(line(teacher, "Bob")).to_be_visible()
    teacher.unroute("**/api/class")
    expect(teacher.get_by_role("status")).to_have_text("")


def test_the_page_uses_the_browsers_dark_mode(browser: Any, school: ClassServer) -> None:
    teacher = opened(browser, school.url, color_scheme="dark")
    expect(line(teacher, "Bob")).to_be_visible()
    assert findings(teacher) == []
    picture(teacher, "class-dark")
    teacher.set_viewport_size({"width": 720, "height": 450})
    assert teacher.evaluate("() => document.documentElement.scrollWidth") <= 720


def test_a_card_for_each_student_shows_the_link_and_its_code(
    browser: Any, school: ClassServer
) -> None:
    teacher = opened(browser, school.url, viewport={"width": 1280, "height": 800})
    teacher.get_by_role("button", name="Sign-in cards").click()
    cards = teacher.get_by_role("region", name="Sign-in cards")
    for name, link in school.links().items():
        if name:
            expect(cards.get_by_role("listitem").filter(has_text=name)).to_contain_text(link)
            code = cards.get_by_role("img", name=f"QR code of the link of {name}")
            expect(code.locator("path")).to_have_attribute("d", re.compile(r"^M4,4h7v1"))
    assert findings(teacher) == []
    picture(teacher, "sign-in cards")
    teacher.get_by_role("searchbox").fill("bob")
    expect(cards.get_by_role("listitem")).to_have_count(1)
    # The link of a card is the student's.
    student = opened(browser, str(cards.locator(".class-link").inner_text()))
    expect(student.get_by_role("application", name="Canvas")).to_be_visible()
    # Students of earlier tests may still be online, too.
    online = teacher.get_by_role("listitem").filter(has_text=re.compile("[1-3] of 3 online"))
    expect(online).to_be_visible()
    teacher.get_by_role("button", name="Back to the table").click()
    expect(line(teacher, "Bob")).to_contain_text("online")


def test_a_teacher_looks_over_a_students_shoulder(browser: Any, school: ClassServer) -> None:
    bob = school.student("Bob")
    (bob.folder / "two.yaml").write_text(TWO_HOSTS)
    with bob.connect_client() as client:
        client.do("open", path="two.yaml", discard=True)
        client.run()
        terminal = client.terminal("h1")
        terminal.command("echo by'Bob'", "byBob\r\n")
        student = opened(browser, school.links()["Bob"])
        expect(student.locator(".xterm-rows")).to_contain_text("byBob")
        teacher = opened(browser, school.url)
        with teacher.expect_popup() as popup:
            teacher.get_by_role("link", name="Look at the laboratory of Bob").click()
        page = popup.value
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        # What the student has drawn, typed and opened is there, and the student knows of the look.
        expect(page.get_by_role("status").filter(has_text="You are viewing")).to_contain_text(
            "of Bob"
        )
        expect(student.get_by_text("Your teacher is viewing your laboratory.")).to_be_visible()
        expect(page.get_by_role("group", name="host h1")).to_be_visible()
        rows = page.locator(".xterm-rows")
        expect(rows).to_contain_text("byBob")
        picture(page, "look")
        # The student's next command appears; what the teacher types does not.
        page.locator(".xterm-screen").click()
        page.keyboard.type("echo teacher\n")
        terminal.command("echo ne'xt'", "next\r\n")
        expect(rows).to_contain_text("next")
        assert b"teacher" not in terminal.shown
        # No command that the page sends by itself was refused.
        expect(page.get_by_text("you can only view")).to_have_count(0)
        page.get_by_role("button", name="Stop", exact=True).click()
        expect(page.get_by_text("you can only view this laboratory").first).to_be_visible()
        assert client.state["run"]["phase"] == "running"
        page.close()
        expect(student.get_by_text("Your teacher is viewing your laboratory.")).to_be_hidden()
        assert errors == []
        client.stop()
