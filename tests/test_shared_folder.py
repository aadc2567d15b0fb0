"""Files in a folder that programs in a network can write: what such programs could put there."""

from __future__ import annotations

import ctypes
import os
import pickle
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from wanlab import shared_folder
from wanlab.errors import WanlabError
from wanlab.shared_folder import SharedFolder, UnsafeFileError, check_owner, open_output

PRECIOUS = b"precious\n"
REFUSED = (UnsafeFileError, FileExistsError)


@pytest.fixture(params=["openat2", "one by one"])
def folder(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> SharedFolder:
    """A folder, opened as on new kernels, and as on those before Linux 5.6."""
    if request.param == "one by one":
        monkeypatch.setattr(shared_folder, "_open_below", lambda root, path: None)
    (tmp_path / "work" / "inner").mkdir(parents=True)
    return SharedFolder(tmp_path / "work")


WRITES: dict[str, Callable[[SharedFolder, str], object]] = {
    "write": lambda folder, name: folder.write(name, b"new"),
    "rewrite": lambda folder, name: folder.rewrite(name).close(),
    "append": lambda folder, name: folder.append(name, b"new"),
    "keep": lambda folder, name: folder.open_to_keep(name).close(),
    "create": lambda folder, name: folder.create(name).close(),
    "status": lambda folder, name: folder.set_status(name, 0o777, 1),
}
READS: dict[str, Callable[[SharedFolder, str], object]] = {
    "read": lambda folder, name: folder.read(name),
    "end": lambda folder, name: folder.read_end(name, 10),
}
ALL = {**WRITES, **READS}


@pytest.mark.parametrize("use", ALL.values(), ids=ALL)
@pytest.mark.parametrize("name", ["log", "inner/log"])
def test_a_link_is_refused(
    folder: SharedFolder, victim: Path, name: str, use: Callable[[SharedFolder, str], object]
) -> None:
    (folder.path / name).symlink_to(victim)
    with pytest.raises(REFUSED) as error:
        use(folder, name)
    if isinstance(error.value, UnsafeFileError):
        assert str(error.value) == (
            f"{folder.path / name} is a symbolic link (remove it: programs in a network can write "
            "here, so wanlab follows no links)"
        )


@pytest.mark.parametrize("use", ALL.values(), ids=ALL)
def test_a_dangling_link_creates_nothing(
    folder: SharedFolder, victim: Path, use: Callable[[SharedFolder, str], object]
) -> None:
    (folder.path / "log").symlink_to(victim.with_name("new"))
    with pytest.raises(REFUSED):
        use(folder, "log")


@pytest.mark.parametrize("use", ALL.values(), ids=ALL)
@pytest.mark.parametrize("name", ["inner/bashrc", "inner/new", "inner/deep/bashrc"])
def test_a_link_in_place_of_a_folder_is_refused(
    folder: SharedFolder, victim: Path, name: str, use: Callable[[SharedFolder, str], object]
) -> None:
    (folder.path / "inner").rmdir()
    (folder.path / "inner").symlink_to(victim.parent)
    with pytest.raises(UnsafeFileError, match="inner is a symbolic link"):
        use(folder, name)


@pytest.mark.parametrize(
    "use",
    [
        lambda folder: folder.subfolder("inner").make(),
        lambda folder: folder.subfolder("inner/new").make(),
        lambda folder: folder.subfolder("inner").entries(),
        lambda folder: folder.remove("inner/bashrc"),
        lambda folder: folder.remove_tree("inner/bashrc"),
        lambda folder: folder.rename("inner/bashrc", "mine"),
        lambda folder: folder.rename("file", "inner/new"),
        lambda folder: folder.make_link("inner/new", "target"),
    ],
)
def test_nothing_is_done_below_a_link(
    folder: SharedFolder, victim: Path, use: Callable[[SharedFolder], object]
) -> None:
    (folder.path / "file").touch()
    (folder.path / "inner").rmdir()
    (folder.path / "inner").symlink_to(victim.parent)
    with pytest.raises(REFUSED):
        use(folder)


@pytest.mark.parametrize("use", ALL.values(), ids=ALL)
def test_a_fifo_is_refused_without_waiting(
    folder: SharedFolder, use: Callable[[SharedFolder, str], object]
) -> None:
    os.mkfifo(folder.path / "log")
    with pytest.raises(REFUSED) as error:
        use(folder, "log")
    if isinstance(error.value, UnsafeFileError):
        assert "is a FIFO (remove it: wanlab uses only regular files here)" in str(error.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a device")
@pytest.mark.parametrize("use", ALL.values(), ids=ALL)
def test_a_device_is_refused(
    folder: SharedFolder, use: Callable[[SharedFolder, str], object]
) -> None:
    os.mknod(folder.path / "log", stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero
    with pytest.raises(REFUSED):
        use(folder, "log")


def test_appending_to_a_file_with_a_second_name_is_refused(
    folder: SharedFolder, victim: Path
) -> None:
    os.link(victim, folder.path / "log")
    for use in (WRITES["append"], WRITES["keep"]):
        with pytest.raises(UnsafeFileError, match=r"log has a second name \(a hard link\)"):
            use(folder, "log")


def test_writing_replaces_the_name_and_not_the_file(folder: SharedFolder, victim: Path) -> None:
    os.link(victim, folder.path / "log")
    folder.write("log", b"new")
    assert folder.read("log") == b"new"
    os.link(victim, folder.path / "other")
    with folder.rewrite("other") as file:
        file.write(b"grows")
    assert folder.read("other") == b"grows"


def test_a_name_that_is_removed_after_the_opening_does_not_hide_the_other_name(
    folder: SharedFolder, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file then has one name, the victim's, so a count of its names alone would pass."""
    os.link(victim, folder.path / "log")
    open_regular = SharedFolder._open_regular

    def open_and_lose(self: SharedFolder, *arguments: object) -> int:
        number = open_regular(self, *arguments)  # type: ignore[arg-type]
        (folder.path / "log").unlink()
        return number

    monkeypatch.setattr(SharedFolder, "_open_regular", open_and_lose)
    with pytest.raises(UnsafeFileError, match="log was replaced while it was opened"):
        folder.append("log", b"new")


@pytest.mark.parametrize("use", ["append", "read"])
def test_a_link_that_appears_between_the_check_and_the_opening_is_refused(
    folder: SharedFolder, victim: Path, monkeypatch: pytest.MonkeyPatch, use: str
) -> None:
    (folder.path / "log").touch()
    check = SharedFolder._check_regular

    def check_and_swap(self: SharedFolder, status: os.stat_result, name: str) -> None:
        check(self, status, name)
        (folder.path / "log").unlink()
        (folder.path / "log").symlink_to(victim)

    monkeypatch.setattr(SharedFolder, "_check_regular", check_and_swap)
    with pytest.raises(UnsafeFileError, match="log was replaced while it was opened"):
        ALL[use](folder, "log")


def test_links_that_are_swapped_all_the_time_are_never_followed(
    folder: SharedFolder, victim: Path
) -> None:
    """A thread replaces a file and a folder by links and back while both are used."""
    (folder.path / "log-link").symlink_to(victim)
    (folder.path / "inner-link").symlink_to(victim.parent)
    is_over = threading.Event()

    def swap() -> None:
        while not is_over.is_set():
            for name in ("log", "inner"):
                _exchange(folder.path / name, folder.path / f"{name}-link")

    (folder.path / "log").touch()
    swapper = threading.Thread(target=swap)
    swapper.start()
    successes = failures = 0
    try:
        for _ in range(200):
            for name in ("log", "inner/bashrc"):
                for use in (WRITES["append"], WRITES["write"], READS["read"]):
                    try:
                        assert use(folder, name) != PRECIOUS
                        successes += 1
                    except (UnsafeFileError, FileNotFoundError, NotADirectoryError):
                        failures += 1
    finally:
        is_over.set()
        swapper.join()
    assert successes
    assert failures


def _exchange(a: Path, b: Path) -> None:
    """Exchange two names, as renameat2(2) does with RENAME_EXCHANGE."""
    at = ctypes.c_int(-100)
    shared_folder.LIBC.renameat2(at, os.fsencode(a), at, os.fsencode(b), ctypes.c_uint(2))


def test_a_set_user_id_bit_is_not_carried_into_a_new_file(folder: SharedFolder) -> None:
    (folder.path / "tool").write_text("old")
    (folder.path / "tool").chmod(0o6755)
    folder.write("tool", b"new")
    assert stat.S_IMODE((folder.path / "tool").stat().st_mode) == 0o755
    folder.write("private", b"new", 0o4600)
    assert stat.S_IMODE((folder.path / "private").stat().st_mode) == 0o600
    with folder.create("created", 0o6700):
        pass
    assert stat.S_IMODE((folder.path / "created").stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_another_user_is_not_appended_to(folder: SharedFolder) -> None:
    (folder.path / "log").touch()
    os.chown(folder.path / "log", 12345, 12345)
    with pytest.raises(UnsafeFileError, match=r"log belongs to the user 12345 \(remove it\)"):
        folder.append("log", b"new")
    os.chown(folder.path, 12345, 12345)  # the owner of the folder could change the file anyway
    folder.append("log", b"new")
    assert folder.read("log") == b"new"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_a_folder_of_another_user_is_refused(folder: SharedFolder) -> None:
    check_owner(folder.subfolder("inner"))
    os.chown(folder.path / "inner", 12345, 12345)
    with pytest.raises(UnsafeFileError, match="inner belongs to the user 12345"):
        check_owner(folder.subfolder("inner"))


def test_a_path_that_leads_out_is_refused(folder: SharedFolder, victim: Path) -> None:
    for name in ("../home/bashrc", "inner/../../home/bashrc", str(victim), "a\0b"):
        for use in ALL.values():
            with pytest.raises(WanlabError, match="is not a path in"):
                use(folder, name)
    with pytest.raises(WanlabError, match="is not a path in"):
        folder.subfolder("../home")


def test_a_folder_may_be_named_through_a_link_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "work").symlink_to(tmp_path / "disk")
    SharedFolder(tmp_path / "work").write("a/b", b"text")
    assert (tmp_path / "disk" / "a" / "b").read_bytes() == b"text"


def test_files_are_written_read_and_listed(folder: SharedFolder) -> None:
    folder.write("results/new.txt", b"one")
    folder.append("results/log", b"two\n")
    folder.append("results/log", b"three\n")
    results = folder.subfolder("results")
    assert results.path == folder.path / "results"
    assert results.read_end("log", 6) == b"three\n"
    assert [name for name, _ in results.entries()] == ["log", "new.txt"]
    results.rename("new.txt", "log")
    assert results.read("log") == b"one"
    results.remove("log")
    results.make_link("latest", "elsewhere")
    assert results.exists("latest")
    assert not results.has_file("latest")
    assert results.link_target("latest") == "elsewhere"
    folder.remove_tree("results")
    assert not folder.has_folder("results")
    assert not results.exists("log")


def test_of_a_link_to_a_folder_the_link_is_removed(folder: SharedFolder, victim: Path) -> None:
    (folder.path / "link").symlink_to(victim.parent)
    (folder.path / "inner" / "link").symlink_to(victim.parent)
    folder.remove_tree("link")
    folder.remove_tree("inner")
    assert folder.entries() == []


def test_a_file_that_is_too_large_is_not_read(folder: SharedFolder) -> None:
    with folder.create("sparse") as file:
        file.truncate(1 << 40)
    with pytest.raises(WanlabError, match="sparse is larger than 1 MiB"):
        folder.read("sparse", 1 << 20)
    assert folder.read_end("sparse", 4) == b"\0\0\0\0"


def test_half_a_file_is_never_left_under_its_name(folder: SharedFolder) -> None:
    folder.write("state", b"old")

    def fails(number: int) -> None:
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", fails)
        with pytest.raises(OSError, match="No space left"):
            folder.write("state", b"new", syncs=True)
    assert folder.read("state") == b"old"
    assert [name for name, _ in folder.entries()] == ["inner", "state"]


def test_no_descriptor_is_left_open(folder: SharedFolder, victim: Path) -> None:
    (folder.path / "link").symlink_to(victim)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for use in ALL.values():
        for name in ("link", "file", "inner/file", "link/file", "missing/file"):
            try:
                use(folder, name)
            except OSError:
                continue
    # Garbage of earlier tests may be closed meanwhile.
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


# -- a file that the user names ---------------------------------------------------------------------


def test_an_output_file_in_the_working_folder_is_no_link(
    folder: SharedFolder, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.path)
    Path("out").symlink_to(victim)
    Path("out2").symlink_to(victim.with_name("new"))
    Path("dir").symlink_to(victim.parent)
    for name in ("out", "out2", f"{folder.path}/out", "inner/../out", "dir/bashrc", "dir/new"):
        with pytest.raises(UnsafeFileError, match="is a symbolic link"):
            open_output(Path(name), Path())
    other = folder.path.with_name("alias")
    other.symlink_to(folder.path)
    with pytest.raises(UnsafeFileError, match="is a symbolic link"):
        open_output(other / "out", Path())


def test_an_output_file_elsewhere_may_be_a_link(folder: SharedFolder, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    with open_output(tmp_path / "link", folder.path, is_read=True) as file:
        file.write(b"text")
        file.flush()
        assert os.pread(file.fileno(), 10, 0) == b"text"
    assert (tmp_path / "disk").read_bytes() == b"text"
    with open_output(Path(os.devnull), folder.path) as file:
        file.write(b"text")


def test_an_output_file_replaces_an_earlier_one(
    folder: SharedFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.path)
    Path("out").write_text("an earlier one")
    with open_output(Path("out"), Path(), 0o600, is_read=True) as file:
        file.write(b"text")
        file.flush()
        assert os.pread(file.fileno(), 100, 0) == Path("out").read_bytes() == b"text"
    assert stat.S_IMODE(Path("out").stat().st_mode) == 0o600


def test_the_error_passes_between_processes() -> None:
    error = UnsafeFileError(Path("a"), "is a FIFO", "remove it")
    assert str(pickle.loads(pickle.dumps(error))) == "a is a FIFO (remove it)"
    assert str(error) == "a is a FIFO (remove it)"
    assert error.strerror == "a is a FIFO (remove it)"


def test_a_kernel_without_openat2_is_handled(tmp_path: Path) -> None:
    """A system call that does not exist fails as openat2 does before Linux 5.6."""
    (tmp_path / "inner").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared_folder, "OPENAT2", 4095)
        SharedFolder(tmp_path).write("inner/file", b"text")
    assert ctypes.get_errno() == 38
    assert (tmp_path / "inner" / "file").read_bytes() == b"text"
