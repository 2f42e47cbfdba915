"""The fused loop that randomizes large arrays: word, table look-up, sum and rounding in one pass over memory.

It needs numba and draws from the secure source block by block; without numba the caller takes the general path, which
has the same law.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.domain import Floats

if TYPE_CHECKING:
    from sfumato.channels.additive import AdditiveNoise

WORTH_FUSING = 1 << 16
BLOCK = 1 << 14

_compiled: Any = None


def _compile() -> Any:
    """The numba kernel, or False where numba is missing."""
    global _compiled
    if _compiled is None:
        try:
            from sfumato.channels.compiled import add_noise_block
        except ImportError:
            _compiled = False
        else:
            _compiled = add_noise_block
    return _compiled


def add_noise(values: Floats, channel: AdditiveNoise, source: Any) -> Floats | None:
    """Reports for an array of floats, or None when numba is missing. Errors are those of the general path."""
    block_kernel = _compile()
    if not block_kernel:
        return None
    flat = np.ascontiguousarray(values).ravel()
    reports = np.empty(flat.size)
    buffer, zeros = bytearray(8 * BLOCK + 16), bytes(8 * BLOCK)
    words = np.frombuffer(buffer, dtype=np.uint64)[:BLOCK]
    table, bits = channel._alias
    grid, past = channel.inputs, float(channel.past - channel.reach)
    low, high, clamp = float(channel.domain.low), float(channel.domain.high), channel.outside == "clamp"
    for start in range(0, flat.size, BLOCK):
        source.fill(zeros, buffer)
        block = flat[start : start + BLOCK]
        refused = block_kernel(
            block, reports[start : start + BLOCK], words, table, bits, low, high, 1 / grid.step, clamp,
            channel.outputs.origin, grid.step, past, float(channel.outputs.size - 1),
        )  # fmt: skip
        if refused >= 0:
            channel.domain.clean(block[refused : refused + 1])
    return reports.reshape(values.shape)


