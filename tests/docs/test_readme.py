"""The README's first program runs as printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wanlab.measure import iperf3_text

README = Path(__file__).resolve().parents[2] / "README.md"


@pytest.mark.machine
def test_the_first_program_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.M | re.S)
    monkeypatch.chdir(tmp_path)
    exec(program, {})
    printed = capsys.readouterr().out
    assert "3 packets transmitted, 3 received, 0% packet loss" in printed
    lines = iperf3_text.parse(printed[printed.index("Connecting to host") :])
    mbps = [line.bits_per_second / 1e6 for line in lines if not line.role]
    # The rate drops to a tenth in the fifth second, but the packets queued by then leave first.
    assert [rate > 80 for rate in mbps[:5]] == [True] * 5
    assert [rate < 20 for rate in mbps[-3:]] == [True] * 3


def test_it_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").split()) <= 700


def test_its_pictures_are_small_and_text() -> None:
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README.read_text(encoding="utf-8"))
    assert pictures
    for name in pictures:
        content = (README.parent / name).read_text(encoding="utf-8")
        assert content.lstrip().startswith("<")
        assert len(content) < 1_000_000
