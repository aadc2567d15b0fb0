"""Sessions of every kind replay identically for another user, in another folder, on another processor.

Eleven sessions of 2 to 20 minutes of the network's time: with `wanlab exec`, `mn`, `python` and `lab
start`, from Python, and a unit of the course performed in Chromium. Each is replayed with
`wanlab replay --verify` in another folder and with an empty home; by the user `nobody` if the benchmark
runs as root; and on a kernel that sees an XSTATE of another size (--xstate), as on another processor.
tools/distributions/computer.sh replays the files of --keep on computers that QEMU simulates.

    way              the command, or "Chromium"
    network_s        length in seconds of the network's time
    first_real_s     real time of the recording (in Chromium: the pace of the student's script)
    replay_real_s    real time of the replay
    file_kb          size of the session file
    equal            the output is the same, to the byte and to the nanosecond (claim)
"""

from __future__ import annotations

import argparse
import getpass
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from _chromium import find_chromium
from _report import Report

from wanlab.labs import catalog
from wanlab.machine.embedded import find_image
from wanlab.session import read

sys.path.extend(str(Path(__file__).parents[1] / "tests" / name) for name in ("browser", "machine"))

WANLAB = Path(sys.executable).parent / "wanlab"
OTHER_USER = "nobody"
COLUMNS = ("session", "way", "network_s", "first_real_s", "replay_real_s", "file_kb", "equal")

EXEC = ("exec", "--node", "h1", "--topo")
LOOP = "for i in $(seq 200); do echo $RANDOM; ping -c 1 -W 1 h2 | grep -c ttl; sleep 1; done"
PAUSES = "for host in h2 h3 h4; do ping -c 20 $host; sleep 360; done"
PROMPT = """\
h1 ping -c 60 h2
h2 iperf3 -s -D
h1 iperf3 -c h2 -t 20
link s1 h1 down
h1 ping -c 3 -W 1 h2
link s1 h1 up
pingall
h1 ping -c 40 h2
"""
NETEM = """\
pingall
h1 tc qdisc add dev h1-eth0 root netem delay 20ms 5ms loss 1%
h1 ping -c 300 h2
"""
SCRIPT = """\
from mininet.net import Mininet
from mininet.topo import LinearTopo
net = Mininet(LinearTopo(3))
net.start()
net.pingAll()
net.iperf()
print(net["h1"].cmd("ping -c 120 h3"))
net.stop()
"""
TERMINAL = """\
from wanlab import Network, shapes
with Network(shapes.from_text("single,3,rate=5Mbps"), session="{file}") as net:
    net["h2"].start("iperf3 -s")
    shell = net["h1"].start(["bash", "--norc", "-i"], terminal=(24, 80))
    for line in ("iperf3 -c h2 -t 30", "ping h3", "\\x03", "tc -s qdisc show"):
        shell.write(line + "\\n")
        net.run_for("40s")
"""


@dataclass(frozen=True)
class Recording:
    """How a session is recorded: a command of wanlab, and its standard input."""

    name: str
    arguments: Sequence[str]
    lines: str = ""

    @property
    def way(self) -> str:
        return " ".join(self.arguments[:2] if self.arguments[0] == "lab" else self.arguments[:1])


def recordings(folder: Path) -> Iterator[Recording]:
    """Yield the recordings that need no browser; `{file}` stands for the session's file."""
    (folder / "script.py").write_text(SCRIPT)
    session = ("--session", "{file}")
    shell = ("--", "bash", "-c")
    yield Recording("pings", (*EXEC, "single,2", *session, "--", "ping", "-c", "120", "h2"))
    yield Recording("losses", (*EXEC, "single,2,loss=1%", *session, *shell, LOOP))
    yield Recording("pauses", (*EXEC, "single,4", *session, *shell, PAUSES))
    yield Recording("prompt", ("mn", "--topo", "single,3", *session), PROMPT)
    yield Recording("netem", ("mn", "--topo", "linear,3", *session), NETEM)
    yield Recording("script", ("python", *session, "script.py"))
    lab = ("lab", "start", "--no-tmux", "--folder")
    yield Recording("prob1", (*lab, "{folder}", "prob1"), "h1 ping -c 120 h2\n")
    yield Recording("lab16", (*lab, "{folder}", "16", "--at", "17"), "h1 ping -c 150 h2\n")
    yield Recording("lab2", (*lab, "{folder}", "2"), "h1 ping -c 600 h2\n")


@dataclass(frozen=True)
class Session:
    """A recorded session."""

    name: str
    way: str
    file: Path
    real_s: float


