"""A class of 30 is graded in one command: each kind of work earns what it should, and copies are named.

The students hand in Lab 3, Exercise 2 and Problem 1, each with a seed of their own. With `--replay`,
they hand in session files instead, in which the same commands were typed, at instants of their own.

    right      all points
    partly     some of the points
    untouched  a script of comments, or a session in which nothing was changed: no points
    faked      a wrapper around iperf3, ping and tc: no points, and the programs are named
    copied     the right work of another student, whose seed it was made for: named in alike.csv, and in
               Problem 1, whose values depend on the seed, not all points
    broken     a script with a mistake of syntax, or a session file that was edited: no points, and why
    nothing    not handed in

    points     what the students of a kind have earned: least to most
    wall_s     real time of everything; each_s: multiplied by -j and divided by the number of hand-ins
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

from _report import Report

from wanlab import load
from wanlab.labs import catalog, seed_values, student_files
from wanlab.labs.lab_network import network_of
from wanlab.labs.unit import Unit
from wanlab.labs.unit_file import for_seed

UNITS = ("3", "ex2", "prob1")
KINDS = (
    *("right", "partly", "right", "untouched", "right", "faked", "partly", "right", "copied"),
    *("right", "broken", "right", "right", "partly", "nothing"),
)
"""Dealt out to the students in this order, over and over."""
NAMES = (
    *("Ada", "Ben", "Chloé", "Dmitri", "Elif", "Farid", "Grace", "Håkon", "Inés", "Jun"),
    *("Kofi", "Lena", "Marek", "Nadia", "Olu"),
)
FAMILY_NAMES = ("Müller", "O'Neill", "García", "Okafor", "Sato", "Novák", "Lindqvist")
LAB_3 = "wanlab-node h1 tc qdisc add dev h1-eth0 root netem delay 100ms"
EXERCISE_2 = """\
sudo tc qdisc add dev s1-eth2 root handle 1: netem delay 25ms
sudo tc qdisc add dev s1-eth2 parent 1: handle 2: tbf rate 100mbit burst 50000 limit 625000
sudo tc qdisc add dev s2-eth1 root handle 1: netem delay 25ms
"""
PARTLY = {
    "3": LAB_3,
    "ex2": EXERCISE_2,
    "prob1": "{cure}\nsudo tc qdisc change dev s2-eth2 root handle 1: netem delay 1ms",
}
RIGHT = {
    "3": f"{LAB_3} 20ms distribution normal",
    "ex2": f"{EXERCISE_2}sudo tc qdisc change dev s1-eth2 root handle 1: netem delay 25ms loss 2%",
    "prob1": "{cure}",
}
FAKED = """\
mkdir -p ~/bin
printf '#!/bin/sh\\necho {"end": {"sum_received": {"bits_per_second": 9e8}}}\\n' > ~/bin/iperf3
chmod +x ~/bin/iperf3; cp ~/bin/iperf3 ~/bin/tc; cp ~/bin/iperf3 ~/bin/ping
export PATH=~/bin:$PATH
sudo cp ~/bin/iperf3 /usr/bin/iperf3
sudo cp ~/bin/iperf3 /usr/local/sbin/tc"""
SCRIPTS = {"untouched": "# I have looked, and found nothing.", "faked": FAKED}
MISTAKE = "if then\ntc qdisk ad dev s1-eth2"
COLUMNS = ("unit", "kind", "students", "points", "of", "notes", "is_right")


@dataclass(frozen=True)
class Student:
    """Somebody of the class, and what they hand in."""

    name: str
    seed: int
    kind: str
    neighbour: Student | None
    """Whose work is copied: the last one before whose work is right."""


def students(count: int) -> Iterator[Student]:
    """Yield a class, the same each time."""
    kinds, seeds = cycle(KINDS), random.Random(30)
    neighbour = None
    for number in range(count):
        first, family = NAMES[number % len(NAMES)], FAMILY_NAMES[number % len(FAMILY_NAMES)]
        name = f"{first} {family}" + (
            f" {number}" if count > len(NAMES) * len(FAMILY_NAMES) else ""
        )
        student = Student(name, seeds.randrange(1, 1 << 24), next(kinds), neighbour)
        neighbour = student if student.kind == "right" else neighbour
        yield student


def script_of(unit: Unit, student: Student) -> str:
    """Return what a student types for a unit."""
    if student.kind == "copied":
        assert student.neighbour is not None
        return script_of(unit, student.neighbour)
    text = PARTLY[unit.name] if student.kind == "partly" else RIGHT[unit.name]
    if student.kind == "broken":
        text = MISTAKE
    return SCRIPTS.get(student.kind) or text.format(cure=cure(unit, student.seed))


def cure(unit: Unit, seed: int) -> str:
    """Return the command that cures the fault that a seed has chosen; empty for other units."""
    seeded = for_seed(unit, seed)
    number = seeded.variant(seed)
    texts = [str(fault["cure"]) for fault in seeded.variants if fault["number"] == number]
    return str(seed_values.fill(texts[0], seeded.values)) if texts else ""


# -- handing in -----------------------------------------------------------------------------------


def hand_in(folder: Path, unit: Unit, student: Student, *, by_session: bool) -> None:
    """Write what a student hands in."""
    if student.kind == "nothing":
        return
    own = folder / student.name
    own.mkdir(parents=True, exist_ok=True)
    if not by_session:
        (own / f"{unit.name}.sh").write_text(f"{script_of(unit, student)}\n", encoding="utf-8")
        return
    file = own / f"{unit.name}.wanlab"
    if student.kind == "copied":
        assert student.neighbour is not None
        file.write_bytes((folder / student.neighbour.name / file.name).read_bytes())
        return
    record(file, unit, student)
    if student.kind == "broken":
        file.write_bytes(file.read_bytes().replace(b"qdisk", b"qdisc"))


def record(file: Path, unit: Unit, student: Student) -> None:
    """Record a session in which a student types a script, line by line, at instants of their own."""
    seeded = for_seed(unit, student.seed)
    pauses = random.Random(student.seed)
    with tempfile.TemporaryDirectory(prefix="wanlab-bench-") as place:
        home = Path(place)
        student_files.install(home, [seeded])
        network = network_of(
            seeded, load(seeded.topology), home, seed=student.seed, clock="virtual"
        )
        network.record_session(file)
        with network:
            environment = student_files.environment(student.seed)
            student_files.link_home(network)
            shell = network.root.start("bash -i", terminal=(24, 80), environment=environment)
            commands = script_of(unit, student).splitlines()
            if (unit.folder / "set_env.sh").is_file():
                commands.insert(0, f"sudo ~/{student_files.folder_of(unit)}/set_env.sh")
            for line in commands:
                network.run_for(f"{pauses.randrange(500, 9000)}ms")
                shell.write(f"{line}\n")
            network.run_for("5s")


# -- grading --------------------------------------------------------------------------------------


def grade(place: Path, options: argparse.Namespace) -> tuple[float, list[dict[str, str]]]:
    """Grade all hand-ins; return the real time, and the rows of grades.csv."""
    command = [sys.executable, "-m", "wanlab.cli", "lab", "grade", str(place / "submissions")]
    command += ["--seeds", str(place / "seeds.csv"), "--results", str(place / "grades")]
    command += ["-j", str(options.jobs), *(["--replay"] if options.replay else [])]
    began = time.monotonic()
    subprocess.run(command, stdout=sys.stderr, check=False)
    wall_s = time.monotonic() - began
    with (place / "grades/grades.csv").open(encoding="utf-8", newline="") as file:
        return wall_s, list(csv.DictReader(file))


def is_right(unit: str, kind: str, row: Mapping[str, str], names: Mapping[str, set[str]]) -> bool:
    """Return whether a row of grades.csv is as it should be for this kind of work."""
    points, of = float(row["points"]), float(row["of"])
    if kind == "right":
        return points == of
    if kind == "partly":
        return 0 < points < of
    if kind == "copied":
        return row["student"] in names["copied"] and (unit != "prob1" or points < of)
    if kind == "faked" and "programs changed" not in row["notes"]:
        return False
    return points == 0


def copies(place: Path) -> set[str]:
    """Return the students whom alike.csv names."""
    with (place / "grades/alike.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {row[key] for row in rows for key in ("first", "second")}


def main() -> int:
    options = _arguments()
    report = Report("grading")
    the_class = list(students(options.students))
    units = [catalog.find(name) for name in options.unit]
    with tempfile.TemporaryDirectory(prefix="wanlab-bench-") as name:
        place = options.keep or Path(name)
        place.mkdir(parents=True, exist_ok=True)
        lines = ["student,seed", *(f"{student.name},{student.seed}" for student in the_class)]
        (place / "seeds.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
        began = time.monotonic()
        for unit in units:
            for student in the_class:
                hand_in(place / "submissions", unit, student, by_session=options.replay)
        made_s = time.monotonic() - began
        wall_s, rows = grade(place, options)
        named = {"copied": copies(place)}
        pages = len(list((place / "grades/feedback").glob("*.html")))
        files = list((place / "submissions").rglob("*.wanlab"))
        session_kb = max((file.stat().st_size for file in files), default=0) / 1000
    table = report.table("kinds", COLUMNS)
    are_right = []
    for unit in units:
        for kind in dict.fromkeys(KINDS):
            own = {student.name for student in the_class if student.kind == kind}
            chosen = [row for row in rows if row["unit"] == unit.name and row["student"] in own]
            if not chosen:
                continue
            points = [float(row["points"]) for row in chosen]
            are_right.append(all(is_right(unit.name, kind, row, named) for row in chosen))
            table.add(
                unit=unit.name,
                kind=kind,
                students=len(chosen),
                points=f"{min(points):g}-{max(points):g}",
                of=chosen[0]["of"],
                notes=sum(bool(row["notes"] or row["error"]) for row in chosen),
                is_right=are_right[-1],
            )
    graded = sum(bool(row["handed_in"]) for row in rows)
    total = report.table(
        "total", ("students", "hand_ins", "jobs", "wall_s", "each_s", "pages", "is_met")
    )
    is_met = all(are_right) and pages == len(the_class)
    total.add(
        students=len(the_class),
        hand_ins=graded,
        jobs=options.jobs,
        wall_s=wall_s,
        each_s=wall_s * options.jobs / max(1, graded),
        pages=pages,
        is_met=is_met,
        replay=options.replay,
        made_s=made_s,
        largest_session_kb=session_kb,
    )
    return report.finish(is_met=is_met)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=re.split(r"\n\n", __doc__ or "")[0])
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--unit", nargs="+", default=list(UNITS), choices=UNITS)
    parser.add_argument("--replay", action="store_true", help="hand in sessions, and replay them")
    parser.add_argument("-j", "--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep hand-ins and grades here")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
