"""Test the session of a running network: its events, its record, and its branches."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from web_client import RefusedCommandError, Server, WebClient

from wanlab import Network
from wanlab.session import RecordedSession
from wanlab.web.timeline import branches

pytestmark = pytest.mark.machine
SECOND_NS = 1_000_000_000
SLOW_LINK = """\
nodes: [{host: h1}, {host: h2}]
links: [{link: [h1, h2], rate: 1Mbps, delay: 5ms, queue: {kind: fifo, limit: 3000B}}]
"""
FLOOD = "for i in {1..40}; do printf %01400d 0 > /dev/udp/10.0.0.2/9; sleep 0.004; done"
"""Sends at almost three times the rate of the link."""


@pytest.fixture
def client(tmp_path: Path) -> Iterator[WebClient]:
    (tmp_path / "slow.yaml").write_text(SLOW_LINK)
    with Server(tmp_path, str(tmp_path / "slow.yaml")) as server, server.connect_client() as client:
        client.run()
        client.do("pace", pace="fast")
        yield client


def events(client: WebClient, branch: str = "b1") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.server.get(f"/api/branches/{branch}/events").json()
    return found


def terminals(client: WebClient, branch: str = "b1") -> dict[str, dict[str, Any]]:
    answer = client.server.get(f"/api/branches/{branch}/terminals").json()
    return {it["title"]: it for it in answer}


def text_of(terminal: dict[str, Any], until_ns: float = float("inf")) -> str:
    return "".join(it["text"] for it in terminal["output"] if it["at_ns"] <= until_ns)


def now_ns(client: WebClient) -> int:
    return int(client.state["clock"]["now_ns"])


def test_events_are_on_the_time_line_with_their_instants(client: WebClient) -> None:
    (link,) = client.document["links"]
    with client.terminal("h1") as terminal:
        terminal.until("# ")
        terminal.command("ping -c 3 h2; false", "3 received")
        changed_ns = client.stands_still()
        client.do("set_link", link=link["id"], options={"delay": "20ms"})
        client.do("marker", text="slower from here")
        terminal.command(f"{FLOOD}; echo do''ne", "done")
        client.stands_still()
        client.do("link_up", link=link["id"], up=False)
    found = events(client)
    commands = [it for it in found if it["kind"] == "command"]
    assert [(it["where"], it["status"]) for it in commands] == [("h1", 1), ("h1", 0)]
    assert commands[0]["text"] == "ping -c 3 h2; false"
    assert 2 * SECOND_NS <= commands[0]["until_ns"] - commands[0]["at_ns"] < 2.1 * SECOND_NS
    change, plug = [it for it in found if it["kind"] == "link"]
    assert (change["text"], change["at_ns"]) == ("h1-h2: delay 20ms", changed_ns)
    assert change["before"]["options"]["delay"] == "5ms"
    assert change["after"]["options"]["delay"] == "20ms"
    assert (plug["text"], plug["up"]) == ("h1-h2: link down", False)
    (marker,) = [it for it in found if it["kind"] == "marker"]
    assert (marker["text"], marker["at_ns"]) == ("slower from here", changed_ns)
    (drop,) = [it for it in found if it["kind"] == "drop"]
    assert drop["where"] == "h1-eth0"
    assert drop["count"] >= 10
    assert commands[1]["at_ns"] < drop["at_ns"] <= drop["until_ns"]
    # Browsers received the same events.
    pushed = {
        event["number"]: event
        for push in client.pushes
        if push["push"] == "events"
        for event in push["events"]
    }
    assert sorted(pushed.values(), key=lambda it: it["at_ns"]) == found


def test_a_time_line_ends_when_another_document_is_opened(
    client: WebClient, tmp_path: Path
) -> None:
    with client.terminal("h1") as terminal:
        terminal.until("# ")
    (tmp_path / "other.yaml").write_text(SLOW_LINK.replace("h2", "h3"))
    openings: list[dict[str, Any]] = [
        {"do": "open", "path": "other.yaml"},
        {"do": "new"},
        {"do": "generate", "shape": "minimal"},
    ]
    # While the network runs, no other drawing can take its place.
    for opening in openings:
        with pytest.raises(RefusedCommandError, match="a network is running") as refused:
            client.do(opening["do"], **{key: opening[key] for key in opening if key != "do"})
        assert refused.value.code == "running"
    client.stop()
    assert [it["id"] for it in client.state["branches"]["branches"]] == ["b1"]
    client.do("open", path="other.yaml")
    assert client.state["branches"]["branches"] == []
    with pytest.raises(RefusedCommandError, match="no branch b1"):
        client.do("continue", branch="b1", at_ns=0)
    with pytest.raises(RefusedCommandError, match="no network has run"):
        client.do("marker", text="here")
    assert [(it["options"]["delay"]) for it in client.document["links"]] == ["5ms"]
    client.run()
    assert [it["id"] for it in client.state["branches"]["branches"]] == ["b1"]


@pytest.mark.long
def test_a_branch_continues_from_an_earlier_instant_beside_the_original(client: WebClient) -> None:
    with client.terminal("h1") as terminal:
        terminal.until("# ")
        terminal.command("ping -i 0.5 -c 12 h2 | tee said.txt", "12 received")
    end_ns = client.stands_still()
    original = terminals(client)["h1"]
    first_ns = events(client)[0]["at_ns"]
    at_ns = first_ns + 2_100_000_000
    assert client.do("cost", branch="b1", at_ns=at_ns)["real_s"] > 0

    assert client.do("continue", branch="b1", at_ns=at_ns) == "b2"
    state = client.state["branches"]
    assert (state["live"], state["replay"]) == ("b2", None)
    assert [(it["id"], it["parent"], it["left_ns"]) for it in state["branches"]] == [
        ("b1", None, 0),
        ("b2", "b1", at_ns),
    ]
    assert (now_ns(client), client.state["clock"]["is_paused"]) == (at_ns, True)
    assert client.state["run"]["warnings"] == []
    # The terminal shows its output up to that instant, and continues as the original did.
    (shown,) = client.state["terminals"]["terminals"]
    with client.reopened(shown["id"]) as terminal:
        client.do("pause", paused=False)
        text = terminal.until("12 received")
        assert text.startswith(text_of(original, at_ns))
        client.stands_still()
        assert text_of(terminals(client, "b2")["h1"]) == text_of(original)
    # Its files are in a separate folder.
    folder = client.server.folder / client.state["branches"]["branches"][1]["folder"]
    assert folder == client.server.folder / "branches" / "2"
    assert "12 received" in (folder / "said.txt").read_text()
    # The original is as it was.
    assert terminals(client)["h1"] == original
    assert client.state["branches"]["branches"][0]["end_ns"] == end_ns


@pytest.mark.long
def test_a_branch_has_the_links_of_its_instant_and_its_own_changes(client: WebClient) -> None:
    (link,) = client.document["links"]
    throughput = {"kind": "throughput", "port": "h1-eth0"}
    with client.terminal("h1") as terminal:
        terminal.until("# ")
        terminal.command("ping -c 2 h2", "2 received")
        # At the instant of the change itself, the change has already happened.
        early_ns = client.stands_still() - 1
        client.do("set_link", link=link["id"], options={"delay": "50ms"})
        terminal.command("ping -c 2 h2", "2 received")
        client.stands_still()
        client.do("link_up", link=link["id"], up=False)
    before = client.do("history", series=[throughput])[0]
    client.do("continue", branch="b1", at_ns=early_ns)
    assert client.document["links"][0]["options"]["delay"] == "5ms"
    assert client.state["run"]["links_down"] == []
    assert client.state["run"]["is_stale"] is False
    client.do("pause", paused=False)
    client.do("set_link", link=link["id"], options={"queue": "fq_codel"})
    with client.reopened("t1") as terminal:
        terminal.type("ping -c 3 h2\r")
        assert "time=10" in terminal.until("3 received").rpartition("ping -c 3")[2]
    client.stands_still()
    client.do("rename_branch", branch="b2", name="with FQ_CoDel")
    info = client.state["branches"]["branches"][1]
    assert info["name"] == "with FQ_CoDel"
    assert info["changed"] == "h1-h2: queue fq_codel; h1: ping -c 3 h2"
    # The curves of both branches in one chart are equal up to the instant.
    (old,) = client.do("history", series=[throughput], branch="b1")
    (new,) = client.do("history", series=[throughput])
    assert old == before
    common = [time_s for time_s in old["times_s"] if time_s <= early_ns / 1e9]
    assert len(common) >= 10
    assert new["times_s"][: len(common)] == common
    assert new["values"][: len(common)] == old["values"][: len(common)]
    assert new["times_s"][len(common)] > early_ns / 1e9
    # The old branch continues at its end, in its own folder, with its links.
    end_ns = client.state["branches"]["branches"][0]["end_ns"]
    assert client.do("continue", branch="b1", at_ns=end_ns) == "b1"
    assert client.state["branches"]["live"] == "b1"
    assert client.state["run"]["links_down"] == [link["id"]]
    assert client.document["links"][0]["options"]["delay"] == "50ms"
    with pytest.raises(RefusedCommandError, match="is the running branch"):
        client.do("drop_branch", branch="b1")
    client.do("drop_branch", branch="b2")
    assert [it["id"] for it in client.state["branches"]["branches"]] == ["b1"]


@contextmanager
def replays_held() -> Iterator[None]:
    """Let each replay report where it is after some steps, and go no further until cancelled."""

    def replaying_network(
        of: branches.Branches,
        recorded: RecordedSession,
        folder: Path | None,
        replay: branches.RunningReplay,
    ) -> Network:
        network = free(of, recorded, folder, replay)
        assert network.on_time is not None
        report = network.on_time

        def report_and_wait(now_ns: int, until_ns: int | None) -> None:
            report(now_ns, until_ns)
            while now_ns > SECOND_NS and not replay.is_cancelled:
                time.sleep(0.01)

        network.on_time = report_and_wait
        return network

    free = branches.Branches._replaying_network
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(branches, "REPORT_REAL_S", 0)
        patch.setattr(branches.Branches, "_replaying_network", replaying_network)
        yield


@pytest.mark.long
def test_a_replay_can_be_cancelled_and_a_branch_continued_after_a_stop(client: WebClient) -> None:
    with client.terminal("h1") as terminal:
        terminal.until("# ")
        terminal.command("ping -i 0.01 -c 2000 h2 > /dev/null; echo do''ne", "done")
    end_ns = client.stands_still()
    with replays_held():
        number = client.begin("continue", branch="b1", at_ns=end_ns - 1)
        client.until(lambda: (client.state["branches"]["replay"] or {}).get("now_ns", 0) > 0)
        client.do("cancel_continue")
        with pytest.raises(RefusedCommandError, match="cancelled"):
            client.reply(number)
    assert client.state["branches"]["live"] == "b1"
    assert not (client.server.folder / "branches" / "2").exists()
    with client.reopened("t1") as terminal:
        client.do("pause", paused=False)
        terminal.command("echo still he''re", "still here")

    # Stop also ends a replay.
    with replays_held():
        number = client.begin("continue", branch="b1", at_ns=end_ns - 1)
        client.until(lambda: client.state["branches"]["replay"] is not None)
        client.stop()
        with pytest.raises(RefusedCommandError, match=r"cancelled|stopped|not running"):
            client.reply(number)
    assert client.state["branches"]["live"] is None
    with pytest.raises(RefusedCommandError, match="is outside this branch"):
        client.do("continue", branch="b1", at_ns=end_ns * 2)
    client.do("continue", branch="b1", at_ns=SECOND_NS)
    assert client.state["run"]["phase"] == "running"
    assert now_ns(client) == SECOND_NS

    # A branch remains while it is replayed.
    with replays_held():
        number = client.begin("continue", branch="b1", at_ns=end_ns - 1)
        with pytest.raises(RefusedCommandError, match="is being replayed"):
            client.do("drop_branch", branch="b1")
        client.do("cancel_continue")
        with pytest.raises(RefusedCommandError, match="cancelled"):
            client.reply(number)
    client.do("drop_branch", branch="b1")


@pytest.mark.long
def test_on_the_real_clock_branching_is_refused_with_the_reason(client: WebClient) -> None:
    client.stop()
    client.do("edit", preferences={"clock": "real"}, label="Clock")
    client.run()
    assert "on the real clock" in client.state["branches"]["refusal"]
    with pytest.raises(RefusedCommandError, match="on the real clock a session cannot go back"):
        client.do("continue", branch="b1", at_ns=0)
