"""Start Firefox for Playwright, and supply the one WebDriver BiDi command that its release lacks.

Playwright drives a stock Firefox over WebDriver BiDi (channel `moz-firefox`), and for each window
sends `emulation.setMediaFeaturesOverride`, which Firefox ESR does not know. The tests override
nothing, so the gateway answers that command if Firefox refuses it, and forwards all else unchanged.

    bidi_gateway.py FIREFOX ARGUMENTS...        Playwright starts it in place of Firefox
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import signal
import sys
from functools import partial
from typing import Any

from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

OVERRIDE = "emulation.setMediaFeaturesOverride"
LISTENING = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
# Screenshots are sent as one message.
OPEN: dict[str, Any] = {"max_size": 64 << 20, "ping_interval": None}


def answer(reply: dict[str, Any]) -> dict[str, Any]:
    """Return the reply that Playwright gets for Firefox's reply to an override."""
    if reply.get("error") == "unknown command":
        return {"type": "success", "id": reply["id"], "result": {}}
    return reply


async def _pass_through(near: ServerConnection, address: str) -> None:
    overrides: set[int] = set()

    async def to_firefox() -> None:
        async for message in near:
            if OVERRIDE in str(message):
                overrides.add(json.loads(message)["id"])
            await far.send(message)

    async def to_playwright() -> None:
        async for message in far:
            if overrides and (number := json.loads(message).get("id")) in overrides:
                overrides.discard(number)
                message = json.dumps(answer(json.loads(message)))
            await near.send(message)

    async with connect(address, **OPEN) as far:
        ways = [asyncio.create_task(way()) for way in (to_firefox, to_playwright)]
        _, pending = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in pending:
            way.cancel()
        results = await asyncio.gather(*ways, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception) and not isinstance(result, ConnectionClosed):
                raise result


async def main(command: list[str]) -> int:
    """Run Firefox, and print the gateway's address in place of Firefox's own."""
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    assert process.stderr is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, process.terminate)
    async with contextlib.AsyncExitStack() as stack:
        async for line in process.stderr:
            text = line.decode(errors="replace")
            if match := LISTENING.search(text):
                gateway = partial(_pass_through, address=f"{match[1]}/session")
                server = await stack.enter_async_context(serve(gateway, "127.0.0.1", 0, **OPEN))
                port = next(iter(server.sockets)).getsockname()[1]
                text = f"WebDriver BiDi listening on ws://127.0.0.1:{port}\n"
            sys.stderr.write(text)
            sys.stderr.flush()
        return await process.wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
