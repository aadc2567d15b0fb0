"""Terminals of the running network, and the commands that are typed in them.

terminals    programs and their output     node_terminals    opened at nodes by browsers
shell_marks  which command, and how it ended     key_streams    keys reach a program once
"""
