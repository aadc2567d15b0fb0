"""Run the kernel's `make` in a known environment, and end it with all its children."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from .errors import BuildError
from .programs import INTERRUPTS, interrupts_held

_STEP = re.compile(rb"  [A-Z][A-Z0-9_.+]* +\S")
_TAIL_LINES = 30
_GUARD = Path(__file__).with_name("guard.py")
_GRACE_S = 5.0
# If these programs are installed, the kernel's configuration contains their versions. The image
# contains its configuration, so it would depend on them, although no part of it is built with them.
_NOT_USED = ("RUSTC", "BINDGEN", "PAHOLE")


def environment(timestamp: str) -> dict[str, str]:
    """Return the environment of `make`, without variables that change its result (CFLAGS, LANG, ...)."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    if "TMPDIR" in os.environ:
        kept["TMPDIR"] = str(Path(os.environ["TMPDIR"]).absolute())  # make starts in another folder
    return kept | {
        "LC_ALL": "C",
        "TZ": "UTC",
        "KBUILD_BUILD_TIMESTAMP": timestamp,
        "KBUILD_BUILD_VERSION": "1",
        "KBUILD_BUILD_USER": "wanlab",
        "KBUILD_BUILD_HOST": "wanlab",
    }


def run_make(
    source: Path,
    targets: Sequence[str],
    *,
    compiler: str,
    timestamp: str,
    log: Path,
    on_step: Callable[[str], None] = lambda step: None,
) -> None:
    """Run `make ARCH=um` on targets and log its output; raise BuildError with the end of the log.

    `on_step` is called with each line that names a step, such as "CC net/ipv4/tcp_cubic.o".

    If this process is interrupted or killed, make and its children end too.
    """
    # The compiler's warnings stay in the log: they concern code that is not wanlab's.
    absent = [f"{name}=none" for name in _NOT_USED]
    command = ["make", "ARCH=um", f"CC={compiler}", f"HOSTCC={compiler}", *absent, *targets]
    with log.open("ab") as output, _started(command, source, environment(timestamp)) as process:
        assert process.stdout is not None
        for line in process.stdout:
            output.write(line)
            if _STEP.match(line):
                on_step(" ".join(line.decode("utf-8", errors="replace").split()))
        status = process.wait()
    if status != 0:
        raise BuildError(
            f"the kernel does not compile (make ended with status {status}):\n{_tail(log)}"
        )


@contextlib.contextmanager
def _started(
    command: Sequence[str], folder: Path, variables: dict[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Start make with its guard, and end all processes of their group on exit."""
    process: subprocess.Popen[bytes] | None = None
    try:
        with interrupts_held():
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_GUARD), str(os.getpid()), *command],
                cwd=folder,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        yield process
    finally:
        if process is not None:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        _signal_group(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_GRACE_S)
    _signal_group(process, signal.SIGKILL)  # children that are still running after make has ended
    process.wait()
    assert process.stdout is not None
    process.stdout.read()  # returns when the last child is dead: each holds the pipe's other end
    process.stdout.close()


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _tail(log: Path) -> str:
    """Return the lines of a log from the first error on, or the last lines."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    errors = [
        number for number, line in enumerate(lines) if " error: " in line or line.startswith("make")
    ]
    first = max(errors[0] - 3, 0) if errors else max(len(lines) - _TAIL_LINES, 0)
    return "\n".join(lines[first:][:_TAIL_LINES])


@contextlib.contextmanager
def terminated_as_interrupt() -> Iterator[None]:
    """Let SIGTERM and SIGHUP interrupt like Ctrl-C, and ignore these three signals after the first.

    `./dev` and a closing terminal send more than one; a second signal would interrupt the removal of
    the build's files. A signal that is already ignored (nohup) stays ignored.
    """

    def interrupt(number: int, frame: object) -> None:
        for other in previous:
            signal.signal(other, signal.SIG_IGN)
        raise KeyboardInterrupt

    previous = {number: signal.getsignal(number) for number in INTERRUPTS}
    previous = {number: old for number, old in previous.items() if old != signal.SIG_IGN}
    try:
        for number in previous:
            signal.signal(number, interrupt)
    except ValueError:  # not in the main thread: the caller's handlers stay
        yield
        return
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
