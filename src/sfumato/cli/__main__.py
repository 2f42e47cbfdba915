"""`python -m sfumato.cli`: run the `sfumato` script."""

from sfumato.cli import main

main()
