"""One run of an experiment: everything in this folder decides its result.

definition.py   Definition: an experiment as data
yaml_file.py    the same from a YAML file; run_script.py: the steps of its runs; placeholders.py
loading.py      finds definitions in files
design.py       Design: the parameters and seeds of a sweep's runs
source.py       the experiment's code as files that travel; archive.py: files as one byte string
key.py          the hash of everything that a result depends on; programs.py: the hashes of programs
run.py          Run: the argument of the experiment's function; it leaves one record
result.py       Result and Failure, and the folder that keeps each
worker.py       the process that performs runs, each in a separate fork

The key of a run covers this folder and every other one that takes part in a run (see `key`). Code that
cannot change a result belongs to `wanlab.sweep`.
"""
