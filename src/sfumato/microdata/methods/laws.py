"""`Law`: a distribution of discrete noise, IB04's or the owner's; and the noise that a release really has.

    y = x + step · round(share · (upper − lower) / step),     share drawn from the law, kept inside [lower, upper]

IB04 leaves the law to the application. Its own (Figure 2) approximates a normal one with mean 0 and a deviation of
27.6 % of the range that the leaf's conditions leave; its text does not say how values stay inside. Four ways:

    "reflect"  what goes beyond an end is folded back     "redraw"  the noise is drawn until the value stays inside
    "wrap"     it comes in again at the other end         "clip"    it stops at the end

Under such a law a value may go as far as the leaf's conditions allow, not only as far as values were observed, and no
value is put next to a cut: the release is as the law draws it. A category is replaced, with the law's deviation as
probability, by one of those allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sfumato.domain import Codes, Floats
from sfumato.microdata.draws import Draws
from sfumato.microdata.methods.noise import additive_noise, reflect
from sfumato.microdata.patterns.pattern import Leaves
from sfumato.microdata.table.fields import Field, Mask, Microdata

ENDS = ("reflect", "redraw", "wrap", "clip")  # how values stay inside, see above
MOST_REDRAWS = 1_000
"""How often noise is drawn again before a law is refused: one that leaves the interval 99 times in 100 is left over in
four cases of 100,000."""

GRID = 10_000
"""Points at which a law's deviation is computed: to about four digits, which is more than it is shown with."""


@dataclass(frozen=True)
class Quantiles:
    """The quantile function of a discrete law: ``shares`` in ascending order, ``below`` their cumulated
    probabilities."""

    shares: Floats
    below: Floats

    def __call__(self, u: Floats) -> Floats:
        return self.shares[np.searchsorted(self.below, u)]


@dataclass(frozen=True)
class Law:
    """A law of noise (the chances of its sizes), in shares of the interval that a tree's leaf leaves to a value.

    ``quantile``: the function from an array of numbers uniform on (0, 1) to shares. ``ends``: how values stay inside
    the interval: "reflect" folds them back, "redraw" draws again, "wrap" continues at the other end, "clip" stops at
    the end.

    >>> Law.of_table({-0.1: 1, 0: 2, 0.1: 1}).quantile([0.1, 0.5, 0.9]).tolist()
    [-0.1, 0.0, 0.1]
    """

    quantile: Callable[[Floats], Any]
    ends: str = "reflect"

    def __post_init__(self) -> None:
        if self.ends not in ENDS:
            raise ValueError(f"ends={self.ends!r} is unknown; choose {', '.join(ENDS)}")
        shares = np.asarray(self.quantile(np.array([0.25, 0.5, 0.75])), float)
        if shares.shape != (3,) or not np.isfinite(shares).all():
            raise ValueError("law as a function must turn an array of uniform numbers into as many finite shares")

    @classmethod
    def of_table(cls, probabilities: Mapping[float, float], ends: str = "reflect") -> Law:
        """Make the law that gives each share its probability.

        ``probabilities``: the probability of each share of the interval (−1 … 1), up to a common factor. ``ends``: as
        in `Law`.
        """
        shares, weights = (np.array(part).astype(float) for part in (list(probabilities), list(probabilities.values())))
        if not (weights.size and (weights >= 0).all() and weights.sum() > 0 and np.isfinite(shares).all()):
            raise ValueError("law as a table maps shares of the interval to probabilities, of which one is above 0")
        order = np.argsort(shares)
        below = np.cumsum(weights[order]) / weights.sum()
        below[-1] = 1.0
        return cls(Quantiles(shares[order], below), ends)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise as a share of the interval, before it is rounded or kept inside."""
        return float(np.std(self.quantile((np.arange(GRID) + 0.5) / GRID)))

    def moved(self, values: Floats, room: tuple[Floats, Floats], amount: float, field: Field, draws: Draws) -> Floats:
        """Return values of one field, none of them missing, with noise, inside their intervals.

        ``room``: the lower and upper end of each value's interval. ``amount``: multiplies the law's shares. ``field``:
        its steps.
        """
        lower, upper = room
        noisy = values + self._noise(upper - lower, amount, field, draws)
        if self.ends == "clip":
            return np.clip(noisy, lower, upper)
        if self.ends == "wrap":
            return _wrapped(noisy, lower, upper, field.step)
        if self.ends == "reflect":
            return reflect(noisy, lower - field.step / 2, upper + field.step / 2)
        for _ in range(MOST_REDRAWS):
            outside = np.flatnonzero((noisy < lower) | (noisy > upper))
            if not outside.size:
                return noisy
            noisy[outside] = values[outside] + self._noise((upper - lower)[outside], amount, field, draws)
        raise ValueError("the law leaves the interval again and again; take smaller noise, or ends='reflect'")

    def _noise(self, width: Floats, amount: float, field: Field, draws: Draws) -> Floats:
        """Draw noise for intervals of these widths, one number each, rounded to the field's steps."""
        noise = amount * np.asarray(self.quantile(draws.uniform(width.size)), float) * width
        return noise if not field.step else field.step * np.rint(noise / field.step)


