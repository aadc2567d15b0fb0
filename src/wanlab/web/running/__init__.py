"""The running network: its thread, when its time passes, and changes while it runs.

session    starts and stops it     worker        the thread that owns it     run_plan   what to run
pacer      when time passes        session_clock    what browsers know of it
breakpoints, event_steps, slow_motion    what only virtual time allows
live_ports, port_changes, session_links    links and ports, and what `tc` changes at them
terminal_settings    what other commands change, for the drawing
"""
