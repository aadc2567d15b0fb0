"""Test from a node that a name which has come to mean something else leads nowhere outside.

The machine's kernel finds a file of the working folder again by its path. A program keeps a folder or a
file open, removes it, and puts a link to something outside in its place: nothing outside may change.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from wanlab import Host, Network, Topology

pytestmark = pytest.mark.machine

PREAMBLE = """
import ctypes, os
target, folder = {target!r}, {outside!r}
libc = ctypes.CDLL(None, use_errno=True)
def attempt(function, *arguments, **named):
    try:
        function(*arguments, **named)
    except OSError as error:
        print(error.strerror)
    else:
        print("done")
def bent_folder(to):
    os.mkdir("d"); opened = os.open("d", os.O_PATH); os.rmdir("d"); os.symlink(to, "d")
    return opened
def bent_file(to, flags=os.O_RDONLY):
    open("f", "w").close(); opened = os.open("f", flags); os.unlink("f"); os.symlink(to, "f")
    return opened
def through(descriptor):
    return "/proc/self/fd/%d" % descriptor
"""

ATTACKS = {
    "mode-of-a-folder": "attempt(os.chmod, through(bent_folder(target)), 0o4777)",
    "owner-of-a-folder": "attempt(os.chown, through(bent_folder(target)), 65534, 65534)",
    "times-of-a-folder": "attempt(os.utime, through(bent_folder(target)), (1, 1))",
    "mode-of-a-file": "attempt(os.chmod, through(bent_file(target)), 0o4777)",
    "mode-of-a-path": "attempt(os.chmod, through(bent_file(target, os.O_PATH)), 0o4777)",
    "owner-of-a-path": "attempt(os.chown, through(bent_file(target, os.O_PATH)), 65534, 65534)",
    "times-of-a-path": "attempt(os.utime, through(bent_file(target, os.O_PATH)), (1, 1))",
    "size-of-a-path": "attempt(os.truncate, through(bent_file(target, os.O_PATH)), 0)",
    "writing-to-a-path": "attempt(open, through(bent_file(target, os.O_PATH)), 'r+')",
    "emptying-a-path": "attempt(open, through(bent_file(target, os.O_PATH)), 'w')",
    "reading-a-path": "attempt(open, through(bent_file(target, os.O_PATH)))",
    "entries-of-a-folder": "attempt(os.listdir, through(bent_folder(folder)))",
    "new-entry": (
        "opened = bent_folder(folder); attempt(os.open, 'new', os.O_CREAT | os.O_RDWR, dir_fd=opened);"
        "attempt(os.mkdir, 'new', dir_fd=opened); attempt(os.symlink, 'x', 'new', dir_fd=opened);"
        "attempt(os.mkfifo, 'new', dir_fd=opened)"
    ),
    "removed-entry": "opened = bent_folder(folder); attempt(os.unlink, 'there', dir_fd=opened)",
    "renamed-entry": (
        "opened = bent_folder(folder);"
        "attempt(os.rename, 'there', os.getcwd() + '/mine', src_dir_fd=opened)"
    ),
    "linked-entry": (
        "opened = bent_folder(folder); attempt(os.link, 'there', 'mine', src_dir_fd=opened)"
    ),
    "looked-up-entry": "opened = bent_folder(folder); attempt(os.stat, 'there', dir_fd=opened)",
    "working-directory": "fd = bent_folder(target); os.fchdir(fd); attempt(os.chmod, '.', 0o777)",
    "folder-of-a-folder": (
        "os.makedirs('p/q'); fd = os.open('p/q', os.O_PATH); os.rmdir('p/q'); os.rmdir('p');"
        "os.symlink(folder, 'p'); attempt(os.chmod, through(fd), 0o777)"
    ),
    "file-of-a-folder": (
        "os.mkdir('p'); open('p/there', 'w').close(); fd = os.open('p/there', os.O_PATH);"
        "os.unlink('p/there'); os.rmdir('p'); os.symlink(folder, 'p');"
        "attempt(os.chmod, through(fd), 0o777); attempt(open, through(fd), 'w')"
    ),
    "replaced-by-renaming": (
        "open('f', 'w').close(); fd = os.open('f', os.O_PATH); os.symlink(target, 'l');"
        "os.rename('l', 'f'); attempt(os.chmod, through(fd), 0o777);"
        "attempt(open, through(fd), 'w')"
    ),
    "mode-of-a-link": "os.symlink(target, 'l'); attempt(libc.lchmod, b'l', 0o777)",
    "owner-of-a-link": "os.symlink(target, 'l'); os.lchown('l', 65534, 65534)",
    "times-of-a-link": "os.symlink(target, 'l'); os.utime('l', (1, 1), follow_symlinks=False)",
}


def state(path: Path) -> tuple[object, ...]:
    status = path.lstat()
    content = path.read_bytes() if path.is_file() else sorted(path.iterdir())
    return status.st_mode, status.st_uid, status.st_gid, status.st_mtime_ns, content


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Make a folder of the user's with one file, and a working folder."""
    base = tmp_path_factory.mktemp("bent")
    outside, work = base / "outside", base / "work"
    outside.mkdir()
    work.mkdir()
    (outside / "there").write_text("unchanged")
    (outside / "there").chmod(0o755)
    os.utime(outside / "there", (1_600_000_000, 1_600_000_000))
    return {"outside": outside, "work": work}


