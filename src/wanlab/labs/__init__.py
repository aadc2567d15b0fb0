"""The course: lessons, topologies and steps as data (units/), and the modules that run and grade them.

Units            catalog, unit, unit_file, sources, durations, student_files
Performing them  runner, lab_network, shell, prompt, canvas, step_samples
Comparing        outcome, grade, checking, check_selftest
Runs             unit_run, series, report, table, page, pictures, summary

`scripts` are the programs that the manual has students type: plot_iperf.sh, plot_q.sh, ...
"""
