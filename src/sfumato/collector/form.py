"""Reports of a plan as the collector stores them: from JSON to rows of bytes of fixed width, and to columns of a table.

In a row stands one code or number for every value of the report, in the plan's order and without gaps, least
significant byte first. Two reports are the same if their rows are. A table is read from many rows at once, by NumPy.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Channel
from sfumato.channels.additive.correlated_noise import CorrelatedNoise
from sfumato.channels.baskets import SelectASize
from sfumato.domain import MISSING, Categories, Grid, Interval
from sfumato.plan import Attribute, Plan
from sfumato.tables import CODE_SUFFIX, LEVEL_SUFFIX

SIZE_SUFFIX = ".size"
"""What the name of the column with a basket's disclosed size ends with."""
NO_BASKET = 0
"""The size that stands in a row where a basket was left out."""
NUMBERS = {int, float}
"""The types that a number in JSON may have: bool is a subclass of int and is no number."""
LARGEST_INTEGER = 2**63
"""The first whole number that a 64-bit column cannot hold."""

Pack = Callable[[Mapping[str, Any]], tuple[Any, ...]]
Read = Callable[[NDArray[Any]], dict[str, Any]]


class ReportError(ValueError):
    """The error for a report that no device makes under the plan; its message names the question, never the value."""


@dataclass(frozen=True)
class QuestionCodec:
    """How the reports to one question are checked, packed into a row of bytes, and read from rows as columns."""

    names: tuple[str, ...]
    """The names of its values in a report's JSON."""
    format: str
    """Its part of the row's format, as `struct` has it."""
    fields: tuple[tuple[str, Any], ...]
    """(column, NumPy type) of its part of the row."""
    pack: Pack
    """Checks a report and returns the values for ``format``. ReportError: no device sends this."""
    read: Read
    """Returns columns by name from an array of rows."""


class ReportForm:
    """The form of one plan's reports: `pack` checks a report and makes its row, `table` makes a table of rows.

    ``plan``: the plan. ValueError: its reports cannot be collected.

    >>> import sfumato as sf
    >>> plan = sf.Plan.from_dict({"attributes": {"smokes": {
    ...     "categories": ["yes", "no"], "channel": "randomized-response", "gamma": 19}}})
    >>> form = ReportForm(plan)
    >>> row = form.pack({"smokes": "no"})
    >>> row.hex(), form.table([row])["smokes.code"].to_pylist()
    ('01000000', [1])
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.codecs = [codec_of(attribute) for attribute in plan.attributes.values()]
        self._names = {name for codec in self.codecs for name in codec.names}
        self._row = struct.Struct("<" + "".join(codec.format for codec in self.codecs))
        self._type = np.dtype([field for codec in self.codecs for field in codec.fields])
        self._most, self._drawn = plan.questions_each, [plan.attributes[name].columns[0] for name in plan.drawn]

    @property
    def width(self) -> int:
        """The number of bytes of a row, which is one report as it is stored."""
        return self._row.size

    def pack(self, report: Mapping[str, Any]) -> bytes:
        """Check a report, given by column, and return its row of bytes.

        ReportError: no device sends it under this plan.
        """
        if len(report) != len(self._names) or not self._names.issuperset(report):
            wrong = min(self._names.symmetric_difference(report))
            raise ReportError(f"the report and the plan differ in {wrong[:80]!r}")
        if self._most is not None and sum(report[name] is not None for name in self._drawn) > self._most:
            raise ReportError(f"the report answers more than the {self._most} questions that a person is asked")
        values: list[Any] = []
        for codec in self.codecs:
            values += codec.pack(report)
        return self._row.pack(*values)

    def table(self, rows: Iterable[bytes]) -> Any:
        """Return stored reports as a PyArrow table with the columns of a file of reports: codes, levels, clear answers.

        ``rows``: their rows of bytes.
        """
        import pyarrow as pa

        records = np.frombuffer(b"".join(rows), dtype=self._type)
        columns: dict[str, Any] = {}
        for codec in self.codecs:
            columns |= codec.read(records)
        return pa.table(columns)


def codec_of(attribute: Attribute) -> QuestionCodec:
    """Return the codec that checks, packs and reads the reports to one question.

    ValueError: they cannot be collected.
    """
    channel, name = attribute.channel, attribute.name
    if isinstance(channel, CorrelatedNoise):
        return _correlated_codec(channel)
    if channel is None:
        clear_codec = _clear_number_codec if isinstance(attribute.domain, Interval) else _clear_label_codec
        return clear_codec(name, attribute.domain)
    if not attribute.has_levels:
        level = channel.level(None)
        return _basket_codec(name, level) if isinstance(level, SelectASize) else _code_codec(name, level)
    levels = {str(level): channel.level(level) for level in channel.levels}
    if any(isinstance(level, SelectASize) for level in levels.values()):
        raise ValueError(f"attributes.{name}: baskets with levels cannot be collected yet; give them one level")
    return _level_codec(name, levels)


def _refusal(name: str) -> ReportError:
    """Return the error that refuses a value of a report.

    It states the name of the question or column, not the value.
    """
    return ReportError(f"{name[:80]}: not a report of this plan")


def _coder(name: str, channel: Channel) -> Callable[[Any], int]:
    """Return a function from a report to its code: its number among the channel's reports, −1 if missing is allowed.

    The function raises a ReportError for anything that the channel cannot report.
    """
    space, may_miss = channel.outputs, channel.missing == "pass"
    if isinstance(space, Categories):
        return _label_coder(name, space.labels, may_miss)
    code_of, value_of = space.code_of, space.value_of
    least, most = value_of(0), value_of(space.size - 1)

    def number_code(value: Any) -> int:
        if type(value) in NUMBERS and least <= value <= most:
            code = code_of(value)
            if value_of(code) == value:
                return code
        elif value is None and may_miss:
            return MISSING
        raise _refusal(name)

    return number_code


def _label_coder(name: str, labels: Iterable[Any], may_miss: bool) -> Callable[[Any], int]:
    """Return a function from a label to its position among ``labels``, and from None to −1 if ``may_miss``.

    The function raises a ReportError for anything else.
    """
    codes: dict[Any, int] = {label: code for code, label in enumerate(labels)}
    if may_miss:
        codes[None] = MISSING

    def label_code(value: Any) -> int:
        code = None if type(value) in (dict, list) else codes.get(value)
        if code is None:
            raise _refusal(name)
        return code

    return label_code


def _code_codec(name: str, channel: Channel) -> QuestionCodec:
    """Return the codec (checks, packs, reads) of a question with one strength of blur: its report's code in 4 bytes."""
    code, column = _coder(name, channel), name + CODE_SUFFIX
    return QuestionCodec(
        (name,), "i", ((column, "<i4"),), lambda report: (code(report[name]),), lambda rows: {column: rows[column]}
    )


