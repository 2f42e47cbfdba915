"""How large is γ at least? A lower confidence bound from the implementation's own reports.

For true values x1, x2 and any set E of reports, γ ≥ P[E|x1]/P[E|x2]. One half of the reports chooses E for each pair
(reports in falling order of their observed ratio, cut where the ratio of bounds is largest); the other half bounds it:

    γ ≥ max over pairs of  L(k1, n1)/U(k2, n2),   L, U the Clopper–Pearson bounds at α/(2·pairs) each,

which holds with confidence 1 − α whatever the implementation does.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.privacy.bounds import lower_bound, upper_bound
from sfumato.privacy.checks.check import Check, outcome
from sfumato.privacy.implementation import Samples
from sfumato.privacy.words import shown

GROUPS = 96
MOST_VALUES = 16


def check_amplification(samples: Samples, stated: float, attribute: str, alpha: float) -> Check:
    """The bound against the stated γ; an infinite γ cannot be broken, and the bound is then only told."""
    bound, pair = least_gamma(samples, alpha)
    broken = bound > stated * (1 + 1e-9)
    values = " and ".join(shown(value) for value in samples.channel.inputs.decode(np.array(pair)))
    claim = f"stated is γ = {stated:.4g}" if np.isfinite(stated) else "stated is no bound at all"
    text = f"the reports prove γ ≥ {bound:.4g} (true values {values}, confidence {_share(alpha)}); {claim}."
    numbers = {"least_gamma": bound, "stated_gamma": stated if np.isfinite(stated) else None}
    return Check("amplification", attribute, outcome(not broken), text, alpha, numbers)


def least_gamma(samples: Samples, alpha: float) -> tuple[float, tuple[int, int]]:
    """The lower bound and the pair of true codes that shows it."""
    chosen = np.unique(np.linspace(0, samples.tested.size - 1, MOST_VALUES).round().astype(int))
    train, test = _halves([samples.codes[i] for i in chosen], samples.channel.outputs.size)
    pairs = list(permutations(range(chosen.size), 2))
    if not pairs:
        return 1.0, (int(samples.tested[0]), int(samples.tested[0]))
    hits = np.array([_best_event(train[a], train[b]) for a, b in pairs])
    first, second = np.array(pairs).T
    level = alpha / (2 * len(pairs))
    size = test.sum(axis=1)
    likely = lower_bound((hits * test[first]).sum(axis=1), size[first], level)
    rare = upper_bound((hits * test[second]).sum(axis=1), size[second], level)
    ratio = likely / rare
    best = int(np.argmax(ratio))
    pair = int(samples.tested[chosen[first[best]]]), int(samples.tested[chosen[second[best]]])
    return max(float(ratio[best]), 1.0), pair


def _halves(columns: list[Codes], size: int) -> tuple[Floats, Floats]:
    """Counts in groups of reports, for the even and for the odd places of each sample."""
    whole = np.bincount(np.concatenate(columns), minlength=size).astype(float)
    group = np.minimum((np.cumsum(whole) - whole / 2) / whole.sum() * GROUPS, GROUPS - 1).astype(int)
    if size <= GROUPS:
        group = np.arange(size)
    halves = [
        np.array([np.bincount(group[codes[start::2]], minlength=group.max() + 1) for codes in columns])
        for start in (0, 1)
    ]
    return halves[0].astype(float), halves[1].astype(float)


def _best_event(likely: Floats, rare: Floats) -> Floats:
    """1 for the groups of the event: the prefix, by observed ratio, whose ratio of rough bounds is largest."""
    order = np.argsort(-(likely + 0.5) / (rare + 0.5), kind="stable")
    high, low = np.cumsum(likely[order]), np.cumsum(rare[order])
    bounds = np.maximum(high - 5 * np.sqrt(high), 0) / likely.sum() / ((low + 5 * np.sqrt(low) + 12) / rare.sum())
    event = np.zeros(likely.size)
    event[order[: int(np.argmax(bounds)) + 1]] = 1
    return event


def _share(alpha: float) -> str:
    return f"1 − {alpha:.1g}"
