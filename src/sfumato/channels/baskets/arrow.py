"""Read baskets and their reports from Arrow columns, without a loop over the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.program import Words
from sfumato.domain import Codes

NO_DIGIT = 16  # marks a character that is no hexadecimal digit; digits are worth 0 to 15
DIGITS = np.full(256, NO_DIGIT, dtype=np.uint8)
"""What each character (of ASCII) is worth as a hexadecimal digit."""
DIGITS[np.frombuffer(b"0123456789abcdef", np.uint8)] = DIGITS[np.frombuffer(b"0123456789ABCDEF", np.uint8)] = range(16)


def lengths_of(column: Any) -> Codes:
    """Return how many items each list of an Arrow column has; missing lists, or a column of no lists, are an error."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_nested(column.type):
        raise TypeError(f"the baskets are a column of {column.type}, not of lists of items; give a list of items each")
    if column.null_count:
        raise ValueError("a basket is missing (null); drop the row or give an empty list")
    return np.asarray(pc.list_value_length(column)).astype(np.int64)


def lists_of(column: Any) -> tuple[list[Any], Codes, Codes]:
    """Read an Arrow column of lists of items as (labels, indices, lengths).

    The labels that occur; for every entry, all lists one after the other, the index of its label; the length of each
    list.
    """
    import pyarrow.compute as pc

    lengths = lengths_of(column)
    return *labels_of(pc.list_flatten(column)), lengths


def labels_of(column: Any) -> tuple[list[Any], Codes]:
    """Read an Arrow column as (labels, indices): the labels that occur, and the index of every row's label among them.

    A missing entry has the label None.
    """
    import pyarrow as pa

    flat = _whole(column)
    if pa.types.is_dictionary(flat.type):
        flat = flat.dictionary_decode()  # it may hold labels that nobody has
    encoded = flat.dictionary_encode(null_encoding="encode")
    return encoded.dictionary.to_pylist(), np.asarray(encoded.indices).astype(np.int64)


def words_of(cells: Any) -> Words:
    """Return a column of bytes, or of texts of hexadecimal digits, as rows of 64-bit words.

    Words are little-endian; rows are padded with zeros to the longest.
    """
    import pyarrow as pa

    digits = "string" in str(cells.type)  # whole, large, as views or in a dictionary
    cells = _whole(cells.cast(pa.large_binary()))
    if cells.null_count:
        raise ValueError("the bytes are missing")
    _, ends, data = cells.buffers()
    ends = np.frombuffer(ends or bytes(8), np.int64)[cells.offset : cells.offset + len(cells) + 1]
    octets, lengths = np.frombuffer(data or b"", np.uint8)[ends[0] : ends[-1]], np.diff(ends)
    if digits:
        octets, lengths = _octets_of(octets, lengths)
    width = -(-int(lengths.max(initial=1)) // 8)
    rows = np.zeros((len(cells), 8 * width), dtype=np.uint8)
    if octets.size == len(cells) * lengths.max(initial=0):
        rows[:, : lengths.max(initial=0)] = octets.reshape(len(cells), int(lengths.max(initial=0)))
    else:
        rows[np.arange(8 * width) < lengths[:, None]] = octets
    return rows.view("<u8").astype(np.uint64, copy=False)


def _octets_of(text: NDArray[np.uint8], lengths: Codes) -> tuple[NDArray[np.uint8], Codes]:
    """Return (the bytes that hexadecimal digits stand for, how many each row has); other characters are an error."""
    worth = DIGITS[text]
    if (worth == NO_DIGIT).any() or (lengths % 2).any():
        raise ValueError("the text is not of pairs of hexadecimal digits")
    return 16 * worth[::2] + worth[1::2], lengths // 2


def _whole(column: Any) -> Any:
    """Return an Arrow column as one array instead of in chunks."""
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column
