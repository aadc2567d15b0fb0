"""The report of a run as one HTML page: steps, their output, and the manual's figures beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from wanlab.measure.lost_packets import sentence

from .outcome import counts_text, drop_of, ratio_text
from .report import DecisionReport, FigureReport, GradeReport, StepReport, UnitReport
from .table import processor_lines

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1a1a1a; background: #fff; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .3rem; }
pre { background: #f4f4f2; padding: .6rem .8rem; overflow-x: auto; max-height: 24rem;
  font-size: .85rem; }
pre.typed { background: #22303c; color: #f2f2ee; max-height: none; }
table { border-collapse: collapse; margin: .5rem 0; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid #ddd; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.within, .holds { color: #14692b; } .same { color: #7a5900; }
.contradicts, .cause, .open { color: #b3261e; }
.note { color: #555; } img { max-width: 100%; }
"""


def page(report: UnitReport, pictures: Mapping[str, str]) -> str:
    """Return the page. `pictures` are data URLs by their titles."""
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f"<title>{escape(report['heading'])}</title><style>{STYLE}</style></head><body>",
        f"<h1>{escape(report['heading'])}</h1>",
        f"<p>{escape(report['goal'])}</p>",
        f"<p>Seed {report['seed']}, {report['clock']} clock, {report['wire']} wire. "
        f"{report['performed']} of {report['steps_count']} steps performed, in "
        f"{report['virtual_s']:.1f} s of virtual time.</p>",
        f"<p>{escape(counts_text(report['counts']))}.</p>",
        *(f"<p>{escape(line)}.</p>" for line in processor_lines(report)),
    ]
    for title, url in pictures.items():
        parts.append(f"<h2>{escape(title)}</h2>")
        parts.append(f'<img alt="{escape(title)}" src="{url}">')
    parts += [_step(step, "Step") for step in report["steps"]]
    parts += [_step(step, "Solution, step") for step in report["solution"]]
    if report["check"]:
        parts.append(_check(report["check"]))
    parts += map(_decision, report["decisions"])
    return "\n".join([*parts, "</body></html>", ""])


def _step(step: StepReport, name: str) -> str:
    parts = [f"<h2>{name} {step['n']} <small>{escape(step['at'])}</small></h2>"]
    if step["command"]:
        parts.append(f'<pre class="typed">{escape(step["command"])}</pre>')
    if step["printed"]:
        parts.append(
            f'<p class="note">The manual prints: <code>{escape(step["printed"])}</code></p>'
        )
    if step["note"]:
        parts.append(f'<p class="note">{escape(step["note"])}</p>')
    if step["skipped"]:
        parts.append(f'<p class="note">Skipped: {escape(step["skipped"])}</p>')
    if step["output"].strip():
        parts.append(f"<pre>{escape(step['output'].rstrip())}</pre>")
    parts += [f'<p class="open">{escape(problem)}</p>' for problem in step["problems"]]
    losses = [sentence(drop_of(loss)) for loss in step["lost"]]
    parts += [f'<p class="note">{escape(loss)}</p>' for loss in losses]
    if step["figures"]:
        parts.append(_figures(step["figures"]))
    return "\n".join(parts)


def _figures(figures: Sequence[FigureReport]) -> str:
    rows = [
        f"<tr><td>{escape(f['what'])}</td><td class=number>{escape(f['manual'])}</td>"
        f"<td class=number>{escape(f['ours_text'])}</td>"
        f"<td class=number>{ratio_text(f['ratio'])}</td>"
        f'<td class="{f["status"]}">{f["status"]}</td><td class="note">{escape(f["cause"])}</td>'
        f'<td>{escape(f["band"])}</td><td class="note">{escape(f["why"])}</td></tr>'
        for f in figures
    ]
    heads = "<tr><th>what<th>manual<th>ours<th>ratio<th>kind<th>cause<th>band<th>why</tr>"
    return f"<table>{heads}{''.join(rows)}</table>"


def _check(check: GradeReport) -> str:
    rows = [
        f"<tr><td>{escape(c['what'])}</td><td class=number>{c['points']:g} of {c['of']:g}</td>"
        f"<td class=number>{escape(c['value_text'])}</td><td>{escape(c['band'])}</td>"
        f'<td class="note">{escape(c["hint"])}</td></tr>'
        for c in check["checks"]
    ]
    return (
        f"<h2>Check: {check['points']:g} of {check['of']:g} points</h2>"
        f"<table><tr><th>what<th>points<th>measured<th>band<th>hint</tr>{''.join(rows)}</table>"
    )


def _decision(decision: DecisionReport) -> str:
    return (
        f"<h2>Decided: {escape(decision['what'])}</h2><p>{escape(decision['decided'])}</p>"
        f'<p class="note">{escape(decision["because"])}</p>'
    )
