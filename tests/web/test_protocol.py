"""Test the protocol's TypeScript."""

from pathlib import Path

from wanlab.web import typescript

GENERATED = Path(__file__).parents[2] / "ui" / "src" / "protocol.ts"


def test_protocol_ts_is_up_to_date() -> None:
    hint = "python -m wanlab.web.typescript > ui/src/protocol.ts"
    assert GENERATED.read_text(encoding="utf-8") == typescript.text(), hint
