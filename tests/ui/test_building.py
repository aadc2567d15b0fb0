"""Building networks in the browser: generators, presets of links, pictures."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect
from student import LIMIT_MS, Student

expect.set_options(timeout=LIMIT_MS)


def test_a_network_is_generated_and_downloaded_as_a_picture(student: Student) -> None:
    student.page.get_by_role("button", name="Generate a network").click()
    dialog = student.page.get_by_role("dialog", name="Generate a network")
    dialog.get_by_label("Shape").select_option(label="Ring")
    dialog.get_by_role("spinbutton", name="Switches").fill("3")
    dialog.get_by_label("Links").select_option(label="DSL (16 Mbit/s, 10 ms)")
    student.picture("generate")
    dialog.get_by_role("button", name="Draw").click()
    dialog.wait_for(state="hidden")
    student.canvas.locator(".device-name").nth(5).wait_for()
    assert student.names_on_canvas() == {"h1", "h2", "h3", "s1", "s2", "s3"}
    expect(student.canvas.locator(".line-text").filter(has_text="16Mbps")).to_have_count(6)
    with student.page.expect_download() as download:
        student.page.get_by_role("menubar").get_by_role("menuitem", name="File").click()
        student.page.get_by_role("menuitem", name="Export").click()
        student.page.get_by_role("menuitem", name="Picture (PNG)").click()
    assert Path(download.value.path()).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"

    student.opens_link_menu("h1", "s1")
    student.page.get_by_role("menuitem", name="Conditions of").click()
    student.page.get_by_role("menuitem", name="Geostationary satellite").click()
    label = student.canvas.locator(".line-text").filter(has_text="270ms")
    expect(label).to_contain_text("loss 0.1%")

    student.chooses("File", "Generate")
    dialog.get_by_label("Shape").select_option(label="Fat tree")
    dialog.get_by_role("button", name="Draw").click()
    question = student.page.get_by_role("dialog", name="Save the changes?")
    question.get_by_role("button", name="Discard").click()
    student.canvas.locator(".device-name").nth(35).wait_for()
    student.picture("fat tree")
