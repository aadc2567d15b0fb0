"""Experiments: a recipe, one run of it, and many.

definition.py   Experiment, and the decorator that makes one of a function
yaml_form.py    the same from a YAML file; files.py finds either in a file
run.py          Run: what the function is given; it leaves one record
design.py       Design: which runs a sweep has
source.py       the experiment's code, as files that travel; archive.py: files as one piece of bytes
origin.py       all that a result depends on, and its hash
cache.py        runs that ended, by that hash
result.py       Result and Failure, and the folder that keeps each
single.py       one run, here or in a process of its own
worker.py       a process that performs runs; workers.py: those of this computer; cluster.py: of others
sweep.py        Sweep: performs a design, kept in one folder; Results: what came of it
charts.py       figures of results; report.py: a page with all of them
"""

from wanlab.experiments.cache import forget_runs
from wanlab.experiments.definition import Experiment, experiment
from wanlab.experiments.design import Design, Uniform
from wanlab.experiments.files import load_experiment
from wanlab.experiments.result import Failure, Result
from wanlab.experiments.run import Run
from wanlab.experiments.sweep import Results, Sweep, SweepProgress, read_results
from wanlab.measure.metrics import Metric

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
