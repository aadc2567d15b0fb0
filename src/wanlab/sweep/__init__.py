"""Performs many runs of an experiment, and makes tables, figures and reports of them.

Nothing here decides a result.

experiment.py   Experiment: a definition that can be run and swept; the decorator that makes one
single.py       one run, from the cache or performed
sweep.py        Sweep: performs the runs of a design (as a batch of jobs) and keeps them in one folder
folder.py       that folder; cache.py: finished runs of all sweeps, by key
result_set.py   ResultSet: the results of a sweep so far; table.py: the same as one table
results.py      Results: the same with figures and a report
charts.py       figures of results; sentence.py: the sentences that describe them
report.py       an HTML page with everything; display.py: sweeps and results in notebooks
"""