def _level_codec(name: str, levels: Mapping[str, Channel]) -> QuestionCodec:
    """Return the codec (checks, packs, reads) of a question for which people choose a level, how strongly to blur.

    In a row it has the report's code within the level, 4 bytes, and the level's index, 1 byte. ``levels``: their
    channels.
    """
    coders = {level: (index, _coder(name, channel)) for index, (level, channel) in enumerate(levels.items())}
    column, chosen = name + CODE_SUFFIX, name + LEVEL_SUFFIX

    def pack(report: Mapping[str, Any]) -> tuple[int, int]:
        level = report[chosen]
        if type(level) is not str or level not in coders:
            raise _refusal(chosen)
        index, code = coders[level]
        return code(report[name]), index

    def read(rows: NDArray[Any]) -> dict[str, Any]:
        import pyarrow as pa

        names = pa.DictionaryArray.from_arrays(rows[chosen].astype(np.int32), list(levels)).cast(pa.string())
        return {column: rows[column], chosen: names}

    return QuestionCodec((name, chosen), "iB", ((column, "<i4"), (chosen, "u1")), pack, read)


def _clear_label_codec(name: str, domain: Any) -> QuestionCodec:
    """Return the codec (checks, packs, reads) of a question whose category is sent in the clear.

    In a row it has the category's position among the labels, 4 bytes.
    """
    if not _fit_a_column(domain.labels):
        raise ValueError(f"attributes.{name}: no column holds categories of such kinds; write all of them as text")
    code = _label_coder(name, domain.labels, may_miss=True)

    def read(rows: NDArray[Any]) -> dict[str, Any]:
        import pyarrow as pa

        codes = rows[name]
        return {name: pa.array(list(domain.labels)).take(pa.array(codes, mask=codes < 0))}

    return QuestionCodec((name,), "i", ((name, "<i4"),), lambda report: (code(report[name]),), read)


