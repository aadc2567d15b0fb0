"""Test a network that runs in the browser: terminals, time, links, curves, records, its end."""

import json
import signal
import time
from pathlib import Path

import pytest
from machines import counts_computing
from web_client import RefusedCommandError, Server, Terminal, WebClient, machines_of, wait_until

pytestmark = pytest.mark.machine

PROMPT = "# "
MANY = 20


def link_of(client: WebClient, name: str) -> str:
    node = client.id_of(name)
    found: list[str] = [it["id"] for it in client.document["links"] if node in (it["a"], it["b"])]
    return found[0]


def ports(client: WebClient) -> dict[str, dict[str, object]]:
    return {it["name"]: it for it in client.state["run"]["ports"]}


def test_ports_have_their_names_and_addresses(running: WebClient) -> None:
    assert set(ports(running)) == {"h1-eth0", "s1-eth1", "s1-eth2", "h2-eth0"}
    assert ports(running)["h1-eth0"]["addresses"] == ["10.0.0.1/8"]
    assert all(port["is_up"] for port in ports(running).values())


def test_a_ping_is_typed_and_read(running: WebClient) -> None:
    with running.terminal("h1") as terminal:
        terminal.until(PROMPT)
        shown = terminal.command("ping -c 2 h2", "2 received")
        assert "bytes from h2 (10.0.0.2)" in shown


def test_time_stands_still_while_no_command_runs(running: WebClient) -> None:
    with running.terminal("h1") as terminal:
        terminal.until(PROMPT)
        before = running.stands_still()
        terminal.command("date +%s.%N", "\n")
        terminal.until(PROMPT)
        after = running.stands_still()
        assert 0 < after - before < 50_000_000
        terminal.command("sleep 0.5; echo ov''er", "over\r\n")
        assert running.stands_still() - after >= 500_000_000


def test_time_passes_while_something_runs_in_the_background(running: WebClient) -> None:
    with running.terminal("h1") as terminal:
        terminal.until(PROMPT)
        before = running.stands_still()
        terminal.command("(sleep 0.4; echo la''te) &", "late")
        assert running.stands_still() - before >= 400_000_000


def test_time_passes_while_a_node_of_the_prompt_runs_something_in_the_background(
    running: WebClient,
) -> None:
    with running.terminal("prompt") as prompt:
        prompt.until("mininet> ")
        before = running.stands_still()
        prompt.command("h1 sleep 0.4 &", "mininet> ")
        assert running.stands_still() - before >= 400_000_000
    running.do("close_terminal", terminal=prompt.name)


def test_time_can_be_set_to_pass_always_and_slowly(running: WebClient) -> None:
    before = running.stands_still()
    running.do("let_run", always=True)
    running.until(lambda: running.state["clock"]["now_ns"] > before + 100_000_000)
    running.do("pace", pace="real", speed=0.01)
    running.until(lambda: 0 < running.state["clock"]["speed"] <= 0.011)
    assert running.state["clock"]["wanted_speed"] == 0.01
    with pytest.raises(RefusedCommandError, match="x0"):
        running.do("pace", pace="real", speed=0)
    running.do("pace", pace="real")
    running.do("let_run", always=False)
    running.stands_still()


def test_a_paused_network_can_be_stepped(running: WebClient) -> None:
    with running.terminal("h1") as terminal:
        terminal.until(PROMPT)
        before = running.stands_still()
        running.do("pause", paused=True)
        terminal.type("sleep 100\r")
        running.do("step", duration="250ms")
        running.until(lambda: running.state["clock"]["now_ns"] >= before + 250_000_000)
        assert running.stands_still() == before + 250_000_000
        running.do("pause", paused=False)
        terminal.type("\x03")
        terminal.until("^C")
        running.stands_still()


def test_the_fast_pace_is_faster_than_the_real_clock(running: WebClient) -> None:
    with running.terminal("h1") as terminal:
        terminal.until(PROMPT)
        running.do("pace", pace="fast")
        began = time.monotonic()
        terminal.command("sleep 100; echo ov''er", "over\r\n")
        assert time.monotonic() - began < 100
        running.do("pace", pace="real")
        running.until(lambda: running.state["clock"]["pace"] == "real")


def test_a_second_view_of_a_terminal_begins_with_its_output(running: WebClient) -> None:
    with running.terminal("h2") as terminal:
        terminal.until(PROMPT)
        terminal.command("echo remem''ber", "remember\r\n")
        with Terminal(running.server, terminal.name) as again:
            again.until("remember\r\n")
            assert again.history_bytes == len(again.shown)
            again.command("echo $((6*7))", "42\r\n")
            terminal.until("42\r\n")  # both views show it


