"""Each mistake is reported once, with a status other than 0, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from wanlab import Network, Topology
from wanlab.errors import RequirementError, WanlabError
from wanlab.labs import catalog, unit_run
from wanlab.machine.embedded import find_image

MANY = """\
nodes:
  - {host: h1}
  - {host: h1}
  - {switch: s1}
links:
  - {link: [h1, s1], queue: fq_coddel, rate: -5Mbps}
  - {link: [h1, s9]}
"""
MANY_TOLD = """\
wanlab: many.yaml: 5 problems
  line 6 (links[0].rate): the rate "-5Mbps" is negative (write it in bits per second, as in "10Mbps": \
bps, kbps, Mbps, Gbps, Tbps)
  line 6 (links[0].queue): unknown queue "fq_coddel" (did you mean fq_codel?)
  line 6 (links[0].queue): a queue has no effect on a link without a rate (add a rate, or leave the \
queue out)
  line 7 (links[1]): there is no node "s9" (choose from: h1, s1)
  line 3 (nodes[1]): the name "h1" is taken by another node, host h1 (give each node its own name)
"""
DAMAGED = '{"hosts": [\n  {"opts": {}\n  "x": 1}]}'
DAMAGED_TOLD = "wanlab: damaged.mn: line 3, column 3: this is not JSON: expecting ',' delimiter\n"
KERNEL = "WANLAB_KERNEL"


@pytest.fixture
def files(tmp_path: Path) -> Iterator[None]:
    """Write topologies with mistakes, and check afterwards that no other file has been made."""
    texts = {
        "damaged.mn": DAMAGED,
        "list.mn": "[]",
        "empty.mn": "",
        "binary.mn": "\udcff",
        "many.yaml": MANY,
        "broken.yaml": "nodes: [\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, errors="surrogateescape")
    yield
    assert {path.name for path in tmp_path.iterdir()} == set(texts)


CASES = {
    "plan damaged.mn": DAMAGED_TOLD,
    "exec --topo damaged.mn -- true": DAMAGED_TOLD,
    "plan many.yaml": MANY_TOLD,
    "exec --topo many.yaml -- true": MANY_TOLD,
    "plan list.mn": "wanlab: list.mn: a list is not a mapping of fields\n",
    "plan empty.mn": "wanlab: empty.mn: the file is empty (save the drawing again)\n",
    "plan binary.mn": "wanlab: binary.mn: byte 0: this is not UTF-8 text (is it a topology?)\n",
    "plan broken.yaml": "wanlab: broken.yaml: line 2, column 1: cannot read this YAML: ",
    "plan missing.mn": "wanlab: cannot read missing.mn: No such file or directory\n",
    "plan singel,3": 'wanlab: unknown shape "singel" (did you mean single?)\n',
    "plan single,x": 'wanlab: "x" in "single,x" is not a whole number (as in k=3)\n',
    "plan single,2 --wire copper": "wanlab: --wire copper: unknown value (use one of: mtu, gso)\n",
    "plan dumbbell,rate=-5Mbps": 'wanlab: link s1-s2: rate: the rate "-5Mbps" is negative (',
    "exec --topo single,2 --node h9 -- true": (
        'wanlab: there is no node "h9" (choose from: h1, h2, s1)\n'
    ),
    "exec --clock sun -- true": (
        "wanlab: --clock sun: unknown value (use one of: virtual, real)\n"
    ),
    "lab run 14 --clock sun": "wanlab: --clock sun: unknown value (use one of: virtual, real)\n",
    "lab run 99": "wanlab: there is no unit 99 here (did you mean 9?)\n",
    "lab run x": (
        "wanlab: there is no unit 'x' "
        "(units are called 6, ex3 or prob1, for example; see: wanlab lab list)\n"
    ),
}


@pytest.mark.parametrize("words", CASES)
@pytest.mark.usefixtures("files")
def test_an_impossible_request_is_reported(wanlab: Any, words: str) -> None:
    ran = wanlab(*words.split())
    assert (ran.status, ran.output, ran.left_behind) == (1, b"", [])
    assert ran.errors.startswith(CASES[words])
    assert "Traceback" not in ran.errors


@pytest.mark.parametrize("words", ["plan single,3", "lab list"])
def test_a_full_standard_output_is_reported_in_one_line(words: str) -> None:
    program = "from wanlab.cli import main; main()"
    script = 'exec "$0" "$@" > /dev/full'
    done = subprocess.run(
        ["sh", "-c", script, sys.executable, "-c", program, *words.split()],
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
        check=False,
    )
    (line,) = done.stderr.splitlines()
    assert done.returncode == 1
    assert line.startswith("wanlab: ")
    assert line.endswith("No space left on device")


def test_an_error_message_contains_no_escape_sequences(wanlab: Any) -> None:
    ran = wanlab("plan", "\x1b]0;title\x07single")
    assert "\x1b" not in ran.errors
    assert "\\x1b]0;title\\x07single" in ran.errors


@pytest.mark.parametrize(
    "words", ["exec --seed abc -- true", "exec --seed -1 -- true", "exec", "lab run", "plan"]
)
def test_wrong_usage_has_status_2(wanlab: Any, words: str) -> None:
    ran = wanlab(*words.split())
    assert (ran.status, ran.output, "Error: " in ran.errors) == (2, b"", True)


# -- the kernel -----------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["exec -- true", "lab run 14"])
def test_the_error_for_a_missing_kernel_says_how_to_get_one(
    wanlab: Any, tmp_path: Path, words: str
) -> None:
    ran = wanlab(*words.split(), environment={"XDG_CACHE_HOME": str(tmp_path), KERNEL: ""})
    assert (ran.status, ran.left_behind) == (1, [])
    assert ran.errors.endswith("(build it with: wanlab kernel build)\n")
    assert not (tmp_path / "wanlab").exists()
    assert not (tmp_path / "results").exists()


@pytest.mark.machine
def test_a_truncated_kernel_is_not_booted(wanlab: Any, tmp_path: Path) -> None:
    whole = find_image().folder
    damaged = shutil.copytree(whole, tmp_path / "kernel")
    size = (damaged / "linux").stat().st_size
    os.truncate(damaged / "linux", 1000)
    ran = wanlab("exec", "--", "true", environment={KERNEL: str(damaged)})
    assert ran.errors == (
        f"wanlab: {damaged}/linux is damaged: it has 1000 of {size} bytes "
        "(build it with: wanlab kernel build)\n"
    )
    assert (ran.status, ran.left_behind) == (1, [])


# -- the computer ---------------------------------------------------------------------------------


@pytest.mark.machine
def test_a_deleted_working_folder_is_reported(wanlab: Any, tmp_path: Path) -> None:
    before = [
        "sh",
        "-c",
        f'mkdir {tmp_path}/gone; cd {tmp_path}/gone; rmdir ../gone; exec "$@"',
        "sh",
    ]
    ran = wanlab("exec", "--", "true", before=before)
    assert (ran.status, ran.left_behind) == (1, [])
    assert ran.errors.endswith(
        "wanlab: working folder .: the current folder no longer exists (change to another one)\n"
    )


FULL_DISK = {
    "web --no-browser": "/.wanlab/address: No space left on device (choose another folder with ",
    "lab run 3": "cannot write results to results: only 0 MiB are free there",
    "exec -- true": "",
}


@pytest.mark.parametrize("words", FULL_DISK)
@pytest.mark.machine
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system, which needs root")
def test_a_full_disk_is_reported_in_one_line(wanlab: Any, tmp_path: Path, words: str) -> None:
    script = (
        f"mount -t tmpfs -o size=40k none {tmp_path}; cd {tmp_path}; "
        'head -c 100k /dev/zero > fill 2> /dev/null; exec "$@"'
    )
    before = ["unshare", "--mount", "sh", "-c", script, "sh"]
    ran = wanlab(*words.split(), before=before)
    assert (ran.status, ran.left_behind) == (1 if FULL_DISK[words] else 0, [])
    assert "Traceback" not in ran.errors
    assert FULL_DISK[words] in ran.errors


READ_ONLY = {
    "web --no-browser": "/.wanlab: Read-only file system (",
    "lab run 3": "cannot write results to results/lab03-seed1: Read-only file system (",
}


@pytest.mark.parametrize("words", READ_ONLY)
@pytest.mark.machine
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system, which needs root")
def test_a_read_only_file_system_is_reported_in_one_line(
    wanlab: Any, tmp_path: Path, words: str
) -> None:
    script = f'mount -t tmpfs -o ro none {tmp_path}; cd {tmp_path}; exec "$@"'
    ran = wanlab(*words.split(), before=["unshare", "--mount", "sh", "-c", script, "sh"])
    assert (ran.status, ran.left_behind) == (1, [])
    assert "Traceback" not in ran.errors
    assert READ_ONLY[words] in ran.errors


def error_in_a_child(prepare: Callable[[], None], act: Callable[[], object]) -> str:
    """Return the message of the WanlabError that `act` raises in a child process after `prepare`.

    The child is forked, because after `prepare` it might not be able to start Python.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            try:
                prepare()
                act()
                os.write(writing, b"no error")
            except WanlabError as error:
                os.write(writing, str(error).encode())
            except BaseException as error:
                os.write(writing, repr(error).encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    return os.read(reading, 65536).decode()


def respect_permissions() -> None:
    """Drop the capabilities of root, so that the permissions of files are obeyed.

    Changing the user instead could make this checkout or the kernel unreadable.
    """

    class Header(ctypes.Structure):
        _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))

    class Capabilities(ctypes.Structure):  # two structures: bits 0 to 31, and 32 to 63
        _fields_ = (
            ("effective", ctypes.c_uint32),
            ("permitted", ctypes.c_uint32),
            ("inheritable", ctypes.c_uint32),
        )

    version_3 = Header(0x20080522, 0)
    none = (Capabilities * 2)()
    assert ctypes.CDLL(None).capset(ctypes.byref(version_3), ctypes.byref(none)) == 0


