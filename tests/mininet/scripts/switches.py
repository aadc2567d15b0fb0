"""Use the parameters of Open vSwitches and of controllers that other programs implement."""

import os
from pathlib import Path

from mininet.net import Mininet
from mininet.node import Controller, OVSBridge, OVSSwitch, Ryu
from mininet.util import quietRun, which

CONTROLLER = """#!/bin/sh
echo "$PWD|$*" > "$0.called"
exec sleep 4321
"""

# -- switches: what the database of Open vSwitch says about them

OVSSwitch.setup()
OVSSwitch.checkSetup()
assert not OVSSwitch.isOldOVS()
net = Mininet(controller=None, listenPort=7700)
s1 = net.addSwitch(
    "s1",
    cls=OVSSwitch,
    inband=True,
    reconnectms=5000,
    protocols="OpenFlow13",
    batch=True,
    opts="other_config:mac-aging-time=77",
)
s2 = net.addSwitch("s2", cls=OVSBridge, batch=True)
h1, h2 = net.addHost("h1"), net.addHost("h2")
net.addLink(h1, s1, port2=4)
net.addLink(s1, s2)
net.addLink(s2, h2)
c0 = net.addController("c0", Controller, port=7711, protocol="tcp", verbose=True, cip="127.0.0.1")
assert s1.controller_targets([c0]) == ["tcp:127.0.0.1:7711", "ptcp:7700"]
assert s1.bridgeOpts() == " other_config:disable-in-band=false other_config:mac-aging-time=77"
assert s1.intfOpts(s1.intf("s1-eth4")) == " ofport_request=4"
assert OVSSwitch.batchStartup([s1, s2]) == OVSSwitch.batchShutdown([s1, s2]) == [s1, s2]
net.start()
assert net.waitConnected(timeout=20)
s1.TCReapply(s1.intf("s1-eth4"))
assert net.pingAll() == 0
assert "wanlab-controller" in Controller.isAvailable()
settings = s1.vsctl(
    "get bridge s1 other_config:disable-in-band other_config:mac-aging-time protocols"
)
assert settings.split() == ['"false"', '"77"', "[OpenFlow13]"], settings
assert s1.vsctl("get interface s1-eth4 ofport").strip() == "4"
uuids = s1.controllerUUIDs()
assert len(uuids) == 2 and s1.controllerUUIDs(update=True) == uuids
backoffs = sorted(s1.vsctl("get controller", uuid, "max_backoff").strip() for uuid in uuids)
assert backoffs == ["5000", "[]"], backoffs
assert (s1.listenPort, s2.listenPort) == (7700, 7701)
assert "s1-eth4" in quietRun("ovs-ofctl -O OpenFlow13 show tcp:127.0.0.1:7700")
net.stop()
net.delController(c0)
assert net.controllers == [] and "c0" not in net

# -- controllers that are other programs: where and how they are called, and that they end

fake = Path("controller.sh").resolve()
fake.write_text(CONTROLLER)
fake.chmod(0o755)
called = Path(f"{fake}.called")
expected = {
    f"/usr|-v listen:7720 {fake}": Controller(
        "c1", command=str(fake), cdir="/usr", cargs=f"listen:%d {fake}", port=7720, verbose=True
    ),
    f"{Path.cwd()}|--ofp-tcp-listen-port 7721 a.py b.py": Ryu(
        "c2", command=str(fake), ryuArgs=["a.py", "b.py"], port=7721
    ),
}
for text, controller in expected.items():
    controller.start()
    assert (
        controller.cmd(f"while [ ! -s {called} ]; do sleep 0.01; done; cat {called}").strip()
        == text
    )
    pid = controller.lastPid
    called.unlink()
    controller.stop()
    assert not os.path.exists(f"/proc/{pid}") or "Z" in Path(f"/proc/{pid}/stat").read_text()  # noqa: PTH110
if not which("ryu"):
    try:
        Ryu("c3")
    except Exception as error:
        assert "Ryu is not installed" in str(error) and "os-ken" in str(error), error
    else:
        raise SystemExit("Ryu is there?")
print("done")
