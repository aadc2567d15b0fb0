"""Experiments and sweeps: the names that an experiment's file or a notebook uses.

run/      performs one run, and determines its result: the experiment, its parameters, its cache key,
          its record
sweep/    performs many runs and shows their results, without any influence on them
"""

from wanlab.jobs.progress import BatchProgress as SweepProgress
from wanlab.measure.metrics import Metric
from wanlab.run.design import Design, Uniform
from wanlab.run.result import Failure, Result
from wanlab.run.run import Run
from wanlab.sweep.cache import forget_runs
from wanlab.sweep.experiment import Experiment, experiment, load_experiment
from wanlab.sweep.results import Results, read_results
from wanlab.sweep.single import run_once as run_once
from wanlab.sweep.sweep import Sweep

__all__ = [
    "Design",
    "Experiment",
    "Failure",
    "Metric",
    "Result",
    "Results",
    "Run",
    "Sweep",
    "SweepProgress",
    "Uniform",
    "experiment",
    "forget_runs",
    "load_experiment",
    "read_results",
]
