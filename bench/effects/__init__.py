"""What `bench/fidelity.py` measures, a file for each group; tests/fidelity measures a part of it."""
