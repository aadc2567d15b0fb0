"""Measurements in the running network: live curves, records and captures.

measurements   the commands     curves    live curves     records    records and comparisons
queue_charts   the charts that `plot_q.sh` asks for
"""
