"""A student and a teacher use the pages of wanlab in a JupyterHub, from the hub's login on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_hub import PrintedHub, require_hub
from playwright.sync_api import expect
from student import LIMIT_MS

from wanlab.web.server.app import STATIC

pytestmark = [pytest.mark.machine, pytest.mark.costs(20)]
expect.set_options(timeout=LIMIT_MS)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrintedHub]:
    require_hub()
    if not (STATIC / "class.html").exists():
        pytest.skip("the pages are not built: ./dev ui")
    with PrintedHub(tmp_path_factory.mktemp("hub")) as hub:
        yield hub


def signed_in(browser: Any, hub: PrintedHub, name: str, errors: list[str]) -> Any:
    """Return a page whose user has signed in to the hub."""
    page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
    page.set_default_timeout(LIMIT_MS)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{hub.url}/hub/login?next=/hub/home")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill("any")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name=re.compile("(Start|Stop) My Server"))).to_be_visible()
    return page


def test_a_student_and_a_teacher_use_the_pages(browser: Any, hub: PrintedHub) -> None:
    errors: list[str] = []
    student = signed_in(browser, hub, "ada", errors)
    student.get_by_role("button", name="Start My Server").click()
    expect(student.get_by_role("application", name="Canvas")).to_be_visible()
    assert student.url == f"{hub.origin}/user/ada/"
    student.get_by_role("tab", name="Lessons").click()
    student.get_by_role("button", name=re.compile("^Exercise 3")).click()
    student.get_by_role("button", name="Start", exact=True).click()
    script = hub.homes / "ada" / "exercise3" / "ex3.sh"
    hand_in = student.get_by_role("button", name="Hand in", exact=True)
    expect(hand_in).to_be_visible()
    script.write_text("echo mine\n")
    hand_in.click()
    expect(student.get_by_role("button", name="Hand in again")).to_be_visible()

    teacher = signed_in(browser, hub, "grace", errors)
    teacher.goto(f"{hub.url}/services/networks/")
    line = teacher.get_by_role("row", name=re.compile("ada")).first
    expect(line).to_contain_text("online")
    expect(line).to_contain_text("Exercise 3")
    expect(teacher.get_by_role("button", name="Sign-in cards")).to_have_count(0)
    with teacher.expect_popup() as popup:
        teacher.get_by_role("link", name="Look at the laboratory of ada").click()
    looking = popup.value
    looking.on("pageerror", lambda error: errors.append(str(error)))
    expect(looking.get_by_role("status").filter(has_text="You are viewing")).to_be_visible()
    expect(student.get_by_text("Your teacher is viewing your laboratory.")).to_be_visible()
    looking.get_by_role("button", name="Run", exact=True).click()
    expect(looking.get_by_text("you can only view this laboratory").first).to_be_visible()
    looking.close()

    # A network runs, and its terminal works through the hub's proxy.
    student.get_by_role("button", name="Run", exact=True).click()
    expect(line).to_contain_text(re.compile(r"\d+ nodes"))
    teacher.on("dialog", lambda dialog: dialog.accept())
    teacher.get_by_role("button", name="Stop the network of ada").click()
    expect(student.get_by_text("the teacher has stopped the network").first).to_be_visible()

    # Signing out of the hub ends the session; reloading the page leads back to the hub.
    other = student.context.new_page()
    other.goto(f"{hub.url}/hub/logout")
    expect(other.get_by_role("button", name="Sign in")).to_be_visible()
    student.context.set_offline(True)
    expect(student.get_by_text("The connection to wanlab is lost.")).to_be_visible()
    student.context.set_offline(False)
    expect(student.get_by_text("You are signed out. Reload this page")).to_be_visible()
    student.on("dialog", lambda dialog: dialog.accept())
    student.reload()
    expect(student.get_by_role("button", name="Sign in")).to_be_visible()
    assert errors == []
    student.context.close()
    teacher.context.close()
