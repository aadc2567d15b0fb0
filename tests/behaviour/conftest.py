"""Define the machines on which behaviour is tested."""

import pytest
from machines import MACHINES, why_no_native

from wanlab.machine import MachineKind


@pytest.fixture(params=MACHINES, scope="module")
def machine(request: pytest.FixtureRequest) -> MachineKind:
    """Run the test on each kind of machine in turn."""
    kind: MachineKind = request.param
    if kind == "native" and (reason := why_no_native()):
        pytest.skip(reason)
    return kind
