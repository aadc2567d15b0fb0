"""Submissions that fake results get no points, because the network itself is measured.

The unit's bottleneck should have 100 Mbit/s and has 10. No fake changes that.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from wanlab import Topology, __version__, save, shapes
from wanlab.labs import grade, run_inputs, unit_file, unit_run
from wanlab.labs.report import GradeReport
from wanlab.labs.unit import Unit

pytestmark = pytest.mark.machine

UNIT = """\
number: 9
kind: problem
title: A test
goal: To be faked.
file: Problem9.mn
steps:
- {n: 1, where: gui, do: {open: Problem9.mn, run: true}}
check:
- what: the bottleneck is used
  measure: {server: h2, client: h1, flow: "iperf3 -c 10.0.0.2 -t 1 -J"}
  metric: iperf3.receiver.mbps
  through: s1-eth2
  at_least: 80
  at_most: 100
  points: 3
  hint: look at the shaper
- what: it has its rate
  state: tc -j qdisc show dev s1-eth2
  metric: tbf.rate_mbps
  at_least: 99
  at_most: 101
  points: 2
  hint: look at the shaper's rate
- what: h1 reaches h2
  state: ping -c 2 10.0.0.2
  in: h1
  through: s1-eth2
  metric: ping.loss_percent
  at_most: 0
  guard: true
  points: 4
  hint: look at the links
"""
SET_ENV = """\
#!/bin/sh
set -eu
tc qdisc replace dev s1-eth2 root handle 1: tbf rate 10mbit burst 20000 limit 500000
wanlab-node h1 sysctl -q -w net.ipv6.conf.all.disable_ipv6=1
"""
CURE = "tc qdisc replace dev s1-eth2 root handle 1: tbf rate 100mbit burst 50000 limit 500000"
TEST = {
    "start": {"version": "iperf 3.12", "connected": [], "test_start": {"protocol": "TCP"}},
    "intervals": [
        {
            "streams": [],
            "sum": {"start": 0, "end": 1, "seconds": 1, "bytes": 1.2e7, "bits_per_second": 9.5e7},
        }
    ],
    "end": {
        "streams": [],
        "sum_sent": {"seconds": 1, "bytes": 12000000, "bits_per_second": 9.5e7},
        "sum_received": {"seconds": 1, "bytes": 12000000, "bits_per_second": 9.5e7},
    },
}
WRAPPER = f"""\
mkdir -p /tmp/fake
cat > /tmp/fake/iperf3 <<'X'
#!/bin/sh
cat <<'Y'
{json.dumps(TEST)}
Y
X
cat > /tmp/fake/tc <<'X'
#!/bin/sh
echo '[{{"kind": "tbf", "options": {{"rate": 12500000}}}}]'
X
chmod +x /tmp/fake/*
"""
LIBRARY = "echo /tmp/fake/none.so > /etc/ld.so.preload; export LD_PRELOAD=/tmp/fake/none.so\n"
PATH_TRICKS = """\
export PATH=/tmp/fake:$PATH
alias iperf3=/tmp/fake/iperf3 tc=/tmp/fake/tc
for file in ~/.bashrc ~/.bash_profile ~/.profile /etc/profile /run/wanlab/home/.bashrc; do
  echo 'export PATH=/tmp/fake:$PATH BASH_ENV=/tmp/fake/env' >> "$file"
done 2>/dev/null
echo '-c 127.0.0.1' > ~/.iperf3rc
"""
BACKGROUND = """\
(setsid sh -c 'while true; do
  for program in /usr/bin/iperf3 /usr/sbin/tc /sbin/tc; do cp /tmp/fake/${program##*/} $program; done
  mount --bind /tmp/fake/iperf3 /usr/bin/iperf3
  wanlab-node h2 iperf3 -s -p 5201 -D
  sleep 0.1