def record(each: Recording, folder: Path, kept: Path) -> Session:
    """Record a session by a command."""
    file, work = kept / f"{each.name}.wanlab", folder / each.name
    arguments = [
        word.replace("{file}", str(file)).replace("{folder}", str(work)) for word in each.arguments
    ]
    began = time.monotonic()
    done = subprocess.run(
        [WANLAB, *arguments], input=each.lines, text=True, cwd=folder, capture_output=True
    )
    real_s = time.monotonic() - began
    if done.returncode:
        raise SystemExit(f"{each.name} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    if not file.exists():  # `lab start` writes it into the unit's folder
        (recorded,) = work.glob("transcripts/*.wanlab")
        shutil.copy(recorded, file)
    return Session(each.name, each.way, file, real_s)


def record_in_python(folder: Path, kept: Path) -> Session:
    file = kept / "terminal.wanlab"
    began = time.monotonic()
    program = TERMINAL.replace("{file}", str(file))
    subprocess.run([sys.executable, "-c", program], cwd=folder, check=True)
    return Session("terminal", "Python", file, time.monotonic() - began)


def record_in_chromium(unit_name: str, kept: Path, report: Report) -> list[Session]:
    """Perform a unit of the course in the browser; return the sessions of its networks."""
    import course_ui

    program = find_chromium()
    if program is None:
        report.note("there is no Chromium, so nothing is recorded in a browser")
        return []
    from playwright.sync_api import sync_playwright

    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=program, args=["--no-sandbox"])
        began = time.monotonic()
        options = course_ui.arguments([unit_name])
        session = ("--session", str(kept / "browser.wanlab"))
        walk = course_ui.go_through(browser, catalog.find(unit_name), options, report, *session)
        real_s = time.monotonic() - began
        browser.close()
    report.note(f"{walk.done} steps in Chromium, {walk.points:g} of {walk.of:g} checks passed")
    for missed in walk.missed:
        report.note(f"  {missed}")
    files = sorted(kept.glob("browser*.wanlab"))
    return [Session(file.stem, "Chromium", file, real_s) for file in files]


def other_kernel(folder: Path, xstate: str | None) -> dict[str, str]:
    """Copy the kernel's image to a folder that everybody can read; with `xstate`, simulate that size.

    Return the environment in which commands use it.
    """
    from test_xstate import compiled, environment_of, simulate_processor

    image = folder / "image"
    if xstate is None:
        shutil.copytree(find_image().folder, image)
        return {"WANLAB_KERNEL": str(image)}
    simulate_processor(xstate, compiled("fake_xstate.c", folder / "fake_xstate"), image)
    return environment_of(image)


def replay(
    session: Session, kernel: dict[str, str], folder: Path, *, anyway: bool
) -> tuple[bool, float]:
    """Replay a session; return whether it is equal, and the real time."""
    home = folder / f"home-{session.name}"
    home.mkdir()
    user = OTHER_USER if os.getuid() == 0 else None
    if user:
        shutil.chown(home, user)
        session.file.chmod(0o644)
    environment = {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "HOME": str(home),
        **kernel,
    }
    arguments = ["replay", str(session.file), "--verify", *(["--anyway"] if anyway else [])]
    began = time.monotonic()
    done = subprocess.run(
        [WANLAB, *arguments],
        cwd=home,
        env=environment,
        user=user,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        print(f"{session.name}:\n{done.stdout}{done.stderr}", file=sys.stderr)
    return done.returncode == 0, time.monotonic() - began


def main() -> int:
    options = _arguments()
    report = Report("session_ways")
    table = report.table("sessions", COLUMNS)
    report.more["replayed_by"] = OTHER_USER if os.getuid() == 0 else getpass.getuser()
    report.more["xstate"] = options.xstate
    with tempfile.TemporaryDirectory(prefix="wanlab-bench-") as place:
        folder = Path(place)
        folder.chmod(0o755)
        kept = options.keep or folder / "sessions"
        kept.mkdir(parents=True, exist_ok=True)
        kernel = other_kernel(folder, options.xstate)
        # A session contains its working folder, but not the kernel beside it.
        work = folder / "work"
        work.mkdir()
        sessions = [record(each, work, kept) for each in recordings(work)]
        sessions.append(record_in_python(work, kept))
        sessions += record_in_chromium(options.unit, kept, report)
        equals = []
        for session in sessions:
            recorded = read(session.file)
            equal, replay_s = replay(session, kernel, folder, anyway=options.xstate is not None)
            equals.append(equal)
            table.add(
                session=session.name,
                way=session.way,
                network_s=(recorded.end_ns - recorded.epoch_ns) / 1e9,
                first_real_s=session.real_s,
                replay_real_s=replay_s,
                file_kb=session.file.stat().st_size / 1000,
                equal=equal,
            )
    return report.finish(is_met=all(equals))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keep the session files in FOLDER"
    )
    parser.add_argument("--unit", default="2", help="unit to perform in Chromium (2)")
    parser.add_argument(
        "--xstate", metavar="BYTES", help="size on the processor that replays (default: this one's)"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
