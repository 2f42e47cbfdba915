"""What the commands say: tables and progress for a person at a terminal, JSON for machines."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from sfumato.prose import json_text, visible

if TYPE_CHECKING:
    from rich.console import Console

Step = TypeVar("Step")


def console() -> Console:
    """Standard output; plain text without colours when it is not a terminal."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())


def say(text: str = "") -> None:
    console().print(visible(text), markup=False)


def say_written(*paths: object) -> None:
    """Where the results are; None is nothing."""
    for path in paths:
        if path is not None:
            say(f"written to {path}")


def say_table(rows: Iterable[Sequence[str]], words: Sequence[str] = (), numbers: Sequence[str] = ()) -> None:
    """Rows under headings: columns of words to the left, then columns of numbers to the right."""
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
    """A remark that must not mix with the result: on stderr."""
    print(f"sfumato: {visible(text)}", file=sys.stderr)


def emit_json(value: Any) -> None:
    print(json_text(value, indent=2))


def progress(steps: Iterable[Step], what: str) -> Iterator[Step]:
    """The same steps, with a line that moves on stderr when that is a terminal."""
    if not sys.stderr.isatty():
        yield from list(steps)
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    steps = list(steps)
    bar = Progress(
        SpinnerColumn(), TextColumn("{task.description}"), TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(), console=Console(stderr=True), transient=True,
    )
    with bar:
        task = bar.add_task(what, total=len(steps))
        for step in steps:
            yield step
            bar.advance(task)
