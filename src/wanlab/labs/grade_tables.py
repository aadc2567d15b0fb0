"""The tables of a class: all grades, and the files that Moodle and Canvas import.

Moodle (assignment, Upload grading worksheet) needs Identifier ("Participant 4711"), Grade and "Last
modified (grade)", and reads "Feedback comments". Canvas (Gradebook, Import) needs Student, ID, SIS
User ID, SIS Login ID and Section, a column for each assignment, and a row "Points Possible". The
columns that identify a student are those of the list with the seeds, which may be Moodle's worksheet
or Canvas's export with a column `seed`.
"""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from . import feedback
from .feedback import StudentResult
from .similar import Pair
from .students import Student

GRADES = (
    "student",
    "unit",
    "seed",
    "points",
    "of",
    "percent",
    "handed_in",
    "late",
    "missed",
    "notes",
    "error",
)
MAXIMUM = "Maximum Grade"
MOODLE = (
    "Identifier",
    "Full name",
    "Email address",
    "Status",
    "Grade",
    MAXIMUM,
    "Grade can be changed",
    "Last modified (submission)",
    "Last modified (grade)",
    "Feedback comments",
)
CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
POINTS_POSSIBLE = "    Points Possible"
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")


def grades(results: Iterable[StudentResult]) -> str:
    """Return one row for each student and unit."""
    return _table(
        GRADES,
        (
            {
                "student": result["student"],
                "unit": result["unit"],
                "seed": result["seed"],
                "handed_in": result["handed_in"],
                "points": _number(result["points"]),
                "of": _number(result["of"]),
                "percent": _number(round(100 * result["points"] / result["of"], 1))
                if result["of"]
                else "",
                "late": result["late"],
                "missed": "; ".join(result["missed"]),
                "notes": "; ".join(result["notes"]),
                "error": result["error"],
            }
            for result in results
        ),
    )


def moodle(students: Sequence[Student], results: Mapping[str, StudentResult]) -> str:
    """Return Moodle's worksheet of one unit; the keys of `results` are the students' names.

    If the list names the assignment's maximum grade, points are scaled to it: Moodle reads the grade as
    one out of its own maximum, whatever the worksheet says.
    """

    def row(student: Student) -> dict[str, object]:
        result = results[student.name]
        was_handed_in = "Submitted for grading" if result["handed_in"] else "No submission"
        maximum = _maximum_of(student) or result["of"]
        return {
            "Full name": student.name,
            "Status": was_handed_in,
            "Grade can be changed": "Yes",
            **{name: student.columns[name] for name in MOODLE if name in student.columns},
            "Grade": _number(_scaled(result, maximum)),
            MAXIMUM: _number(maximum),
            "Feedback comments": feedback.comment(result),
        }

    return _table(MOODLE, map(row, students))


def canvas(students: Sequence[Student], units: Mapping[str, Mapping[str, StudentResult]]) -> str:
    """Return Canvas's gradebook; `units` maps each unit to its results by students' names."""
    titles = {unit: _title(results) for unit, results in units.items()}
    counts = Counter(titles.values())  # Canvas identifies a column by its title
    titles = {u: f"{t} ({u})" if counts[t] > 1 else t for u, t in titles.items()}
    possible: dict[str, object] = {"Student": POINTS_POSSIBLE}
    for unit, results in units.items():
        possible[titles[unit]] = _number(max((r["of"] for r in results.values()), default=0))

    def row(student: Student) -> dict[str, object]:
        points = {titles[u]: _number(units[u][student.name]["points"]) for u in units}
        known = {name: student.columns[name] for name in CANVAS if name in student.columns}
        return {"Student": student.name, **known, **points}

    return _table((*CANVAS, *titles.values()), [possible, *map(row, students)])


def alike(pairs: Iterable[Pair], seeds: Mapping[str, int]) -> str:
    """Return the submissions that are equal or nearly so, with their seeds."""
    columns = ("unit", "first", "first_seed", "second", "second_seed", "likeness")
    return _table(
        columns,
        (
            {
                "unit": pair.unit,
                "first": pair.first,
                "first_seed": seeds[pair.first],
                "second": pair.second,
                "second_seed": seeds[pair.second],
                "likeness": pair.text,
            }
            for pair in pairs
        ),
    )


def _maximum_of(student: Student) -> float | None:
    """Return the assignment's maximum grade if the list is Moodle's worksheet and names one."""
    try:
        maximum = float(student.columns.get(MAXIMUM, "").replace(",", "."))
    except ValueError:
        return None
    return maximum if 0 < maximum < math.inf else None


def _scaled(result: StudentResult, maximum: float) -> float:
    """Return the points as a grade out of `maximum`, to a hundredth as Moodle stores it."""
    points, of = result["points"], result["of"]
    return points if maximum == of or not of else round(points / of * maximum, 2)


def _title(results: Mapping[str, StudentResult]) -> str:
    return next((result["title"] for result in results.values()), "")


def _number(number: float) -> str:
    return f"{number:g}"


def _table(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: spreadsheet_cell(value) for key, value in row.items()} for row in rows)
    return text.getvalue()


def spreadsheet_cell(value: object) -> object:
    """Return a value that no spreadsheet interprets as a formula: notes may contain any text."""
    if isinstance(value, str) and value.startswith(FORMULA_SIGNS):
        return f"'{value}"
    return value
