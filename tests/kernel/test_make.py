"""Running make counts steps, shows the compiler's errors, and leaves no processes behind."""

import os
import select
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
from pathlib import Path
from typing import Any

import pytest
from kernelbuild import requirements
from kernelbuild.cache import building_folder
from kernelbuild.errors import BuildError
from kernelbuild.make import environment, run_make, terminated_as_interrupt


def make(folder: Path, makefile: str) -> int:
    """Run a Makefile as the kernel's is run; return the number of steps that it printed."""
    steps: list[str] = []
    (folder / "Makefile").write_text(makefile)
    run_make(
        folder,
        ["all"],
        compiler="gcc",
        timestamp="2024-11-17",
        log=folder / "build.log",
        on_step=steps.append,
    )
    return len(steps)


def test_lines_that_name_a_step_are_counted(tmp_path: Path) -> None:
    text = "all:\n\t@echo '  CC      a.o'; echo '  AR      b.a'; echo note; echo '   indented'\n"
    assert make(tmp_path, text) == 2


def test_a_failure_shows_the_compilers_error_and_keeps_the_log(tmp_path: Path) -> None:
    text = "all:\n\t@echo 'x.c:1:2: error: expected ;' >&2; exit 3\n"
    with pytest.raises(BuildError) as raised:
        make(tmp_path, text)
    assert "x.c:1:2: error: expected ;" in raised.value.what
    assert "x.c:1:2: error: expected ;" in (tmp_path / "build.log").read_text()


def test_make_gets_no_environment_variable_that_would_change_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CFLAGS", "KCFLAGS", "ARCH", "LOCALVERSION", "MAKEFLAGS", "LANG"):
        monkeypatch.setenv(name, "x")
    assert set(environment("t")) - {"PATH", "HOME", "TMPDIR", "LC_ALL", "TZ"} == {
        "KBUILD_BUILD_TIMESTAMP",
        "KBUILD_BUILD_VERSION",
        "KBUILD_BUILD_USER",
        "KBUILD_BUILD_HOST",
    }


