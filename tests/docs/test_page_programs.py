"""The programs on the pages about use run as printed; other tests run those of the recipes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from patience import PATIENCE_S

from wanlab import load
from wanlab.experiments import load_experiment

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PLUGIN = [] if entry_points(group="pytest11", name="wanlab") else ["-p", "wanlab.pytest_plugin"]
SERVER = """
import socket
listener = socket.create_server(("", 5000))
while True:
    connection, _ = listener.accept()
    connection.sendall(b"42\\n")
    connection.close()
"""
CLIENT = """
import socket, sys
while True:
    try:
        connection = socket.create_connection((sys.argv[1], 5000), timeout=1)
        print(connection.recv(9).decode(), end="")
        break
    except OSError:
        pass
"""


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def programs(page: str) -> list[str]:
    return blocks(page, "python")


def run(folder: Path, program: str) -> str:
    """Run a program as its reader would, in a folder, and return what it prints."""
    (folder / "program.py").write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def pytest_passes(folder: Path, program: str) -> None:
    (folder / "test_it.py").write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *PLUGIN, "-p", "no:cacheprovider", "-q", "test_it.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


@pytest.mark.machine
@pytest.mark.parametrize(
    "page",
    ["how-to/traffic.md", "how-to/jupyter.md", "how-to/sessions.md", "reference/measurement.md"],
)
def test_the_program_runs(page: str, tmp_path: Path) -> None:
    (program,) = programs(page)
    run(tmp_path, program)


@pytest.mark.machine
def test_a_record_is_written_and_read_as_the_page_shows(tmp_path: Path) -> None:
    reading, schema, writing = programs("reference/record.md")
    run(tmp_path, writing)
    (tmp_path / "results" / "one" / "raw" / "iperf3.json").read_bytes()
    first, *lines = reading.splitlines()
    assert first == "from wanlab import record"
    reading = "\n".join(line for line in [first, *lines] if "pip install" not in line)
    for written, shown in (("one", "lab14-seed1/1-bdp"), ("iperf3.json", "ping.txt")):
        reading = reading.replace(shown, written)
    run(tmp_path, reading)
    printed = run(tmp_path, schema.replace("1-bdp", "results/one"))
    assert "backlog_bytes int64 B" in printed


@pytest.mark.machine
def test_the_test_on_the_page_about_ci_passes(tmp_path: Path) -> None:
    (program,) = programs("how-to/ci.md")
    pytest_passes(tmp_path, program)


@pytest.mark.machine
def test_the_test_on_the_page_about_pytest_passes(tmp_path: Path) -> None:
    (program,) = programs("how-to/pytest.md")
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "client.py").write_text(CLIENT)
    pytest_passes(tmp_path, program)


@pytest.mark.machine
@pytest.mark.parametrize(
    ("number", "printed"),
    [
        (0, "3 packets transmitted, 3 received"),
        (1, "0% dropped (2/2 received)"),
        (2, ""),
    ],
)
def test_the_mininet_scripts_on_the_page_run(number: int, printed: str, tmp_path: Path) -> None:
    if number == 1 and shutil.which("ovs-vsctl") is None:
        pytest.skip("Open vSwitch is not installed")
    scripts = programs("how-to/mininet.md")
    assert len(scripts) == 3
    (tmp_path / "experiment.py").write_text(scripts[number])
    done = subprocess.run(
        [sys.executable, "-m", "wanlab.cli", "python", "experiment.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    assert printed in done.stdout + done.stderr


@pytest.mark.machine
def test_the_branching_experiment_on_the_page_about_sweeps_runs(tmp_path: Path) -> None:
    (program,) = [text for text in programs("how-to/sweeps.md") if "net.session.branch()" in text]
    printed = run(
        tmp_path,
        f"{program}\n\nif __name__ == '__main__':\n"
        "    metrics = queues.run(cache=False, here=True).metrics\n"
        "    print(metrics['rtt_fifo'].value > 2 * metrics['rtt_fq_codel'].value)\n",
    )
    assert printed == "True\n"


# -- files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", ["reference/topology-files.md", "how-to/traces.md"])
def test_topologies_on_a_page_are_accepted(page: str, tmp_path: Path) -> None:
    for name in ("downlink", "uplink"):
        (tmp_path / f"{name}.trace").write_text("1\n2\n")
    # A block that does not begin with nodes or a name is a part of a topology.
    topologies = [text for text in blocks(page, "yaml") if text.startswith(("nodes:", "name:"))]
    assert topologies
    for number, text in enumerate(topologies):
        path = tmp_path / f"{number}.yaml"
        path.write_text(text, encoding="utf-8")
        assert load(path).links


@pytest.mark.parametrize("page", ["reference/experiment-files.md", "how-to/sweeps.md"])
def test_experiments_on_a_page_are_accepted(page: str, tmp_path: Path) -> None:
    (text,) = blocks(page, "yaml")
    path = tmp_path / "buffers.yaml"
    path.write_text(text, encoding="utf-8")
    experiment = load_experiment(path)
    assert experiment.name == "buffers"
    assert list(experiment.design.runs())
