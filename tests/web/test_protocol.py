"""What the browser's side takes the protocol to be."""

from pathlib import Path

from wanlab.web import typescript

GENERATED = Path(__file__).parents[2] / "ui" / "src" / "protocol.ts"


def test_the_browsers_side_has_the_protocol_of_today() -> None:
    hint = "python -m wanlab.web.typescript > ui/src/protocol.ts"
    assert GENERATED.read_text(encoding="utf-8") == typescript.text(), hint