@pytest.fixture(scope="module")
def network(folders: dict[str, Path]) -> Iterator[Network]:
    with Network(Topology(nodes=(Host("h1"),)), folder=folders["work"]) as net:
        yield net


@pytest.mark.parametrize("name", ATTACKS)
def test_a_removed_file_leads_nowhere(
    network: Network, folders: dict[str, Path], name: str
) -> None:
    outside = folders["outside"]
    before = state(outside), state(outside / "there")
    work = folders["work"] / name
    work.mkdir()
    words = {"target": str(outside / "there"), "outside": str(outside)}
    script = work / "attack.py"
    script.write_text(f"{PREAMBLE.format(**words)}\n{ATTACKS[name]}\n")
    done = network["h1"].run(["python3", str(script)], folder=str(work), check=False)
    assert "Traceback" not in done.output, done.output
    assert (state(outside), state(outside / "there")) == before
    assert "unchanged" not in (
        path.read_text() for path in work.iterdir() if path.is_file() and not path.is_symlink()
    )


def test_a_file_without_a_name_can_still_be_changed_by_those_who_have_it_open(
    network: Network, folders: dict[str, Path]
) -> None:
    """Programs do that with temporary files."""
    script = folders["work"] / "unnamed.py"
    script.write_text(
        "import os\n"
        "file = open('temporary', 'w+'); os.unlink('temporary')\n"
        "os.fchmod(file.fileno(), 0o600); os.utime(file.fileno(), (7, 7))\n"
        "file.write('content'); file.flush(); os.ftruncate(file.fileno(), 4); file.seek(0)\n"
        "status = os.fstat(file.fileno())\n"
        "print(file.read(), oct(status.st_mode), int(status.st_mtime) == 7, status.st_size)\n"
    )
    output = network["h1"].run("python3 unnamed.py").output
    assert output == "cont 0o100600 False 4\n"


def test_modes_owners_and_times_of_the_working_folder_reach_the_computer(
    network: Network, folders: dict[str, Path]
) -> None:
    work = folders["work"]
    network["h1"].run("mkdir own; chmod 711 own; touch own/f; touch -d @123456789 own/f")
    network["h1"].run("chmod 000 own/f; chmod 640 own/f; chmod 1777 own; truncate -s 5 own/f")
    assert stat.S_IMODE((work / "own").stat().st_mode) == 0o1777
    assert stat.S_IMODE((work / "own" / "f").stat().st_mode) == 0o640
    assert (work / "own" / "f").stat().st_size == 5
    network["h1"].run("touch -d @123456789 own own/f; chmod 755 .")
    assert (work / "own").stat().st_mtime_ns == 123456789_000000000
    assert (work / "own" / "f").stat().st_mtime_ns == 123456789_000000000
    assert stat.S_IMODE(work.stat().st_mode) == 0o755


def test_a_set_user_id_program_of_the_folder_loses_the_bit_when_it_is_written_to(
    network: Network, folders: dict[str, Path]
) -> None:
    program = folders["work"] / "program"
    program.write_bytes(Path("/bin/true").read_bytes())
    program.chmod(0o4755)
    done = network["h1"].run("test -u program && chmod 4711 program && echo kept").output
    assert done == "kept\n"
    network["h1"].run("printf x | dd of=program conv=notrunc status=none")
    assert program.read_bytes()[:1] == b"x"
    assert stat.S_IMODE(program.stat().st_mode) == 0o711
    assert network["h1"].run("chmod u+s program", check=False).status != 0
    assert stat.S_IMODE(program.stat().st_mode) == 0o711
