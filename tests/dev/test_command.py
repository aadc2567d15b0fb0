import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from dev import command
from dev.errors import DevError
from dev.setup import PAGE, Scope

ROOT = Path(__file__).resolve().parents[2]


def test_without_a_command_all_commands_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([]) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    words = [
        "setup",
        "demo",
        "test",
        "check",
        "mutate",
        "selftests",
        "bench",
        "kernel",
        "ui",
        "wheel",
        "docs",
    ]
    assert [line.split()[0] for line in lines] == words
    assert all(len(line.split(maxsplit=1)) == 2 for line in lines)


def test_an_unknown_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["tset"]) == 2
    assert "unknown command 'tset' (did you mean test?)" in capsys.readouterr().err


def test_the_front_end_is_built_by_setup_and_its_size_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    done: list[Scope] = []
    monkeypatch.setattr(command, "STATIC", tmp_path)
    monkeypatch.setattr(command, "set_up", done.append)
    (tmp_path / "picture.png").write_bytes(bytes(2000))
    assert command.main(["ui"]) == 0
    assert done == [PAGE]
    assert capsys.readouterr().err.startswith("ui: 2 kB compressed; ")


def test_an_interruption_leaves_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(arguments: Sequence[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setitem(command.COMMANDS, "setup", interrupted)
    assert command.main(["setup"]) == 130
    assert capsys.readouterr().err == "dev: interrupted; run ./dev setup again to continue\n"


def test_arguments_of_a_command_without_arguments_are_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command.main(["check", "--fast"]) == 1
    assert capsys.readouterr().err == "dev: ./dev check takes no arguments: '--fast'\n"


def test_the_error_for_an_unknown_benchmark_lists_all_benchmarks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "start.py").write_text('"""A network starts in no time.\n\nMore."""\n')
    (tmp_path / "_shared.py").write_text("")
    monkeypatch.setattr(command, "BENCH", tmp_path)
    with pytest.raises(DevError) as caught:
        command.bench(["stop"])
    assert caught.value.hint.split() == ["start", "A", "network", "starts", "in", "no", "time."]


def test_the_program_lists_its_commands() -> None:
    done = subprocess.run([ROOT / "dev"], capture_output=True, text=True, check=True)
    assert done.stdout == command.usage() + "\n"
