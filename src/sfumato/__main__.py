"""`python -m sfumato`: the command line."""

from sfumato.cli import main

main()
