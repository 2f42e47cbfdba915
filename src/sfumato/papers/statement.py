"""What a paper says, and whether it was kept here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Statement:
    """One statement of a paper, whether it was kept (None: not measured), and the numbers that say so."""

    text: str
    kept: bool | None
    evidence: str

    @property
    def verdict(self) -> str:
        return "not measured" if self.kept is None else "kept" if self.kept else "not kept"

    def __str__(self) -> str:
        return f"{self.verdict}: {self.text} ({self.evidence})"


def as_markdown(statements: Iterable[Statement]) -> str:
    """A table with one row a statement."""
    rows = [f"| {one.text} | **{one.verdict}** | {one.evidence} |" for one in statements]
    return "\n".join(["| the paper | here | because |", "|---|---|---|", *rows])
