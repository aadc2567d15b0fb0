"""Ready-made tests of a path under load, in the sense of Flent (https://flent.org).

    catalog     what each test sends: "rrul" is 4 flows up, 4 down and 3 pings
    experiment  performs one test in a network, as an experiment
    curves      what arrived over time, and how long pings took
    figures     figures of one or more runs
    summary     the table that is printed
    flent_file  the same runs as data files of Flent

`wanlab test` is the command line of all of it.
"""
