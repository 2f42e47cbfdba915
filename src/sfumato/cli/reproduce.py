"""`sfumato reproduce`: say where the papers' experiments are, which the package does not install."""

from __future__ import annotations

from typing import Annotated

import typer

EXAMPLES = """Example:

  sfumato reproduce as00"""

PAPERS = ("as00", "egs03", "ib04", "lkt08")
Paper = Annotated[str, typer.Argument(metavar="PAPER", help=f"One of {', '.join(PAPERS)}.")]


def reproduce(paper: Paper = "as00") -> None:
    """Say where the experiments of the papers are: beside the source, not in the installed package."""
    if paper not in PAPERS:
        raise ValueError(f"paper {paper!r} is unknown; choose one of {', '.join(PAPERS)}")
    raise ValueError(
        "the papers' experiments are not installed with sfumato; in a checkout of its source run "
        f"python -m reproductions {paper} --scale quick, or make papers"
    )
