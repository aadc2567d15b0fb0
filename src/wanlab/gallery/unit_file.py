"""Read the folder of a unit; report everything that is wrong in it at once.

unit.yaml        title, sources, axes of the figure, predictions
published.csv    series,x,value,origin: the published points
NAME.py          the experiment, with its quick and its full design
page.md          the claim, the experiment, and the findings
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from wanlab.errors import InputError, WanlabError, did_you_mean
from wanlab.fields import Fields, Problems
from wanlab.run.design import Value
from wanlab.yaml_text import parse_yaml

from .unit import Axes, GalleryUnit, Prediction, Publication, PublishedPoint

UNITS = Path(__file__).with_name("units")
COLUMNS = ["series", "x", "value", "origin"]


class GalleryUnitError(InputError):
    """A unit of the gallery that cannot be used, with every problem found in it."""


def names(folder: Path = UNITS) -> list[str]:
    """Return the names of all units, sorted."""
    return sorted(path.parent.name for path in folder.glob("*/unit.yaml"))


def find(name: str, folder: Path = UNITS) -> GalleryUnit:
    """Return a unit by its name. Raises WanlabError if there is none, or if its files are wrong."""
    known = names(folder)
    if name not in known:
        raise WanlabError(
            f'the gallery has no figure "{name}"',
            did_you_mean(name, known) or "see: wanlab reproduce list",
        )
    return read(folder / name)


def read(folder: Path) -> GalleryUnit:
    """Return the unit in a folder. Raises GalleryUnitError with all problems of its unit.yaml."""
    path = folder / "unit.yaml"
    document = parse_yaml(_text(path), str(path))
    problems = Problems(document.locate)
    problems.extend(document.problems)
    fields = Fields(document.data, "", problems)
    fields.require("title", "sources", "how_read", "axes", "predictions")
    unit = GalleryUnit(
        name=folder.name,
        folder=folder,
        title=_required(fields, "title"),
        sources=tuple(map(_source, fields.mappings("sources"))),
        how_read=_required(fields, "how_read"),
        axes=_axes(fields.mapping("axes")),
        points=_points(folder / "published.csv"),
        predictions=tuple(map(_prediction, fields.mappings("predictions"))),
        page=_text(folder / "page.md"),
    )
    fields.refuse_rest()
    if not unit.experiment_file.is_file():
        problems.add("", f"there is no {unit.experiment_file.name} beside it")
    if problems:
        raise GalleryUnitError(problems, str(path))
    return unit


def _source(fields: Fields) -> Publication:
    source = Publication(
        authors=_required(fields, "authors"),
        title=_required(fields, "title"),
        venue=_required(fields, "venue"),
        year=fields.integer("year"),
        figure=_required(fields, "figure"),
        link=_required(fields, "link"),
    )
    fields.refuse_rest()
    return source


def _axes(fields: Fields) -> Axes:
    axes = Axes(
        metric=_required(fields, "metric"),
        over=_required(fields, "over"),
        by=fields.text("by") or "",
        label=_required(fields, "label"),
    )
    fields.refuse_rest()
    return axes


def _prediction(fields: Fields) -> Prediction:
    fields.require("band")
    band = [_number(value) for _, value in fields.items("band")]
    if "band" in fields and (len(band) != 2 or not band[0] < band[1]):
        fields.problem("band", "a band is [low, high]", "two numbers, the lower one first")
        band = [0.0, 1.0]
    prediction = Prediction(
        claim=_required(fields, "claim"),
        metric=_required(fields, "metric"),
        at=_point(fields, "at"),
        relative_to=_point(fields, "relative_to") if "relative_to" in fields else None,
        low=band[0] if band else 0.0,
        high=band[1] if band else 1.0,
        published=_required(fields, "published"),
        reason=_required(fields, "reason"),
        cause=fields.text("cause") or "",
    )
    fields.refuse_rest()
    return prediction


def _point(fields: Fields, key: str) -> Mapping[str, Value]:
    point: dict[str, Value] = {}
    parameters = fields.mapping(key)
    for name in parameters:
        value = parameters.value(name)
        if isinstance(value, str | int | float):
            point[name] = value
        else:
            parameters.problem(name, f"{value!r} is not the value of a parameter")
    return point


def _points(path: Path) -> tuple[PublishedPoint, ...]:
    rows = csv.DictReader(_text(path).splitlines(), strict=True)
    if rows.fieldnames != COLUMNS:
        raise WanlabError(f"{path}: the first line must be {','.join(COLUMNS)}")
    points = []
    for number, row in enumerate(rows, start=2):
        value = _number(row["value"])
        if value != value or None in row.values() or None in row:
            raise WanlabError(f"{path}, line {number}: a point needs {', '.join(COLUMNS)}")
        points.append(
            PublishedPoint(series=row["series"], x=row["x"], value=value, origin=row["origin"])
        )
    return tuple(points)


def _required(fields: Fields, key: str) -> str:
    fields.require(key)
    return fields.word(key) or ""


def _number(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return float("nan")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise WanlabError(f"cannot read {path}: {error.strerror}") from None
