"""Reports for whole columns: values to codes, the program, codes to reports, block by block.

A block is small enough that its values, words and codes never leave the processor's cache. Where numba is installed the
commonest parts are compiled (``kernels.py``); the reports are the same.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.program import Program, Shift, Step, Window
from sfumato.channels.words import WordSource
from sfumato.domain import MISSING, Categories, Codes, Grid, Interval, as_array, as_numbers, is_categorical

if TYPE_CHECKING:
    from sfumato.channels.base import Channel

BLOCK = 1 << 13
WORTH_COMPILING = 1 << 12


@cache
def kernels_in(module: str) -> Any:
    """A module of numba kernels, or None where numba is missing; the caller then takes its NumPy form."""
    try:
        return import_module(module)
    except ImportError:
        return None


def compiled() -> Any:
    return kernels_in("sfumato.channels.kernels")


def report_array(channel: Channel, values: Any, source: WordSource) -> Any:
    """Reports in the shape of the values; a pandas column of categories gives a pandas array of categories."""
    if is_categorical(values) and isinstance(channel.outputs, Categories):
        return _categorical(channel, values, source)
    array = _readable(channel, values)
    flat = array.reshape(-1)
    large = flat.size >= WORTH_COMPILING and compiled() is not None
    if large and isinstance(channel.domain, Interval) and isinstance(channel.entry, Grid):
        return _numbers(channel, flat, source).reshape(array.shape)
    codes = np.empty(flat.size, dtype=np.int64)
    for start in range(0, flat.size, BLOCK):
        entered = channel.encode_entry(flat[start : start + BLOCK] if array.ndim else array, start)
        codes[start : start + BLOCK] = draw_block(channel.drawing, np.atleast_1d(entered), source)
    return decode_blocks(channel.outputs, codes).reshape(array.shape)


def _readable(channel: Channel, values: Any) -> NDArray[Any]:
    array = as_array(values)
    if isinstance(channel.domain, Interval) and array.dtype.kind not in "iuf":
        return as_numbers(array)
    return array


def draw_block(program: Program, codes: Codes, source: WordSource) -> Codes:
    """Report codes of one block, drawn in place where compiled."""
    words = source.rows(codes, program.words)
    kernels = compiled() if codes.size >= WORTH_COMPILING else None
    used = 0
    known = codes.astype(np.int32, copy=False)
    for step in program.steps:
        part = words[:, used : used + step.words]
        used += step.words
        if kernels is None or not _drawn_by_kernel(kernels, step, known, part):
            drawn = step.draw(np.maximum(known, 0), [part[:, word] for word in range(step.words)])
            known = np.where(known < 0, MISSING, drawn).astype(np.int32)
    return known


def _drawn_by_kernel(kernels: Any, step: Step, codes: NDArray[np.int32], words: Any) -> bool:
    if isinstance(step, Shift):
        kernels.shift(codes, words, step.noise.entries, step.noise.bits, step.offset, step.outputs - 1)
    elif isinstance(step, Window):
        kernels.window(codes, words, np.uint64(step.inside), step.window, step.others)
    else:
        return False
    return True


def decode_blocks(space: Any, codes: Codes) -> NDArray[Any]:
    """Reports of codes; in blocks where they need not become numbers with gaps."""
    if codes.size <= BLOCK or (codes < 0).any():
        return np.asarray(space.decode(codes))
    first = space.decode(codes[:BLOCK])
    reports = np.empty(codes.size, dtype=first.dtype)
    reports[:BLOCK] = first
    for start in range(BLOCK, codes.size, BLOCK):
        reports[start : start + BLOCK] = space.decode(codes[start : start + BLOCK])
    return reports


def _numbers(channel: Channel, flat: NDArray[Any], source: WordSource) -> NDArray[Any]:
    """Numbers on a grid from one end to the other in compiled loops."""
    outputs = channel.outputs
    whole = isinstance(outputs, Grid) and outputs.integer
    reports = np.empty(flat.size, dtype=np.int64 if whole else np.float64)
    missing, codes = 0, np.empty(BLOCK, dtype=np.int32)
    for start in range(0, flat.size, BLOCK):
        block = np.ascontiguousarray(flat[start : start + BLOCK], dtype=np.float64)
        missing += _enter(channel, block, codes[: block.size], start)
        drawn = draw_block(channel.drawing, codes[: block.size], source)
        part = reports[start : start + BLOCK]
        if isinstance(outputs, Grid):
            decode = compiled().decode_whole if whole else compiled().decode_grid
            decode(drawn, part, *outputs.floats)
        else:
            part[:] = outputs.decode(drawn)
    return np.where(np.isnan(flat), np.nan, reports) if whole and missing else reports


def _enter(channel: Channel, block: NDArray[np.float64], codes: NDArray[np.int32], start: int) -> int:
    """The block's codes; how many are missing. Where something is wrong the general way names it."""
    domain, entry = channel.domain, channel.entry
    ends = float(domain.low), float(domain.high)  # type: ignore[union-attr]
    last = float(entry.size - 1)
    outside, broken, missing = compiled().encode_grid(block, codes, *ends, *entry.floats, last)  # type: ignore[union-attr]
    wrong = (outside and channel.outside != "clamp") or (broken and domain.integer)  # type: ignore[union-attr]
    if wrong or (missing and channel.missing == "refuse"):
        channel.encode_entry(block, start)
    return int(missing)


def _categorical(channel: Channel, values: Any, source: WordSource) -> Any:
    import pandas

    codes = channel.encode_entry(values)
    for start in range(0, codes.size, BLOCK):
        block = codes[start : start + BLOCK]
        block[:] = draw_block(channel.drawing, block, source)
    return pandas.Categorical.from_codes(codes, categories=list(channel.outputs.labels))  # type: ignore[union-attr]
