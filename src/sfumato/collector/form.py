"""A plan's reports as the collector keeps them: off the wire, as a row of bytes of fixed width, as columns of a table.

Every part of a report has one code or number in the row, in the plan's order and without gaps, least significant byte
first. Two reports are the same when their rows are, and a table is read from rows without looking at any one of them.
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
NO_BASKET = 0
NUMBERS = {int, float}
LARGEST_INTEGER = 2**63

Pack = Callable[[Mapping[str, Any]], tuple[Any, ...]]
Read = Callable[[NDArray[Any]], dict[str, Any]]


class ReportError(ValueError):
    """What was sent cannot have come from a device that follows the plan; the message names the question only."""


@dataclass(frozen=True)
class Part:
    """One question: the names of its values on the wire, its place in a row, and the ways between them."""

    names: tuple[str, ...]
    format: str
    fields: tuple[tuple[str, Any], ...]
    pack: Pack
    read: Read


class ReportForm:
    """The reports of one plan: ``pack`` checks one and gives its row, ``table`` reads rows.

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
        self.parts = [part_of(each) for each in plan.attributes.values()]
        self._names = {name for part in self.parts for name in part.names}
        self._packing = [part.pack for part in self.parts]
        self._row = struct.Struct("<" + "".join(part.format for part in self.parts))
        self._type = np.dtype([field for part in self.parts for field in part.fields])
        self._most, self._drawn = plan.questions_each, [plan.attributes[name].columns[0] for name in plan.drawn]

    @property
    def width(self) -> int:
        """Bytes of a row."""
        return self._row.size

    def pack(self, report: Mapping[str, Any]) -> bytes:
        """The row of a report; one that no device makes is refused, by its question and without its value."""
        if len(report) != len(self._names) or not self._names.issuperset(report):
            wrong = min(self._names.symmetric_difference(report))
            raise ReportError(f"the report and the plan differ in {wrong[:80]!r}")
        if self._most is not None and sum(report[name] is not None for name in self._drawn) > self._most:
            raise ReportError(f"the report answers more than the {self._most} questions that a person is asked")
        values: list[Any] = []
        for pack in self._packing:
            values += pack(report)
        return self._row.pack(*values)

    def table(self, rows: Iterable[bytes]) -> Any:
        """Rows as a PyArrow table, as files of reports have them: codes, levels, clear answers."""
        import pyarrow as pa

        records = np.frombuffer(b"".join(rows), dtype=self._type)
        columns: dict[str, Any] = {}
        for part in self.parts:
            columns |= part.read(records)
        return pa.table(columns)


def part_of(each: Attribute) -> Part:
    """How the answers to one question travel and lie."""
    channel, name = each.channel, each.name
    if isinstance(channel, CorrelatedNoise):
        return _row_part(channel)
    if channel is None:
        clear = _clear_number if isinstance(each.domain, Interval) else _clear_label
        return clear(name, each.domain)
    if not each.has_levels:
        only = channel.level(None)
        return _basket_part(name, only) if isinstance(only, SelectASize) else _code_part(name, only)
    levels = {str(level): channel.level(level) for level in channel.levels}
    if any(isinstance(each, SelectASize) for each in levels.values()):
        raise ValueError(f"attributes.{name}: baskets with levels cannot be collected yet; give them one level")
    return _level_part(name, levels)


def _refuse(name: str) -> ReportError:
    return ReportError(f"{name[:80]}: not a report of this plan")


def _coder(name: str, channel: Channel) -> Callable[[Any], int]:
    """The code of a report: exactly one that the channel can give, or −1 where an answer may be missing."""
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
        raise _refuse(name)

    return number_code


def _label_coder(name: str, labels: Iterable[Any], may_miss: bool) -> Callable[[Any], int]:
    codes: dict[Any, int] = {label: code for code, label in enumerate(labels)}
    if may_miss:
        codes[None] = MISSING

    def label_code(value: Any) -> int:
        code = None if type(value) in (dict, list) else codes.get(value)
        if code is None:
            raise _refuse(name)
        return code

    return label_code


def _code_part(name: str, channel: Channel) -> Part:
    code, column = _coder(name, channel), name + CODE_SUFFIX
    return Part(
        (name,), "i", ((column, "<i4"),), lambda report: (code(report[name]),), lambda rows: {column: rows[column]}
    )


def _level_part(name: str, levels: Mapping[str, Channel]) -> Part:
    """A code within its level, and the level's place among them."""
    coders = {level: (index, _coder(name, channel)) for index, (level, channel) in enumerate(levels.items())}
    column, chosen = name + CODE_SUFFIX, name + LEVEL_SUFFIX

    def pack(report: Mapping[str, Any]) -> tuple[int, int]:
        level = report[chosen]
        if type(level) is not str or level not in coders:
            raise _refuse(chosen)
        index, code = coders[level]
        return code(report[name]), index

    def read(rows: NDArray[Any]) -> dict[str, Any]:
        import pyarrow as pa

        names = pa.DictionaryArray.from_arrays(rows[chosen].astype(np.int32), list(levels)).cast(pa.string())
        return {column: rows[column], chosen: names}

    return Part((name, chosen), "iB", ((column, "<i4"), (chosen, "u1")), pack, read)


