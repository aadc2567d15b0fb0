"""Pictures of a run: its records over time, and the JSON files of iperf3."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from wanlab import Record, iperf3, plot
from wanlab.errors import WanlabError
from wanlab.plot import Panel
from wanlab.record import Provenance
from wanlab.shared_folder import SharedFolder, output_folder

from .step_samples import StepRecord

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_PICTURES = 12
FOLDER = "figures"
NETEM = "netem"

Pictures = Mapping[str, str]
"""Data URLs by their titles, in order."""


def draw_all(
    records: Sequence[StepRecord], folder: Path, provenance: Provenance, heading: str
) -> Pictures:
    """Draw the records of a run and the iperf3 files in its folder, at most MAX_PICTURES pictures."""
    pictures: dict[str, str] = {}
    for title, url in _pictures(records, folder, provenance, heading):
        pictures[title] = url
        if len(pictures) == MAX_PICTURES:
            break
    return pictures


def _pictures(
    records: Sequence[StepRecord], folder: Path, provenance: Provenance, heading: str
) -> Iterator[tuple[str, str]]:
    panels = {
        step_record.title: panels_of(step_record)
        for step_record in records
        if step_record.is_requested
    }
    if len(panels) > 1:
        figure = plot.comparison(panels, title=heading)
        yield "Comparison", _save(figure, folder / FOLDER / "comparison", with_pdf=True)
    for step_record in records:
        title = f"{heading}: {step_record.title}" if step_record.is_requested else heading
        figure = plot.timeline(panels_of(step_record), title=title)
        path = folder / FOLDER / step_record.name
        yield _title(step_record), _save(figure, path, with_pdf=step_record.is_requested)
    recorded = {data for step_record in records for data in step_record.record.raw.values()}
    home = SharedFolder(folder / "home")
    for title in [name for name, _ in home.walk() if name.endswith(".json")]:
        with suppress(WanlabError, OSError):
            data = home.read(title)
            if data in recorded:
                continue
            record = Record(provenance, {"iperf3": iperf3.parse(data).table()})
            path = folder / FOLDER / title.replace("/", "-")
            yield title, _save(plot.timeline([plot.throughput(record)], title=title), path)


def _title(step_record: StepRecord) -> str:
    if step_record.is_requested:
        return step_record.title[:1].upper() + step_record.title[1:]
    ports = ", ".join(map(str, step_record.record["qdisc"].distinct("device")))
    return f"Queue of {ports}, {step_record.name}"


def panels_of(step_record: StepRecord) -> list[Panel]:
    """Return a panel for each quantity that the record has."""
    record = step_record.record
    panels = [plot.throughput(record)] if "iperf3" in record else []
    panels += [plot.rtt(record)] if "ping" in record or "tcp" in record else []
    panels += [plot.congestion_window(record)] if "tcp" in record else []
    return [*panels, *_queue_panels(step_record)]


def _queue_panels(step_record: StepRecord) -> Iterator[Panel]:
    """Yield a panel for each qdisc of each port.

    Packets in a delay line above a queue are on their way and do not wait, so a record that the unit
    asks for shows the queue without the delay line.
    """
    record = step_record.record
    if "qdisc" not in record:
        return
    for port in record["qdisc"].distinct("device"):
        rows = record["qdisc"].where(device=port)
        kinds: dict[str, str] = dict(zip(rows["handle"], rows["kind"], strict=True))
        queues = [handle for handle, kind in kinds.items() if kind != NETEM]
        if step_record.is_requested and queues:
            for handle in queues:
                yield plot.queue(
                    record, device=str(port), handle=handle, limit_bytes=step_record.limit_bytes
                )
            continue
        for handle, kind in kinds.items():
            panel = plot.queue(record, device=str(port), handle=handle)
            yield replace(panel, title=f"{kind} {handle}")


def _save(figure: Figure, path: Path, *, with_pdf: bool = False) -> str:
    """Save a figure as PNG, and as PDF if asked; return a data URL of the PNG."""
    image = path.with_name(f"{path.name}.png")
    plot.save(figure, image)
    if with_pdf:
        plot.save(figure, path.with_name(f"{path.name}.pdf"))
    data = output_folder(path.parent).read(image.name)
    return f"data:image/png;base64,{base64.b64encode(data).decode()}"
