"""The shape that randomized response and the square wave share: one window of likely codes, the rest equally unlikely.

Around the true code lies a window of ``window`` report codes, each with probability γ·q; each of the ``others``
remaining report codes has probability q, and q = 1 / (γ·window + others).
"""

from __future__ import annotations

import numpy as np

from sfumato.channels.alias import WORD, Words
from sfumato.domain import Codes


def draw_in_window(codes: Codes, words: Words, window: int, others: int, inside: float) -> Codes:
    """Report codes: the window of true code x is x..x+window−1; ``inside`` is the probability of the window.

    A word below ``inside``·2^64 picks a place in the window, any other word one of the places outside it.
    """
    bound = min(int(inside * WORD), WORD)
    reports = np.empty(codes.size, dtype=np.int64)
    hits = np.ones(codes.size, dtype=bool) if bound == WORD else words < np.uint64(bound)
    reports[hits] = codes[hits] + _place(words[hits], bound, window)
    if others and not hits.all():
        place = _place(words[~hits] - np.uint64(bound), WORD - bound, others)
        reports[~hits] = place + window * (place >= codes[~hits])
    return reports


def _place(words: Words, total: int, places: int) -> Codes:
    """Split 0..total−1 into equal runs, one per place."""
    run = max(-(-total // places), 1)
    return np.zeros(words.size, dtype=np.int64) if places == 1 else (words // np.uint64(run)).astype(np.int64)
