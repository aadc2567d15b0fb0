"""The laboratory in the browser: `wanlab web`.

protocol     what browser and server send each other    server       ports, routes, connections
drawing      the document that is drawn                 running      the network, and its time
terminals    programs in it                             timeline     what is kept of each run
packets      packets in words                           measuring    curves, records, captures
lessons      the course                                 classroom    a server for many students

In this folder is what several of them use, and `laboratory`, which connects them and carries out
commands. The page `web-map` of the project's documentation leads to each module.
"""
