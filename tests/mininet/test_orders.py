"""Mininet's calls in drawn orders have the same effect here as with Mininet's own package.

Links, interfaces and hosts exist for the next command, whenever they were added: before the network is
built, between commands, after its start. `scripts/orders.py` draws the orders and performs them.

tests/golden/mininet/orders.jsonl holds what Mininet 2.3.0 gave. It runs again inside a machine where
`./dev setup` has fetched it, where it is installed, or where WANLAB_MININET names a folder with its
`mininet` and its `mnexec`.
"""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from wanlab import Network, Topology
from wanlab.user_cache import user_cache_folder

pytestmark = [pytest.mark.machine, pytest.mark.costs(3)]

SCRIPT = Path(__file__).parent / "scripts" / "orders.py"
OF_MININET = Path(__file__).parents[1] / "golden" / "mininet" / "orders.jsonl"
FETCHED = user_cache_folder() / "mininet"
INSTALLED = Path("/usr/lib/python3/dist-packages")
MININET = Path(os.environ.get("WANLAB_MININET", FETCHED if FETCHED.exists() else INSTALLED))
LONGEST = "7200s"
BRCTL = """#!/bin/sh
# The commands of brctl(8) that Mininet uses, in case it is not installed.
case "$1" in
addbr) exec ip link add "$2" type bridge forward_delay 0 ;;
delbr) exec ip link del "$2" ;;
addif) bridge=$2; shift 2; for i; do ip link set "$i" master "$bridge"; done ;;
delif) exec ip link set "$3" nomaster ;;
esac
"""
Transcripts = dict[int, list[object]]


@pytest.fixture
def net(tmp_path: Path) -> Iterator[Network]:
    with Network(Topology(), folder=tmp_path, line_rate="1Gbps") as net:
        (tmp_path / SCRIPT.name).write_bytes(SCRIPT.read_bytes())
        yield net


def transcripts(output: str) -> Transcripts:
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("[")]
    return dict(lines)


def ours(net: Network, first: int, count: int) -> Transcripts:
    command = ["/run/wanlab/bin/wanlab-python", SCRIPT.name, str(first), str(count)]
    return transcripts(net.root.run(command, timeout=LONGEST).output)


def mininets(net: Network, first: int, count: int) -> Transcripts:
    """Perform the orders with Mininet's own package."""
    folder = net.folder / "mininet-itself"
    folder.mkdir()
    shutil.copytree(MININET / "mininet", folder / "mininet")
    mnexec = MININET / "mnexec"
    shutil.copy(mnexec if mnexec.exists() else str(shutil.which("mnexec")), folder)
    if shutil.which("brctl") is None:
        (folder / "brctl").write_text(BRCTL)
        (folder / "brctl").chmod(0o755)
    command = f"PATH={folder}:$PATH python3 {SCRIPT.name} {first} {count} {folder}"
    return transcripts(net.root.run(command, timeout=LONGEST).output)


def check_equal(ours: Transcripts, theirs: Transcripts) -> None:
    assert ours.keys() == theirs.keys()
    for seed, transcript in ours.items():
        assert transcript == theirs[seed], f"order {seed}"


def test_drawn_orders_of_calls_have_the_effect_that_they_have_in_mininet(net: Network) -> None:
    expected = transcripts(OF_MININET.read_text())
    check_equal(ours(net, 0, len(expected)), expected)


@pytest.mark.long
@pytest.mark.skipif(
    not (MININET / "mininet" / "net.py").exists()
    or not (shutil.which("mnexec") or (MININET / "mnexec").exists()),
    reason="Mininet is not installed (WANLAB_MININET names a folder with its files)",
)
def test_more_orders_have_the_effect_that_they_have_with_mininets_own_package(net: Network) -> None:
    check_equal(ours(net, 100, 8), mininets(net, 100, 8))
