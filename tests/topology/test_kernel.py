"""The kernel that a topology asks for is in every format that wanlab writes."""

from pathlib import Path

import pytest

from wanlab.topology import Topology, load, save
from wanlab.topology.drawing import draw, read_drawing

TEXT = "kernel: {kernel}\nnodes:\n- {{host: h1}}\n"


@pytest.mark.parametrize("suffix", [".yaml", ".mn"])
def test_a_file_keeps_the_kernel(tmp_path: Path, suffix: str) -> None:
    topology = Topology(name="a", kernel="bbr3")
    path = tmp_path / f"a{suffix}"
    save(topology, path)
    assert load(path) == topology


def test_a_kernel_may_look_like_a_number(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(TEXT.format(kernel="7.3"))
    assert load(path).kernel == "7.3"


def test_a_drawing_keeps_the_kernel() -> None:
    topology, faults = read_drawing(draw(Topology(name="a", kernel="bbr3")))
    assert (topology.kernel, dict(topology.extra), faults) == ("bbr3", {}, [])
