# The names that `from wanlab import ...` offers. One line per name: `__init__.py` reads this file.
# ruff: isort: skip_file

__version__: str

# Live networks
from wanlab.network import Network as Network
from wanlab.network import Process as Process

# Topologies
from wanlab.topology import Host as Host
from wanlab.topology import Port as Port
from wanlab.topology import Router as Router
from wanlab.topology import Switch as Switch
from wanlab.topology import Topology as Topology
from wanlab.topology import link as link
from wanlab.topology import load as load
from wanlab.topology import save as save
from wanlab.topology import shapes as shapes

# Measuring a network while it runs
from wanlab.measure import Capture as Capture
from wanlab.measure import Flows as Flows
from wanlab.measure import Ports as Ports
from wanlab.measure import Queues as Queues
from wanlab.measure import Sampling as Sampling
from wanlab.measure import sample as sample
from wanlab.measure import drops as drops

# Output of programs
from wanlab.measure import iperf3 as iperf3
from wanlab.measure import ping as ping

# Records and figures
from wanlab.record import Record as Record
from wanlab import plot as plot

# Experiments
from wanlab.experiments import Design as Design
from wanlab.experiments import Run as Run
from wanlab.experiments import Sweep as Sweep
from wanlab.experiments import experiment as experiment
