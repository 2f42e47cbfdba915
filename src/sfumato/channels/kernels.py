"""The fused path that randomizes large arrays of numbers: words, table look-up, sum and rounding block by block.

It needs numba and draws from the secure source; without numba the caller takes the general path, which has the same
law. Blocks are small enough that words and noise never leave the processor's cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.channels.alias import halve
from sfumato.channels.optional import kernels_in
from sfumato.channels.randomness import SecureWords
from sfumato.domain import Floats

if TYPE_CHECKING:
    from sfumato.channels.additive import AdditiveNoise

WORTH_FUSING = 1 << 15
BLOCK = 1 << 14
MOST_BITS = 20


def compiled() -> Any:
    """The numba kernels, or None where numba is missing."""
    return kernels_in("sfumato.channels.compiled")


def add_noise(values: Floats, channel: AdditiveNoise, source: SecureWords) -> Floats | None:
    """Reports for an array of floats, or None when numba is missing. Errors are those of the general path."""
    table, bits = channel.alias
    kernels = compiled()
    if not kernels or bits > MOST_BITS:
        return None
    upper, lower = halve(table, bits)
    flat = np.ascontiguousarray(values).ravel()
    reports, noise = np.empty(flat.size), np.empty(BLOCK, dtype=np.int32)
    buffer, zeros = bytearray(4 * BLOCK + 16), bytes(4 * BLOCK)
    words = np.frombuffer(buffer, dtype=np.uint32)[:BLOCK]
    grid = _grid_numbers(channel)
    for start in range(0, flat.size, BLOCK):
        source.fill(zeros, buffer)
        undecided = kernels.draw_upper(words, upper, bits, noise)
        if undecided:
            more = source.draw(undecided).astype(np.uint32)
            kernels.decide(words, upper, lower, bits, more, noise)
        block = flat[start : start + BLOCK]
        outside = kernels.add(block, reports[start : start + BLOCK], noise, *grid)
        if outside and channel.outside != "clamp":
            channel.domain.clean(block)
    return reports.reshape(values.shape)


def _grid_numbers(channel: AdditiveNoise) -> tuple[float, ...]:
    """low, high, steps per 1, shift, last code, and (a, b, c): a report's number is (a + b·code)/c, as on its grid."""
    units = channel.outputs.units
    number = (channel.outputs.origin, channel.step, 1.0) if units is None else (units[0], 1.0, units[1])
    ends = float(channel.domain.low), float(channel.domain.high)
    return (*ends, 1 / channel.step, float(channel.past - channel.reach), float(channel.outputs.size - 1), *number)
