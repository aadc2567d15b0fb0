"""Test how programs enter the kernel, as programs see it, and what it costs the computer."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from machines import needs_another_mode, other_mode
from process_tree import descendants

from wanlab import Network, shapes
from wanlab.machine.embedded import EmbeddedMachine

pytestmark = pytest.mark.machine

Start = Callable[..., Network]

# A filter (BPF) that refuses the system calls clock_gettime(), gettimeofday() and time().
WITHOUT_CALLS = """
import ctypes, struct, time
from ctypes import byref, c_char_p, c_ushort

def instruction(code, value, equal=0, other=0):
    return struct.pack("HBBI", code, equal, other, value)

class Program(ctypes.Structure):
    _fields_ = [("length", c_ushort), ("instructions", c_char_p)]

LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050001
program = instruction(LOAD, 0)
for left, number in ((2, 228), (1, 96), (0, 201)):
    program += instruction(EQUAL, number, equal=left + 1)
program += instruction(RETURN, ALLOW) + instruction(RETURN, REFUSE)
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, byref(Program(len(program) // 8, program)), 0, 0) == 0

clocks = [time.CLOCK_REALTIME, time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME, 5, 6]
for clock in clocks:
    before, after = time.clock_gettime_ns(clock), time.clock_gettime_ns(clock)
    print(clock, after - before)
print(libc.time(None) == int(time.time()))
now = (ctypes.c_long * 2)()
print(libc.gettimeofday(now, None), now[0] == int(time.time()))
raw = (ctypes.c_long * 2)()
print(libc.syscall(228, 1, raw), ctypes.get_errno())
"""
BOTH_WAYS = """
import ctypes, time
libc = ctypes.CDLL(None)
now = (ctypes.c_long * 2)()
def call():
    libc.syscall(228, time.CLOCK_MONOTONIC, now)
    return now[0] * 10**9 + now[1]
def read():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)
first = read()
print([way() - first for way in (call, read, read, call, call, read)])
time.sleep(0.001)
first = call()
print([way() - first for way in (read, read, call, read)])
# The coarse clock and time() do not count as readings, but as calls.
print([(time.clock_gettime_ns(6), libc.time(None)) and read() - first for _ in range(3)])
"""
# Other processes and debuggers see a program's code as it is in its file.
READS_ITS_CODE = """
import ctypes, os
for _ in range(5):
    os.getppid()
address = ctypes.cast(ctypes.CDLL(None).getppid, ctypes.c_void_p).value
with open("/proc/self/mem", "rb", buffering=0) as memory:
    memory.seek(address)
    print(b"\\x0f\\x05\\xc3" in memory.read(16))
"""
PROGRAMS = "for number in 1 2 3 4 5 6 7 8; do sleep 0.1 & done; wait"
FOLDER = Path(__file__).parent
needs_a_compiler = pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler here")


def python(program: str) -> list[str]:
    return ["python3", "-I", "-c", program]


def test_reading_the_clock_needs_no_system_call(start: Start) -> None:
    net = start(shapes.minimal())
    assert net["h1"].run(python(WITHOUT_CALLS)).output.splitlines() == [
        "0 1",
        "1 1",
        "7 1",
        "5 0",
        "6 0",
        "True",
        "0 True",
        "-1 1",
    ]


def test_readings_with_and_without_a_system_call_are_one_sequence(start: Start) -> None:
    net = start(shapes.minimal())
    assert net["h1"].run(python(BOTH_WAYS)).output.splitlines() == [
        "[1, 2, 3, 4, 5, 6]",
        "[1, 2, 3, 4]",
        "[5, 6, 7]",
    ]


def test_host_processes_of_ended_programs_are_reused(start: Start) -> None:
    net = start(shapes.minimal())
    machine = net.machine
    assert isinstance(machine, EmbeddedMachine)
    kernel = machine._kernel.pid
    beginning = descendants(kernel)
    net["h1"].run(["sh", "-c", PROGRAMS])
    kept = descendants(kernel)
    net["h1"].run(["sh", "-c", PROGRAMS])
    assert beginning < kept
    assert kept == descendants(kernel)


@needs_a_compiler
def test_page_faults_look_as_on_the_computer(tmp_path: Path, start: Start) -> None:
    program = compiled("faults.c", tmp_path)
    expected = subprocess.run(
        [program], check=True, cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    net = start(shapes.minimal())
    assert net["h1"].run([str(program)]).output == expected.stdout


@pytest.fixture(params=["ptrace", pytest.param(other_mode(), marks=needs_another_mode)])
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANLAB_TRAPS", request.param)


@needs_a_compiler
@pytest.mark.usefixtures("mode")
def test_system_calls_are_as_on_the_computer(tmp_path: Path, start: Start) -> None:
    """Jumps behind them, code mapped twice, moved or changed, signals, flags, low addresses."""
    program = compiled("call_sites.c", tmp_path)
    folder = tmp_path / "native"
    folder.mkdir()
    expected = subprocess.run([program], check=True, cwd=folder, stdout=subprocess.PIPE, text=True)
    net = start(shapes.minimal())
    assert net["h1"].run([str(program)]).output == expected.stdout


@pytest.mark.skipif(shutil.which("strace") is None, reason="no strace here")
@pytest.mark.usefixtures("mode")
def test_programs_that_are_traced_run_as_they_are(start: Start) -> None:
    net = start(shapes.minimal())
    program = "import os; [os.getppid() for _ in range(3)]"
    shown = net["h1"].run(["strace", "-e", "getppid", *python(program)]).stderr
    assert shown.count("getppid()") == 3
    code = net["h1"].run(python(READS_ITS_CODE)).output
    assert code == "True\n"


@needs_a_compiler
@pytest.mark.costs(2)
def test_a_program_can_use_more_pages_than_the_computer_allows_mappings(
    tmp_path: Path, start: Start
) -> None:
    """Each page is a mapping of the computer's; vm.max_map_count is 65,530 by default."""
    program = compiled("random_touch.c", tmp_path)
    net = start(shapes.minimal())
    assert net["h1"].run([str(program), "300"]).output == "76800 of 76800 pages, child 7\n"


def compiled(source: str, folder: Path) -> Path:
    program = folder / source.removesuffix(".c")
    subprocess.run(["gcc", "-O1", "-w", "-o", program, FOLDER / source], check=True)
    return program
