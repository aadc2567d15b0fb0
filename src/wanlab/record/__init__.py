"""Measurements: tables with units, their origin, and a file format.

record = Record(provenance, {"qdisc": Table.from_rows(rows)}, {"ping.txt": output})
write(record, "results/1-bdp")
record = read("results/1-bdp")
record["qdisc"].where(device="s1-eth2").series("backlog_bytes")
"""

from wanlab.record.differences import differences
from wanlab.record.file import read, write
from wanlab.record.provenance import Provenance
from wanlab.record.record import TIME_COLUMNS, Column, Record, Series, Table, unit_of

__all__ = [
    "TIME_COLUMNS",
    "Column",
    "Provenance",
    "Record",
    "Series",
    "Table",
    "differences",
    "read",
    "unit_of",
    "write",
]
