"""The machines that behaviour is tried on."""

import pytest
from machines import MACHINES, why_no_native

from wanlab.machine import MachineKind


@pytest.fixture(params=MACHINES, scope="module")
def machine(request: pytest.FixtureRequest) -> MachineKind:
    """Each kind in turn."""
    kind: MachineKind = request.param
    if kind == "native" and (reason := why_no_native()):
        pytest.skip(reason)
    return kind
