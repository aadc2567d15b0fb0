"""How long a test waits for what is certain to come, before it calls it hung.

A test that passes never waits this long, however busy the computer is.
"""

PATIENCE_S = 300.0
