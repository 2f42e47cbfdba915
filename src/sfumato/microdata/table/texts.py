"""Tables of texts, such as CSV files: finding the types of their columns, and writing values in the same format.

A column is one of numbers only if every text is a number as a computer writes it: `08520` and `+3` are labels and keep
their characters. Decimals are written with as many digits as they all had, dates in the format they all had.
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

WHOLE = r"^(0|-?[1-9][0-9]{0,14})$"  # up to 15 digits, which a float holds exactly
DECIMAL = r"^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?$"  # up to 15 digits on either side
SCIENTIFIC = r"^-?(0|[1-9][0-9]{0,14})(\.[0-9]+)?([eE][+-]?[0-9]+)?$"  # with an exponent
MOMENTS = tuple(  # formats of dates and moments, the first that writes every text is taken
    f"{day}{time}"
    for day in ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d")
    for time in ("", " %H:%M", "T%H:%M", " %H:%M:%S", "T%H:%M:%S", "T%H:%M:%SZ")
)
TIMES = ("%H:%M", "%H:%M:%S")  # formats of times of day
BLOCK = 50_000
"""Rows that are written at once, to bound the memory. It changes nothing in the file."""
Write = Callable[[Any], str]


@dataclass(frozen=True)
class DecimalText:
    """A function that writes numbers with so many digits behind the point; ``strip``: without zeros at the end."""

    digits: int
    strip: bool

    def __call__(self, value: float) -> str:
        text = f"{round(value, self.digits) + 0.0:.{self.digits}f}"
        return text.rstrip("0").rstrip(".") if self.strip else text


@dataclass(frozen=True)
class MomentText:
    """A function that writes dates and times in a format (of `strftime`)."""

    form: str

    def __call__(self, value: Any) -> str:
        return str(value.strftime(self.form))


@dataclass(frozen=True)
class Texts:
    """A table read from texts: the columns with their types (``typed``), and how each is written (``forms``)."""

    typed: Any
    forms: dict[str, Write]

    @classmethod
    def read(cls, table: Any, labels: Collection[str] = ()) -> Texts:
        """Find the type of each column of texts in a PyArrow table; the columns ``labels`` stay texts."""
        typed, forms = table, {}
        for index, name in enumerate(table.column_names):
            column, write = _typed(table.column(index).combine_chunks(), name in labels)
            typed, forms[name] = typed.set_column(index, name, column), write
        return cls(typed, forms)

    def write(self, table: Any, path: Path) -> None:
        """Write a table of these columns as a CSV file, each in its format; the file is written whole or not at all."""

        def write(part: Path) -> None:
            with part.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(table.column_names)
                for start in range(0, table.num_rows, BLOCK):
                    writer.writerows(zip(*self._texts(table.slice(start, BLOCK)), strict=True))

        write_whole(path, write)

    def _texts(self, table: Any) -> Iterable[list[str]]:
        """Yield the texts of each column of a table; a missing value is an empty text."""
        for name in table.column_names:
            write = self.forms[name]
            yield ["" if value is None else write(value) for value in table.column(name).to_pylist()]


def _typed(column: Any, as_labels: bool) -> tuple[Any, Write]:
    """Return a column of texts with the type that they have (numbers, dates), and the function that writes its values.

    ``as_labels``: leave it as texts.
    """
    import pyarrow
    from pyarrow import compute

    present = column.drop_null() if pyarrow.types.is_string(column.type) else column.slice(0, 0)
    if as_labels or not len(present):
        return column, str

    def are(pattern: str) -> bool:
        return bool(compute.all(compute.match_substring_regex(present, pattern)).as_py())

    if are(WHOLE):
        return column.cast(pyarrow.int64()), str
    if are(DECIMAL):
        digits = np.unique([len(text.partition(".")[2]) for text in present.to_pylist()])
        return column.cast(pyarrow.float64()), DecimalText(int(digits[-1]), strip=digits.size > 1)
    if are(SCIENTIFIC):
        return column.cast(pyarrow.float64()), repr
    return _moments(column, present.unique().to_pylist())


def _moments(column: Any, present: list[str]) -> tuple[Any, Write]:
    """Return (a column as dates or times, the function that writes them) if one format writes all texts as they are.

    Otherwise the column stays of texts. ``present``: its different texts.
    """
    import pyarrow

    for form in (*MOMENTS, *TIMES):
        if all(_written_so(text, form) for text in present):
            moment_of = {text: datetime.strptime(text, form) for text in present}
            values = [None if text is None else moment_of[text] for text in column.to_pylist()]
            if form in TIMES:
                return pyarrow.array([None if moment is None else moment.time() for moment in values]), MomentText(form)
            kind = pyarrow.timestamp("s") if "%H" in form else pyarrow.date32()
            return pyarrow.array(values).cast(kind), MomentText(form)
    return column, str


def _written_so(text: str, form: str) -> bool:
    """Return whether a text is a date or time in a format, exactly as the format writes it."""
    try:
        return datetime.strptime(text, form).strftime(form) == text
    except ValueError:
        return False