def _clear_label(name: str, domain: Any) -> Part:
    if not _fit_a_column(domain.labels):
        raise ValueError(f"attributes.{name}: no column holds categories of such kinds; write all of them as text")
    code = _label_coder(name, domain.labels, may_miss=True)

    def read(rows: NDArray[Any]) -> dict[str, Any]:
        import pyarrow as pa

        found = rows[name]
        return {name: pa.array(list(domain.labels)).take(pa.array(found, mask=found < 0))}

    return Part((name,), "i", ((name, "<i4"),), lambda report: (code(report[name]),), read)


def _fit_a_column(labels: Iterable[Any]) -> bool:
    """Texts, truth values or numbers, and not of several kinds."""
    kinds = {"number" if type(label) in NUMBERS else type(label).__name__ for label in labels}
    small = all(-LARGEST_INTEGER <= label < LARGEST_INTEGER for label in labels if type(label) is int)
    return len(kinds) == 1 and small


def _clear_number(name: str, domain: Any) -> Part:
    def pack(report: Mapping[str, Any]) -> tuple[float]:
        value = report[name]
        if value is None:
            return (math.nan,)
        if type(value) not in NUMBERS or not domain.low <= value <= domain.high:
            raise _refuse(name)
        if domain.integer and value != int(value):
            raise _refuse(name)
        return (float(value),)

    def read(rows: NDArray[Any]) -> dict[str, Any]:
        import pyarrow as pa

        return {name: pa.array(rows[name], mask=np.isnan(rows[name]))}

    return Part((name,), "d", ((name, "<f8"),), pack, read)


def _row_part(channel: CorrelatedNoise) -> Part:
    """Several numbers, each on its grid and beyond its ends as far as noise reaches; all of them are there or none."""
    grids: dict[str, Grid] = dict(zip(channel.domains, channel.inputs, strict=True))
    ends = {
        name: (grid.number(-steps), grid.number(grid.size - 1 + steps))
        for (name, grid), steps in zip(grids.items(), channel.reach, strict=True)
    }

    def number(name: str, value: Any) -> float:
        first, stride, per = grids[name].floats
        if type(value) in NUMBERS and ends[name][0] <= value <= ends[name][1]:
            code = round((value * per - first) / stride)
            if grids[name].number(code) == value:
                return float(value)
        raise _refuse(name)

    def pack(report: Mapping[str, Any]) -> tuple[float, ...]:
        values = [report[name] for name in grids]
        if all(value is None for value in values):
            return (math.nan,) * len(values)
        return tuple(number(name, value) for name, value in zip(grids, values, strict=True))

    def read(rows: NDArray[Any]) -> dict[str, Any]:
        return {name: rows[name] for name in grids}

    return Part(tuple(grids), "d" * len(grids), tuple((name, "<f8") for name in grids), pack, read)


def _from_hex(text: Any, size: int) -> bytes | None:
    """So many bytes from their hexadecimal digits alone; None from anything else."""
    if type(text) is not str or len(text) != 2 * size:
        return None
    try:
        data = bytes.fromhex(text)
    except ValueError:
        return None
    return data if len(data) == size else None


def _basket_part(name: str, channel: SelectASize) -> Part:
    """The disclosed size (0: no answer), and a seed or a bitmap in as many bytes as the longest has."""
    form = "seed" if channel.has_seeds else "bitmap"
    bits = channel.seed_bits if channel.has_seeds else dict.fromkeys(channel.sizes, channel.items.size)
    sent = {size: -(-count // 8) if form == "seed" else 8 * -(-count // 64) for size, count in bits.items()}
    width, size_column, column = max(sent.values()), name + SIZE_SUFFIX, f"{name}.{form}"

    def pack(report: Mapping[str, Any]) -> tuple[int, bytes]:
        basket = report[name]
        if basket is None and channel.missing == "pass":
            return NO_BASKET, b""
        if not isinstance(basket, dict) or basket.keys() != {"size", form}:
            raise _refuse(name)
        size, text = basket["size"], basket[form]
        if type(size) is not int or size not in sent:
            raise _refuse(name)
        data = _from_hex(text, sent[size])
        if data is None or int.from_bytes(data, "little") >> bits[size]:
            raise _refuse(name)
        return size, data

    def read(rows: NDArray[Any]) -> dict[str, Any]:
        import pyarrow as pa

        absent = rows[size_column] == NO_BASKET
        data = np.ascontiguousarray(rows[column])
        cells = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(rows), [None, pa.py_buffer(data.tobytes())])
        return {size_column: pa.array(rows[size_column], mask=absent), column: cells}

    return Part((name,), f"H{width}s", ((size_column, "<u2"), (column, f"V{width}")), pack, read)
