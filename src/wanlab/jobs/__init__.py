"""Performs jobs with seeds, many at once, and keeps what each of them gave.

Sweeps, units of the course, gradings of a class, and the web server's reports and figures are jobs.

origin.py    Origin: everything that a job's result depends on, and its hash, the key; programs.py
job.py       Job: what to perform, and where its output goes; the reason if it fails
worker.py    the process that performs jobs, each in a separate fork
pool.py      Pool: where jobs are performed; Workers: the worker processes of this computer; memory.py
cluster.py   Cluster: the same on other computers, with Dask; archive.py: files that travel
batch.py     performs many tasks on a pool, the longest first
progress.py  the progress of a batch, as its listener sees it
store.py     folders that are complete as soon as they have their names; locks

A job's function is named by the package that uses jobs, so nothing here imports what it performs.
"""
