"""Test options of a network, without a kernel: each machine's defaults and refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from wanlab import Network, Topology, shapes
from wanlab.errors import RequirementError, WanlabError
from wanlab.network.options import BASE_MEMORY_BYTES, NODE_MEMORY_BYTES


def test_the_embedded_machine_has_virtual_time_and_a_seed() -> None:
    options = Network(shapes.minimal()).options
    assert (options.clock, options.seed, options.wire) == ("virtual", 1, "mtu")
    assert options.line_rate_bps == 40_000_000_000
    assert options.memory_bytes == BASE_MEMORY_BYTES + 3 * NODE_MEMORY_BYTES


def test_the_users_choices_override_defaults(tmp_path: Path) -> None:
    options = Network(
        Topology(),
        clock="real",
        seed=7,
        wire="gso",
        memory="1GiB",
        line_rate="1Gbps",
        folder=tmp_path,
        guest_folder="/work",
        allow_connect=["127.0.0.1:6653"],
        visible_folders=[tmp_path],
    ).options
    assert (options.clock, options.seed, options.wire) == ("real", 7, "gso")
    assert (options.memory_bytes, options.line_rate_bps) == (1 << 30, 1_000_000_000)
    assert (options.folder, options.guest_folder) == (tmp_path, "/work")
    assert options.allow_connect == (("127.0.0.1", 6653),)
    assert options.visible_folders == (str(tmp_path),)


def test_a_named_kernel_comes_before_the_variable_and_that_before_the_topology(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("WANLAB_KERNEL", raising=False)
    topology = Topology(kernel="7.3")
    assert Network(Topology()).options.kernel == ""
    assert Network(topology).options.kernel == "7.3"
    monkeypatch.setenv("WANLAB_KERNEL", "6.12")
    assert Network(topology).options.kernel == "6.12"
    assert Network(topology, kernel="bbr3").options.kernel == "bbr3"


def test_machine_here_is_refused_outside_of_a_machine() -> None:
    with pytest.raises(RequirementError, match="this one does not"):
        Network(Topology(), machine="here")


@pytest.mark.parametrize("text", ["127.0.0.1", ":80", "h:0", "h:65536", "h:x", "h:²"])
def test_an_invalid_address_is_refused(text: str) -> None:
    with pytest.raises(WanlabError, match="is not an address to connect to"):
        Network(Topology(), allow_connect=[text])


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_that_the_kernel_could_not_distinguish_from_another_is_refused(seed: int) -> None:
    with pytest.raises(WanlabError, match="out of range"):
        Network(Topology(), machine="embedded", seed=seed)
