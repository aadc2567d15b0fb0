"""A script ends although daemons, or a thread of its own, still work when it calls net.stop()."""

import shutil
import subprocess
from pathlib import Path

import forks
import pytest
from patience import PATIENCE_S

pytestmark = [pytest.mark.machine, pytest.mark.costs(3)]

SCRIPTS = Path(__file__).parent / "scripts"
HAS_MEMCACHED = shutil.which("memcached") is not None and shutil.which("nc") is not None
HAS_FRR = Path("/usr/lib/frr/zebra").exists()


def run(folder: Path, script: str, argument: str) -> None:
    """Run a script with `wanlab python`, and require that it stops its network and ends.

    The limit counts real time, because virtual time stands still while the machine spins.
    """
    (folder / script).write_bytes((SCRIPTS / script).read_bytes())
    with forks.start(
        "python",
        script,
        argument,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        try:
            output, errors = running.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            running.kill()
            output, errors = running.communicate()
    assert (running.returncode, output) == (0, "stopped\n"), errors


@pytest.mark.skipif(not HAS_MEMCACHED, reason="needs memcached and nc")
def test_a_network_stops_with_memcached_in_a_node(tmp_path: Path) -> None:
    run(tmp_path, "daemons.py", "memcached")


@pytest.mark.skipif(not HAS_FRR, reason="FRRouting (package frr) is not installed")
def test_a_network_stops_with_frrouting_in_its_routers(tmp_path: Path) -> None:
    run(tmp_path, "daemons.py", "frr")


@pytest.mark.parametrize("pause_s", ["0", "0.01"])
def test_a_network_stops_while_a_thread_changes_its_links(tmp_path: Path, pause_s: str) -> None:
    run(tmp_path, "threads.py", pause_s)
