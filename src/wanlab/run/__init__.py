"""One run of an experiment: everything in this folder decides its result.

definition.py   Definition: an experiment as data
yaml_file.py    the same from a YAML file; run_script.py: what its runs do; placeholders.py
loading.py      finds definitions in files
design.py       Design: the parameters and seeds of a sweep's runs
source.py       the experiment's code as files that travel; archive.py: files as one byte string
key.py          the hash of everything that a result depends on; programs.py: the hashes of programs
run.py          Run: what the experiment's function is given; it leaves one record
result.py       Result and Failure, and the folder that keeps each
worker.py       the process that performs runs, each in a fork of its own

The key of a run covers this folder and every other one that takes part in a run (see `key`). Whatever
cannot change a result belongs to `wanlab.sweep`.
"""
