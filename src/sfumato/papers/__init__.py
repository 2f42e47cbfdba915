"""The papers' experiments again, one module or folder a paper; here what they share: a claim, whether it was kept, and
the tables that say so."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Claim:
    """One claim of a paper, whether it was kept (None: not measured), and the numbers that say so."""

    text: str
    kept: bool | None
    evidence: str

    @property
    def verdict(self) -> str:
        return "not measured" if self.kept is None else "kept" if self.kept else "not kept"

    def __str__(self) -> str:
        return f"{self.verdict}: {self.text} ({self.evidence})"


def as_markdown(claims: Iterable[Claim]) -> str:
    """A table with one row a claim."""
    return markdown_table(
        ["the paper", "here", "because"], [(one.text, f"**{one.verdict}**", one.evidence) for one in claims]
    )


def markdown_table(head: list[str], rows: Iterable[tuple[object, ...]]) -> str:
    lines = [f"| {' | '.join(map(str, row))} |" for row in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


def write_claims(folder: Path, paper: str, claims: Iterable[Claim]) -> None:
    text = f"# Claims of {paper}\n\n{as_markdown(claims)}\n"
    (folder / "statements.md").write_text(text, encoding="utf-8")


def write_rows(path: Path, rows: Rows) -> Rows:
    """The rows as CSV, with the columns of all of them, and back."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
    return rows


def opened(folder: Path | str) -> Path:
    """The folder, made if need be."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    return place
