"""Record a command in a terminal as an animated SVG: `recording.py FILE.svg -- COMMAND`.

The command runs for real, in a pseudo-terminal. Waits longer than a second are shortened. With
--figure, the recording ends with that figure. --without leaves out lines such as a busy computer's
warnings. The SVG contains text and CSS only.
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import time
from base64 import b64encode
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

ROWS, COLUMNS = 26, 92
LONGEST_WAIT_S, SHORTEST_FRAME_S, LAST_S = 0.4, 0.12, 4.0
WIDTH, LINE_HEIGHT, LEFT, TOP = 760, 17, 14, 26
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-JL-Za-z]|\x1b[()][A-Z0-9]|\x1b\][^\x07]*\x07")

Frame = tuple[float, tuple[str, ...]]


def record(command: Sequence[str]) -> list[tuple[float, str]]:
    """Run a command in a terminal; return what it wrote, with the time of each piece in s."""
    pieces: list[tuple[float, str]] = []
    started = time.monotonic()

    def read(descriptor: int) -> bytes:
        data = os.read(descriptor, 65536)
        pieces.append((time.monotonic() - started, data.decode(errors="replace")))
        return data

    os.environ.update(TERM="dumb", COLUMNS=str(COLUMNS), LINES=str(ROWS))
    pty.spawn([*command], read)
    return pieces


def without(pieces: Sequence[tuple[float, str]], pattern: str) -> list[tuple[float, str]]:
    """Leave out what a pattern matches, up to the end of its line."""
    return [(at_s, re.sub(rf"{pattern}.*\r?\n?", "", text)) for at_s, text in pieces]


def screens(pieces: Sequence[tuple[float, str]], prompt: str) -> Iterator[Frame]:
    """Yield each screen with the time for which it is shown."""
    lines, shown_s = [f"$ {prompt}", ""], 1.0
    previous = 0.0
    for at_s, text in pieces:
        wait_s = min(at_s - previous, LONGEST_WAIT_S)
        previous = at_s
        shown_s += wait_s
        if shown_s >= SHORTEST_FRAME_S:
            yield shown_s, tuple(lines[-ROWS:])
            shown_s = 0.0
        write(lines, ESCAPES.sub("", text))
    yield LAST_S, tuple(lines[-ROWS:])


def write(lines: list[str], text: str) -> None:
    """Write a text to the screen, with carriage returns and erased lines."""
    for part in re.split(r"(\r\n|\n|\r|\x1b\[K)", text):
        if part in ("\r\n", "\n"):
            lines.append("")
        elif part in ("\r", "\x1b[K"):
            lines[-1] = "" if part == "\r" else lines[-1]
        else:
            lines[-1] = (lines[-1] + part)[:COLUMNS]


def as_svg(frames: Sequence[Frame], figure: str = "") -> str:
    """Return the animation of the frames; it repeats."""
    last_s = LAST_S if figure else 0.0
    total_s = sum(shown_s for shown_s, _ in frames) + last_s
    height = TOP + ROWS * LINE_HEIGHT + 12
    parts, style, at_s = [], [], 0.0
    for number, (shown_s, lines) in enumerate(frames):
        style.append(_animation(number, at_s, shown_s, total_s))
        spans = "".join(
            f'<text x="{LEFT}" y="{TOP + LINE_HEIGHT * row}">{escape(line)}</text>'
            for row, line in enumerate(lines)
            if line.strip()
        )
        parts.append(f'<g class="f f{number}">{spans}</g>')
        at_s += shown_s
    if figure:
        style.append(_animation(len(frames), at_s, last_s, total_s))
        data = b64encode(figure.encode()).decode()
        parts.append(
            f'<g class="f f{len(frames)}"><rect width="{WIDTH}" height="{height}" fill="#fff"/>'
            f'<image x="20" y="10" width="{WIDTH - 40}" height="{height - 20}" '
            f'href="data:image/svg+xml;base64,{data}"/></g>'
        )
    css = (
        "text{font:13px ui-monospace,Menlo,Consolas,monospace;fill:#d8dee9;white-space:pre}"
        f".f{{visibility:hidden;animation-duration:{total_s:.2f}s;"
        "animation-iteration-count:infinite;animation-timing-function:step-end}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}">'
        f"<style>{css}{''.join(style)}</style>"
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#1e2430"/>{"".join(parts)}</svg>\n'
    )


def _animation(number: int, at_s: float, shown_s: float, total_s: float) -> str:
    begin, end = 100 * at_s / total_s, 100 * (at_s + shown_s) / total_s
    keys = f"{begin:.2f}%{{visibility:visible}}{end:.2f}%,100%{{visibility:hidden}}"
    if begin > 0:
        keys = f"0%{{visibility:hidden}}{keys}"
    if end >= 99.99:
        keys = f"0%{{visibility:hidden}}{begin:.2f}%,100%{{visibility:visible}}"
    return f"@keyframes k{number}{{{keys}}}.f{number}{{animation-name:k{number}}}"


def main() -> None:
    """Record the command that follows --."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--prompt", help="the command as it is shown")
    parser.add_argument("--without", metavar="PATTERN")
    parser.add_argument("command", nargs="+")
    chosen = parser.parse_args()
    pieces = record(chosen.command)
    if chosen.without:
        pieces = without(pieces, chosen.without)
    frames = list(screens(pieces, chosen.prompt or " ".join(chosen.command)))
    figure = chosen.figure.read_text(encoding="utf-8") if chosen.figure else ""
    chosen.file.write_text(as_svg(frames, figure), encoding="utf-8")


if __name__ == "__main__":
    main()
