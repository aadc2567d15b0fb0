"""Test "What if ...?": a branch in which the user's inputs happen again with another value."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from web_client import RefusedCommandError, Server, WebClient

pytestmark = pytest.mark.machine
SLOW_LINK = """\
nodes: [{host: h1}, {host: h2}]
links: [{link: [h1, h2], rate: 1Mbps, delay: 5ms, queue: {kind: fifo, limit: 3000B}}]
"""
FLOOD = "for i in {1..30}; do printf %01400d 0 > /dev/udp/10.0.0.2/9; sleep 0.004; done"
"""Sends at almost three times the rate of the link."""


@pytest.fixture
def client(tmp_path: Path) -> Iterator[WebClient]:
    (tmp_path / "slow.yaml").write_text(SLOW_LINK)
    with Server(tmp_path, str(tmp_path / "slow.yaml")) as server, server.connect_client() as client:
        client.run()
        client.do("pace", pace="fast")
        yield client


def link(client: WebClient) -> dict[str, Any]:
    (found,) = client.document["links"]
    return dict(found)


def outputs(client: WebClient, branch: str) -> dict[str, str]:
    """Return what each terminal of a branch has shown, with the instants."""
    answer = client.server.get(f"/api/branches/{branch}/terminals").json()
    return {
        it["title"]: "".join(f"{piece['at_ns']} {piece['text']}" for piece in it["output"])
        for it in answer
    }


def text(output: str) -> str:
    return "".join(part.partition(" ")[2] for part in output.splitlines(keepends=True))


def is_over(client: WebClient, branch: str) -> None:
    client.until(
        lambda: (
            client.state["branches"]["playback"] is None
            and client.state["branches"]["live"] == branch
            and client.state["clock"]["is_paused"]
        )
    )


def numbers(client: WebClient, kind: str, *branches: str) -> list[dict[str, Any]]:
    until_ns = client.state["clock"]["now_ns"]
    found = client.do("numbers", branches=branches, until_ns=until_ns)
    return [it for it in found if it["kind"] == kind]


def test_what_was_typed_happens_again_at_its_instants_with_another_delay(
    client: WebClient, tmp_path: Path
) -> None:
    with client.terminal("h1") as terminal:
        terminal.until("# ")
        terminal.command("ping -c 2 h2 | tee first.txt; sleep 1", "2 received")
        client.stands_still()
        client.do("set_link", link=link(client)["id"], options={"loss": "0.1%"})
        with client.terminal("h2") as other:
            other.until("# ")
            other.command("ping -c 1 h1; echo do''ne", "done")
            end_ns = client.stands_still()
    original = outputs(client, "b1")
    made = client.do(
        "what_if", branch="b1", at_ns=0, link=link(client)["id"], options={"delay": "50ms"}
    )
    assert made == {"branch": "b2", "capture": ""}
    is_over(client, "b2")
    assert client.state["clock"]["now_ns"] >= end_ns
    (first, second) = client.state["branches"]["branches"]
    assert (second["name"], second["parent"], second["left_ns"]) == ("delay 50ms", "b1", 0)
    assert first["end_ns"] == end_ns
    # The original is as it was; the branch shows the same commands with other times.
    assert outputs(client, "b1") == original
    repeated = outputs(client, "b2")
    assert set(repeated) == set(original)
    assert "time=100 ms" in repeated["h1"]
    assert "time=100 ms" not in original["h1"]
    folder = tmp_path / second["folder"]
    assert "2 received" in (folder / "first.txt").read_text()
    # The change that the user made later was made again, beside the new value.
    options = link(client)["options"]
    assert (options["delay"], options["loss"]) == ("50ms", "0.1%")
    events = client.server.get("/api/branches/b2/events").json()
    assert [it["text"] for it in events if it["kind"] == "link"] == [
        "h1-h2: delay 50ms",
        "h1-h2: loss 0.1%",
    ]
    assert [it["text"] for it in events if it["kind"] == "command"] == [
        "ping -c 2 h2 | tee first.txt; sleep 1",
        "ping -c 1 h1; echo do''ne",
    ]
    # The terminals can be used again.
    client.do("pause", paused=False)
    (shown,) = [it for it in client.state["terminals"]["terminals"] if it["title"] == "h2"]
    with client.reopened(shown["id"]) as other:
        other.command("echo mo''re", "more")


def test_a_branch_pauses_once_slower_commands_have_ended(client: WebClient) -> None:
    with client.terminal("h2") as other, client.terminal("h1") as terminal:
        other.until("# ")
        terminal.until("# ")
        other.type("sleep 100000\r")
        terminal.command("ping -c 1 h2; echo do''ne", "done")
        client.do("pause", paused=True)
        client.until(lambda: client.state["clock"]["is_paused"])
    end_ns = client.state["clock"]["now_ns"]
    # A reply takes 1.8 s, after as long for the address: the command ends after the original did.
    client.do("what_if", branch="b1", at_ns=0, link=link(client)["id"], options={"delay": "900ms"})
    is_over(client, "b2")
    assert "done\r\n" in outputs(client, "b2")["h1"]
    assert end_ns < client.state["clock"]["now_ns"] < end_ns + 30e9
    # A command that was running at the end of the original is not waited for.
    events = client.server.get("/api/branches/b2/events").json()
    ends = {it["text"]: it["until_ns"] for it in events if it["kind"] == "command"}
    assert ends["sleep 100000"] is None
    assert ends["ping -c 1 h2; echo do''ne"] > end_ns


def test_a_branch_without_an_effect_shows_what_the_original_did(client: WebClient) -> None:
    with client.terminal("h1") as terminal:
        terminal.until("# ")
        terminal.command(f"{FLOOD}; ping -c 2 h2", "2 received")
        client.stands_still()
    original = outputs(client, "b1")
    # A larger MTU of a link is no condition; the packets of a port are only looked at.
    made = client.do("what_if", branch="b1", at_ns=0, capture=["h1-eth0", "h2-eth0"])
    assert made["branch"] == "b2"
    assert made["capture"].endswith("h1-eth0.pcapng")
    is_over(client, "b2")
    assert outputs(client, "b2") == original
    (drops,) = numbers(client, "drops", "b1", "b2")
    assert drops["port"] == "h1-eth0"
    assert drops["highest"][0] == drops["highest"][1] >= 5
    (queue,) = numbers(client, "queue", "b1", "b2")
    assert queue["means"][0] == queue["means"][1]


def test_a_longer_queue_drops_nothing_from_an_instant_on(client: WebClient) -> None:
    with client.terminal("h1") as terminal:
        terminal.until("# ")
        terminal.command("ping -c 2 h2", "2 received")
        at_ns = client.stands_still()
        terminal.command(f"{FLOOD}; echo do''ne; sleep 1", "done")
        client.stands_still()
    queue = {"kind": "fifo", "limit": "100KB"}
    options = {"queue": queue}
    client.do("what_if", branch="b1", at_ns=at_ns, link=link(client)["id"], options=options)
    is_over(client, "b2")
    (drops,) = numbers(client, "drops", "b1", "b2")
    assert drops["highest"][0] >= 5
    assert drops["highest"][1] == 0
    assert client.state["branches"]["branches"][1]["left_ns"] == at_ns
    # The branch that was left can be asked about as well, and names stay different.
    client.do(
        "what_if", branch="b1", at_ns=at_ns, link=link(client)["id"], options={"rate": "9Mbps"}
    )
    is_over(client, "b3")
    client.do(
        "what_if", branch="b1", at_ns=at_ns, link=link(client)["id"], options={"rate": "9Mbps"}
    )
    is_over(client, "b4")
    names = [it["name"] for it in client.state["branches"]["branches"]]
    assert names[2:] == ["rate 9Mbps", "rate 9Mbps (2)"]


def test_a_playback_is_cancelled_and_refused(client: WebClient) -> None:
    with client.terminal("h1") as terminal:
        terminal.until("# ")
        client.do("pace", pace="fast")
        terminal.command("ping -c 3000 -i 0.1 h2 | tail -n 1", "rtt")
        end_ns = client.stands_still()
    id_ = link(client)["id"]
    with pytest.raises(RefusedCommandError, match="nothing happens after this instant"):
        client.do("what_if", branch="b1", at_ns=end_ns, link=id_, options={"delay": "1ms"})
    with pytest.raises(RefusedCommandError, match="this is the value that the link has"):
        client.do("what_if", branch="b1", at_ns=0, link=id_, options={"delay": "5ms"})
    with pytest.raises(RefusedCommandError, match="soon"):
        client.do("what_if", branch="b1", at_ns=0, link=id_, options={"delay": "soon"})
    client.do("what_if", branch="b1", at_ns=0, link=id_, options={"delay": "6ms"})
    client.do("cancel_continue")
    is_over(client, "b2")
    assert client.state["branches"]["live"] == "b2"
    assert client.state["clock"]["now_ns"] <= end_ns
