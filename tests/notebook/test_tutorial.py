"""The tutorial notebook runs from top to bottom, shows what it says, and is stored with its outputs.

pytest tests/notebook/test_tutorial.py --accept      stores today's outputs in the notebook
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from handbook.notebook import PROGRESS, cleaned

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = ROOT / "docs" / "tutorial" / "tutorial.ipynb"

# Run in a separate process, because warnings of Jupyter's libraries are not wanlab's.
EXECUTE = """
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], 4)
client = NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": sys.argv[2]}})
client.execute()
nbformat.write(notebook, sys.argv[2] + "/executed.ipynb")
"""


SILENT = "from wanlab import Design, Run, experiment\n"


def cells(path: Path) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(path.read_bytes())["cells"] if cell["cell_type"] == "code"]


def test_the_tutorial_is_stored_with_outputs_that_no_computer_and_no_moment_decides() -> None:
    text = TUTORIAL.read_text(encoding="utf-8")
    assert len(text) < 1_000_000
    stored = json.loads(text)
    assert cleaned(stored) == stored
    assert not PROGRESS.search(text)
    assert str(Path.home()) not in text
    assert " object at 0x" not in text
    shown = [cell for cell in cells(TUTORIAL) if cell["outputs"]]
    silent = [cell["source"] for cell in cells(TUTORIAL) if not cell["outputs"]]
    assert len(shown) == 10
    assert [source[0].partition("(")[0] for source in silent] == ["net.stop", SILENT]


def test_links_of_the_tutorial_lead_to_pages() -> None:
    text = TUTORIAL.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([\w./-]+\.md)\)", text)
    assert links
    assert [link for link in links if not (TUTORIAL.parent / link).is_file()] == []


@pytest.mark.long
@pytest.mark.machine
@pytest.mark.costs(20)
def test_the_tutorial_runs_from_top_to_bottom(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    folders = {name: str(tmp_path / name) for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR")}
    done = subprocess.run(
        [sys.executable, "-c", EXECUTE, str(TUTORIAL), str(tmp_path)],
        env={**os.environ, **folders, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    executed = cleaned(json.loads((tmp_path / "executed.ipynb").read_bytes()))
    if request.config.getoption("--accept"):
        written = json.dumps(executed, indent=1, ensure_ascii=False) + "\n"
        TUTORIAL.write_text(written, encoding="utf-8")
    stored = json.loads(TUTORIAL.read_bytes())
    assert [kinds(cell) for cell in stored["cells"]] == [kinds(cell) for cell in executed["cells"]]
    shown = [shown_by(cell) for cell in cells(tmp_path / "executed.ipynb")]
    topology, network, ping, record, figure, what_if, *_, results, curve, delay = shown
    assert topology.startswith("<svg")
    # The table in the network's cell shows the current clock and links.
    assert "network dumbbell,2" in network
    assert "queue fq_codel" in network
    assert ping.count("time=20.0 ms") == 2
    assert "iperf3 -c h3 -t 8" in record
    assert [each.count("<svg") for each in (figure, what_if, curve, delay)] == [1] * 4
    assert "9 of 9 done" in results
    assert "throughput (Mbit/s)" in results


def kinds(cell: dict[str, Any]) -> list[object]:
    """Return a cell's printed text, and the kinds of what it displays, which versions may change."""
    return [
        "".join(output["text"]) if "text" in output else sorted(output["data"])
        for output in cell.get("outputs", ())
    ]


def shown_by(cell: dict[str, Any]) -> str:
    """Return all output of a cell."""
    parts = []
    for output in cell["outputs"]:
        data = output.get("data", {})
        found = data.get("text/html") or data.get("image/svg+xml") or data.get("text/plain")
        parts.append("".join(found or output.get("text", "")))
    return "".join(parts)
