"""What the commands say: tables and progress for a person at a terminal, JSON for machines."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

Step = TypeVar("Step")


def console() -> Console:
    """Standard output; plain text without colours when it is not a terminal."""
    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())


def say(text: str = "") -> None:
    console().print(text, markup=False)


def note(text: str) -> None:
    """A remark that must not mix with the result: on stderr."""
    print(f"sfumato: {text}", file=sys.stderr)


def emit_json(value: Any) -> None:
    print(json.dumps(finite(value), indent=2, ensure_ascii=False, allow_nan=False))


def finite(value: Any) -> Any:
    """The value as strict JSON can hold it: arrays as lists, infinite numbers as text, NaN as null."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): finite(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("infinity" if value > 0 else "-infinity")
    return value


def progress(steps: Iterable[Step], what: str) -> Iterator[Step]:
    """The same steps, with a line that moves on stderr when that is a terminal."""
    steps = list(steps)
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with bar:
        task = bar.add_task(what, total=len(steps))
        for step in steps:
            yield step
            bar.advance(task)
