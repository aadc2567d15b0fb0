"""A working folder in which programs of the network have left links and other surprises."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from web_client import Server, WebClient

from wanlab.errors import WanlabError
from wanlab.shared_folder import SharedFolder, UnsafeFileError
from wanlab.web.drawing.drafts import Drafts
from wanlab.web.folder import WorkingFolder
from wanlab.web.lessons.unit_progress import ProgressFile
from wanlab.web.packets.packet_list import list_packets
from wanlab.web.protocol.model import Document
from wanlab.web.server.server import _open_through, lock_folder
from wanlab.web.timeline.session_files import SessionFiles


@pytest.fixture
def folder(tmp_path: Path) -> WorkingFolder:
    (tmp_path / "work").mkdir()
    return WorkingFolder(tmp_path / "work")


def fifo(victim: Path, place: Path) -> None:
    os.mkfifo(place)


PLANTED: dict[str, tuple[Callable[[Path, Path], None], str]] = {
    "link": (lambda victim, place: place.symlink_to(victim), "is a symbolic link"),
    "dangling link": (
        lambda victim, place: place.symlink_to(victim.with_name("new")),
        "is a symbolic link",
    ),
    "hard link": (lambda victim, place: os.link(victim, place), "has a second name"),
    "FIFO": (fifo, "is a FIFO"),
    "folder": (lambda victim, place: place.mkdir(), "is a folder"),
}


@pytest.mark.parametrize(("plant", "reason"), PLANTED.values(), ids=PLANTED)
def test_a_server_does_not_empty_the_file_that_its_address_links_to(
    folder: WorkingFolder, victim: Path, plant: Callable[[Path, Path], None], reason: str
) -> None:
    place = folder.state_folder.path / "address"
    plant(victim, place)
    with (
        pytest.raises(WanlabError, match=rf"\.wanlab/address {reason}.*\(remove it"),
        lock_folder(folder.state_folder),
    ):
        pass


@pytest.mark.parametrize("target", ["home", "home/new"])
def test_a_state_folder_that_is_a_link_is_refused(
    folder: WorkingFolder, victim: Path, target: str
) -> None:
    (folder.path / ".wanlab").symlink_to(folder.path.parent / target)
    with pytest.raises(WanlabError, match=r"\.wanlab is a symbolic link \(remove it"):
        _ = folder.state_folder


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_a_state_folder_of_another_user_is_refused(folder: WorkingFolder) -> None:
    """Somebody has made it in /tmp, for instance, to read the address with the token."""
    os.chown(folder.state_folder.path, 12345, 12345)
    with pytest.raises(WanlabError, match=r"\.wanlab belongs to the user 12345 \(remove it\)"):
        _ = folder.state_folder


def test_a_server_starts_again_after_an_earlier_one(folder: WorkingFolder) -> None:
    for _ in range(2):
        with lock_folder(folder.state_folder) as file:
            os.pwrite(file.fileno(), b"http://127.0.0.1/\n", 0)
            with (
                pytest.raises(WanlabError, match=r"already open in .*work: http://127.0.0.1/ \("),
                lock_folder(folder.state_folder),
            ):
                pass
    address = folder.path / ".wanlab" / "address"
    assert (address.read_bytes(), address.stat().st_mode & 0o7777) == (b"", 0o600)


@pytest.mark.parametrize("plant", [PLANTED["link"][0], PLANTED["dangling link"][0], fifo])
def test_state_is_neither_written_nor_read_through_links(
    folder: WorkingFolder,
    victim: Path,
    plant: Callable[[Path, Path], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = folder.state_folder
    for name in ("draft.json", "offered.json", "progress.json", "open.html"):
        plant(victim, state.path / name)
    drafts = Drafts(state)  # what is called draft.json is set aside
    assert drafts.offered is None
    drafts.keep(Document(), None, "a")
    progress = ProgressFile(state, "progress.json", lambda: None)
    progress._save()
    opened: list[str] = []

    def opens(page: str) -> bool:
        opened.append(page)
        return True

    monkeypatch.setattr("webbrowser.open", opens)
    _open_through(state, "http://127.0.0.1/?token=secret")
    assert (state.path / "open.html").stat().st_mode & 0o7777 == 0o600
    assert opened == [(state.path / "open.html").as_uri()]


@pytest.mark.parametrize("path", ["a.txt", "inner/bashrc", "inner/new.txt"])
def test_an_upload_does_not_follow_links_inside_the_folder(
    folder: WorkingFolder, victim: Path, path: str
) -> None:
    (folder.path / "real").mkdir()
    (folder.path / "a.txt").symlink_to("real/a.txt")
    (folder.path / "inner").symlink_to("real")
    with pytest.raises(WanlabError, match=r"(a.txt|inner) is a symbolic link \(remove it"):
        folder.write_bytes(path, b"changed")
    assert list((folder.path / "real").iterdir()) == []
    assert [info.name for info in folder.list().files] == ["real"]


def test_a_link_that_appears_after_the_check_of_a_path_is_not_followed(
    folder: WorkingFolder, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = WorkingFolder.name

    def check_and_swap(self: WorkingFolder, path: str) -> str:
        checked = name(self, path)
        (folder.path / "a").unlink(missing_ok=True)
        (folder.path / "a").symlink_to(victim.parent)
        return checked

    monkeypatch.setattr(WorkingFolder, "name", check_and_swap)
    for use in (
        lambda: folder.write_bytes("a/bashrc", b"changed"),
        lambda: folder.write_bytes("a/new", b"changed"),
        lambda: folder.read_bytes("a/bashrc", 100),
        lambda: folder.list("a"),
    ):
        (folder.path / "a").unlink(missing_ok=True)
        with pytest.raises(WanlabError, match="a is a symbolic link"):
            use()


def test_a_fifo_is_neither_listed_nor_waited_for(folder: WorkingFolder) -> None:
    os.mkfifo(folder.path / "a.yaml")
    assert folder.list().files == ()
    with pytest.raises(UnsafeFileError, match=r"a.yaml is a FIFO"):
        folder.read_bytes("a.yaml", 100)


def test_a_session_file_beside_the_folder_of_a_unit_is_no_link(
    folder: WorkingFolder, victim: Path
) -> None:
    (folder.path / "s-2.wanlab").symlink_to(victim)
    files = SessionFiles(folder.path / "s.wanlab", folder.path)
    assert files.target("virtual") == folder.path / "s.wanlab"
    with pytest.raises(UnsafeFileError, match=r"s-2.wanlab is a symbolic link"):
        files.target("virtual")


def test_a_capture_that_is_shortened_while_it_is_listed_ends_there(folder: WorkingFolder) -> None:
    """A mapping of the file would end the server (SIGBUS)."""
    block = b"\x06\0\0\0" + (1 << 14).to_bytes(4, "little") + bytes((1 << 14) - 8)
    header = b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a" + bytes(12) + b"\x1c\0\0\0"
    (folder.path / "a.pcapng").write_bytes(header + 100 * block)
    os.truncate(folder.path / "a.pcapng", len(header) + 10 * len(block) + 5)
    page = list_packets(SharedFolder(folder.path), "a.pcapng")
    assert page.scanned == 10


@pytest.mark.machine
def test_a_file_is_served_from_the_working_folder_only(server: Server, victim: Path) -> None:
    (server.folder / "real.txt").write_text("text")
    (server.folder / "link.txt").symlink_to("real.txt")
    os.mkfifo(server.folder / "fifo.txt")
    assert server.get("/api/files/real.txt").text == "text"
    for name, kind in (("link.txt", "a symbolic link"), ("fifo.txt", "a FIFO")):
        answer = server.get(f"/api/files/{name}")
        assert answer.status_code == 400
        assert f"{name} is {kind}" in answer.text
        assert server.get(f"/api/packets/{name}").status_code == 400


@pytest.mark.machine
def test_a_capture_begins_in_a_new_file(running: WebClient, victim: Path) -> None:
    port = "s1-eth2"
    link = running.server.folder / f"{port}.pcapng"
    link.symlink_to(victim.with_name("new"))
    try:
        assert running.do("capture", port=port, on=True)["path"] == f"{port}-1.pcapng"
        running.do("capture", port=port, on=False)
    finally:
        link.unlink()