def test_a_terminal_has_the_size_of_its_window(running: WebClient) -> None:
    with running.terminal("h1") as terminal:
        terminal.until(PROMPT)
        terminal.resize(33, 111)
        assert "33 111" in terminal.command("stty size", "111\r\n")


def test_the_status_of_an_ended_program_is_shown(running: WebClient) -> None:
    with running.terminal("h1") as terminal:
        terminal.until(PROMPT)
        terminal.type("exit 3\r")
        running.until(
            lambda: (
                {it["id"]: it["status"] for it in running.state["terminals"]["terminals"]}[
                    terminal.name
                ]
                == 3
            )
        )
    running.do("close_terminal", terminal=terminal.name)
    assert terminal.name not in {it["id"] for it in running.state["terminals"]["terminals"]}


def test_the_client_and_the_prompt_have_terminals(running: WebClient) -> None:
    with running.terminal("client") as client, running.terminal("prompt") as prompt:
        client.until(PROMPT)
        assert "s1-eth1" in client.command("ip -br link", "s1-eth2")
        prompt.until("mininet> ")
        assert "0% packet loss" in prompt.command("h1 ping -c 1 h2", "rtt ")
        prompt.until("mininet> ")
        running.stands_still()
        count = len(running.state["terminals"]["terminals"])
        prompt.type("xterm h2\r")
        running.until(lambda: len(running.state["terminals"]["terminals"]) == count + 1)


def test_endless_output_leaves_other_terminals_usable(running: WebClient) -> None:
    """A program blocks once a browser is 64 KB of output behind."""
    quiet = Terminal(running.server, running.do("terminal", node=running.id_of("h2"))["terminal"])
    name = running.do("terminal", node=running.id_of("h1"))["terminal"]
    with quiet, Terminal(running.server, name, acknowledges=False) as loud:
        quiet.until(PROMPT)
        loud.until(PROMPT)
        loud.type("yes 0123456789\r")
        wait_until(lambda: len(loud.shown) >= 64 << 10)
        for number in range(5):
            quiet.command(f"echo $(({number}+1000))", f"{number + 1000}\r\n")
        assert len(loud.shown) < 256 << 10
        loud.type("\x03")
    running.do("close_terminal", terminal=name)


def test_many_terminals_are_open_at_once(running: WebClient) -> None:
    terminals = [running.terminal("h1" if n % 2 else "h2") for n in range(MANY)]
    for number, terminal in enumerate(terminals):
        terminal.until(PROMPT)
        terminal.command(f"echo $(({number}+500))", f"{number + 500}\r\n")
    running.stands_still()
    for terminal in terminals:
        with terminal:
            running.do("close_terminal", terminal=terminal.name)


def test_a_link_is_changed_in_the_running_network_and_in_the_document(running: WebClient) -> None:
    link = link_of(running, "h2")
    running.do("set_link", link=link, end="b", options={"delay": "30ms"})
    with running.terminal("h1") as terminal:
        terminal.until(PROMPT)
        assert "time=30." in terminal.command("ping -c 2 h2", "rtt ")
        drawn = {it["id"]: it for it in running.document["links"]}
        assert drawn[link]["b_options"] == {"delay": "30ms"}
        assert not running.state["run"]["is_stale"]
        running.do("set_link", link=link, end="b", options={"delay": None})
        assert "time=30." not in terminal.command("ping -c 2 h2", "rtt ")
    with pytest.raises(RefusedCommandError, match="rate"):
        running.do("set_link", link=link, options={"rate": "fast"})


def test_a_link_is_unplugged_and_plugged_in_again(running: WebClient) -> None:
    link = link_of(running, "h2")
    running.do("link_up", link=link, up=False)
    assert running.state["run"]["links_down"] == [link]
    assert not ports(running)["h2-eth0"]["is_up"]
    with running.terminal("h1") as terminal:
        terminal.until(PROMPT)
        terminal.command("ping -c 1 -W 1 h2", "100% packet loss")
    running.do("link_up", link=link, up=True)
    assert ports(running)["h2-eth0"]["is_up"]


