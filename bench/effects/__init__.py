"""The effects that `bench/fidelity.py` measures, one file per group. tests/fidelity measures some."""
