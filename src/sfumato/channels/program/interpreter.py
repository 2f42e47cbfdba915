"""Draw the reports of whole columns block by block: values to codes, the program, codes to reports.

A block is small enough that its values, words and codes stay in the processor's cache. Where numba is installed columns
take compiled loops (``kernels.py``); the reports are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.program.program import Program
from sfumato.channels.program.random_words import SecureWords, WordSource
from sfumato.channels.program.steps import Shift, Window
from sfumato.domain import (
    CLOSE_TOGETHER,
    FEW_LABELS,
    MISSING,
    Categories,
    Grid,
    Interval,
    as_array,
    as_numbers,
    is_categorical,
    with_gaps,
)

if TYPE_CHECKING:
    from sfumato.channels.base import Channel

BLOCK = 1 << 14
"""Values in a block. By judgement: 128 kB of values and as many of words fit a processor's second cache; smaller blocks
cost more calls, larger ones memory traffic (bench/randomizing.py has the speed of the whole)."""
WORTH_COMPILING = 1 << 12
"""Values from which on the compiled loops are used. By judgement: loading them takes longer than fewer values do."""
HALVES_DECIDE = 16
"""Bits of a noise table's index up to which upper halves of words are drawn first. By judgement: with 16 of 32 bits
left one word in 65,536 is undecided, and its block draws lower halves too; with fewer left that is too often."""
NO_CHARACTER = np.iinfo(np.uint32).max  # no character of Unicode: it equals none in any text
Entered = tuple[NDArray[np.int32], Any]  # codes, and which of them are missing (None: none is)
Enter = Callable[[NDArray[Any], int], Entered]  # (a block of values, the row of its first one) → their codes
Leave = Callable[[NDArray[np.int32], NDArray[Any]], None]  # (codes, the array that their reports are written to)


@cache
def kernels_in(module: str) -> Any:
    """Import a module of loops that numba compiles; None where numba is missing, and the caller then uses NumPy.

    ``module``: its dotted name.
    """
    try:
        return import_module(module)
    except ImportError:
        return None


def compiled() -> Any:
    """Return the module of compiled loops by which reports are drawn; None where numba is missing."""
    return kernels_in("sfumato.channels.program.kernels")


def report_array(channel: Channel, values: Any, source: WordSource) -> Any:
    """Draw a report for every value of an array or column, in its shape, with words of a source.

    A pandas column of categories gives a pandas array of categories.
    """
    if is_categorical(values) and isinstance(channel.outputs, Categories):
        return _categorical(channel, values, source)
    array = as_array(values)
    if isinstance(channel.domain, Interval) and array.dtype.kind not in "iuf":
        array = as_numbers(array)
    flat = array.reshape(-1) if array.ndim else array[None]
    enter, leave = _entrance(channel, flat.dtype, flat.size), _exit(channel, flat.size)
    reports = np.empty(flat.size, dtype=np.asarray(channel.outputs.decode(np.zeros(1, dtype=np.int64))).dtype)
    through, missing = _passage(channel), None
    for start in range(0, flat.size, BLOCK):
        part = slice(start, start + BLOCK)
        upper = _upper_halves(channel.drawing, flat[part].size, source)
        if upper is not None:
            done = through(flat[part], reports[part], upper)
            part, upper = slice(start + done, start + BLOCK), upper[done:]
            if not upper.size:
                continue
        codes, gaps = enter(flat[part], part.start)
        if gaps is not None:
            missing = np.zeros(flat.size, dtype=bool) if missing is None else missing
            missing[part] = gaps
        _draw_block(channel.drawing, codes, source, upper)
        leave(codes, reports[part])
    return (reports if missing is None else with_gaps(reports, missing)).reshape(array.shape)


def _upper_halves(program: Program, size: int, source: WordSource) -> Any:
    """Draw only the upper 32 bits of a block's random words, to save work where they nearly always decide the report.

    They do for a program that adds noise from a small table, drawn with secure words; otherwise None. ``size``: how
    many words.
    """
    step = program.steps[0] if len(program.steps) == 1 else None
    halved = isinstance(step, Shift) and step.noise.bits <= HALVES_DECIDE and size >= WORTH_COMPILING
    return source.halves(size) if halved and isinstance(source, SecureWords) and compiled() is not None else None


def _halved(step: Any) -> tuple[Any, int, int, int]:
    """Return (table, bits, offset, last code) of a step that adds noise, as the loop ``shift_by_halves`` takes them."""
    return step.noise.upper, step.noise.bits, step.offset, step.outputs - 1


def _draw_block(program: Program, codes: NDArray[np.int32], source: Any, upper: Any = None) -> None:
    """Replace the codes of a block by report codes, with words of the source.

    ``upper``: the upper halves of the words, where they are drawn already (None: they are not). If one of them does not
    decide, lower halves are drawn for the whole block; whether they are depends on the noise, not on any code.
    """
    if upper is None:
        return draw_in_place(program, codes, source.rows(codes, program.words))
    if not compiled().shift_by_halves(codes, upper, *_halved(program.steps[0])):
        words = upper.astype(np.uint64) << np.uint64(32) | source.halves(codes.size)
        draw_in_place(program, codes, words[:, None])


def draw_in_place(program: Program, codes: NDArray[np.int32], words: Any) -> None:
    """Replace true codes by report codes in the same array, step by step of a drawing program.

    Steps that add noise or draw from a window run as compiled loops where there are many codes. ``words``: one row of
    random words a code, as many columns as the program takes words.
    """
    kernels = compiled() if codes.size >= WORTH_COMPILING else None
    used = 0
    for step in program.steps:
        part = words if step.words == program.words else np.ascontiguousarray(words[:, used : used + step.words])
        used += step.words
        if kernels is not None and isinstance(step, Shift):
            kernels.shift(codes, part.reshape(-1), step.noise.entries, step.noise.bits, step.offset, step.outputs - 1)
        elif kernels is not None and isinstance(step, Window):
            sizes = np.uint32(step.window), np.uint32(step.others)
            kernels.window(codes, part.reshape(-1), np.uint64(step.inside), *sizes)
        else:
            codes[:] = step.draw(codes.astype(np.int64), [part[:, word] for word in range(step.words)])


def _entrance(channel: Channel, dtype: Any, size: int) -> Enter:
    """Choose the function that turns blocks of values into entry codes (those that the program starts from).

    It is compiled for columns of numbers and of few different texts. It takes (block, the row of its first value) and
    returns (codes, which are missing). ``dtype`` and ``size`` are those of the whole column.
    """
    domain, entry = channel.domain, channel.entry
    codes = np.empty(min(size, BLOCK), dtype=np.int32)
    if size < WORTH_COMPILING or compiled() is None:
        return partial(_enter, channel)
    if isinstance(domain, Interval) and isinstance(entry, Grid):
        if dtype.kind in "iu" and entry.whole[1:] == (1, 1) and entry.size <= CLOSE_TOGETHER:
            return partial(_enter_whole, channel, codes, (entry.whole[0], np.arange(entry.size)))
        return partial(_enter_numbers, channel, codes)
    if not isinstance(domain, Categories):
        return partial(_enter, channel)
    if dtype.kind in "iu" and domain.whole_numbers is not None:
        return partial(_enter_whole, channel, codes, domain.whole_numbers)
    if dtype.kind == "U" == domain.label_array.dtype.kind and domain.size <= FEW_LABELS:
        labels = _characters(domain.label_array.astype(dtype))
        labels[np.char.str_len(domain.label_array) * 4 > dtype.itemsize] = NO_CHARACTER  # longer than any text
        return partial(_enter_texts, channel, codes, labels)
    return partial(_enter, channel)


def _enter(channel: Channel, block: NDArray[Any], start: int) -> Entered:
    """Turn a block of any values into entry codes; return (codes, which are missing, or None if none is).

    ``start``: the row of the block's first value, by which errors name the row that is wrong.
    """
    codes = channel.encode_entry(block, start)
    gaps = codes < 0
    return np.maximum(codes, 0).astype(np.int32), gaps if gaps.any() else None


def _enter_numbers(channel: Channel, codes: NDArray[np.int32], block: NDArray[Any], start: int) -> Entered:
    """Turn a block of numbers into entry codes by the compiled loop; with missing or wrong ones in it, by ``_enter``.

    ``codes``: the array to write to. Returns what ``_enter`` returns.
    """
    floats, domain, entry = np.ascontiguousarray(block, dtype=np.float64), channel.domain, channel.entry
    assert isinstance(domain, Interval) and isinstance(entry, Grid)
    ends = float(domain.low), float(domain.high)
    outside, broken = compiled().encode_grid(floats, codes[: block.size], *ends, *entry.floats, entry.size - 1)
    wrong = outside or (broken and domain.integer)
    return _enter(channel, floats, start) if wrong else (codes[: block.size], None)


def _enter_whole(channel: Channel, codes: NDArray[np.int32], table: Any, block: NDArray[Any], start: int) -> Entered:
    """Turn a block of whole numbers into entry codes by the compiled loop; with unknown ones in it, by ``_enter``.

    ``codes``: the array to write to. ``table``: (the lowest number, the code of every number from it on).
    """
    unknown = compiled().encode_whole(np.ascontiguousarray(block), codes[: block.size], *table)
    return _enter(channel, block, start) if unknown else (codes[: block.size], None)


def _enter_texts(channel: Channel, codes: NDArray[np.int32], labels: Any, block: NDArray[Any], start: int) -> Entered:
    """Turn a block of texts into entry codes by the compiled loop; with unknown ones in it, by ``_enter``.

    ``codes``: the array to write to. ``labels``: those of the categories as rows of characters.
    """
    unknown = compiled().encode_text(_characters(np.ascontiguousarray(block)), codes[: block.size], labels)
    return _enter(channel, block, start) if unknown else (codes[: block.size], None)


def _characters(texts: NDArray[Any]) -> NDArray[Any]:
    """Return an array of texts as a table of characters, one row a text, padded with zeros to one width."""
    return texts.view(np.uint32).reshape(texts.size, -1)


def _exit(channel: Channel, size: int) -> Leave:
    """Choose the function that turns report codes into reports: it takes (codes, the array to write reports to).

    Compiled where ``size``, the number of reports of the whole column, is large.
    """
    kernels, space = compiled() if size >= WORTH_COMPILING else None, channel.outputs

    def decoded(codes: NDArray[np.int32], reports: NDArray[Any]) -> None:
        reports[:] = space.decode(codes)

    if kernels is not None and isinstance(space, Grid):
        if space.integer:
            return lambda codes, reports: kernels.decode_whole(codes, reports, *space.whole[:2])
        return lambda codes, reports: kernels.decode_grid(codes, reports, *space.floats)
    if kernels is not None and isinstance(space, Categories) and space.label_array.dtype.kind in "if":
        return lambda codes, reports: kernels.decode_numbers(codes, reports, space.label_array)
    if kernels is not None and isinstance(space, Categories) and space.label_array.dtype.kind == "U":
        labels = _characters(space.label_array)
        return lambda codes, reports: kernels.decode_texts(codes, _characters(reports), labels)
    return decoded


def _passage(channel: Channel) -> Callable[..., int]:
    """Choose the function that takes a block from values to reports in one compiled loop, where a channel has one.

    It takes (values, the array for their reports, upper halves of words) and returns how many reports it has written
    before the first value or word that needs the general functions: none where the channel has no such loop.
    """
    domain, entry, space = channel.domain, channel.entry, channel.outputs
    if not (isinstance(domain, Interval) and isinstance(entry, Grid) and isinstance(space, Grid)) or domain.integer:
        return lambda block, reports, upper: 0
    enter, leave = (float(domain.low), float(domain.high), *entry.floats, entry.size - 1), space.floats

    def through(block: NDArray[Any], reports: NDArray[Any], upper: Any) -> int:
        values, noise = np.ascontiguousarray(block, dtype=np.float64), _halved(channel.drawing.steps[0])
        return int(compiled().report_grid(values, reports, upper, enter, noise, leave))

    return through


def _categorical(channel: Channel, values: Any, source: WordSource) -> Any:
    """Draw the reports of a pandas column of categories, as a pandas array of the report's categories."""
    import pandas

    codes = channel.encode_entry(values).astype(np.int32)
    for start in range(0, codes.size, BLOCK):
        block = codes[start : start + BLOCK]
        missing = block < 0
        block[missing] = 0
        _draw_block(channel.drawing, block, source)
        block[missing] = MISSING
    return pandas.Categorical.from_codes(codes, categories=list(channel.outputs.labels))  # type: ignore[union-attr]
