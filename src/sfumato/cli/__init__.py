"""The command line: `sfumato check | randomize | reconstruct | …`.

A command is a module beside this file with a function of the same name and its ``EXAMPLES``, or with a typer
application of that name for a group of commands. Options that belong together are a dataclass (`options`). The names
stand in ``COMMANDS``, in the order in which data flows; a module is imported when its command is called. Bad input
raises a ``ValueError``, ``TypeError`` or ``OSError`` anywhere below, which becomes one line on stderr and exit code 2.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from sfumato.prose import json_text, visible

if TYPE_CHECKING:
    import typer
    from rich.console import Console

COMMANDS = (
    "check", "advise", "randomize", "reconstruct", "regress", "train", "predict", "synthesize", "itemsets", "release",
    "audit", "reproduce", "demo", "device", "serve", "simulate", "survey",
)

Step = TypeVar("Step")
BAD_INPUT = 2
"""The exit code for bad input or configuration; shells use it for wrong usage."""
INTERRUPTED = 130
"""The exit code after Ctrl-C: as in shells, 128 and the number of the signal SIGINT, 2."""
STOPPED = "sfumato: interrupted; nothing half-written is left behind"


def main() -> None:
    """Run the `sfumato` script: the command of the process's arguments."""
    import signal

    signal.signal(signal.SIGINT, _stop)
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        print(_version())
        return
    try:
        import typer  # noqa: F401
    except ImportError:
        sys.exit("sfumato: the command line needs the extra 'cli'; install it with: pip install 'sfumato[cli]'")
    sys.exit(run(arguments))


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code.

    0: it is done. 2: the input is bad, after one line on stderr that says what to correct. 130: it was interrupted.
    Others are the command's own.
    """
    from typer import Abort
    from typer.main import get_command

    try:
        app = application([name for name in COMMANDS if name in arguments[:1]] or COMMANDS)
        command = partial(get_command(app).main, list(arguments), prog_name="sfumato", standalone_mode=False)
        outcome = copy_context().run(command)  # whether errors show values is each command's own
    except (KeyboardInterrupt, Abort):
        outcome = INTERRUPTED
    except Exception as error:
        line = _one_line(error)
        if line is None or os.environ.get("SFUMATO_TRACEBACK"):
            raise
        print(f"sfumato: {line}", file=sys.stderr)
        return BAD_INPUT
    if outcome == INTERRUPTED:  # which newer versions of typer return of themselves
        print(STOPPED, file=sys.stderr)
    return outcome if isinstance(outcome, int) else 0


def application(commands: Sequence[str] = COMMANDS) -> typer.Typer:
    """Return the typer application (the command line) with the commands of these names, whose modules are imported."""
    import typer

    from sfumato.cli.options import with_options

    app = typer.Typer(
        name="sfumato", no_args_is_help=True, add_completion=False, rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    def show_version(wanted: bool) -> None:
        if wanted:
            print(_version())
            raise typer.Exit

    option = typer.Option(False, "--version", callback=show_version, is_eager=True, help="Show the version.")

    @app.callback()
    def about(version: bool = option) -> None:
        """Learn from answers that people blurred themselves: check a plan, blur the answers, reconstruct the crowd."""

    for name in commands:
        module = import_module(f"sfumato.cli.{name}")
        command = getattr(module, name)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(epilog=module.EXAMPLES)(with_options(command))
    return app


def _version() -> str:
    """Return the name and the version of the package."""
    import sfumato

    return f"sfumato {sfumato.__version__}"


def _stop(signal: int, frame: Any) -> NoReturn:
    """End the process at once after Ctrl-C, and remove unfinished files.

    An exception would be swallowed or reworded if it came in the middle of an import or of a library's callback.
    """
    files = sys.modules.get("sfumato.tables.files")
    for part in list(getattr(files, "UNFINISHED", ())):
        part.unlink(missing_ok=True)
    show_cursor = "\x1b[?25h\r\x1b[K" if sys.stderr.isatty() else ""  # progress hides it
    os.write(2, f"{show_cursor}{STOPPED}\n".encode())
    os._exit(INTERRUPTED)


def _one_line(error: Exception) -> str | None:
    """Return an error as one line for the user; None for a defect of sfumato, which is shown with its traceback.

    The line says what to correct.
    """
    if hasattr(error, "format_message"):  # typer's own usage errors
        text = error.format_message() or "no command given"
        return f"{_flat(text).rstrip('.')}; see sfumato --help"
    if isinstance(error, ImportError):
        return f"{_flat(error)}; install everything the commands need with: pip install 'sfumato[all]'"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{_flat(error.filename)}: {(error.strerror or 'cannot be used').lower()}"
    return _flat(error) if isinstance(error, (ValueError, TypeError, OSError)) else None


def _flat(text: object) -> str:
    """Return a text in one line, without characters that a terminal would obey."""
    return visible(" ".join(str(text).split()))


# --- output of commands: tables and progress for a person at a terminal, JSON for machines --------------------------


def console() -> Console:
    """Return rich's console on standard output: plain text without colours if that is not a terminal."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())


def say(text: str = "") -> None:
    """Print a result for a person on standard output, without characters that a terminal would obey."""
    console().print(visible(text), markup=False)


def say_written(*paths: object) -> None:
    """Print the path of every file that was written; None stands for a file that was not wanted."""
    for path in paths:
        if path is not None:
            say(f"written to {path}")


def say_table(rows: Iterable[Sequence[str]], words: Sequence[str] = (), numbers: Sequence[str] = ()) -> None:
    """Print rows of texts as a table for a person, with headings.

    ``words``: the headings of the first columns, aligned left; ``numbers``: of the columns after them, aligned right.
    """
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=any([*words, *numbers]))
    for title in words:
        table.add_column(title)
    for title in numbers:
        table.add_column(title, justify="right")
    for row in rows:
        table.add_row(*(escape(visible(cell)) for cell in row))
    console().print(table)


def note(text: str) -> None:
    """Print a remark for a person on stderr, apart from the results on standard output."""
    print(f"sfumato: {visible(text)}", file=sys.stderr)


def emit_json(value: Any) -> None:
    """Print a result as JSON on standard output, for machines."""
    print(json_text(value, indent=2))


def progress(steps: Iterable[Step], what: str) -> Iterator[Step]:
    """Yield the steps of some work one by one, with a progress bar named ``what`` on stderr if that is a terminal."""
    steps = list(steps)
    with counting(what) as show_progress:
        for done, step in enumerate(steps, 1):
            yield step
            show_progress(done, len(steps))


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on stderr, if that is a terminal, during the block; yield a function of (done, total)."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    bar = Progress(
        SpinnerColumn(), TextColumn("{task.description}"), TextColumn("{task.completed:,}/{task.total:,}"),
        TimeElapsedColumn(), console=Console(stderr=True), transient=True,
    )
    with bar:
        task = bar.add_task(what, total=0)
        yield lambda done, total: bar.update(task, completed=done, total=total)
