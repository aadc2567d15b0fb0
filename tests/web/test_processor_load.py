"""The load of the nodes' processors is sampled for charts and for the fill of the nodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from web_client import Server, WebClient

pytestmark = pytest.mark.machine

NETWORK = """
nodes:
- {host: h1, cpu: {model: server-2019, cores: 1, speed: 0.2}}
- {host: h2, cpu: free}
- {host: h3, cpu: {model: server-2019, cores: 2, speed: 0.2}}
- {switch: s1}
links: [{link: [h1, s1]}, {link: [h2, s1]}, {link: [h3, s1]}]
"""
SEND = """\
python3 -c 'import socket, time
s = socket.socket(type=socket.SOCK_DGRAM)
end = time.monotonic() + 0.5
while time.monotonic() < end: s.sendto(bytes(100), ("10.0.0.2", 9))
print("all s" + "ent")'"""
LOADS = [{"kind": "load", "port": ""}]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[WebClient]:
    path = tmp_path / "three.yaml"
    path.write_text(NETWORK)
    with Server(tmp_path, str(path)) as server, server.connect_client() as client:
        client.run()
        yield client


def test_a_busy_core_is_full_and_nodes_without_a_processor_have_no_load(client: WebClient) -> None:
    client.do("watch", series=LOADS)
    before = len(client.pushes)
    with client.terminal("h1") as terminal:
        terminal.command(SEND, "all sent")
    client.stands_still()
    pushed = [
        column
        for push in client.pushes[before:]
        if push["push"] == "samples"
        for column in push["columns"]
    ]
    assert {(column["kind"], column["port"], column["unit"]) for column in pushed} == {
        ("load", "h1", "%"),
        ("load", "h3", "%"),
    }
    loads = {column["port"]: column for column in client.do("history", series=LOADS)}
    assert set(loads) == {"h1", "h3"}
    assert all(0 <= value <= 100 for column in loads.values() for value in column["values"])
    # Of half a second of sending, at least three intervals of 0.1 s are whole.
    assert sum(value > 99.9 for value in loads["h1"]["values"]) >= 3
    assert max(loads["h3"]["values"]) < 10
    only_h3 = client.do("history", series=[{"kind": "load", "port": "h3"}])
    assert [column["port"] for column in only_h3] == ["h3"]


@pytest.mark.parametrize("speed", [0.05, 0.01])
def test_a_slow_shell_takes_its_time_for_each_key(tmp_path: Path, speed: float) -> None:
    path = tmp_path / "slow.yaml"
    path.write_text(NETWORK.replace("speed: 0.2", f"speed: {speed}"))
    with Server(tmp_path, str(path)) as server, server.connect_client() as client:
        client.run()
        with client.terminal("h1") as terminal:
            terminal.command(f"echo {'long' * 50} ov''er", "over\r\n")
        client.stands_still()