def test_installed_programs_that_the_build_does_not_need_do_not_change_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the configuration in the image would contain the version of an installed rustc."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("rustc", "bindgen", "pahole"):
        (programs / name).write_text("#!/bin/sh\necho 1.2.3\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    variables = "RUSTC = rustc\nBINDGEN = bindgen\nPAHOLE = pahole\n"
    versions = "; ".join(f"$({name}) 2>&1 || true" for name in ("RUSTC", "BINDGEN", "PAHOLE"))
    make(tmp_path, f"{variables}all:\n\t@({versions}) > versions\n")
    assert "1.2.3" not in (tmp_path / "versions").read_text()


def test_an_interrupt_ends_make_and_its_children(tmp_path: Path) -> None:
    descriptors: list[int] = []

    def interrupt(step: str) -> None:
        for name in ("child", "make"):
            descriptors.append(os.pidfd_open(int((tmp_path / name).read_text())))
        raise KeyboardInterrupt

    (tmp_path / "Makefile").write_text(
        "all:\n\t@sleep 60 & echo $$! >child; echo $$PPID >make; echo '  CC a.o'; wait\n"
    )
    with pytest.raises(KeyboardInterrupt):
        run_make(
            tmp_path,
            ["all"],
            compiler="gcc",
            timestamp="t",
            log=tmp_path / "build.log",
            on_step=interrupt,
        )
    assert [ended(descriptor) for descriptor in descriptors] == [True, True]


def test_an_interrupt_while_make_is_being_started_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signal arrives in a thread that was there before; its handler would run in this one."""
    started: list[subprocess.Popen[bytes]] = []
    may_interrupt = threading.Event()

    def interrupt() -> None:
        may_interrupt.wait(60)
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()

    class InterruptedPopen(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self)
            may_interrupt.set()
            thread.join()

    monkeypatch.setattr(subprocess, "Popen", InterruptedPopen)
    (tmp_path / "Makefile").write_text("all:\n\t@sleep 60\n")
    log = tmp_path / "build.log"
    with pytest.raises(KeyboardInterrupt):
        run_make(tmp_path, ["all"], compiler="gcc", timestamp="t", log=log)
    assert started[0].returncode is not None


def test_missing_programs_are_named_by_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    present = {"gcc", "make", "ld"}

    def which(program: str) -> str | None:
        return f"/bin/{program}" if program in present else None

    monkeypatch.setattr("shutil.which", which)
    monkeypatch.setattr(requirements, "_headers_present", lambda: True)
    with pytest.raises(BuildError) as raised:
        requirements.check_programs()
    assert raised.value.hint == (
        "on Debian or Ubuntu: sudo apt-get install"
        " binutils flex bison bc tar xz-utils patch gzip mawk"
    )


def test_a_disk_that_is_too_small_is_refused_before_the_build(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="a build needs"):
        requirements.check_disk(tmp_path, 1 << 62)


BUILDER = """
import sys
import tarfile
import threading
from pathlib import Path
from typing import Any
sys.path.insert(0, sys.argv[1])
from kernelbuild.make import run_make
folder = Path(sys.argv[2])
run_make(
    folder, ["all"], compiler="gcc", timestamp="t", log=folder / "build.log",
    on_step=lambda step: print("ready", flush=True),
)
"""


def test_a_killed_builder_takes_make_and_its_children_with_it(tmp_path: Path) -> None:
    (tmp_path / "child.sh").write_text("echo $$ >child\necho '  CC a.o'\nsleep 60\n")
    (tmp_path / "Makefile").write_text("all:\n\t@echo $$PPID >make; sh child.sh; true\n")
    kernel_folder = Path(requirements.__file__).parents[1]
    command = [sys.executable, "-c", BUILDER, str(kernel_folder), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as builder:
        assert builder.stdout is not None
        assert builder.stdout.readline() == "ready\n"
        ids = [int((tmp_path / name).read_text()) for name in ("make", "child")]
        descriptors = [os.pidfd_open(pid) for pid in ids]
        builder.kill()
    assert [ended(descriptor) for descriptor in descriptors] == [True, True]


PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from kernelbuild import source
from pathlib import Path
source.unpack(Path("linux.tar.xz"), Path("."), 1)
"""


def test_a_killed_builder_takes_xz_and_tar_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tarfile.open(tmp_path / "linux.tar.xz", "w:xz") as archive:
        archive.addfile(tarfile.TarInfo("linux/Makefile"))
    names = ("xz", "tar")
    for name in names:
        os.mkfifo(tmp_path / f"{name}.pid")
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho $$ >{name}.pid\nexec sleep 60\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    kernel_folder = Path(requirements.__file__).parents[1]
    command = [sys.executable, "-c", PROGRAM, str(kernel_folder)]
    with subprocess.Popen(command, cwd=tmp_path) as builder:
        ids = [int((tmp_path / f"{name}.pid").read_text()) for name in names]
        descriptors = [os.pidfd_open(pid) for pid in ids]
        builder.kill()
    assert [ended(descriptor) for descriptor in descriptors] == [True, True]


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_further_signals_do_not_disturb_the_cleanup(first: signal.Signals) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    tidied = False
    with pytest.raises(KeyboardInterrupt), terminated_as_interrupt():
        try:
            os.kill(os.getpid(), first)
        finally:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                os.kill(os.getpid(), number)
            tidied = True
    assert tidied
    after = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    assert after == before


def test_a_signal_during_the_removal_of_a_finished_build_does_not_stop_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove = shutil.rmtree
    interruptions = [signal.SIGTERM]

    def interrupted(folder: Path, *, ignore_errors: bool) -> None:
        if interruptions:
            os.kill(os.getpid(), interruptions.pop())
        remove(folder, ignore_errors=ignore_errors)

    monkeypatch.setattr(shutil, "rmtree", interrupted)
    with pytest.raises(KeyboardInterrupt), terminated_as_interrupt(), building_folder(tmp_path):
        pass
    assert (interruptions, list(tmp_path.iterdir())) == ([], [])


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # nohup does this
    try:
        with terminated_as_interrupt():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, previous)


def ended(descriptor: int) -> bool:
    """Return whether a process ends within ten seconds, which makes its descriptor readable."""
    return bool(select.select([descriptor], [], [], 10)[0])
