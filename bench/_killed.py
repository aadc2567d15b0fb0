"""The inside of `kill.py`: starts a program in new namespaces, kills it, and reports what is left."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDERS = ("/tmp", "/dev/shm", "/run")
WORK, HOME, OUTPUT = Path("/tmp/work"), Path("/tmp/home"), Path("/tmp/output")
HANG_S = 90.0
SECOND_CTRL_C_S = 2.0
TERMINATE_S = 15.0  # a program may continue without a guest process
GRACE_S = 15.0  # a worker gives its run time to end
SOURCE = Path(__file__).resolve().parents[1] / "src"
WANLAB = [sys.executable, "-m", "wanlab.cli"]
TRACEBACK = "Traceback (most recent call last)"
PING = "while :; do ping -c 1000 -i 0.01 -q h2; done"

TOPOLOGY = """\
nodes:
  - {host: h1}
  - {host: h2}
  - {switch: s1}
links:
  - {link: [h1, s1]}
  - {link: [s1, h2]}
"""
SCRIPT = """\
from mininet.net import Mininet
from mininet.topo import LinearTopo
net = Mininet(topo=LinearTopo(3))
net.start()
while True:
    net.pingAll()
"""
EXPERIMENT = """\
from wanlab import Design, experiment, shapes
@experiment(design=Design.grid({"rate": ["10Mbps", "20Mbps", "50Mbps", "100Mbps"]}, repeats=2))
def flows(run, *, rate="10Mbps"):
    with run.network(shapes.dumbbell(1, rate=rate)) as net:
        net["h2"].start("iperf3 -s")
        net.run_for("100ms")
        net["h1"].run("iperf3 -c h2 -t 60")
    run.metric("goodput", 1.0, "Mbit/s")
"""
# The arguments of wanlab, and for how many seconds the program is watched.
PROGRAMS: dict[str, tuple[list[str], float]] = {
    "exec": (["exec", "--topo", "single,2", "--node", "h1", "--", "sh", "-c", PING], 2.0),
    "mn": (["mn", "--topo", "tree,2,3"], 3.0),
    "python": (["python", "script.py"], 3.0),
    "lab": (["lab", "run", "3"], 5.0),
    "web": (["web", "two.yaml", "--no-browser"], 4.0),
    "sweep": (["sweep", "experiment.py", "--no-cache"], 6.0),
}


def main(kill: dict[str, Any]) -> dict[str, Any]:
    mount_folders()
    for number in (signal.SIGINT, signal.SIGHUP):  # ignored in the background of a shell
        signal.signal(number, signal.SIG_DFL)
    arguments, watched_s = PROGRAMS[kill["program"]]
    before = mounts()
    number = signal.Signals[kill["signal"]]
    with OUTPUT.open("wb") as output, commands(kill["program"]) as stdin:
        victim = subprocess.Popen(
            [*WANLAB, *arguments],
            cwd=WORK,
            stdin=stdin,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    if kill["program"] == "web":
        threading.Thread(target=run_network, args=(victim.pid,), daemon=True).start()
    target = find_target(kill["target"], victim, kill["moment"] * watched_s)
    was_running = target is not None and victim.poll() is None
    if not was_running and TRACEBACK in OUTPUT.read_text(errors="replace"):
        raise AssertionError(OUTPUT.read_text())
    began = time.monotonic()
    hangs = 0
    if was_running:
        assert target is not None
        send(number, target, is_group=kill["target"] == "group")
        hangs = await_end(victim, number)
    if victim.poll() is None:
        victim.kill()
    victim.wait()
    gone_s = await_silence(began)
    left = [f"process {pid}: {name}" for pid, name in processes()]
    is_noted = number == signal.SIGKILL and kill["target"] in ("wanlab", "group")
    left += notes(may_be_left=is_noted)
    left += sorted(str(path) for path in files())
    left += [f"mount {mount}" for mount in mounts() - before]
    left += abstract_sockets()
    output_text = OUTPUT.read_text(errors="replace")
    return {
        "was_running": was_running,
        "gone_s": gone_s,
        "hangs": hangs,
        "left": left,
        **tracebacks(kill["program"], output_text),
        "output": output_text[-1500:],
    }


# -- the program --------------------------------------------------------------------------------------


def mount_folders() -> None:
    """Mount empty folders where programs may write, and create a working folder."""
    for folder in FOLDERS:
        subprocess.run(["mount", "-t", "tmpfs", "none", folder], check=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for path in (WORK, HOME):
        path.mkdir()
    (WORK / "two.yaml").write_text(TOPOLOGY)
    (WORK / "script.py").write_text(SCRIPT)
    (WORK / "experiment.py").write_text(EXPERIMENT)
    for name in [name for name in os.environ if name.startswith("XDG_") or name == "TMPDIR"]:
        del os.environ[name]
    os.environ |= {"HOME": str(HOME), "PYTHONPATH": str(SOURCE), "MPLCONFIGDIR": str(HOME)}


@contextlib.contextmanager
def commands(program: str) -> Iterator[int]:
    """Yield a descriptor for standard input; for a prompt, it has more commands than can be run."""
    if program != "mn":
        yield subprocess.DEVNULL
        return
    path = HOME / "commands"
    path.write_text("pingall\n" * 1000)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def run_network(pid: int) -> None:
    """Do what a browser does: exchange the token for the cookie, and run the network."""
    import httpx
    from websockets.sync.client import connect
    from websockets.typing import Origin

    while "token=" not in (text := OUTPUT.read_text()):
        time.sleep(0.02)
    url = next(word for word in text.split() if "token=" in word)
    origin = url.partition("/?")[0]
    # It may be killed at any of these steps.
    with contextlib.suppress(Exception), httpx.Client(verify=False) as client:
        client.get(url)
        cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
        address = f"ws{origin.removeprefix('http')}/api/live"
        headers = {"cookie": cookie}
        with connect(address, additional_headers=headers, origin=Origin(origin)) as opened:
            opened.send(json.dumps({"id": 1, "do": "run"}))
            for _ in opened:
                pass


# -- the kill -----------------------------------------------------------------------------------------


def find_target(target: str, victim: subprocess.Popen[bytes], delay_s: float) -> int | None:
    """Return the process to be killed once `delay_s` have passed; None if there is none."""
    time.sleep(delay_s)
    if target in ("wanlab", "group"):
        return victim.pid
    deadline = time.monotonic() + 10.0
    while victim.poll() is None and time.monotonic() < deadline:
        kernels = [pid for pid, _ in processes() if is_kernel(pid) and not is_kernel(parent(pid))]
        guests = [pid for pid, _ in processes() if is_kernel(pid) and is_kernel(parent(pid))]
        if candidates := kernels if target == "kernel" else guests:
            return candidates[len(candidates) // 2]
        time.sleep(0.01)
    return None


def is_kernel(pid: int) -> bool:
    """Whether a process is a machine's kernel or one of its guest processes."""
    try:
        program = Path(f"/proc/{pid}/exe").readlink()
    except OSError:
        return False
    return program.is_relative_to(os.environ["WANLAB_KERNEL"])


