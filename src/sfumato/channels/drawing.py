"""Reports for whole columns: values to codes, the program, codes to reports, block by block.

A block is small enough that its values, words and codes never leave the processor's cache. Where numba is installed
columns of numbers take compiled loops (``kernels.py``); the reports are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.program import Program, Shift, Window
from sfumato.channels.words import WordSource
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
WORTH_COMPILING = 1 << 12
Enter = Callable[[NDArray[Any], int], tuple[NDArray[np.int32], Any]]  # (block, first row) → (codes, which are missing)
Leave = Callable[[NDArray[np.int32], NDArray[Any]], None]  # (codes, where their reports go)


@cache
def kernels_in(module: str) -> Any:
    """A module of numba kernels, or None where numba is missing; the caller then takes its NumPy form."""
    try:
        return import_module(module)
    except ImportError:
        return None


def compiled() -> Any:
    """The kernels of this floor."""
    return kernels_in("sfumato.channels.kernels")


def report_array(channel: Channel, values: Any, source: WordSource) -> Any:
    """Reports in the shape of the values; a pandas column of categories gives a pandas array of categories."""
    if is_categorical(values) and isinstance(channel.outputs, Categories):
        return _categorical(channel, values, source)
    array = as_array(values)
    if isinstance(channel.domain, Interval) and array.dtype.kind not in "iuf":
        array = as_numbers(array)
    flat = array.reshape(-1) if array.ndim else array[None]
    enter, leave = _entrance(channel, flat.dtype, flat.size), _exit(channel, flat.size)
    reports = np.empty(flat.size, dtype=np.asarray(channel.outputs.decode(np.zeros(1, dtype=np.int64))).dtype)
    missing = None
    for start in range(0, flat.size, BLOCK):
        part = slice(start, start + BLOCK)
        codes, gaps = enter(flat[part], start)
        if gaps is not None:
            missing = np.zeros(flat.size, dtype=bool) if missing is None else missing
            missing[part] = gaps
        draw_in_place(channel.drawing, codes, source.rows(codes, channel.drawing.words))
        leave(codes, reports[part])
    return (reports if missing is None else with_gaps(reports, missing)).reshape(array.shape)


def draw_in_place(program: Program, codes: NDArray[np.int32], words: Any) -> None:
    """The program step by step; the commonest steps compiled where there are many codes."""
    kernels = compiled() if codes.size >= WORTH_COMPILING else None
    used = 0
    for step in program.steps:
        part = words if step.words == program.words else np.ascontiguousarray(words[:, used : used + step.words])
        used += step.words
        if kernels is not None and isinstance(step, Shift):
            kernels.shift(codes, part, step.noise.entries, step.noise.bits, step.offset, step.outputs - 1)
        elif kernels is not None and isinstance(step, Window):
            kernels.window(codes, part, np.uint64(step.inside), np.uint32(step.window), np.uint32(step.others))
        else:
            codes[:] = step.draw(codes.astype(np.int64), [part[:, word] for word in range(step.words)])


def _entrance(channel: Channel, dtype: Any, size: int) -> Enter:
    """How a block of this type becomes codes: compiled for columns of numbers."""
    kernels: Any = compiled() if size >= WORTH_COMPILING else None
    domain, entry = channel.domain, channel.entry
    buffer = np.empty(min(size, BLOCK), dtype=np.int32)

    def checked(block: NDArray[Any], start: int) -> tuple[NDArray[np.int32], Any]:
        codes = channel.encode_entry(block, start)
        gaps = codes < 0
        return np.maximum(codes, 0).astype(np.int32), gaps if gaps.any() else None

    def numbers(block: NDArray[Any], start: int) -> tuple[NDArray[np.int32], Any]:
        floats, codes = np.ascontiguousarray(block, dtype=np.float64), buffer[: block.size]
        ends = float(domain.low), float(domain.high)  # type: ignore[union-attr]
        outside, broken = kernels.encode_grid(floats, codes, *ends, *entry.floats)  # type: ignore[union-attr]
        wrong = outside or (broken and domain.integer)  # type: ignore[union-attr]
        return checked(floats, start) if wrong else (codes, None)

    def whole(block: NDArray[Any], start: int) -> tuple[NDArray[np.int32], Any]:
        codes = buffer[: block.size]
        unknown = kernels.encode_whole(np.ascontiguousarray(block), codes, *table)
        return checked(block, start) if unknown else (codes, None)

    def texts(block: NDArray[Any], start: int) -> tuple[NDArray[np.int32], Any]:
        codes = buffer[: block.size]
        unknown = kernels.encode_text(_characters(np.ascontiguousarray(block)), codes, labels)
        return checked(block, start) if unknown else (codes, None)

    if kernels is not None and isinstance(domain, Interval) and isinstance(entry, Grid):
        if dtype.kind in "iu" and entry.whole[1:] == (1, 1) and entry.size <= CLOSE_TOGETHER:
            table = entry.whole[0], np.arange(entry.size)
            return whole
        return numbers
    if kernels is None or not isinstance(domain, Categories):
        return checked
    if dtype.kind in "iu" and domain.whole_numbers is not None:
        table = domain.whole_numbers
        return whole
    if dtype.kind == "U" and domain.size <= FEW_LABELS and domain.label_array.dtype.kind == "U":
        labels = _characters(domain.label_array.astype(np.dtype((str, max(dtype.itemsize // 4, 1)))))
        short = np.char.str_len(domain.label_array) * 4 <= dtype.itemsize
        labels[~short] = np.iinfo(np.uint32).max  # a label that is longer than any text equals none
        return texts
    return checked


def _characters(texts: NDArray[Any]) -> NDArray[Any]:
    """Texts of one width as rows of characters, numbers as rows of one."""
    unit = np.uint32 if texts.dtype.kind == "U" else texts.dtype
    return texts.view(unit).reshape(texts.size, -1)


def _exit(channel: Channel, size: int) -> Leave:
    """How codes become reports: compiled for numbers."""
    kernels, space = compiled() if size >= WORTH_COMPILING else None, channel.outputs

    def decoded(codes: NDArray[np.int32], reports: NDArray[Any]) -> None:
        reports[:] = space.decode(codes)

    if kernels is not None and isinstance(space, Grid):
        if space.integer:
            return lambda codes, reports: kernels.decode_whole(codes, reports, *space.whole[:2])
        return lambda codes, reports: kernels.decode_grid(codes, reports, *space.floats)
    if kernels is not None and isinstance(space, Categories) and space.label_array.dtype.kind in "ifU":
        labels = _characters(space.label_array)
        return lambda codes, reports: kernels.decode_rows(codes, _characters(reports), labels)
    return decoded


def _categorical(channel: Channel, values: Any, source: WordSource) -> Any:
    import pandas

    codes = channel.encode_entry(values).astype(np.int32)
    for start in range(0, codes.size, BLOCK):
        block = codes[start : start + BLOCK]
        missing = block < 0
        block[missing] = 0
        draw_in_place(channel.drawing, block, source.rows(block, channel.drawing.words))
        block[missing] = MISSING
    return pandas.Categorical.from_codes(codes, categories=list(channel.outputs.labels))  # type: ignore[union-attr]
