"""The teacher's page: presence, progress, hand-ins and grades of all students."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Mount, Route

from wanlab.errors import WanlabError
from wanlab.labs.grade_tables import spreadsheet_cell

from ..laboratory import error_body
from ..server.app import MIN_COMPRESSED_BYTES, NOT_BUILT, STATIC, Assets, documentation_routes
from .kept_hand_ins import hand_ins_in
from .looking import Looking
from .page_state import ClassState, GradeRow, HandInRow, StudentRow
from .roster import GRADES
from .seats import Seat, Seats

PAGE = "class.html"
GRADES_FILE = "grades.csv"
MAX_GRADES_BYTES = 16 << 20
CSV_COLUMNS = (
    "student",
    "online",
    "last seen",
    "network",
    "open unit",
    "unit",
    "steps done",
    "steps",
    "check points",
    "check of",
    "handed in",
    "hand-ins",
    "grade",
    "grade of",
    "late",
)
TIME = "%Y-%m-%d %H:%M:%S"


def teacher_application(seats: Seats[Any], static: Path = STATIC) -> Starlette:
    """Return the application for the teacher, without authentication."""
    routes = [
        Route("/", _page),
        Route("/api/class", _class),
        Route("/api/class.csv", _csv),
        Route("/api/class/links", _links),
        Route("/api/class/stop/{name}", _stop, methods=["POST"]),
        Route("/api/class/grade", _grade, methods=["POST"]),
        Route("/api/class/grade/cancel", _cancel_grading, methods=["POST"]),
    ]
    routes += [Mount("/look", Looking(seats.laboratory_of, static)), *documentation_routes()]  # type: ignore[list-item]
    if (static / "assets").is_dir():
        routes.append(Mount("/assets", Assets(directory=static / "assets")))  # type: ignore[arg-type]
    app = Starlette(routes=routes, exception_handlers={WanlabError: error_response})  # type: ignore[dict-item]
    app.add_middleware(GZipMiddleware, minimum_size=MIN_COMPRESSED_BYTES)
    app.state.seats = seats
    app.state.static = static
    return app


async def error_response(request: Request, error: WanlabError) -> Response:
    """Return an error as the answer to a request."""
    return Response(msgspec.json.encode(error_body(error)), 400, media_type="application/json")


async def _page(request: Request) -> Response:
    page = Path(request.app.state.static) / PAGE
    if not page.is_file():
        return HTMLResponse(NOT_BUILT, status_code=503)
    return FileResponse(page, media_type="text/html", headers={"Cache-Control": "no-cache"})


async def _class(request: Request) -> Response:
    state = await run_in_threadpool(class_state, request.app.state.seats)
    return Response(msgspec.json.encode(state), media_type="application/json")


async def _csv(request: Request) -> Response:
    state = await run_in_threadpool(class_state, request.app.state.seats)
    name = time.strftime("class-%Y-%m-%d-%H%M.csv", time.localtime(state.now_s))
    headers = {"Content-Disposition": f"attachment; filename={name}"}
    return Response(class_table(state), media_type="text/csv; charset=utf-8", headers=headers)


async def _links(request: Request) -> Response:
    links = request.app.state.seats.links()
    headers = {"Cache-Control": "no-store"}
    return Response(msgspec.json.encode(links), media_type="application/json", headers=headers)


async def _stop(request: Request) -> Response:
    request.app.state.seats.stop_network(request.path_params["name"])
    return Response(status_code=204)


async def _grade(request: Request) -> Response:
    request.app.state.seats.grading.start()
    return Response(status_code=204)


async def _cancel_grading(request: Request) -> Response:
    request.app.state.seats.grading.cancel()
    return Response(status_code=204)


def class_state(seats: Seats[Any]) -> ClassState:
    """Return what the page shows."""
    grades_path = seats.roster.folder / GRADES / GRADES_FILE
    grades, graded_s = read_grades(grades_path)
    return ClassState(
        folder=str(seats.roster.folder),
        now_s=time.time(),
        networks=seats.networks,
        has_links=seats.has_links,
        graded_s=graded_s,
        grading=seats.grading.progress,
        grading_result=seats.grading.result,
        students=tuple(_row(seat, grades.get(name, ())) for name, seat in [*seats.seats.items()]),
    )


def _row(seat: Seat[Any], grades: Iterable[GradeRow]) -> StudentRow:
    who, status = seat.participant, seat.status
    return StudentRow(
        name=who.name,
        number=seat.number,
        seed=who.seed,
        is_online=seat.is_online,
        seen_s=seat.seen_s,
        phase=status.phase,
        nodes=status.nodes,
        open_unit=status.open_unit,
        units=status.units,
        hand_ins=_hand_in_rows(who.hand_ins),
        grades=tuple(grades),
        disk_bytes=status.disk_bytes,
        disk_limit_bytes=who.limits.disk_bytes,
        hand_raised_s=status.hand_raised_s if seat.is_online else None,
        idle_since_s=status.idle_since_s if seat.is_online else None,
    )


def _hand_in_rows(folder: Path) -> tuple[HandInRow, ...]:
    rows: dict[str, HandInRow] = {}
    for it in hand_ins_in(folder):
        before = rows.get(it.unit)
        rows[it.unit] = HandInRow(it.unit, it.at_s, 1 if before is None else before.count + 1)
    return tuple(rows.values())


def read_grades(path: Path) -> tuple[dict[str, list[GradeRow]], float | None]:
    """Return the grades by student, and when they were written; none if there is no such file."""
    grades: dict[str, list[GradeRow]] = {}
    try:
        written_s = path.stat().st_mtime
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(io.StringIO(file.read(MAX_GRADES_BYTES))))
        for row in rows:
            if not row["handed_in"]:
                continue
            grade = GradeRow(
                row["unit"],
                float(row["points"] or 0),
                float(row["of"] or 0),
                row["late"],
                row["missed"],
                row["error"],
            )
            grades.setdefault(row["student"], []).append(grade)
    except (OSError, ValueError, KeyError, csv.Error):
        return {}, None
    return grades, written_s


def class_table(state: ClassState) -> str:
    """Return the page as CSV: a row for each student and unit."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for student in state.students:
        units = {it.unit: it for it in student.units}
        hand_ins = {it.unit: it for it in student.hand_ins}
        grades = {it.unit: it for it in student.grades}
        known = [*units, *hand_ins, *grades, *([student.open_unit] if student.open_unit else [])]
        for name in dict.fromkeys(known or [""]):
            unit, handed_in, grade = units.get(name), hand_ins.get(name), grades.get(name)
            row: list[object] = [
                student.name,
                "yes" if student.is_online else "no",
                _time(student.seen_s),
                student.phase,
                student.open_unit,
                name,
                *((unit.done, unit.steps) if unit else ("", "")),
                *((unit.points, unit.of) if unit and unit.of is not None else ("", "")),
                *((_time(handed_in.at_s), handed_in.count) if handed_in else ("", "")),
                *((grade.points, grade.of, grade.late) if grade else ("", "", "")),
            ]
            writer.writerow(map(spreadsheet_cell, row))
    return table.getvalue()


def _time(at_s: float | None) -> str:
    return "" if at_s is None else time.strftime(TIME, time.localtime(at_s))
