"""Test `wanlab mn --topo drawing.mn`, and --strict and --venv of `wanlab python`."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from wanlab import shapes
from wanlab.topology import Host, Queue, Switch, Topology, dumps, link, save

WANLAB = [sys.executable, "-c", "from wanlab.cli import main; main()"]


def wanlab(
    folder: Path, *arguments: str, typed: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*WANLAB, *arguments],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
        input=typed,
    )


def drawing(folder: Path) -> Path:
    data = json.loads(dumps(shapes.single(2), "drawing.mn"))
    data["hosts"][0]["opts"]["startCommand"] = "no-such-program"
    data["links"][0]["opts"] |= {"delay": "1.23456789ms", "bw": 10}
    path = folder / "drawing.mn"
    path.write_text(json.dumps(data))
    return path


@pytest.mark.machine
def test_a_drawing_is_a_topology_of_mn(tmp_path: Path) -> None:
    drawing(tmp_path)
    done = wanlab(tmp_path, "mn", "--topo", "drawing.mn", "--test", "pingall")
    assert done.stdout.splitlines()[-1] == "*** Results: 0% dropped (2/2 received)"
    assert "start command of h1: no-such-program" in done.stderr
    assert done.returncode == 0


@pytest.mark.machine
def test_a_drawing_with_a_loop_works_with_stp(tmp_path: Path) -> None:
    (tmp_path / "ring.mn").write_text(dumps(shapes.ring(3), "ring.mn"))
    done = wanlab(tmp_path, "mn", "--topo", "ring.mn", "--stp", "--test", "pingall")
    assert done.stdout.splitlines()[-1] == "*** Results: 0% dropped (6/6 received)"
    assert "form a loop" not in done.stderr
    assert done.returncode == 0


@pytest.mark.machine
def test_a_shape_with_a_loop_works_with_stp(tmp_path: Path) -> None:
    done = wanlab(tmp_path, "mn", "--topo", "torus,3,3", "--stp", "--test", "pingpair")
    assert "*** Results: 0% dropped (2/2 received)" in done.stdout


def test_options_that_a_drawing_sets_are_refused(tmp_path: Path) -> None:
    drawing(tmp_path)
    for option in (["--link", "tc"], ["--controller", "ref"], ["--mac"]):
        done = wanlab(tmp_path, "mn", "--topo", "drawing.mn", *option)
        assert done.returncode == 2
        assert f"{option[0]} has no effect with --topo drawing.mn" in done.stderr


@pytest.mark.machine
def test_an_exported_script_sets_the_queues_of_the_topology(tmp_path: Path) -> None:
    queue = Queue("fq_codel", limit_packets=100)
    lines = (link("h1", "s1"), link("s1", "h2", rate="10Mbps", delay="5ms", queue=queue))
    topology = Topology(nodes=(Host("h1"), Host("h2"), Switch("s1")), links=lines)
    save(topology, tmp_path / "two.py")
    shown = "".join(
        f"{node} tc qdisc show dev {port}\n"
        for node, port in (("s1", "s1-eth2"), ("h2", "h2-eth0"))
    )
    done = wanlab(tmp_path, "python", "two.py", typed=shown)
    assert done.stdout.count("qdisc fq_codel 20: parent 10:1 limit 100p") == 2, done.stdout
    assert "left out" not in done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.machine
def test_a_script_uses_the_virtual_environment_of_the_user(tmp_path: Path) -> None:
    folder = tmp_path / "environment"
    venv.create(folder, symlinks=True)
    packages = next((folder / "lib").glob("python3*/site-packages"))
    (packages / "only_there.py").write_text("NAME = 'only there'\n")
    (tmp_path / "script.py").write_text(
        "import os, shutil, sys, only_there\n"
        "from mininet.net import Mininet\n"
        "print(only_there.NAME, sys.prefix, shutil.which('python'), os.environ['VIRTUAL_ENV'])\n"
    )
    expected = f"only there {folder} {folder}/bin/python {folder}\n"
    project = tmp_path / "project"  # the environment need not be in the working folder
    project.mkdir()
    (tmp_path / "script.py").rename(project / "script.py")
    assert wanlab(project, "python", "--venv", str(folder), "script.py").stdout == expected
    assert wanlab(project, "python", "script.py", VIRTUAL_ENV=str(folder)).stdout == expected


def test_a_folder_that_is_no_virtual_environment_is_refused(tmp_path: Path) -> None:
    done = wanlab(tmp_path, "python", "--venv", ".", "script.py")
    assert done.returncode == 1
    assert "--venv .: this is not a virtual environment" in done.stderr


@pytest.mark.long
@pytest.mark.machine
def test_strict_is_an_option_of_python(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "from mininet.net import Mininet\n"
        "net = Mininet(controller=None)\n"
        "net.addHost('h1', colour='red')\n"
        "print('made')\n"
        "net.stop()\n"
    )
    done = wanlab(tmp_path, "python", "script.py")
    assert (done.returncode, done.stdout) == (0, "made\n")
    assert "*** Warning: h1: colour has no effect" in done.stderr
    done = wanlab(tmp_path, "python", "--strict", "script.py")
    assert (done.returncode, done.stdout) == (1, "")
    assert "ParameterError: h1: colour has no effect" in done.stderr


OPENFLOW = """
from mininet.topo import Topo
class Learning(Topo):
    def build(self):
        s1 = self.addSwitch("s1", protocols="OpenFlow13")
        for name in ("h1", "h2"):
            self.addLink(self.addHost(name), s1)
topos = {"learning": Learning}
"""


@pytest.mark.long
@pytest.mark.machine
def test_custom_topologies_get_open_vswitch_as_scripts_do(tmp_path: Path) -> None:
    (tmp_path / "learning.py").write_text(OPENFLOW)
    arguments = ["mn", "--custom", "learning.py", "--topo", "learning"]
    done = wanlab(tmp_path, *arguments, "--test", "pingall")
    assert done.stdout.splitlines()[-1] == "*** Results: 0% dropped (2/2 received)"
    assert done.returncode == 0


@pytest.mark.long
@pytest.mark.machine
def test_mn_beside_a_network_with_the_same_names_is_refused_with_a_hint(tmp_path: Path) -> None:
    done = wanlab(tmp_path, "exec", "--topo", "single,2", "--", "sudo", "mn", "--test", "pingall")
    assert "this machine already carries a network with h1, h2" in done.stderr
    assert "mn --attach" in done.stderr
    done = wanlab(
        tmp_path, "exec", "--topo", "single,2", "--", "mn", "--attach", "--test", "pingall"
    )
    assert done.stdout.splitlines()[-1] == "*** Results: 0% dropped (2/2 received)"