def parent(pid: int) -> int:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[1])


def send(number: signal.Signals, pid: int, *, is_group: bool) -> None:
    with contextlib.suppress(ProcessLookupError):
        if is_group:
            os.killpg(pid, number)
        else:
            os.kill(pid, number)


def await_end(victim: subprocess.Popen[bytes], number: signal.Signals) -> int:
    """Wait until the program has ended; return 1 if it hangs."""
    began = time.monotonic()
    more = [(SECOND_CTRL_C_S, signal.SIGINT), (SECOND_CTRL_C_S + 1, signal.SIGINT)]
    # If the command receives the first Ctrl-C, or a question is asked, the user presses it again.
    repeats = more if number == signal.SIGINT else []
    repeats.append((TERMINATE_S, signal.SIGTERM))
    while victim.poll() is None and time.monotonic() - began < HANG_S:
        if repeats and time.monotonic() - began > repeats[0][0]:
            send(repeats.pop(0)[1], victim.pid, is_group=False)
        time.sleep(0.01)
    return int(victim.poll() is None)


def await_silence(began: float) -> float:
    """Wait until nothing runs any more; return the seconds since the signal."""
    deadline = time.monotonic() + GRACE_S
    while processes() and time.monotonic() < deadline:
        time.sleep(0.01)
    return time.monotonic() - began


def tracebacks(program: str, output: str) -> dict[str, int]:
    """Count the tracebacks of wanlab, and those of Python's own start, before wanlab is loaded."""
    count = output.count(TRACEBACK)
    if program == "python":
        count = 0  # the script's own
    has_wanlab = "/wanlab/" in output.partition(TRACEBACK)[2]
    return {"tracebacks": count if has_wanlab else 0, "starts": 0 if has_wanlab else count}


# -- what is left -------------------------------------------------------------------------------------


def processes() -> list[tuple[int, str]]:
    """Return pid and command line of all other processes, without zombies."""
    running = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and int(path.name) != os.getpid():
            with contextlib.suppress(OSError):
                state = (path / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
                if state not in "ZX":
                    words = (path / "cmdline").read_bytes().replace(b"\0", b" ")
                    running.append((int(path.name), words[:100].decode(errors="replace")))
    return running


def notes(*, may_be_left: bool) -> list[str]:
    """Return the notes of machines that remain; if they may, those that `wanlab clean` leaves."""
    folder = HOME / ".cache" / "wanlab" / "runs"
    left = [str(path) for path in folder.glob("*")] if folder.is_dir() else []
    if left and may_be_left:
        subprocess.run([*WANLAB, "clean"], check=True, stdout=subprocess.DEVNULL)
        left = [f"{path} after clean" for path in folder.glob("*")]
    return left


def files() -> Iterator[Path]:
    """Yield the files that are left outside the working folder and the home folder."""
    for folder in FOLDERS:
        for path in Path(folder).iterdir():
            if path not in (WORK, HOME, OUTPUT):
                yield path


def mounts() -> set[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return {" ".join(line.split()[3:5]) for line in lines}


def abstract_sockets() -> list[str]:
    """Return the names of the abstract sockets in this network namespace, such as claims of CPUs."""
    lines = Path("/proc/net/unix").read_text().splitlines()
    return [f"socket {line.split()[-1]}" for line in lines if "@wanlab" in line]


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
