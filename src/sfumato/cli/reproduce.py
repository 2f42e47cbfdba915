"""`sfumato reproduce`: a paper's experiments again, with its statements checked one by one.

A paper lives in a module of its own, ``sfumato.papers.<name>``, with ``reproduce(folder, scale) -> statements``:
everything is written below ``folder``, and each statement says as text whether it was kept. It may also take
``say(text)`` and ``progress(steps, what)``, to tell a person at a terminal how far it is.
"""

from __future__ import annotations

from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli import progress, say
from sfumato.papers import SCALES

PAPERS = {
    "as00": "Agrawal & Srikant 2000: trees from reports",
    "egs03": "Evfimievski, Gehrke & Srikant 2003: breaches and baskets",
    "ib04": "Islam & Brankovic 2004: releasing a table",
    "lkt08": "Liu, Kantarcioglu & Thuraisingham 2008: levels of privacy",
}
EXAMPLES = """Examples:

  sfumato reproduce as00 --quick

  sfumato reproduce as00 --scale middle    (at most a quarter of an hour)

  sfumato reproduce as00 -o results/as00   (hours; stop and start it as you like)"""

Paper = Annotated[str, typer.Argument(metavar="PAPER", help=f"One of {', '.join(PAPERS)}.", show_default=False)]
Quick = Annotated[bool, typer.Option("--quick", help="The same as --scale quick: does it work, not what does it show.")]
ScaleOption = Annotated[str | None, typer.Option("--scale", help=f"{', '.join(SCALES)} (the default: full).")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="The folder for figures, tables and the page.")]


def reproduce(paper: Paper, scale: ScaleOption = None, quick: Quick = False, output: Output = None) -> None:
    """Repeat a paper's experiments: figures, tables, and which of its statements hold, and why."""
    name = paper.lower()
    if name not in PAPERS:
        raise ValueError(f"paper {paper!r} is unknown; choose one of {', '.join(PAPERS)}")
    size = scale or ("quick" if quick else "full")
    if size not in SCALES or (quick and size != "quick"):
        asked = f"scale {size!r}" + (" with --quick" if quick else "")
        raise ValueError(f"{asked} is not possible; choose one of {', '.join(SCALES)}")
    folder = output if output is not None else Path(f"sfumato-{name}")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder}: is a file; name a folder")
    again = import_module(f"sfumato.papers.{name}").reproduce
    folder.mkdir(parents=True, exist_ok=True)
    say(PAPERS[name])
    telling = {"say": say, "progress": progress}
    understood = {key: tell for key, tell in telling.items() if key in signature(again).parameters}
    for statement in again(folder, scale=size, **understood) or ():
        say(str(statement))
    say(f"everything is in {folder}")
