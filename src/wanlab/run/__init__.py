"""One run of an experiment: everything in this folder decides its result.

definition.py   Definition: an experiment as data
yaml_file.py    the same from a YAML file; run_script.py: the steps of its runs; placeholders.py
loading.py      finds definitions in files
design.py       Design: the parameters and seeds of a sweep's runs
source.py       the experiment's code as files that travel
key.py          everything that a run's result depends on
run.py          Run: the argument of the experiment's function; it leaves one record
result.py       Result and Failure, and the folder that keeps each
perform.py      performs runs, in this process or as jobs

The key of a run covers this folder and every other one that takes part in a run (see `jobs.origin`).
Code that cannot change a result belongs to `wanlab.sweep`.
"""
