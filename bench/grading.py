"""One command grades a class of 30: each kind of work earns the right points, and copies are named.

The students hand in Lab 3, Exercise 2 and Problem 1, each with a different seed. With `--replay`, they
hand in session files instead, in which each has typed the same commands at different instants.

    right      all points
    partly     some of the points
    untouched  a script of comments, or a session in which nothing was changed: no points
    empty      a file without content, or a session in which nothing was typed: no points
    wrapper    false programs before iperf3, ping and tc in PATH and in their files: no points, and the
               programs are named
    bound      the same false programs, bind-mounted over the real ones (which is refused): no points,
               and the programs are named
    edited     a hand-in of untouched work, then edited to show results of right work, or a session file
               edited in the same way: no points, and a note
    stolen     a search for the work of others, the solutions and the list of seeds, which runs what it
               finds: no points, and nothing of the list in the report
    copied     the right work of another student, whose seed it was made for: named in alike.csv, and in
               Problem 1, whose values depend on the seed, not all points
    broken     a script with a mistake of syntax, or a session file that was edited: no points, and why
    nothing    not handed in

The list of seeds has the columns of Moodle's and Canvas's exports, so that their tables are complete.

    points     the points of the students of a kind: minimum to maximum
    wall_s     real time of the command; each_s: multiplied by -j and divided by the number of hand-ins
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

from _report import Report, Table

from wanlab import load
from wanlab.labs import catalog, hand_in, seed_values, student_files
from wanlab.labs.lab_network import network_of
from wanlab.labs.unit import Unit
from wanlab.labs.unit_file import for_seed
from wanlab.shared_folder import SharedFolder

UNITS = ("3", "ex2", "prob1")
KINDS = (
    "right",
    "partly",
    "untouched",
    "wrapper",
    "right",
    "bound",
    "edited",
    "right",
    "stolen",
    "copied",
    "empty",
    "right",
    "broken",
    "partly",
    "nothing",
)
"""The students get these kinds in this order, repeatedly."""
NAMES = (
    "Ada",
    "Ben",
    "Chloé",
    "Dmitri",
    "Elif",
    "Farid",
    "Grace",
    "Håkon",
    "Inés",
    "Jun",
    "Kofi",
    "Lena",
    "Marek",
    "Nadia",
    "Olu",
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
RESULT = {
    "start": {"version": "iperf 3.12", "connected": [], "test_start": {"protocol": "TCP"}},
    "intervals": [{"streams": [], "sum": {"start": 0, "end": 20, "seconds": 20, "bytes": 1}}],
    "end": {"streams": [], "sum_received": {"seconds": 20, "bits_per_second": 5e6}},
}
ROUND_TRIPS = """\
20 packets transmitted, 20 received, 0% packet loss, time 19027ms
rtt min/avg/max/mdev = 50.0/50.1/50.2/20.000 ms"""
PROGRAMS = f"""\
mkdir -p ~/bin
printf '%s\\n' '#!/bin/sh' "cat <<'X'" '{json.dumps(RESULT)}' X > ~/bin/iperf3
printf '%s\\n' '#!/bin/sh' "cat <<'X'" '{ROUND_TRIPS}' X > ~/bin/ping
printf '%s\\n' '#!/bin/sh' 'echo "[]"' > ~/bin/tc
chmod +x ~/bin/*"""
WRAPPER = f"""\
{PROGRAMS}
export PATH=~/bin:$PATH
sudo cp ~/bin/* /usr/local/sbin/
sudo cp ~/bin/iperf3 /usr/bin/iperf3"""
BOUND = f"""\
{PROGRAMS}
for program in iperf3 ping tc; do
  sudo mount --bind ~/bin/$program "$(readlink -f "$(command -v $program)")"
done"""
STOLEN = """\
cat ../seeds.csv ../*/seeds.csv ~/../seeds.csv {place}/seeds.csv
for file in ../*/{unit}.sh ~/../*/{unit}.sh {place}/submissions/*/{unit}.sh; do
  if [ -f "$file" ]; then cat "$file"; . "$file"; fi
done
find / -xdev -path '*/{folder}/solution*' -exec cat {{}} + 2>/dev/null
ls {place} {place}/submissions {place}/grades"""
EDITED = "# A look around\n# NONE"
SCRIPTS = {
    **{"untouched": "# I have looked, and found nothing.", "edited": EDITED, "empty": ""},
    **{"wrapper": WRAPPER, "bound": BOUND},
}
IDENTIFIER = "Participant "
MISTAKE = "if then\ntc qdisk ad dev s1-eth2"
COLUMNS = ("unit", "kind", "students", "points", "of", "notes", "is_right")


@dataclass(frozen=True)
class Student:
    """A student, and the kind of work that they hand in."""

    name: str
    seed: int
    kind: str
    neighbour: Student | None
    """The student whose work is copied: the previous one whose work is right."""


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


def script_of(class_folder: Path, unit: Unit, student: Student) -> str:
    """Return the commands that a student types for a unit."""
    if student.kind == "copied":
        assert student.neighbour is not None
        return script_of(class_folder, unit, student.neighbour)
    if student.kind in SCRIPTS:
        return SCRIPTS[student.kind]
    if student.kind == "stolen":
        return STOLEN.format(place=class_folder, unit=unit.name, folder=unit.folder.name)
    if student.kind == "broken":
        return MISTAKE
    text = PARTLY[unit.name] if student.kind == "partly" else RIGHT[unit.name]
    return text.format(cure=cure(unit, student.seed))


def cure(unit: Unit, seed: int) -> str:
    """Return the command that cures the fault that a seed has chosen; empty for other units."""
    seeded = for_seed(unit, seed)
    number = seeded.variant(seed)
    texts = [str(fault["cure"]) for fault in seeded.variants if fault["number"] == number]
    return str(seed_values.fill(texts[0], seeded.values)) if texts else ""


# -- handing in -----------------------------------------------------------------------------------


def write_list(file: Path, the_class: Iterable[Student]) -> None:
    """Write the list of seeds, with the columns by which Moodle and Canvas identify students."""
    with file.open("w", encoding="utf-8", newline="") as text:
        table = csv.writer(text, lineterminator="\n")
        table.writerow(["student", "seed", "Identifier", "ID", "SIS Login ID", "Section"])
        for number, student in enumerate(the_class, 1):
            login = f"s{number:07}"
            identifier = f"{IDENTIFIER}{4700 + number}"
            table.writerow([student.name, student.seed, identifier, 900 + number, login, "Lab A"])


def write_work(class_folder: Path, unit: Unit, student: Student, *, by_session: bool) -> None:
    """Write a student's work into the folder of the class."""
    if student.kind == "nothing":
        return
    own = class_folder / "submissions" / student.name
    own.mkdir(parents=True, exist_ok=True)
    script = script_of(class_folder, unit, student)
    if student.kind == "edited" and not by_session:
        pack_edited(own / f"{unit.name}-seed{student.seed}.zip", unit, student, script)
        return
    if not by_session:
        text = f"{script}\n" if script else ""
        (own / f"{unit.name}.sh").write_text(text, encoding="utf-8")
        return
    file = own / f"{unit.name}.wanlab"
    if student.kind == "copied":
        assert student.neighbour is not None
        neighbour = class_folder / "submissions" / student.neighbour.name
        file.write_bytes((neighbour / file.name).read_bytes())
        return
    record(file, unit, student, script)
    if student.kind == "broken":
        file.write_bytes(file.read_bytes().replace(b"qdisk", b"qdisc"))
    if student.kind == "edited":
        file.write_bytes(file.read_bytes().replace(b"NONE", b"DONE"))


