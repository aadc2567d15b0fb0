import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from wanlab.plot.panel import Values, decimate

TIMES = np.arange(9000).astype(np.float64) / 100


def test_a_short_line_is_not_thinned() -> None:
    values = np.arange(400.0)
    times_s, kept = decimate(TIMES[:400], values, 100)
    assert kept is values
    assert len(times_s) == 400


def test_a_single_peak_stays_visible() -> None:
    values = np.zeros(9000)
    values[4321], values[8765] = 7.0, -7.0
    times_s, kept = decimate(TIMES, values, 100)
    assert len(kept) <= 400
    assert times_s[kept == 7.0] == [43.21]
    assert times_s[kept == -7.0] == [87.65]


def test_a_gap_stays_a_gap() -> None:
    values = np.ones(9000)
    values[4321] = np.nan
    assert np.isnan(decimate(TIMES, values, 100)[1]).sum() == 1


def test_readings_at_a_single_instant_can_be_drawn() -> None:
    times_s, kept = decimate(np.zeros(1000), np.arange(1000.0), 10)
    assert (len(times_s), kept.min(), kept.max()) == (2, 0.0, 999.0)


@given(
    npst.arrays(np.float64, st.integers(41, 300), elements=st.floats(0, 10)),
    npst.arrays(np.float64, 300, elements=st.floats(-5, 5)),
)
def test_each_pixel_keeps_its_first_lowest_highest_and_last(
    times_s: Values, values: Values
) -> None:
    times_s, values, pixels = np.sort(times_s), values[: len(times_s)], 10
    kept_s, kept = decimate(times_s, values, pixels)
    edges = np.linspace(times_s[0], times_s[-1], pixels + 1)[1:-1]
    before = np.searchsorted(edges, times_s, side="right")
    after = np.searchsorted(edges, kept_s, side="right")
    assert set(before) == set(after)
    for pixel in set(before):
        whole, part = values[before == pixel], kept[after == pixel]
        assert (part[0], part.min(), part.max(), part[-1]) == (
            whole[0],
            whole.min(),
            whole.max(),
            whole[-1],
        )
