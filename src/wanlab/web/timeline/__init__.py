"""What is kept of each run, and the way back to an earlier instant of it.

branches   return, continue, compare       branch    all that is kept of one
session_events, session_notes    the events on the timeline     session_files    session files
transcripts   output of terminals          curve_memory    samples of curves
"""
