"""The checks of correlated noise, whose table nobody can write down.

Given the attributes before it, each attribute's noise has a known law on the grid; its place in that law, spread evenly
inside the step that it fell into, is uniform on 0..1 and independent of all others:

    u_j = Φ(a_j) + V·(Φ(b_j) − Φ(a_j)),   V uniform.

Cells of every u_j and of every pair are counted and compared by exact binomial tests.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.special import ndtr

from sfumato.channels.correlated import CorrelatedNoise
from sfumato.domain import Codes, Floats
from sfumato.privacy.bounds import p_value
from sfumato.privacy.checks.check import Check, outcome
from sfumato.privacy.checks.reuse import check_reuse
from sfumato.privacy.implementation import Randomize
from sfumato.privacy.words import shown

CELLS, PAIR_CELLS = 32, 6
PLACES = (0.0, 0.5, 1.0)


def check_correlated(channel: CorrelatedNoise, randomize: Randomize, samples: int, false_alarm: float) -> list[Check]:
    """The law at both corners and in the middle of the domain, steps, and fresh noise."""
    ends = np.array([[domain.low, domain.high] for domain in channel.domains.values()], dtype=float)
    rows = [channel.values_on_grid(ends[:, 0] + place * (ends[:, 1] - ends[:, 0])) for place in PLACES]
    values = np.repeat(np.array(rows), samples // len(rows), axis=0)
    reports = np.asarray(randomize(values), dtype=float)
    name = ", ".join(channel.domains)

    def draw(count: int) -> Codes:
        drawn = np.asarray(randomize(np.repeat([rows[1]], count, axis=0)), dtype=float)
        return np.ascontiguousarray(drawn / channel.steps @ np.exp(np.arange(len(ends)))).view(np.int64)

    fresh = check_reuse(draw, min(channel.agreement + 1e-6, 1.0), name, false_alarm / 2)
    return [_law(channel, values, reports, name, false_alarm / 2), _steps(channel, randomize, ends, name), fresh]


def _law(channel: CorrelatedNoise, values: Floats, reports: Floats, name: str, alpha: float) -> Check:
    lower, upper = (ndtr(bound) for bound in channel.conditional_bounds(reports, values))
    place = lower + np.random.default_rng().random(lower.shape) * (upper - lower)
    counts, chances, names = [], [], []
    for j, attribute in enumerate(channel.domains):
        counts.append(_count(np.minimum((place[:, j] * CELLS).astype(int), CELLS - 1), CELLS))
        chances.append(1 / CELLS)
        names.append(attribute)
    cells = np.minimum((place * PAIR_CELLS).astype(int), PAIR_CELLS - 1)
    for a, b in combinations(range(place.shape[1]), 2):
        counts.append(_count(cells[:, a] * PAIR_CELLS + cells[:, b], PAIR_CELLS**2))
        chances.append(1 / PAIR_CELLS**2)
        names.append(" with ".join(list(channel.domains)[i] for i in (a, b)))
    tested = zip(counts, chances, strict=True)
    smallest = np.array([p_value(count, len(place), chance).min() for count, chance in tested])
    tests = sum(count.size for count in counts)
    worst = int(np.argmin(smallest))
    broken = bool(smallest[worst] < alpha / tests)
    held = f"{tests} exact tests agree with the law."
    text = f"the noise of {names[worst]} does not follow its law." if broken else held
    numbers = {"tests": tests, "smallest_p": float(smallest[worst]), "level": alpha / tests}
    return Check("law", name, outcome(not broken), text, alpha, numbers)


def _count(cells: Codes, size: int) -> Codes:
    return np.bincount(cells, minlength=size)


def _steps(channel: CorrelatedNoise, randomize: Randomize, ends: Floats, name: str) -> Check:
    """True values between the steps must give reports on them."""
    share = (np.arange(1, 2001)[:, None] * np.sqrt(np.arange(len(ends)) + 2.0)) % 1.0
    whole = np.array([domain.integer for domain in channel.domains.values()])
    values = ends[:, 0] + share * (ends[:, 1] - ends[:, 0])
    reports = np.asarray(randomize(np.where(whole, np.rint(values), values)), dtype=float)
    grids = channel.inputs
    on_steps = np.column_stack(
        [g.number(np.rint((c - g.origin) / g.step)) == c for g, c in zip(grids, reports.T, strict=True)]
    )
    sound = bool(on_steps.all())
    odd = "" if sound else f"report {shown(reports[~on_steps][0])} lies between the steps."
    return Check("low digits", name, outcome(sound), odd or "all reports lie on the steps.")
