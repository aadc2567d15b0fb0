"""The parts of pages that are generated from the code, or from another page.

A page names such a part in a line of its own: `<!-- generated: commands -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial

from . import command_reference, course_numbers, python_reference
from . import topology_reference as topology

MARK = re.compile(r"^<!-- generated: ([a-z.-]+) -->$", re.MULTILINE)

PARTS: Mapping[str, Callable[[], str]] = {
    "commands": command_reference.as_markdown,
    "course-numbers": course_numbers.table,
    "topology-file": topology.file_table,
    "topology-nodes": topology.node_tables,
    "topology-links": topology.link_table,
    "topology-conditions": topology.condition_table,
    "topology-ports": topology.port_table,
    "topology-queues": topology.queue_table,
    "topology-nics": topology.nic_table,
    "topology-schedules": topology.schedule_table,
    "topology-collectors": topology.collector_tables,
    **{name: partial(python_reference.directives, name) for name in python_reference.MODULES},
}


def filled(markdown: str) -> str:
    """Return a page with its generated parts. Raises KeyError if there is no such part."""
    return MARK.sub(lambda match: PARTS[match[1]](), markdown)
