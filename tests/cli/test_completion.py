"""Test completion in bash, zsh and fish."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_S

SOURCE = Path(__file__).resolve().parents[2] / "src"
ASK_BASH = """
eval "$(wanlab --show-completion)"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_wanlab_completion wanlab
printf '%s\\n' "${COMPREPLY[@]}"
"""
# zsh completes only on a terminal; this does all that its completion function would do.
ASK_ZSH = """
wanlab --show-completion | grep -q 'compdef _wanlab_completion wanlab' || exit 1
env _TYPER_COMPLETE_ARGS="$*" _WANLAB_COMPLETE=complete_zsh wanlab
"""
ASK_FISH = 'wanlab --show-completion | source; complete -C "$argv"'


class Shells:
    """Runs shells with `wanlab` on their PATH and with a temporary home folder."""

    def __init__(self, folder: Path) -> None:
        self.home = folder
        program = folder / "bin" / "wanlab"
        program.parent.mkdir()
        program.write_text(
            f"#!/bin/sh\nexec '{sys.executable}' -c 'from wanlab.cli import main; main()' \"$@\"\n"
        )
        program.chmod(0o755)
        self._environment = {
            **os.environ,
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(SOURCE),
            "HOME": str(folder),
        }
        for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
            self._environment.pop(name, None)

    def run(self, shell: str, *arguments: str) -> str:
        if shutil.which(shell) is None:
            pytest.skip(f"{shell} is not installed")
        ran = subprocess.run(
            [shell, *arguments],
            env=self._environment,
            cwd=self.home,
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE_S,
        )
        assert ran.stderr == ""
        return ran.stdout

    def words(self, *typed: str) -> list[str]:
        """Return the completions that bash offers for the last of these words."""
        return self.run("bash", "-c", ASK_BASH, "bash", "wanlab", *typed).split()


@pytest.fixture
def shells(tmp_path: Path) -> Shells:
    return Shells(tmp_path)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["kern"], ["kernel"]),
        (["lab", "show", "prob"], ["prob1", "prob2", "prob3"]),
        (["lab", "run", "14", "--see"], ["--seed", "--seeds"]),
        (["exec", "--topo", "tr"], ["tree"]),
        (["exec", "--topo", "tree,d"], ["tree,depth=", "tree,delay=", "tree,delay_correlation=",
                                        "tree,distribution=", "tree,duplicate="]),
        (["exec", "--topo", "tree,1", "--node", "h"], ["h1", "h2"]),
        (["exec", "--wire", ""], ["mtu", "gso"]),
        (["plan", "dumb"], ["dumbbell"]),
        (["plot", "--what", "rtt,qu"], ["rtt,queue"]),
        (["mn", "--to"], ["--topo"]),
        (["mn", "--topo", "to"], ["torus"]),
        (["mn", "--switch", "lx"], ["lxbr"]),
        (["mn", "--clock", ""], ["virtual", "real"]),
        (["python", "--pace", "r"], ["real"]),
        (["exec", "--topo", "no,such", "--node", ""], []),
    ],
)  # fmt: skip
def test_bash_completes_words_and_values(
    shells: Shells, typed: list[str], offered: list[str]
) -> None:
    assert shells.words(*typed) == offered


def test_kernels_that_have_been_built_are_offered(shells: Shells, tmp_path: Path) -> None:
    built = tmp_path / ".cache" / "wanlab" / "kernels" / "0a1b"
    built.mkdir(parents=True)
    (built / "manifest.json").touch()
    assert shells.words("kernel", "verify", "") == [str(built)]


def test_topology_files_are_offered_as_well_as_shapes(shells: Shells) -> None:
    for name in ("line.mn", "line.txt", "loop.yaml"):
        (shells.home / name).touch()
    assert shells.words("plan", "l") == ["linear", "line.mn", "loop.yaml"]


def test_fish_shows_the_title_of_a_unit(shells: Shells) -> None:
    assert "ex1\tExercise 1" in shells.run("fish", "-c", ASK_FISH, "wanlab lab show ex")


def test_zsh_shows_the_title_of_a_unit(shells: Shells) -> None:
    said = shells.run("zsh", "-c", ASK_ZSH, "zsh", "wanlab", "lab", "show", "ex")
    assert '"ex1":"Exercise 1' in said


@pytest.mark.parametrize(
    ("shell", "file", "holds"),
    [
        ("bash", ".bash_completions/wanlab.sh", "complete"),
        ("zsh", ".zfunc/_wanlab", "#compdef wanlab"),
        ("fish", ".config/fish/completions/wanlab.fish", "complete --command wanlab"),
    ],
)
def test_completion_installs_itself(shells: Shells, shell: str, file: str, holds: str) -> None:
    said = shells.run(shell, "-c", "wanlab --install-completion; true")
    assert f"{shell} completion installed in" in said
    assert holds in (shells.home / file).read_text()
