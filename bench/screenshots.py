"""Screenshots of the page, to judge how it looks: two labs from the first click to the passed check.

Labs 5 and 16 are performed as in `./dev bench course_ui`, with a picture after each section. Tests of
the page add the timeline with its branches, slow motion with packets in flight, the packet list, 1,000
nodes, the teacher's page of a class, and Firefox. Nothing is measured.

    series     what the pictures show
    pictures   how many there are
    wall_s     real time
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from _report import Report

ROOT = Path(__file__).parent.parent
LABS = ("5", "16")
TESTS = ("timeline", "slow_motion", "packets", "large", "class_page", "firefox")


def main() -> int:
    options = _arguments()
    folder = options.folder.resolve()
    report = Report("screenshots")
    table = report.table("series", ("pictures", "wall_s", "series"))
    are_whole = True
    for name in options.series or (*LABS, *TESTS):
        place = folder / (f"lab{name}" if name in LABS else name)
        began = time.monotonic()
        are_whole &= (
            subprocess.run(
                command(name, place),
                cwd=ROOT,
                env=environment(place),
                stdout=sys.stderr,
                check=False,
            ).returncode
            == 0
        )
        count = len(list(place.glob("*.png")))
        table.add(pictures=count, wall_s=round(time.monotonic() - began), series=place.name)
    report.note(f"the pictures are in {folder}")
    return report.finish(is_met=are_whole)


def command(name: str, place: Path) -> list[str]:
    if name in LABS:
        script = Path(__file__).with_name("course_ui.py")
        return [sys.executable, str(script), name, "--pictures", str(place)]
    return [sys.executable, "-m", "pytest", "-q", f"tests/ui/test_{name}.py"]


def environment(place: Path) -> dict[str, str]:
    """Return the environment in which the tests of the page take pictures."""
    return {**os.environ, "WANLAB_SCREENSHOTS": str(place)}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "series", nargs="*", help=f"of {', '.join((*LABS, *TESTS))}; by default all"
    )
    parser.add_argument("--folder", type=Path, default=Path("results/screenshots"))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
