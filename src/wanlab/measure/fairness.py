"""Jain's fairness index: how equally flows share a path.

    J = (sum of x_i)^2 / (n * sum of x_i^2)

x_i is the throughput of flow i, in any unit. Source: RFC 5166, section 2.3.1; R. Jain, D.-M. Chiu,
W. Hawe: A quantitative measure of fairness and discrimination for resource allocation in shared
computer systems, DEC TR-301, 1984.
"""

from __future__ import annotations

from collections.abc import Sequence

from wanlab.errors import WanlabError


def jain(shares: Sequence[float]) -> float:
    """Return Jain's fairness index: 1 if all shares are equal, 1/n if all but one are zero.

    WanlabError if all are zero.
    """
    squares = sum(share * share for share in shares)
    if not squares:
        raise WanlabError("no flow carried anything, so there is no fairness index")
    return sum(shares) ** 2 / (len(shares) * squares)
