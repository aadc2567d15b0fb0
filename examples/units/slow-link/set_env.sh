#!/bin/sh
# Sets up the network. The values that the seed draws are variables here.
set -eu
tc qdisc replace dev s1-eth2 root handle 1: netem delay "${delay}ms" limit 10000
tc qdisc replace dev s1-eth2 parent 1: handle 2: tbf rate "${slow}mbit" burst 20000 limit 200000
echo "slow-link: the link was sold with $rate Mbit/s and $delay ms"
