"""Test that sessions in the browser are recorded and can be replayed."""

from __future__ import annotations

from pathlib import Path

import pytest
from web_client import Server

from wanlab import Network
from wanlab.session import read

TWO_HOSTS = """\
nodes: [{host: h1}, {host: h2}, {switch: s1}]
links: [{link: [h1, s1]}, {link: [s1, h2]}]
"""

pytestmark = pytest.mark.machine


def test_a_session_in_the_browser_is_replayed(tmp_path: Path) -> None:
    folder, file = tmp_path / "lab", tmp_path / "web.wanlab"
    folder.mkdir()
    (folder / "two.yaml").write_text(TWO_HOSTS)
    arguments = (str(folder / "two.yaml"), "--session", str(file))
    with Server(folder, *arguments) as server, server.connect_client() as client:
        client.run()
        assert server.ask("PUT", "/api/files/said.txt", b"uploaded\n").status_code == 200
        with client.terminal("h1") as terminal:
            terminal.until("# ")
            terminal.command("ping -c 2 h2", "2 received")
            terminal.command("cat said.txt", "uploaded")
    session = read(file)
    with Network.replay(session) as network:
        assert network.session.difference is None
        (shell,) = [
            process for process in network.session.processes if "2 received" in process.output
        ]
        assert "uploaded" in shell.output
        assert (network.folder / "said.txt").read_text() == "uploaded\n"