done' > /dev/null 2>&1 &)
echo '* * * * * root cp /tmp/fake/iperf3 /usr/bin/iperf3' > /etc/cron.d/fake
echo '|/tmp/fake/iperf3' > /proc/sys/kernel/core_pattern
"""
AGENT = """\
kill -9 1; kill -STOP 1
wanlab-python - <<'X'
import json, socket
connection = socket.socket(socket.AF_UNIX)
connection.connect("/run/wanlab/host-service")
connection.sendall(b'{"do": "agent"}\\n')
print(connection.recv(100))
X
mknod /tmp/channel c 10 125 && cat /tmp/channel
nsenter --target 1 --mount --pid cp /tmp/fake/iperf3 /usr/bin/iperf3
true
"""
PYTHON = """\
for python in $(readlink -f /usr/bin/python3) /run/wanlab/bin/wanlab-python; do
  printf '#!/bin/sh\\nexit 0\\n' > "$python"
done 2>/dev/null
true
"""
OTHER_PATH = """\
ip link add fast1 type veth peer name fast2
ip link set fast1 netns h1
ip link set fast2 netns h2
wanlab-node h1 sh -c 'ip addr add 10.9.0.1/24 dev fast1; ip link set fast1 up'
wanlab-node h2 sh -c 'ip addr add 10.9.0.2/24 dev fast2; ip link set fast2 up'
wanlab-node h1 ip route add 10.0.0.2/32 via 10.9.0.2 dev fast1
wanlab-node h2 ip route add 10.0.0.1/32 via 10.9.0.1 dev fast2
wanlab-node h1 tc qdisc add dev fast1 root tbf rate 95mbit burst 50000 limit 500000
"""
LOSS = "tc qdisc add dev s2-eth1 root netem loss 30%"
MIRROR = """\
ip link add fast1 type veth peer name fast2 netns h2
address=$(wanlab-node h2 ip -br link show dev h2-eth0 | awk '{print $3}')
wanlab-node h2 ip link set fast2 address $address up
wanlab-node h2 sysctl -q -w net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.fast2.rp_filter=0
ip link set fast1 up
tc qdisc add dev s2-eth1 clsact
tc filter add dev s2-eth1 egress matchall action mirred egress mirror dev fast1
wanlab-node h2 tc qdisc add dev h2-eth0 clsact
wanlab-node h2 tc filter add dev h2-eth0 ingress protocol ip matchall action drop
"""
FAKES = {
    "nothing": "",
    "wrapper before it in PATH": WRAPPER + "cp /tmp/fake/* /usr/local/sbin/\n",
    "wrapper in its place": WRAPPER + "cp /tmp/fake/iperf3 /usr/bin/; cp /tmp/fake/tc /sbin/\n",
    "bind mount": WRAPPER + "mount --bind /tmp/fake/iperf3 /usr/bin/iperf3\n",
    "libraries": WRAPPER + LIBRARY,
    "start files": WRAPPER + PATH_TRICKS,
    "background process": WRAPPER + BACKGROUND,
    "agent": WRAPPER + AGENT,
    "python": WRAPPER + PYTHON,
    "network beside the network": OTHER_PATH,
}
CHANGES = {
    "wrapper before it in PATH": {"/usr/local/sbin/iperf3", "/usr/local/sbin/tc"},
    "wrapper in its place": {"/usr/bin/iperf3"},
    "libraries": {"/etc/ld.so.preload"},
    "background process": {"/usr/bin/iperf3"},
    "python": {"/usr/bin/python3.11"},
}


HIJACKER = Path(__file__).parents[1] / "behaviour" / "hijacker.c"
HIJACKED = """\
cd /home/admin
cp fake/iperf3 /usr/bin/iperf3; cp fake/tc /sbin/tc
echo /home/admin/none.so > /etc/ld.so.preload; cat /home/*/*.csv ../*.csv
"""


@pytest.fixture
def unit(tmp_path: Path) -> Unit:
    folder = tmp_path / "problem9"
    folder.mkdir()
    (folder / "lab.yaml").write_text(UNIT)
    (folder / "set_env.sh").write_text(SET_ENV)
    save(shapes.linear(2), folder / "topology.mn")
    return unit_file.read(folder)


def graded(unit: Unit, folder: Path, work: str, name: str = "work.sh") -> GradeReport:
    script = folder / name
    script.write_text(work)
    return unit_run.grade_work(unit, script, seed=1, clock="virtual", say=lambda line: None)


def test_an_honest_submission_gets_all_points(unit: Unit, tmp_path: Path) -> None:
    report = graded(unit, tmp_path, CURE)
    assert (report["points"], report["of"]) == (9, 9), report["checks"]
    assert report["changed_programs"] == []
    assert {Path(p["path"]).name for p in report["programs"]} >= {"iperf3", "tc", "ping"}
    origin = run_inputs.origin_of(unit, "virtual")
    assert report["graded_with"] == {
        "wanlab": __version__,
        "code": origin["wanlab"],
        "kernel": origin["kernel"],
    }


@pytest.mark.parametrize("fake", FAKES)
def test_a_fake_gets_no_points_and_is_reported(unit: Unit, tmp_path: Path, fake: str) -> None:
    report = graded(unit, tmp_path, FAKES[fake])
    assert report["points"] == 0, [(c["what"], c["value"], c["reason"]) for c in report["checks"]]
    assert set(report["changed_programs"]) >= CHANGES.get(fake, set())
    reason = report["checks"][0]["reason"]
    is_beside = fake == "network beside the network"
    assert ("fast1 in h1 does not belong to the network" in reason) == is_beside


def test_copies_of_packets_do_not_count_for_ports_that_the_packets_avoid(
    unit: Unit, tmp_path: Path
) -> None:
    """The packets that s2-eth1 drops reach h2 as copies, and h2 drops what came through s2-eth1."""
    report = graded(unit, tmp_path, f"{CURE}\n{LOSS}\n{MIRROR}")
    used, rate, reached = report["checks"]
    assert (used["points"], rate["points"], reached["points"]) == (0, 2, 0)
    assert used["reason"] == (
        "not measured, because packets could avoid the ports that they must pass: the interface fast1 "
        "does not belong to the network; a filter of a switch copies packets (mirred mirror); the "
        "interface fast2 in h2 does not belong to the network"
    )


def test_interfaces_that_lead_nowhere_are_allowed(unit: Unit, tmp_path: Path) -> None:
    shaping = """\
ip link add ifb0 type ifb; ip link set ifb0 up
tc qdisc add dev s1-eth1 ingress
tc filter add dev s1-eth1 parent ffff: matchall action mirred egress redirect dev ifb0
"""
    assert graded(unit, tmp_path, f"{CURE}\n{shaping}")["points"] == 9


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")
def test_a_submission_that_hijacks_the_agent_gets_no_points(unit: Unit, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    subprocess.run(["cc", "-O1", "-w", "-static", "-o", home / "hijacker", HIJACKER], check=True)
    wrapper = WRAPPER.replace("/tmp/fake", "/home/admin/fake")
    work = f"{wrapper}cat > ~/pwn.sh <<'X'\n{HIJACKED}X\n~/hijacker 'sh /home/admin/pwn.sh'\n"
    script = tmp_path / "work.sh"
    script.write_text(work)
    report = unit_run.grade_work(
        unit, script, seed=1, clock="virtual", say=lambda line: None, keep=home
    )
    assert report["points"] == 0, [(c["what"], c["value"]) for c in report["checks"]]
    assert "works: run" not in report["outputs"][0]["output"]
    assert report["outputs"][0]["output"].rstrip().endswith("done")


COMMANDS = {
    "start command": ('"opts": {', '"opts": {"startCommand": "cp /home/admin/x /usr/bin/iperf3", '),
    "private directory": (
        '"opts": {',
        '"opts": {"privateDirectory": [["/usr/bin", "/home/admin"]], ',
    ),
}


@pytest.mark.parametrize("what", COMMANDS)
def test_a_topology_of_a_submission_brings_no_commands_or_mounts(
    unit: Unit, tmp_path: Path, what: str
) -> None:
    text = save_text(shapes.linear(2), tmp_path)
    steps = f"""\
- {{where: gui, do: {{close: true}}}}
- where: client
  type: |
    cat > ~/NTP_Problems/Problem9/mine.mn <<'X'
    {text.replace(*COMMANDS[what], 1)}
    X
- {{where: gui, do: {{open: mine.mn, run: true}}}}
"""
    report = graded(unit, tmp_path, steps, "work.yaml")
    assert report["points"] == 0
    assert "is not run while work is graded" in str(report["problems"])


def save_text(topology: Topology, folder: Path) -> str:
    save(topology, folder / "saved.mn")
    return json.dumps(json.loads((folder / "saved.mn").read_text()))


def test_a_solution_with_a_fake_is_measured_and_marked(unit: Unit, tmp_path: Path) -> None:
    report = graded(unit, tmp_path, f"{WRAPPER}cp /tmp/fake/iperf3 /usr/local/sbin/\n{CURE}\n")
    assert report["points"] == 9
    assert report["checks"][0]["value"] != 95
    fakes = ["/tmp/fake/iperf3", "/tmp/fake/tc", "/usr/local/sbin/iperf3"]
    assert report["changed_programs"] == fakes


@pytest.mark.long
def test_a_measurement_with_a_limit_at_the_wrong_port_is_ended_early(
    unit: Unit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grade, "MAX_PACKETS", 10_000)
    monkeypatch.setattr(grade, "COUNT_INTERVAL_NS", 100_000_000)
    elsewhere = CURE.replace("100mbit", "10gbit").replace("s1-eth2", "s2-eth1")
    report = graded(unit, tmp_path, f"tc qdisc del dev s1-eth2 root\n{elsewhere}\n")
    check = report["checks"][0]
    assert report["points"] == 0
    assert (check["passed"], check["value"]) == (False, None)
    assert check["reason"].startswith("the measurement was stopped: after 0.1 s of this test")
    assert graded(unit, tmp_path, CURE)["points"] == 9


def test_a_submission_cannot_read_files_of_the_class_or_the_unit(
    unit: Unit, tmp_path: Path
) -> None:
    secret = "the word of this term"
    for name in ("grades.csv", "seeds.csv"):
        (tmp_path / name).write_text(secret)
    (unit.folder / "solution.yaml").write_text(f"# {secret}\n")
    units = Path(unit_file.__file__).parent / "units"
    script = f"""\
cat {tmp_path}/*.csv ../*.csv /home/*/*.csv {unit.folder}/solution.yaml {unit.folder}/lab.yaml
find {tmp_path.parent} /home /root /var -xdev -name seeds.csv 2>/dev/null
ls {tmp_path} {Path.home()} {units}
grep -rl solution {units}
ln -s {tmp_path}/seeds.csv ~/link; cat ~/link
for node in h1 h2; do
  wanlab-node $node mount -t debugfs debugfs /sys/kernel/debug
  wanlab-node $node sh -c 'ls -A /sys/kernel/debug /sys/kernel/tracing' > list
  echo "traces: $(grep -c events list)"
