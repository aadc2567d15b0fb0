"""ns-3 for comparison: the wheel of PyPI's package `ns3`, and our programs against its libraries.

The wheel is unpacked into a folder of the cache, never installed; only its headers and libraries are
used. The programs in bench/ns3 are compiled there, and compiled again after a change.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from wanlab.user_cache import user_cache_folder

VERSION = "3.44.post0"
SOURCES = Path(__file__).parent / "ns3"
MODULES = ("core", "network", "internet", "point-to-point", "applications", "traffic-control")
ALSO_NEEDED = ("stats", "bridge", "antenna", "mobility")
"""Modules that MODULES need when a program is linked."""


class NoNs3Error(Exception):
    """Why ns-3 cannot be run here, and what to do."""


@dataclass(frozen=True)
class Ns3Run:
    """The numbers that a program of ns-3 printed, one in each line, and the resources it used."""

    numbers: list[int]
    wall_s: float
    cpu_s: float
    memory_bytes: int


class Ns3:
    """The unpacked wheel, and the programs that were compiled against it."""

    def __init__(self, note: Callable[[str], None]) -> None:
        """Fetch the wheel if it is not in the cache; raises NoNs3Error."""
        if not shutil.which("g++"):
            raise NoNs3Error("its programs need g++ (sudo apt-get install g++)")
        self._folder = user_cache_folder() / "peers" / f"ns3-{VERSION}"
        if not self._folder.exists():
            note(f"Downloading ns-3 {VERSION} (70 MB) from the package index to {self._folder}")
            self._fetch()
        self._libraries = self._folder / "ns3" / "lib64"

    def run(self, name: str, arguments: Sequence[str]) -> Ns3Run:
        """Run bench/ns3/NAME.cc; raises NoNs3Error."""
        program = self._compiled(name)
        began = time.monotonic()
        process = subprocess.Popen([str(program), *arguments], stdout=subprocess.PIPE, text=True)
        assert process.stdout
        with process.stdout:
            output = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise NoNs3Error(f"{name} ended with status {process.returncode}")
        return Ns3Run(
            [int(line) for line in output.split()],
            time.monotonic() - began,
            used.ru_utime + used.ru_stime,
            used.ru_maxrss * 1024,
        )

    def _fetch(self) -> None:
        partial = self._folder.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        done = subprocess.run(
            [*download, "--only-binary=:all:", "--dest", str(partial), f"ns3=={VERSION}"],
            capture_output=True,
            text=True,
            check=False,
        )
        wheels = list(partial.glob("*.whl"))
        if done.returncode or not wheels:
            shutil.rmtree(partial)
            raise NoNs3Error(f"pip cannot download it: {(done.stderr.split(chr(10)) or [''])[0]}")
        with zipfile.ZipFile(wheels[0]) as archive:
            archive.extractall(partial)
        wheels[0].unlink()
        partial.rename(self._folder)

    def _compiled(self, name: str) -> Path:
        source = SOURCES / f"{name}.cc"
        program = self._folder / f"{name}-{hashlib.sha256(source.read_bytes()).hexdigest()[:16]}"
        if program.exists():
            return program
        release = VERSION.partition(".post")[0]
        libraries = [f"-lns{release}-{module}" for module in (*MODULES, *ALSO_NEEDED)]
        compiler = ["g++", "-std=c++20", "-O2", f"-I{self._folder / 'ns3' / 'include'}"]
        library_paths = [f"-L{self._libraries}", f"-Wl,-rpath,{self._libraries}"]
        done = subprocess.run(
            [*compiler, str(source), "-o", str(program), *library_paths, *libraries],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise NoNs3Error(f"{source.name} does not compile: {done.stderr.strip()[:500]}")
        return program