def test_addresses_set_in_a_terminal_are_shown(running: WebClient) -> None:
    with running.terminal("h1") as terminal:
        terminal.until(PROMPT)
        terminal.command("ip addr add 192.0.2.1/24 dev h1-eth0; sleep 2; echo ov''er", "over\r\n")
        running.until(lambda: "192.0.2.1/24" in ports(running)["h1-eth0"]["addresses"])  # type: ignore[operator]
        terminal.command("ip addr del 192.0.2.1/24 dev h1-eth0; echo ov''er", "over\r\n")


def test_a_queue_that_counts_super_packets_is_named_at_once(running: WebClient) -> None:
    with running.terminal("h1") as terminal:
        terminal.until(PROMPT)
        command = "tc qdisc replace dev h1-eth0 root pfifo limit 10; sleep 2; echo ov''er"
        terminal.command(command, "over\r\n")
        running.until(
            lambda: any(
                warning.startswith("h1-eth0: the limit of 10 packets of its pfifo counts super")
                for warning in running.state["run"]["warnings"]
            )
        )
        terminal.command("tc qdisc del dev h1-eth0 root; echo ov''er", "over\r\n")


@counts_computing
@pytest.mark.costs(4)
def test_a_node_whose_programs_compute_for_long_is_named(running: WebClient) -> None:
    # However long the network has run: a tenth of that, while hardly any of its time passes.
    compute = "import time\nwhile True: sum(map(sum, [range(10**6)] * 20)), time.sleep(0.01)"
    with running.terminal("h1") as terminal:
        terminal.until(PROMPT)
        terminal.type(f"python3 -c '{compute}'\r")
        running.until(
            lambda: any(
                warning.startswith("programs of h1 computed for")
                for warning in running.state["run"]["warnings"]
            )
        )
        terminal.type("\x03")
        terminal.until("KeyboardInterrupt")


def test_curves_records_and_captures_of_a_flow(running: WebClient) -> None:
    series = [{"kind": kind, "port": "s1-eth2"} for kind in ("throughput", "queue", "drops")]
    series += [{"kind": kind, "port": "h1-eth0"} for kind in ("cwnd", "rtt")]
    link = link_of(running, "h2")
    running.do("set_link", link=link, options={"rate": "10Mbps"})
    running.do("watch", series=series)
    running.do("record", on=True, name="flow")
    path = running.do("capture", port="s1-eth2", on=True)["path"]
    before = len(running.pushes)
    with running.terminal("h2") as server, running.terminal("h1") as client:
        server.until(PROMPT)
        client.until(PROMPT)
        server.command("iperf3 -s -1", "listening")
        client.command("iperf3 -c h2 -t 2", "iperf Done")
    running.stands_still()
    running.do("capture", port="s1-eth2", on=False)
    running.do("record", on=False)
    running.do("watch", series=[])
    kept = {(it["kind"], it["port"]) for it in running.do("history", series=series)}
    assert kept == {(it["kind"], it["port"]) for it in series}
    columns = [
        column
        for push in running.pushes[before:]
        if push["push"] == "samples"
        for column in push["columns"]
    ]
    assert {it["kind"] for it in columns} == {"throughput", "queue", "drops", "cwnd", "rtt"}
    carried = [v for it in columns if it["kind"] == "throughput" for v in it["values"]]
    assert 9.9e6 < max(carried) <= 10.1e6
    times = [t for it in columns if it["kind"] == "queue" for t in it["times_s"]]
    assert times == sorted(set(times))
    info = {it["name"]: it for it in running.state["records"]["records"]}["flow"]
    assert info["seconds"] > 2
    panels = running.do("compare", records=["flow"])["panels"]
    assert {"Throughput", "Queue", "RTT", "Congestion window"} <= set(panels)
    assert (running.server.folder / path).read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"
    running.do("drop_record", name="flow")
    assert not (running.server.folder / "records" / "flow").exists()
    running.do("set_link", link=link, options={"rate": None})


def test_a_node_drawn_while_the_network_runs_is_not_in_it(running: WebClient) -> None:
    label = {"id": "t9", "text": "hello", "x": 1.0, "y": 2.0}
    running.do("edit", put={"labels": [label]})
    assert not running.state["run"]["is_stale"]
    node = {"id": "x9", "kind": "host", "name": "h9", "options": {"number": 9}}
    running.do("edit", put={"nodes": [node]})
    running.until(lambda: running.state["run"]["is_stale"])
    with pytest.raises(RefusedCommandError, match="not in the running network"):
        running.do("terminal", node="x9")
    running.do("undo")
    running.until(lambda: not running.state["run"]["is_stale"])
    running.do("undo")


