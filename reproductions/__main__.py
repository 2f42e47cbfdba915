"""Repeat a paper's experiments: ``python -m reproductions as00 --scale middle -o build/papers/as00``.

A paper lives in a package of its own, ``reproductions.<name>``, with ``reproduce(folder, scale) -> statements``:
everything is written below ``folder``, and each statement says as text whether it was kept. It may also take
``say(text)`` and ``progress(steps, what)``, to tell a person at a terminal how far it is.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from inspect import signature
from pathlib import Path

from reproductions import SCALES
from sfumato.cli import progress, say

PAPERS = {
    "as00": "Agrawal & Srikant 2000: trees from reports",
    "egs03": "Evfimievski, Gehrke & Srikant 2003: breaches and baskets",
    "ib04": "Islam & Brankovic 2004: releasing a table",
    "lkt08": "Liu, Kantarcioglu & Thuraisingham 2008: levels of privacy",
}
EXAMPLES = """examples:
  python -m reproductions as00 --scale quick
  python -m reproductions as00 --scale middle      at most a quarter of an hour
  python -m reproductions as00 -o results/as00     half an hour or more; stop and start it as you like
"""


def main(arguments: list[str] | None = None) -> int:
    """Read the command line, repeat one paper, and print each statement with its verdict."""
    about = "Repeat a paper's experiments: figures, tables, and which of its statements hold, and why.\n\n"
    about += "\n".join(f"  {name:8}{what}" for name, what in PAPERS.items())
    parser = argparse.ArgumentParser(
        prog="python -m reproductions",
        description=about,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paper", type=str.lower, choices=PAPERS, metavar="PAPER", help=f"one of {', '.join(PAPERS)}")
    parser.add_argument("--scale", choices=SCALES, default="full", help="how large (the default: full)")
    parser.add_argument("-o", "--output", type=Path, help="the folder for figures, tables and the page")
    wanted = parser.parse_args(arguments)
    folder = wanted.output or Path(f"sfumato-{wanted.paper}")
    if folder.exists() and not folder.is_dir():
        parser.error(f"{folder}: is a file; name a folder")
    again = import_module(f"reproductions.{wanted.paper}").reproduce
    folder.mkdir(parents=True, exist_ok=True)
    say(PAPERS[wanted.paper])
    telling = {"say": say, "progress": progress}
    understood = {key: tell for key, tell in telling.items() if key in signature(again).parameters}
    for statement in again(folder, scale=wanted.scale, **understood) or ():
        say(str(statement))
    say(f"everything is in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