def pack_edited(file: Path, unit: Unit, student: Student, script: str) -> None:
    """Pack a hand-in, and then replace its transcript by one that shows a full grade."""
    with tempfile.TemporaryDirectory(prefix="wanlab-bench-") as name:
        home = Path(name)
        (home / hand_in.TRANSCRIPTS).mkdir()
        (home / hand_in.TRANSCRIPTS / "client").write_text("wanlab lab check: 0 points\n")
        (home / f"{unit.name}.sh").write_text(f"{script}\n")
        packed = home / "packed.zip"
        hand_in.pack(unit, student.seed, SharedFolder(home), home / f"{unit.name}.sh", packed)
        with zipfile.ZipFile(packed) as before, zipfile.ZipFile(file, "w") as after:
            for item in before.infolist():
                data = before.read(item).replace(b"0 points", b"all points: every check passed")
                after.writestr(item.filename, data)


def record(file: Path, unit: Unit, student: Student, script: str) -> None:
    """Record a session in which a student types a script, line by line, at random instants."""
    seeded = for_seed(unit, student.seed)
    pauses = random.Random(student.seed)
    with tempfile.TemporaryDirectory(prefix="wanlab-bench-") as name:
        home = Path(name)
        student_files.install(SharedFolder(home), [seeded])
        network = network_of(
            seeded, load(seeded.topology), home, seed=student.seed, clock="virtual"
        )
        network.session.record(file)
        with network:
            environment = student_files.environment(student.seed)
            student_files.link_home(network)
            shell = network.root.start("bash -i", terminal=(24, 80), environment=environment)
            commands = script.splitlines()
            if (unit.folder / "set_env.sh").is_file():
                commands.insert(0, f"sudo ~/{student_files.folder_of(unit)}/set_env.sh")
            for line in commands:
                network.run_for(f"{pauses.randrange(500, 9000)}ms")
                shell.write(f"{line}\n")
            network.run_for("5s")


