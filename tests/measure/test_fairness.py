"""Test Jain's fairness index."""

import pytest

from wanlab.errors import WanlabError
from wanlab.measure.fairness import jain


def test_jains_index_is_1_for_equal_flows_and_one_nth_for_a_single_one() -> None:
    assert jain([3.0, 3.0, 3.0]) == 1.0
    assert jain([5.0, 0.0, 0.0, 0.0]) == 0.25


def test_flows_that_carried_nothing_have_no_index() -> None:
    with pytest.raises(WanlabError, match="no flow carried anything"):
        jain([0.0, 0.0])
