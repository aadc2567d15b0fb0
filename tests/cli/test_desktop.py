"""Test which files programs inside a machine may open on the user's desktop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_S

from wanlab import Network, Topology
from wanlab.cli import desktop
from wanlab.cli.desktop import Desktop

WRITES = "#!/bin/sh\nprintf '%s' \"$*\" > {place}.new && mv {place}.new {place}\n"


@pytest.fixture
def opened(tmp_path: Path) -> Path:
    """Install a fake xdg-open; return the file in which it writes its argument."""
    program = tmp_path / "bin" / "xdg-open"
    program.parent.mkdir()
    place = tmp_path / "opened"
    program.write_text(WRITES.format(place=place))
    program.chmod(0o755)
    return place


def on_a_desktop(folder: Path, **more: str) -> Desktop:
    path = f"{folder}/bin:/usr/bin:/bin"
    return Desktop(folder / "work", {"PATH": path, "DISPLAY": ":0", **more})


@pytest.fixture
def result(tmp_path: Path) -> Path:
    path = tmp_path / "work" / "results" / "RTT.pdf"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"%PDF-1.4")
    return path


def wait_for(desktop_opener: Desktop) -> None:
    for process in desktop_opener._started:
        assert process.wait(PATIENCE_S) == 0


def test_a_result_is_opened_with_xdg_open(tmp_path: Path, opened: Path, result: Path) -> None:
    desktop_opener = on_a_desktop(tmp_path)
    assert desktop_opener.show(str(result)) == ""
    wait_for(desktop_opener)
    assert opened.read_text() == str(result)


def test_the_reason_is_reported_if_a_file_is_not_opened(
    tmp_path: Path, opened: Path, result: Path
) -> None:
    desktop_opener = on_a_desktop(tmp_path)
    secret = tmp_path / "secret.pdf"
    secret.write_bytes(b"%PDF-1.4")
    (result.parent / "link.pdf").symlink_to(secret)
    program = result.with_suffix(".desktop")
    program.write_text("[Desktop Entry]")
    assert "only files in" in desktop_opener.show(str(secret))
    assert "only files in" in desktop_opener.show(str(result.parent / "link.pdf"))
    assert "only results are opened" in desktop_opener.show(str(program))
    assert (
        desktop_opener.show(str(result.parent))
        == desktop_opener.show(f"{result}x")
        == "it is not a file"
    )
    assert on_a_desktop(tmp_path, DISPLAY="").show(str(result)) == (
        "there is no desktop to open it on"
    )
    assert "no xdg-open on this computer" in on_a_desktop(tmp_path, PATH="/nowhere").show(
        str(result)
    )
    assert not opened.exists()


@pytest.mark.machine
def test_a_program_inside_opens_a_result(
    tmp_path: Path,
    opened: Path,
    result: Path,
    start: Callable[..., Network],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept: list[Desktop] = []

    def keep(folder: Path) -> Any:
        kept.append(on_a_desktop(tmp_path))
        return kept[-1]

    monkeypatch.setattr(desktop, "Desktop", keep)
    net = start(Topology(), folder=tmp_path / "work")
    desktop.offer(net)
    ran = net.root.run("cd results && xdg-open RTT.pdf")
    assert (ran.output, ran.stderr) == ("", "")
    wait_for(kept[0])
    assert opened.read_text() == str(result)


def test_a_program_cannot_fill_the_desktop(
    tmp_path: Path, opened: Path, result: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desktop, "MAX_OPENED", 2)
    desktop_opener = on_a_desktop(tmp_path)
    reasons = []
    for _ in range(3):
        reasons.append(desktop_opener.show(str(result)))
        wait_for(desktop_opener)  # the fake program cannot run twice at once
    assert reasons == ["", "", "2 files have been opened already"]
