"""Test a node's shell: its state, its output, and how it is interrupted."""

from mininet.net import Mininet
from mininet.node import Node
from mininet.topo import SingleSwitchTopo
from mininet.util import errRun, pmonitor, quietRun, waitListening

net = Mininet(SingleSwitchTopo(2))
net.start()
h1, h2, s1 = net.get("h1", "h2", "s1")

# one shell for all commands
assert h1.cmd("cd /usr; A=7; f() { echo f$1; }") == ""
assert h1.cmd("pwd; echo $A; f 3") == "/usr\r\n7\r\nf3\r\n"
assert (h1.cmd("(exit 3)"), h1.lastStatus) == ("", 3)
assert h1.cmd("echo $?").strip() == "3"
assert h1.cmd("echo", "a", 1, "b").strip() == "a 1 b"
assert h1.cmd(["echo", "list"]).strip() == "list"
assert h1.cmd("echo 'two\nlines'; cat <<E\nhere\nE\necho end") == "two\r\nlines\r\nhere\r\nend\r\n"
assert h1.cmd("printf 'no end of line'") == "no end of line"
assert h1.cmd("printf '\\177 \\001 x'") == "\x7f \x01 x"
assert h1.cmd("echo 'a!b' \"!\" '\\n' $'\\t'") == "a!b ! \\n \t\r\n"
assert h1.cmd("echo ä€😀").strip() == "ä€😀"
long = "x" * 20_000
assert h1.cmd("echo", long).strip() == long
assert "unexpected EOF" in h1.cmd("echo 'unbalanced")
assert h1.cmd("") == ""
assert len(h1.cmd("seq 100000").split()) == 100_000

# in the background
h1.cmd("sleep 1000 &")
pid = h1.lastPid
assert int(h1.cmd("echo $!")) == pid
assert h1.cmd(f"kill {pid}; wait $! 2>/dev/null; echo $?") == "143\r\n"

# asynchronously
h1.sendCmd("echo first; sleep 5; echo second")
assert h1.waiting
assert h1.monitor(timeoutms=1000).strip() == "first"
assert h1.monitor(timeoutms=1000) == ""
try:
    h1.sendCmd("echo third")
except AssertionError as error:
    assert "busy" in str(error)
else:
    raise SystemExit("a busy shell took a command")
assert h1.waitOutput().strip() == "second"
assert not h1.waiting
h1.sendCmd("sleep 100000")
h1.sendInt()
h1.waitOutput()
assert h1.lastStatus == 130
h1.sendInt()  # no process listens there
assert h1.cmd("echo alive").strip() == "alive"
h1.sendCmd("sleep 7777", printPid=True)
while h1.lastPid is None:
    h1.monitor(timeoutms=10)
assert "sleep7777" in quietRun(f"cat /proc/{h1.lastPid}/cmdline").replace("\0", "")
h1.sendInt()
h1.waitOutput()
h1.sendCmd("read line; echo got $line")
h1.write("typed\n")
assert h1.waitOutput().strip() == "got typed"

# a shell that ends is replaced by another
h1.cmd("exit 5")
assert h1.cmd("echo again").strip() == "again"

# in its own namespaces
assert "h1-eth0" in h1.cmd("ls /sys/class/net") and "h2-eth0" not in h1.cmd("ip link")
assert "s1-eth1" in s1.cmd("ip link")
assert quietRun(f"nsenter -t {h1.pid} -n ip -br addr show h1-eth0").split()[2] == "10.0.0.1/8"

# separate processes
out, err, status = h1.pexec("ls /nowhere")
assert (out, status) == ("", 2) and "/nowhere" in err
assert h1.popen("echo 'a b'").communicate() == (b"a b\n", b"")
assert h1.popen(["echo", "a b"]).communicate()[0] == b"a b\n"
assert h1.popen("echo", "x", 3).communicate()[0] == b"x 3\n"
assert h1.popen("echo $HOSTNAME; pwd", shell=True, cwd="/usr").communicate()[0].endswith(b"/usr\n")
assert h1.popen("pwd", cwd="/etc", universal_newlines=True).communicate()[0] == "/etc\n"
sleeper = h1.popen("sleep 1000")
sleeper.terminate()
assert sleeper.wait() == -15
popens = {h: h.popen("ping", "-c2", other.IP()) for h, other in ((h1, h2), (h2, h1))}
lines = [(host, line) for host, line in pmonitor(popens, timeoutms=5000) if host]
assert sum("64 bytes" in line for _, line in lines) == 4 and not popens
assert errRun("sh -c 'echo e >&2; exit 4'") == ("", "e\n", 4)

# servers
server = h2.popen("python3 -m http.server 80")
assert waitListening(h1, h2, 80, timeout=20)
assert not waitListening(h1, "10.0.0.2", 81, timeout=1)
fetch = "import urllib.request as r; print(r.urlopen('http://10.0.0.2').read().decode())"
assert "Directory listing" in h1.cmd(f'python3 -c "{fetch}"')
server.terminate()
server.wait()

# watched together
for host in net.hosts:
    host.sendCmd(f"for i in 1 2 3; do echo {host} $i; sleep 1; done")
seen = []
for host, line in net.monitor(timeoutms=3000):
    if host is None:
        break
    seen.append((host.name, line.strip()))
assert sorted(seen) == [(n, f"{n} {i}") for n in ("h1", "h2") for i in (1, 2, 3)], seen
for host in net.hosts:
    host.waitOutput()
assert Node.fdToNode(h1.stdout.fileno()) is h1
net.stop()
print("done")
