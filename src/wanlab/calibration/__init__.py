"""Measure what the work of this computer's processor costs: a model for `--cpu`.

loops        times of loops
costs        what is measured, and how
model_file   the model, and its file
"""

from .costs import measure
from .model_file import calibrated, model_text

__all__ = ["calibrated", "measure", "model_text"]