# -- grading --------------------------------------------------------------------------------------


def grade(class_folder: Path, options: argparse.Namespace) -> tuple[float, list[dict[str, str]]]:
    """Grade all hand-ins; return the real time, and the rows of grades.csv."""
    command = [
        sys.executable,
        "-m",
        "wanlab.cli",
        "lab",
        "grade",
        str(class_folder / "submissions"),
    ]
    command += [
        "--seeds",
        str(class_folder / "seeds.csv"),
        "--results",
        str(class_folder / "grades"),
    ]
    command += ["-j", str(options.jobs), "--minutes", str(options.minutes)]
    command += ["--replay"] if options.replay else []
    began = time.monotonic()
    subprocess.run(command, stdout=sys.stderr, check=False)
    wall_s = time.monotonic() - began
    with (class_folder / "grades/grades.csv").open(encoding="utf-8", newline="") as file:
        return wall_s, list(csv.DictReader(file))


def is_right(
    unit: str, kind: str, row: Mapping[str, str], copied: Container[str], thieves: Container[str]
) -> bool:
    """Whether a row of grades.csv is the expected one for this kind of work."""
    points, of = float(row["points"]), float(row["of"])
    if kind == "right":
        return points == of
    if kind == "partly":
        return 0 < points < of
    if kind == "copied":
        return row["student"] in copied and (unit != "prob1" or points < of)
    if kind in {"wrapper", "bound"} and "programs changed" not in row["notes"]:
        return False
    if kind == "edited" and not row["notes"] and not row["error"]:
        return False
    return points == 0 and row["student"] not in thieves


def copies(class_folder: Path) -> set[str]:
    """Return the students that alike.csv names."""
    with (class_folder / "grades/alike.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {row[key] for row in rows for key in ("first", "second")}


def thieves(class_folder: Path, the_class: Iterable[Student]) -> set[str]:
    """Return the students whose report or page contains an identifier from the list of seeds."""
    exposed = set()
    for student in the_class:
        own = [*(class_folder / "grades/results").glob(f"{student.name}/*")]
        own += (class_folder / "grades/feedback").glob(f"{student.name}.html")
        if any(IDENTIFIER in path.read_text(encoding="utf-8") for path in own):
            exposed.add(student.name)
    return exposed


def add_kinds(
    table: Table,
    units: Sequence[Unit],
    the_class: Sequence[Student],
    rows: Sequence[Mapping[str, str]],
    copied: Container[str],
    stolen: Container[str],
) -> Iterator[bool]:
    """Add a row for each kind of work on each unit; yield whether its grades are right."""
    for unit in units:
        for kind in dict.fromkeys(KINDS):
            names = {student.name for student in the_class if student.kind == kind}
            chosen = [row for row in rows if row["unit"] == unit.name and row["student"] in names]
            if not chosen:
                continue
            points = [float(row["points"]) for row in chosen]
            are_right = all(is_right(unit.name, kind, row, copied, stolen) for row in chosen)
            table.add(
                unit=unit.name,
                kind=kind,
                students=len(chosen),
                points=f"{min(points):g}-{max(points):g}",
                of=chosen[0]["of"],
                notes=sum(bool(row["notes"] or row["error"]) for row in chosen),
                is_right=are_right,
            )
            yield are_right


def main() -> int:
    options = _arguments()
    report = Report("grading")
    the_class = list(students(options.students))
    units = [catalog.find(name) for name in options.unit]
    with tempfile.TemporaryDirectory(prefix="wanlab-bench-") as name:
        class_folder = options.keep or Path(name)
        class_folder.mkdir(parents=True, exist_ok=True)
        write_list(class_folder / "seeds.csv", the_class)
        began = time.monotonic()
        for unit in units:
            for student in the_class:
                write_work(class_folder, unit, student, by_session=options.replay)
        made_s = time.monotonic() - began
        wall_s, rows = grade(class_folder, options)
        copied, stolen = copies(class_folder), thieves(class_folder, the_class)
        pages = len(list((class_folder / "grades/feedback").glob("*.html")))
        files = list((class_folder / "submissions").rglob("*.wanlab"))
        session_kb = max((file.stat().st_size for file in files), default=0) / 1000
    table = report.table("kinds", COLUMNS)
    are_right = list(add_kinds(table, units, the_class, rows, copied, stolen))
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
    parser.add_argument("--minutes", type=float, default=15, help="real time of a hand-in")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep hand-ins and grades here")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
