"""Measures the tests: makes small mistakes in the code, and counts those that no test notices.

mutants     the mistakes that can be made in a source file
scope       which modules are mutated, and which test files import them
choice      which tests judge a mutant
judge       runs tests in forked processes, each with one mutant
rebinding   gives a module that has been imported the constants of its mutated source
pool        those processes: their limits and their ends
run         one run: traces tests, and has the mutants judged that have no result
store       results, so that an interrupted run can be resumed
accepted    survivors that are known, each with its reason
report      the table and the survivors
checkout    the copy of the checkout in which tests run

`./dev mutate` runs it. The code in this checkout is never changed: a mutant exists only in the memory of
the process that judges it.
"""
