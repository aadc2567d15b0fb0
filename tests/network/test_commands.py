"""A command is a text, or a list of texts and paths; everything else is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from wanlab import Network, plot, shapes
from wanlab.errors import WanlabError
from wanlab.network.process import as_texts


def test_paths_become_texts() -> None:
    assert as_texts(["cat", Path("/etc/hosts")]) == ["cat", "/etc/hosts"]
    assert as_texts("cat /etc/hosts") == "cat /etc/hosts"


@pytest.mark.parametrize(
    ("word", "hint"), [(5, ' (write "5")'), (0.5, ' (write "0.5")'), (None, ""), (b"a", "")]
)
def test_what_is_neither_a_text_nor_a_path_is_named(word: object, hint: str) -> None:
    with pytest.raises(WanlabError) as error:
        as_texts(["sleep", word])  # type: ignore[list-item]
    told = f"a command consists of texts and paths, and {word!r} is neither: ['sleep', {word!r}]"
    assert str(error.value) == told + hint


@pytest.mark.machine
def test_a_node_runs_a_program_with_a_path(tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("text")
    with Network(shapes.single(2), folder=tmp_path) as net:
        assert net["h1"].run(["cat", tmp_path / "a file"]).output == "text"
        assert net["h1"].start([Path("/bin/echo"), "x"]).finish().output == "x\n"


def test_a_function_that_the_plots_lack_is_answered_with_those_there_are() -> None:
    with pytest.raises(
        AttributeError, match=r"wanlab.plot has no timelines \(did you mean timeline\?\)"
    ):
        plot.timelines  # noqa: B018
    with pytest.raises(AttributeError, match=r"choose from: .*comparison, .*timeline"):
        plot.zzz  # noqa: B018
