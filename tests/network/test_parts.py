"""Large plans are performed in parts."""

from __future__ import annotations

from wanlab.network.runtime import parts
from wanlab.operations import AddNamespace, Operation, RemoveNamespace


def kinds(operations: str) -> list[Operation]:
    return [AddNamespace("a") if kind == "a" else RemoveNamespace("r") for kind in operations]


def test_a_part_ends_where_the_kind_of_operation_changes() -> None:
    def cut(operations: str, size: int) -> list[int]:
        return [len(part) for part in parts(kinds(operations), size)]

    assert cut("arararar", 2) == [2, 2, 2, 2]
    assert cut("aaaaarra", 2) == [5, 2, 1]
    assert cut("aaaa", 2) == [4]
    assert cut("a", 2) == [1]
    assert cut("", 2) == [0]