@pytest.fixture
def read_only_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "read-only"
    folder.mkdir(mode=0o555)
    return folder


@pytest.mark.machine
def test_a_read_only_working_folder_is_reported(read_only_folder: Path) -> None:
    network = Network(Topology(), folder=read_only_folder)
    assert error_in_a_child(respect_permissions, network.start) == (
        f"working folder {read_only_folder}: no permission to write "
        "(run wanlab in a folder that you can write to)"
    )


@pytest.mark.machine
def test_a_read_only_results_folder_is_reported(read_only_folder: Path) -> None:
    def run() -> None:
        unit_run.run_unit(
            catalog.find("14"), seed=1, clock="virtual", results=read_only_folder / "r", say=print
        )

    assert error_in_a_child(respect_permissions, run) == (
        f"cannot write results to {read_only_folder}/r/lab14-seed1: Permission denied "
        "(use another folder with --results)"
    )


def make_tiny(*folders: str) -> None:
    """Mount tiny file systems on these folders, in a new mount namespace."""
    new_mounts = 0x20000
    assert ctypes.CDLL(None).unshare(new_mounts) == 0
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    for folder in folders:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tiny", folder], check=True)


@pytest.mark.machine
@pytest.mark.skipif(os.getuid() != 0, reason="only root can mount")
def test_temporary_folders_too_small_for_the_machines_memory_are_reported() -> None:
    network = Network(Topology(), folder="/var/tmp")
    assert error_in_a_child(lambda: make_tiny("/dev/shm", "/var/tmp", "/tmp"), network.start) == (
        "no folder can hold 228MiB of memory for the machine: /dev/shm: only 1MiB free; "
        "/tmp: only 1MiB free; /var/tmp: only 1MiB free "
        "(set TMPDIR to a folder with enough space, on a file system mounted without noexec)"
    )


@pytest.mark.machine
@pytest.mark.skipif(os.getuid() != 0, reason="only root can mount")
def test_a_full_results_folder_is_reported() -> None:
    def run() -> None:
        unit_run.run_unit(
            catalog.find("14"), seed=1, clock="virtual", results=Path("/dev/shm/r"), say=print
        )

    assert error_in_a_child(lambda: make_tiny("/dev/shm"), run) == (
        "cannot write results to /dev/shm/r: only 1 MiB are free there "
        "(a lab may need 64 MiB; use another folder with --results)"
    )


@pytest.mark.machine
def test_more_memory_than_the_computer_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        RequirementError, match=r"needs at least \d+ MiB of memory, .* are available"
    ):
        Network(Topology(), memory="1000000GiB", folder=tmp_path).start()
