"""`python -m sfumato.cli`: the same as the `sfumato` script."""

from sfumato.cli import main

main()