def _fit_a_column(labels: Iterable[Any]) -> bool:
    """Return whether one column of a table can hold all the labels: texts only, truth values only, or numbers only."""
    kinds = {"number" if type(label) in NUMBERS else type(label).__name__ for label in labels}
    small = all(-LARGEST_INTEGER <= label < LARGEST_INTEGER for label in labels if type(label) is int)
    return len(kinds) == 1 and small


def _clear_number_codec(name: str, domain: Any) -> QuestionCodec:
    """Return the codec (checks, packs, reads) of a question whose number is sent in the clear.

    In a row it has 8 bytes, NaN for a missing answer.
    """

    def pack(report: Mapping[str, Any]) -> tuple[float]:
        value = report[name]
        if value is None:
            return (math.nan,)
        if type(value) not in NUMBERS or not domain.low <= value <= domain.high:
            raise _refusal(name)
        if domain.integer and value != int(value):
            raise _refusal(name)
        return (float(value),)

    def read(rows: NDArray[Any]) -> dict[str, Any]:
        import pyarrow as pa

        return {name: pa.array(rows[name], mask=np.isnan(rows[name]))}

    return QuestionCodec((name,), "d", ((name, "<f8"),), pack, read)


def _correlated_codec(channel: CorrelatedNoise) -> QuestionCodec:
    """Return the codec (checks, packs, reads) of several numbers that get correlated noise together.

    In a row each has 8 bytes; all are NaN if missing. Each lies on its grid, or beyond the grid's ends as far as its
    noise reaches.
    """
    grids: dict[str, Grid] = dict(zip(channel.domains, channel.inputs, strict=True))
    ends = {
        name: (grid.number(-steps), grid.number(grid.size - 1 + steps))
        for (name, grid), steps in zip(grids.items(), channel.reach, strict=True)
    }

    def checked_number(name: str, value: Any) -> float:
        first, stride, per = grids[name].floats
        if type(value) in NUMBERS and ends[name][0] <= value <= ends[name][1]:
            code = round((value * per - first) / stride)
            if grids[name].number(code) == value:
                return float(value)
        raise _refusal(name)

    def pack(report: Mapping[str, Any]) -> tuple[float, ...]:
        values = [report[name] for name in grids]
        if all(value is None for value in values):
            return (math.nan,) * len(values)
        return tuple(checked_number(name, value) for name, value in zip(grids, values, strict=True))

    def read(rows: NDArray[Any]) -> dict[str, Any]:
        return {name: rows[name] for name in grids}

    return QuestionCodec(tuple(grids), "d" * len(grids), tuple((name, "<f8") for name in grids), pack, read)


def _from_hex(text: Any, size: int) -> bytes | None:
    """Return ``size`` bytes from a text of their hexadecimal digits; None if the value is anything else."""
    if type(text) is not str or len(text) != 2 * size:
        return None
    try:
        data = bytes.fromhex(text)
    except ValueError:
        return None
    return data if len(data) == size else None


def _basket_codec(name: str, channel: SelectASize) -> QuestionCodec:
    """Return the codec of a basket: its disclosed size (0 if missing), 2 bytes, and a seed or a bitmap.

    Seeds and bitmaps take as many bytes in every row as the longest of the channel's sizes needs.
    """
    form = "seed" if channel.has_seeds else "bitmap"
    bits = channel.seed_bits if channel.has_seeds else dict.fromkeys(channel.sizes, channel.items.size)
    widths = {size: -(-count // 8) if form == "seed" else 8 * -(-count // 64) for size, count in bits.items()}
    width, size_column, column = max(widths.values()), name + SIZE_SUFFIX, f"{name}.{form}"

    def pack(report: Mapping[str, Any]) -> tuple[int, bytes]:
        basket = report[name]
        if basket is None and channel.missing == "pass":
            return NO_BASKET, b""
        if not isinstance(basket, dict) or basket.keys() != {"size", form}:
            raise _refusal(name)
        size, text = basket["size"], basket[form]
        if type(size) is not int or size not in widths:
            raise _refusal(name)
        data = _from_hex(text, widths[size])
        if data is None or int.from_bytes(data, "little") >> bits[size]:
            raise _refusal(name)
        return size, data

    def read(rows: NDArray[Any]) -> dict[str, Any]:
        import pyarrow as pa

        absent = rows[size_column] == NO_BASKET
        data = np.ascontiguousarray(rows[column])
        cells = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(rows), [None, pa.py_buffer(data.tobytes())])
        return {size_column: pa.array(rows[size_column], mask=absent), column: cells}

    return QuestionCodec((name,), f"H{width}s", ((size_column, "<u2"), (column, f"V{width}")), pack, read)
