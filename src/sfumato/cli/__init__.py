"""The command line: `sfumato check | randomize | reconstruct | …`.

A command lives in a module of its own beside this file, with a function ``register(app)``; its name stands in
``COMMANDS``, in the order in which data flows. Bad input is a ``ValueError``, ``TypeError`` or ``OSError`` anywhere
below: it becomes one line on stderr and exit code 2.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

COMMANDS = (
    "check",
    "advise",
    "randomize",
    "reconstruct",
    "train",
    "predict",
    "synthesize",
    "itemsets",
    "release",
    "audit",
    "reproduce",
    "demo",
)

BAD_INPUT = 2
INTERRUPTED = 130


def application() -> typer.Typer:
    """The typer application with every command registered."""
    import typer

    from sfumato.cli.about import about

    app = typer.Typer(
        name="sfumato",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(about)
    for name in COMMANDS:
        import_module(f"sfumato.cli.{name}").register(app)
    return app


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code: 0, or 2 after one line that says what to correct."""
    from typer.main import get_command

    try:
        outcome = get_command(application()).main(list(arguments), prog_name="sfumato", standalone_mode=False)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        line = _one_line(error)
        if line is None or os.environ.get("SFUMATO_TRACEBACK"):
            raise
        print(f"sfumato: {line}", file=sys.stderr)
        return BAD_INPUT
    return outcome if isinstance(outcome, int) else 0


def main() -> None:
    """Entry point of the `sfumato` script."""
    try:
        import typer  # noqa: F401
    except ImportError:
        sys.exit("sfumato: the command line needs the extra 'cli'; install it with: pip install 'sfumato[cli]'")
    sys.exit(run(sys.argv[1:]))


def _one_line(error: Exception) -> str | None:
    """What to tell the person at the keyboard; None for a defect of ours, which deserves its traceback."""
    if hasattr(error, "format_message"):  # typer's own usage errors
        text = error.format_message() or "no command given"
        return f"{_flat(text).rstrip('.')}; see sfumato --help"
    if isinstance(error, ImportError):
        return f"{_flat(error)}; install everything the commands need with: pip install 'sfumato[all]'"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {(error.strerror or 'cannot be used').lower()}"
    return _flat(error) if isinstance(error, (ValueError, TypeError, OSError)) else None


def _flat(text: object) -> str:
    return " ".join(str(text).split())
