"""Many runs of an experiment, and tables, figures and reports of them. Nothing here decides a result.

experiment.py   Experiment: a definition that can be run and swept; the decorator that makes one
single.py       one run, from the cache or performed
sweep.py        Sweep: performs the runs of a design and keeps them in one folder
folder.py       that folder; cache.py: finished runs of all sweeps, by key
workers.py      worker processes on this computer; cluster.py: on other computers
progress.py     how far a sweep is
result_set.py   ResultSet: what a sweep has measured so far; table.py: as one table
results.py      Results: the same with figures and a report
charts.py       figures of results; sentence.py: the language that asks for them
report.py       an HTML page with all of it; display.py: sweeps and results in notebooks
"""