def _wrapped(values: Floats, lower: Floats, upper: Floats, step: float) -> Floats:
    """Return values with those outside [lower, upper] continued at its other end.

    ``step``: the distance of the field's values, to which they are rounded; 0: any value is allowed.
    """
    if step:
        indices = np.mod(np.rint((values - lower) / step), np.rint((upper - lower) / step) + 1)
        return np.asarray(lower + step * indices)
    width = upper - lower
    inside = (values >= lower) & (values <= upper)
    return np.where(inside, values, lower + np.mod(values - lower, np.where(width > 0, width, 1)))


PAPER_DEVIATION = 0.276
"""The standard deviation of IB04's noise in shares of the range, as its Figure 2 states it."""

PAPER = Law.of_table({k / 20: float(np.exp(-0.5 * (k / 20 / PAPER_DEVIATION) ** 2)) for k in range(-20, 21)})
"""Our reading of IB04's Figure 2: a normal law in steps of 5 % of the range, up to the whole range."""


def law_of(law: Any) -> Law:
    """Return the law of noise that an option names.

    ``law``: "paper" (that of Islam and Brankovic 2004), a `Law`, a table of probabilities by share, or a quantile
    function.
    """
    if isinstance(law, Law) or law == "paper":
        return PAPER if law == "paper" else law
    return Law.of_table(law) if isinstance(law, Mapping) else Law(law)


def draw_by_law(
    data: Microdata, leaves: Leaves, law: Law, amount: Floats, kept: Mask, moves: Mask, draws: Draws
) -> Floats:
    """Return the values of records [record, field], each moved once by noise of a law, inside its leaf's interval.

    A category changes with the law's standard deviation as probability.
    ``amount``: multiplies the law, by field. ``kept``: fields that stay. ``moves[record, field]``: what may move.
    """
    released = data.X.copy()
    for index, field in enumerate(data.fields):
        rows = np.flatnonzero(moves[:, index] & ~np.isnan(data.X[:, index]))
        if rows.size and not kept[index]:
            values, (lower, upper) = data.X[rows, index], (end[rows] for end in leaves.bounds(index))
            if field.kind == "category":
                moved = additive_noise(values, lower, upper, float(amount[index]) * law.deviation, field, draws)
            else:
                moved = law.moved(values, (lower, upper), float(amount[index]), field, draws)
            released[rows, index] = field.snap(moved, lower, upper)
    return released


def may_move(leaves: Leaves, y: Codes, tested: bool, untested: bool | Literal["mixed"]) -> Mask:
    """Return which values of records may move in a release, as truth values [record, field].

    ``tested``: whether those of fields that are tested on the way to the record's leaf may. ``untested``: whether those
    of the others may; "mixed": only in leaves with several classes in ``y``.
    """
    on_path = leaves.tested[leaves.leaf]
    if untested != "mixed":
        return np.where(on_path, tested, untested)
    one_class = np.zeros(leaves.nodes.size, y.dtype)
    one_class[leaves.leaf] = y
    others = np.bincount(leaves.leaf, y != one_class[leaves.leaf], leaves.nodes.size)
    mixed = (others > 0)[leaves.leaf][:, None]
    return np.where(on_path, tested, mixed)


# --- realised noise ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RealisedNoise:
    """Mean and deviation of released − original for one attribute, in shares of each value's interval.

    ``tested``: over the leaves whose paths test the attribute, or over the others. ``values``: how many.
    """

    attribute: str
    tested: bool
    values: int
    mean: float
    deviation: float

    def __str__(self) -> str:
        where = "tested" if self.tested else "untested"
        came = f"mean {self.mean:+.3f}, deviation {self.deviation:.3f}"
        return f"{self.attribute}, {where} ({self.values} values): {came}"


def realised_noise(original: Microdata, released: Microdata, leaves: Leaves | None) -> list[RealisedNoise]:
    """Measure the noise of every numeric attribute, in tested and untested leaves apart.

    Without leaves (None) the interval is the whole domain, and nothing is tested.
    """
    noise = []
    for index in np.flatnonzero(original.numeric).tolist():
        field, x, y = original.fields[index], original.X[:, index], released.X[:, index]
        lower, upper, tested = np.full(x.shape, field.low), np.full(x.shape, field.high), np.zeros(x.shape, bool)
        if leaves is not None:
            (lower, upper), tested = leaves.bounds(index), leaves.tested[leaves.leaf, index]
        able = ~np.isnan(x) & ~np.isnan(y) & (upper > lower)
        for role in (True, False):
            rows = able & (tested == role)
            if rows.any():
                share = (y - x)[rows] / (upper - lower)[rows]
                noise.append(RealisedNoise(field.name, role, int(rows.sum()), float(share.mean()), float(share.std())))
    return noise
