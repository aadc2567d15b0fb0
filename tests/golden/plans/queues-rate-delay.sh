# fifo
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 1514000

# fq
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 1514000
tc qdisc add dev s1-eth1 parent 2: handle 3: fq

# fq_codel
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 1514000
tc qdisc add dev s1-eth1 parent 2: handle 3: fq_codel

# codel
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 1514000
tc qdisc add dev s1-eth1 parent 2: handle 3: codel

# red
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 1514000
tc qdisc add dev s1-eth1 parent 2: handle 3: red limit 1514000 min 126166 max 378500 avpkt 1000 burst 210 probability 0.02 bandwidth 10000000bit

# pie
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 1514000
tc qdisc add dev s1-eth1 parent 2: handle 3: pie

# fq_pie
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 1514000
tc qdisc add dev s1-eth1 parent 2: handle 3: fq_pie

# sfq
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 1514000
tc qdisc add dev s1-eth1 parent 2: handle 3: sfq

# cake
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 1514000
tc qdisc add dev s1-eth1 parent 2: handle 3: cake

# sfb
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 1514000
tc qdisc add dev s1-eth1 parent 2: handle 3: sfb

# choke
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 1514000
tc qdisc add dev s1-eth1 parent 2: handle 3: choke limit 1000 min 83 max 250 bandwidth 10000000bit

# fifo-bytes
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 2500000

# fq-bytes
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 2500000
tc qdisc add dev s1-eth1 parent 2: handle 3: fq limit 1666

# fq_codel-bytes
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 2500000
tc qdisc add dev s1-eth1 parent 2: handle 3: fq_codel limit 1666

# codel-bytes
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 2500000
tc qdisc add dev s1-eth1 parent 2: handle 3: codel limit 1666

# red-bytes
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 2500000
tc qdisc add dev s1-eth1 parent 2: handle 3: red limit 2500000 min 208333 max 625000 avpkt 1000 burst 347 probability 0.02 bandwidth 10000000bit

# pie-bytes
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 2500000
tc qdisc add dev s1-eth1 parent 2: handle 3: pie limit 1666

# fq_pie-bytes
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 2500000
tc qdisc add dev s1-eth1 parent 2: handle 3: fq_pie limit 1666

# sfq-bytes
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 2500000
tc qdisc add dev s1-eth1 parent 2: handle 3: sfq limit 1666

# cake-bytes
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 2500000
tc qdisc add dev s1-eth1 parent 2: handle 3: cake memlimit 2500000

# sfb-bytes
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 2500000
tc qdisc add dev s1-eth1 parent 2: handle 3: sfb limit 1666

# choke-bytes
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 2500000
tc qdisc add dev s1-eth1 parent 2: handle 3: choke limit 1666 min 138 max 416 bandwidth 10000000bit

# fifo-packets
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 151400
tc qdisc add dev s1-eth1 parent 2: handle 3: pfifo limit 100

# fq-packets
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 151400
tc qdisc add dev s1-eth1 parent 2: handle 3: fq limit 100

# fq_codel-packets
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 151400
tc qdisc add dev s1-eth1 parent 2: handle 3: fq_codel limit 100

# codel-packets
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 151400
tc qdisc add dev s1-eth1 parent 2: handle 3: codel limit 100

# red-packets
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 151400
tc qdisc add dev s1-eth1 parent 2: handle 3: red limit 151400 min 12616 max 37850 avpkt 1000 burst 21 probability 0.02 bandwidth 10000000bit

# pie-packets
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 151400
tc qdisc add dev s1-eth1 parent 2: handle 3: pie limit 100

# fq_pie-packets
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 151400
tc qdisc add dev s1-eth1 parent 2: handle 3: fq_pie limit 100

# sfq-packets
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 151400
tc qdisc add dev s1-eth1 parent 2: handle 3: sfq limit 100

# cake-packets
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 151400
tc qdisc add dev s1-eth1 parent 2: handle 3: cake memlimit 151400

# sfb-packets
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 151400
tc qdisc add dev s1-eth1 parent 2: handle 3: sfb limit 100

# choke-packets
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 151400
tc qdisc add dev s1-eth1 parent 2: handle 3: choke limit 100 min 8 max 25 bandwidth 10000000bit

# codel-options
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 26458664
tc qdisc add dev s1-eth1 parent 2: handle 3: codel limit 17476 target 5ms interval 100ms ecn

# red-options
tc qdisc add dev s1-eth1 root handle 1: netem limit 1000000 delay 20ms
tc qdisc add dev s1-eth1 parent 1: handle 2: tbf rate 10000000bit burst 3028 limit 26214400
tc qdisc add dev s1-eth1 parent 2: handle 3: red limit 26214400 min 2912711 avpkt 1000 burst 2913 probability 0.02 bandwidth 10000000bit max 8738133 adaptive

