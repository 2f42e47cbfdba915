"""A table of texts, as CSV is one, with the types that its texts have and the way back to texts of the same form.

A column is numbers only if every text is a number as a computer writes it: `08520` and `+3` keep their characters, as
labels. Decimals come back with as many digits as they all had, dates in the format they all had, `True` as `True`.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.tables import write_whole

WHOLE = r"^(0|-?[1-9][0-9]{0,14})$"
DECIMAL = r"^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?$"
SCIENTIFIC = r"^-?(0|[1-9][0-9]{0,14})(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
MOMENTS = tuple(
    f"{day}{time}"
    for day in ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d")
    for time in ("", " %H:%M", "T%H:%M", " %H:%M:%S", "T%H:%M:%S", "T%H:%M:%SZ")
)
TIMES = ("%H:%M", "%H:%M:%S")
BLOCK = 50_000
Write = Callable[[Any], str]


@dataclass(frozen=True)
class DecimalText:
    """Writes numbers with so many digits, or without zeros at the end."""

    digits: int
    strip: bool

    def __call__(self, value: float) -> str:
        text = f"{round(value, self.digits) + 0.0:.{self.digits}f}"
        return text.rstrip("0").rstrip(".") if self.strip else text


@dataclass(frozen=True)
class MomentText:
    """Writes dates and times in a format."""

    form: str

    def __call__(self, value: Any) -> str:
        return str(value.strftime(self.form))


@dataclass(frozen=True)
class Texts:
    """``typed`` holds the columns with their types; ``write`` how each is written."""

    typed: Any
    forms: dict[str, Write]

    @classmethod
    def read(cls, table: Any, labels: Collection[str] = ()) -> Texts:
        """Columns of text in a PyArrow table become what they say; those named stay labels, as do other types."""
        typed, forms = table, {}
        for place, name in enumerate(table.column_names):
            column, write = _typed(table.column(place).combine_chunks(), name in labels)
            typed, forms[name] = typed.set_column(place, name, column), write
        return cls(typed, forms)

    def write(self, table: Any, path: Path) -> None:
        """A table of these columns as CSV, each value in its form; whole or not at all."""

        def write(part: Path) -> None:
            with part.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(table.column_names)
                for start in range(0, table.num_rows, BLOCK):
                    writer.writerows(zip(*self._texts(table.slice(start, BLOCK)), strict=True))

        write_whole(path, write)

    def _texts(self, table: Any) -> Iterable[list[str]]:
        for name in table.column_names:
            write = self.forms[name]
            yield ["" if value is None else write(value) for value in table.column(name).to_pylist()]


def _typed(column: Any, as_labels: bool) -> tuple[Any, Write]:
    import pyarrow
    from pyarrow import compute

    known = column.drop_null() if pyarrow.types.is_string(column.type) else column.slice(0, 0)
    if as_labels or not len(known):
        return column, str

    def are(pattern: str) -> bool:
        return bool(compute.all(compute.match_substring_regex(known, pattern)).as_py())

    if are(WHOLE):
        return column.cast(pyarrow.int64()), str
    if are(DECIMAL):
        digits = np.unique([len(text.partition(".")[2]) for text in known.to_pylist()])
        return column.cast(pyarrow.float64()), DecimalText(int(digits[-1]), strip=digits.size > 1)
    if are(SCIENTIFIC):
        return column.cast(pyarrow.float64()), repr
    return _moments(column, known.unique().to_pylist())


def _moments(column: Any, known: list[str]) -> tuple[Any, Write]:
    """Dates and times whose format writes every one of them as it stands; labels otherwise."""
    import pyarrow

    for form in (*MOMENTS, *TIMES):
        if all(_written_so(text, form) for text in known):
            found = {text: datetime.strptime(text, form) for text in known}
            values = [None if text is None else found[text] for text in column.to_pylist()]
            if form in TIMES:
                return pyarrow.array([None if one is None else one.time() for one in values]), MomentText(form)
            kind = pyarrow.timestamp("s") if "%H" in form else pyarrow.date32()
            return pyarrow.array(values).cast(kind), MomentText(form)
    return column, str


def _written_so(text: str, form: str) -> bool:
    try:
        return datetime.strptime(text, form).strftime(form) == text
    except ValueError:
        return False
