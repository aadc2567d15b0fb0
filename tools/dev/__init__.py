"""The words of `./dev`. Standard library only: it runs before anything is installed.

command      the words, and what each does
setup        what is missing, said first, then done: packages, .venv, the kernel
  packages   Debian packages: which there must be, which are missing, how to install them
  venv       the folder .venv and the stamp that tells whether it is up to date
  kernel     what kernel/ has to say
  ui         the browser front end: its packages, and the pages built from ui/
checks       ruff, mypy, codespell and tsc, with one summary
progress     runs a command and shows how far it is
"""
