"""`./dev selftests`: runs the Linux kernel's own network tests in wanlab's machines.

`sources` provides the tests, `suites` lists them, `perform` runs one in a machine, `outcome` reads what
it printed, and `expected` knows which failures are understood (expected.toml).
"""