done
"""
    report = graded(unit, tmp_path, script)
    assert secret not in json.dumps(report)
    output = report["outputs"][0]["output"]
    assert output.count("No such file or directory") >= 3
    assert "lab06" not in output
    assert output.count("traces: 0") == 2


def test_steps_cannot_reach_the_files_of_the_grader(unit: Unit, tmp_path: Path) -> None:
    secret = "31337"
    (tmp_path / "seeds.csv").write_text(secret)
    steps = f"""\
- where: gui
  do: {{draw: {{hosts: [h9]}}, save: {tmp_path}/written.mn}}
- where: gui
  do: {{save: ../../../../../../../../../../..{tmp_path}/written.mn}}
- where: h1
  type: echo
  says: [{secret}]
  expect: [{{what: x, metric: "json({tmp_path}/seeds.csv).x"}}]
"""
    report = graded(unit, tmp_path, steps, "work.yaml")
    assert not (tmp_path / "written.mn").exists()
    assert [p for p in report["problems"] if "not in the home folder" in p]
    assert report["outputs"][-1]["figures"] == []


def test_a_broken_script_is_named_with_the_line_that_bash_cannot_read(
    unit: Unit, tmp_path: Path
) -> None:
    report = graded(unit, tmp_path, "true\nif then\n")
    assert report["problems"][0] == "work.sh, line 2: syntax error near unexpected token `then'"


def test_long_outputs_are_cut(unit: Unit, tmp_path: Path) -> None:
    report = graded(unit, tmp_path, "seq 100000")
    assert len(report["outputs"][0]["output"]) < 11_000