# -- beginning and end ------------------------------------------------------------------------------


def test_a_network_with_problems_does_not_start_and_says_why(server: Server) -> None:
    with server.connect_client() as client:
        node = {"id": "x", "kind": "host", "name": "h1", "options": {"ip": "300.0.0.1"}}
        client.do("edit", put={"nodes": [node]})
        with pytest.raises(RefusedCommandError, match=r"300\.0\.0\.1"):
            client.do("run")
        assert client.state["run"]["phase"] == "stopped"


def test_a_network_that_was_stopped_says_where_it_lost_packets(server: Server) -> None:
    with server.connect_client() as client:
        client.do("open", path="two.yaml")
        client.run()
        with client.terminal("h1") as terminal:
            terminal.until(PROMPT)
            terminal.command(
                "tc qdisc replace dev h1-eth0 root handle 1: netem loss 100%; echo lo''st", "lost"
            )
            terminal.command("ping -c 3 -i 0.2 10.0.0.2", "100% packet loss")
            terminal.type("sleep 1000\r")
            client.until(lambda: ports(client)["h1-eth0"]["lost"] == "netem: its loss of 100 %")
            assert ports(client)["h2-eth0"]["lost"] == ""
            assert client.state["run"]["warnings"] == []
        client.stop()
        assert client.state["run"]["warnings"] == [
            "h1-eth0 (netem 1:) lost 3 packets (100 %): netem: its loss of 100 %"
        ]
        client.run()
        client.stop()
        assert client.state["run"]["warnings"] == []


def test_killing_the_server_leaves_no_machine(server: Server) -> None:
    with server.connect_client() as client:
        client.do("open", path="two.yaml")
        client.run()
        with client.terminal("h1") as terminal:
            terminal.until(PROMPT)
            terminal.type("sleep 1000\r")
            machines = list(machines_of(server.process.pid))
            assert len(machines) == 1
            server.end(signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{machines[0]}").exists())


def test_ctrl_c_ends_a_running_network_only_when_pressed_twice(server: Server) -> None:
    with server.connect_client() as client:
        client.do("open", path="two.yaml")
        client.run()
        machines = list(machines_of(server.process.pid))
        server.process.send_signal(signal.SIGINT)
        assert server.process.stdout is not None
        lines = [server.process.stdout.readline() for _ in range(2)]
        assert "Ctrl-C again" in lines[-1]
        assert client.state["run"]["phase"] == "running"
        assert server.end(signal.SIGINT) == 0
    assert machines
    assert not Path(f"/proc/{machines[0]}").exists()


def test_a_dead_machine_is_reported_and_another_one_starts(server: Server) -> None:
    import os

    with server.connect_client() as client:
        client.do("open", path="two.yaml")
        client.run()
        (machine,) = machines_of(server.process.pid)
        os.kill(machine, signal.SIGKILL)
        client.until(lambda: client.state["run"]["phase"] == "failed")
        assert "SIGKILL" in client.state["run"]["error"]["what"]
        client.run()
        client.stop()
        assert list(machines_of(server.process.pid)) == []


def test_a_lesson_opens_its_network_types_steps_and_keeps_progress(server: Server) -> None:
    with server.connect_client() as client:
        client.do("lesson", unit="2", action="start")
        assert client.state["lessons"]["open_unit"] == "2"
        assert client.state["file"]["path"].startswith("lab02/lab_topologies/")
        page = json.loads(server.get("/api/lessons/2").text)
        assert page["markdown"].startswith("#")
        step = next(
            it for it in page["steps"] if it["can_type"] and "ping" in " ".join(it["lines"])
        )
        client.run()
        client.do("pace", pace="fast")
        typed = client.do("lesson", unit="1", action="type", step=step["n"])
        with Terminal(server, typed[0]) as terminal:
            terminal.until("bytes from")
            # Keys after Ctrl-C go to the shell; at Mininet's prompt they may go to the command.
            terminal.command("\x03pwd -P", "/lab02\r\n")
        client.do("lesson", unit="2", action="progress", step=step["n"])
        with pytest.raises(RefusedCommandError) as refused:
            client.do("lesson", unit="1", action="start", discard=True)
        assert refused.value.code == "running"
        server.end()
    with Server(server.folder) as again, again.connect_client() as client:
        client.until(lambda: bool(client.state["lessons"]["lessons"]))
        infos = {it["unit"]: it for it in client.state["lessons"]["lessons"]}
        assert step["n"] in infos["2"]["done"]
