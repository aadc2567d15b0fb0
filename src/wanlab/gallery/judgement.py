"""Compare a measurement with the predictions of its unit.

A prediction holds if the mean over the seeds is in its band. The verdict follows from the predictions
and nothing else:

    agrees           every prediction holds
    differs because  some do not hold, and the unit names the cause of each, found in the records
    not reproduced   some do not hold and the unit names no cause, or runs failed

An interval that reaches across an end of the band is marked: another set of seeds might decide
differently. The full design has more seeds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .measurement import Estimate, MeasuredFigure
from .unit import GalleryUnit, Prediction

AGREES, DIFFERS, NOT_REPRODUCED = "agrees", "differs because", "not reproduced"
MIN_DIGITS, MAX_DIGITS = 3, 5
"""The fewest and the most significant digits of a mean that is shown beside its band."""


@dataclass(frozen=True)
class JudgedPrediction:
    """A prediction, and the measured value to compare with."""

    prediction: Prediction
    measured: Estimate | None
    """None if the design has no such point."""

    @property
    def holds(self) -> bool:
        return self.measured is not None and self._is_in_band(self.measured.mean)

    def _is_in_band(self, value: float) -> bool:
        return self.prediction.low <= value <= self.prediction.high

    @property
    def measured_text(self) -> str:
        """The measured value, with enough digits to show on which side of a band's end it is."""
        if self.measured is None:
            return "-"
        digits = MIN_DIGITS
        while (
            digits < MAX_DIGITS
            and self._is_in_band(float(f"{self.measured.mean:.{digits}g}")) != self.holds
        ):
            digits += 1
        return self.measured.text(digits)

    @property
    def is_certain(self) -> bool:
        """Whether the whole confidence interval is on the same side of the band's ends.

        An end that the quantity cannot pass does not count: 0, or the highest possible value.
        """
        if self.measured is None or self.measured.half is None:
            return self.measured is not None
        low = self.measured.mean - self.measured.half
        high = self.measured.mean + self.measured.half
        ends = {self.prediction.low, self.prediction.high} - {0, self.measured.most}
        return not any(low < end < high for end in ends)

    @property
    def words(self) -> str:
        if self.measured is None:
            return "not measured"
        side = "in the band" if self.holds else self._side()
        if self.is_certain:
            return side
        return f"{side}, but the interval reaches {'beyond' if self.holds else 'into'} it"

    def _side(self) -> str:
        assert self.measured is not None
        if math.isnan(self.measured.mean):
            return "undefined"
        side = "below" if self.measured.mean < self.prediction.low else "above"
        return f"{side} the band"


@dataclass(frozen=True)
class Judgement:
    """All predictions of a unit, judged."""

    predictions: tuple[JudgedPrediction, ...]
    failed: int

    @property
    def verdict(self) -> str:
        wrong = [each for each in self.predictions if not each.holds]
        if self.failed or any(not each.prediction.cause for each in wrong):
            return NOT_REPRODUCED
        return DIFFERS if wrong else AGREES

    @property
    def count(self) -> str:
        """How many predictions hold, such as "3 of 4"."""
        return f"{sum(each.holds for each in self.predictions)} of {len(self.predictions)}"

    @property
    def causes(self) -> tuple[str, ...]:
        """The causes of what differs, each once."""
        wrong = (each.prediction.cause for each in self.predictions if not each.holds)
        return tuple(dict.fromkeys(filter(None, wrong)))


def judge(unit: GalleryUnit, measurement: MeasuredFigure) -> Judgement:
    """Compare each prediction with the measured values."""
    judged = tuple(
        JudgedPrediction(each, _measured(each, measurement)) for each in unit.predictions
    )
    return Judgement(judged, measurement.failed)


def _measured(prediction: Prediction, measurement: MeasuredFigure) -> Estimate | None:
    estimates = []
    for parameters in (prediction.at, prediction.relative_to):
        if parameters is None:
            continue
        point = measurement.at(parameters)
        if point is None or prediction.metric not in point.metrics:
            return None
        estimates.append(point.metrics[prediction.metric])
    return estimates[0].over(estimates[1]) if len(estimates) > 1 else estimates[0]
