"""How long a test waits for an event that must come, before it fails.

A test that passes never waits this long, however busy the computer is.
"""

PATIENCE_S = 300.0
