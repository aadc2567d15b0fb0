"""The lines on standard error while several units run."""

from __future__ import annotations

import re

import pytest

from wanlab.cli import progress
from wanlab.cli.progress import SeriesProgress
from wanlab.jobs.progress import BatchProgress


def test_a_series_tells_what_starts_what_ends_and_now_and_then_what_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    two = BatchProgress(3, running=("1", "ex1"), says=("step 3", ""))
    one = BatchProgress(3, finished=1, running=("1",), says=("step 4",))
    with SeriesProgress() as show:
        show(two)
        show(two)  # nothing new, and too early to repeat it
        show(BatchProgress(3, finished=1, running=("1",), says=("step 4",), event="ex1 ended"))
        monkeypatch.setitem(progress.RUNNING_INTERVAL_S, False, 0.0)
        show(one)
        show(two)
        show(BatchProgress(3, running=("1", "2", "3"), says=("a", "b", "c")))
    lines = [re.sub(r"^\[ *[\d.]+ s\] ", "", line) for line in capsys.readouterr().err.splitlines()]
    assert lines == [
        "0 of 3 done; 1 started",
        "0 of 3 done; ex1 started",
        "1 of 3 done; ex1 ended",
        "1 of 3 done; 1 step 4",
        "0 of 3 done; ex1 started",
        "0 of 3 done; 1 step 3, ex1",
        "0 of 3 done; 2 started",
        "0 of 3 done; 3 started",
        "0 of 3 done; 1, 2, 3",
    ]
