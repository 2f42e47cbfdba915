"""The class step of IB04: labels move inside leaves, so that every leaf keeps (or nearly keeps) its class counts.

RPT   minority records take the majority's class, then as many random records of the leaf take theirs:
      a random permutation of the labels inside each leaf. Class counts are kept exactly.
PPT   every record of a leaf with several classes draws its class from the leaf's shares.
ALPT  so do the records of pure leaves, which borrow the average minority share of the others.
"""

from __future__ import annotations

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.microdata.draws import Draws

STEPS = ("rpt", "ppt", "alpt", "none")


def blur_labels(y: Codes, leaf: Codes, step: str, draws: Draws) -> Codes:
    """The released classes; ``leaf`` is any number per leaf."""
    if step not in STEPS:
        raise ValueError(f"labels={step!r} is not a class step; choose {', '.join(STEPS)}")
    if step == "none":
        return y.copy()
    if step == "rpt":
        return y[draws.shuffled_within(leaf)]
    shares = _shares(y, leaf, borrow=step == "alpt")
    below = np.cumsum(shares, axis=1)[leaf]
    return np.asarray(np.minimum((draws.uniform(y.size)[:, None] > below).sum(axis=1), shares.shape[1] - 1))


def _shares(y: Codes, leaf: Codes, *, borrow: bool) -> Floats:
    """P(class | leaf); pure leaves give their minority classes the average minority share if asked."""
    counts = np.zeros((int(leaf.max()) + 1, int(y.max()) + 1))
    np.add.at(counts, (leaf, y), 1)
    total = counts.sum(axis=1)
    shares = counts / np.maximum(total, 1)[:, None]
    mixed = counts.max(axis=1) < total
    if borrow and mixed.any():
        minority = 1 - counts[mixed].max(axis=1).sum() / total[mixed].sum()
        overall = counts.sum(axis=0) / total.sum()
        for place in np.flatnonzero(~mixed & (total > 0)):
            own = counts[place].argmax()
            others = np.where(np.arange(overall.size) == own, 0, overall)
            shares[place] = minority * others / others.sum()
            shares[place, own] = 1 - minority
    return np.asarray(shares)
