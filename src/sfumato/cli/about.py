"""What stands before any command."""

from __future__ import annotations

from typing import Annotated

import typer

import sfumato


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"sfumato {sfumato.__version__}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")]


def about(version: Version = False) -> None:
    """Learn from answers that people blurred themselves: check a plan, blur the answers, reconstruct the crowd."""
