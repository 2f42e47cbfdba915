"""The statement of what one report of a channel can reveal, under several notions of privacy, in words and numbers.

All of it follows from the channel's table P[reported, true] and, where a notion needs one, from a prior belief:

- γ, the largest ratio within a row, and ε = ln γ (EGS03 §4; on a finite domain, local differential privacy);
- the width of the noise alone (AS00 §2), and the credible width of the true value, given the prior and the report;
- entropy privacy Π(A|B) = 2^h(A|B) and its loss 1 − 2^−I(A;B) (LKT08 §3);
- mutual, worst-case and inverse worst-case information (EGS03 §7), and the posterior of any property;
- ρ1-to-ρ2 breaches, excluded by γ or shown by example (EGS03 §3).

The γ bound holds for every prior, so it holds for an adversary with any background knowledge that is independent of
the noise. Numbers are rounded towards less privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from sfumato.domain import Categories, Floats, Grid, Interval
from sfumato.guarantee.amplification import Amplification, breach_information, check_convex, check_probability
from sfumato.guarantee.breach import Breach, adversarial_breach, find_breach
from sfumato.guarantee.total import CombinedGuarantee, repeated
from sfumato.prose import Voice, finite, voice

LARGEST_LAW = 100_000_000  # entries of a table that is measured: the law that may be held, channels' ``MOST_ENTRIES``
MEASURED_ROWS = 600
"""Reports, or true values, over which widths are averaged, evenly thinned. By judgement: widths change slowly along the
grid, and more of them only take longer."""
CONFIDENCES = (0.5, 0.95, 0.999)  # of the widths in ``to_dict``: those of AS00's Table 1


class Describable(Protocol):
    """The attributes and methods of a channel (a table of chances P[reported, true]) that a guarantee reads.

    It is a protocol for types, so that this folder need not import channels.
    """

    domain: Any

    @property
    def inputs(self) -> Any: ...
    @property
    def outputs(self) -> Any: ...
    @property
    def gamma(self) -> float: ...
    @property
    def visible(self) -> tuple[str, ...]: ...
    def law(self) -> Floats: ...
    def interval_width(self, confidence: float) -> float | None: ...
    def interval_weights(self, edges: Floats) -> Floats: ...
    def describe(self, say: Voice) -> str: ...
    def for_measuring(self) -> Describable: ...


@dataclass(frozen=True, eq=False)
class Guarantee(Amplification):
    """The statement of what one report of a channel can reveal; ``str()`` is prose, ``to_dict()`` is for machines.

    ``channel.guarantee()`` makes it. Its parameters:
    ``gamma``: γ, the largest factor of a report on the odds of anything, ∞ where there is none. ``description``: what
    happens to the answer, in words.
    ``notes``: further sentences, printed at the end.
    ``channel``: what the table P[reported, true] is read from; None: it is too large, and only γ is stated.
    ``prior``: the chances of the true values before a report.
    ``visible``: what the collector sees besides the report ("missing": whether there is an answer, "level", "size").
    ``language``: of its sentences, "en", "de" or "fr".

    >>> import sfumato as sf
    >>> stated = sf.RandomizedResponse(sf.Categories(["yes", "no"]), gamma=3).guarantee()
    >>> stated.gamma, round(stated.epsilon, 3), round(stated.mutual_information, 3)
    (3.0, 1.099, 0.189)
    """

    gamma: float
    description: str
    notes: tuple[str, ...] = ()
    channel: Describable | None = field(default=None, repr=False)
    prior: Floats | None = field(default=None, repr=False)
    visible: tuple[str, ...] = ()
    language: str = "en"

    @classmethod
    def of_channel(cls, channel: Describable, prior: Any = None, language: str = "en") -> Guarantee:
        """Return the statement of what a report can reveal, for a channel whose table P[reported, true] fits in memory.

        ``prior``: the belief before a report: probabilities over equal intervals or over the categories, a mapping from
        category to probability, or an Estimate; None: all values alike. ``language``: of its sentences, "en", "de" or
        "fr".
        """
        measured, description = channel.for_measuring(), channel.describe(voice(language))
        belief = read_prior(measured, prior)
        return cls(channel.gamma, description, (), measured, belief, channel.visible, language)

    # --- widths -------------------------------------------------------------------------------------------------

    def interval(self, confidence: float = 0.95) -> float | None:
        """Return the interval width of AS00: how far the noise alone spreads reports, in units of the domain.

        It is the length of the smallest set of reports that has chance ``confidence`` given the true value, on average
        over true values; where a report says only in which of several ranges the value lies, ``confidence`` times the
        range's width. None for categories. ``credible_width`` also counts what was believed before.

        >>> import sfumato as sf
        >>> round(sf.Gaussian(sf.Interval(20, 80), scale=10).guarantee().interval(0.95), 1)
        39.2
        """
        check_probability("confidence", confidence)
        channel = self._needs_law("interval")
        if not isinstance(channel.domain, Interval):
            return None
        stated = channel.interval_width(confidence)
        if stated is not None:
            return stated
        columns = _some(self._law.shape[1])
        widths = smallest_sets(self._law[:, columns].T, np.diff(channel.outputs.edges), confidence)
        return float(np.average(widths, weights=self._prior[columns]))

    def credible_width(self, confidence: float = 0.95) -> float | None:
        """Return how closely a report places the true value, in units of the domain, on average over reports.

        It is the length of the shortest set of values that has chance ``confidence`` once the report is known; None for
        categories. It counts what was believed before and the ends of the domain, so it never passes the domain's
        width. A rare report can place the value more closely: see ``breach``.
        """
        check_probability("confidence", confidence)
        channel = self._needs_law("credible width")
        if not isinstance(channel.domain, Interval):
            return None
        shares = self._law @ self._prior
        rows = np.flatnonzero(shares > 0)
        rows = rows[_some(rows.size)]
        widths = smallest_sets(self._law[rows] * self._prior / shares[rows, None], self._lengths, confidence)
        return float(np.average(widths, weights=shares[rows]))

    @cached_property
    def _lengths(self) -> Floats:
        """For each true code (number of a value), the length of the interval that it stands for.

        Together they are the width of the domain.
        """
        channel = self._needs_law("credible width")
        if channel.domain.integer or not isinstance(channel.inputs, Grid):
            return np.full(channel.inputs.size, channel.domain.width / channel.inputs.size)
        inside = np.clip(channel.inputs.edges, float(channel.domain.low), float(channel.domain.high))
        return np.diff(inside)

    # --- information --------------------------------------------------------------------------------------------

    @cached_property
    def prior_privacy(self) -> float:
        """The uncertainty about the true value A before a report: 2^h(A), h the entropy in bits of the prior belief.

        It is the width of the uniform distribution with that entropy, in units of the domain; for categories, a number
        of them.
        """
        channel = self._needs_law("entropy privacy")
        p = self._prior[self._prior > 0]
        continuous = isinstance(channel.inputs, Grid) and not channel.inputs.integer
        cell = channel.inputs.step if continuous else 1.0
        return float(2.0 ** -(p * np.log2(p / cell)).sum())

    @property
    def entropy_privacy(self) -> float:
        """The uncertainty about the true value A that a report B leaves, on average: 2^h(A|B), h the entropy in bits.

        It is the width of the uniform distribution with that entropy, in units of the domain; for categories, a number
        of them.
        """
        return float(self.prior_privacy * 2.0**-self.mutual_information)

    @property
    def privacy_loss(self) -> float:
        """The share of the uncertainty about the true value that a report removes, on average: 1 − 2^−I, from 0 to 1.

        I is the mutual information of value and report in bits; uncertainty is the width of the uniform distribution
        with the same entropy (``prior_privacy`` before the report, ``entropy_privacy`` after it).
        """
        return float(1 - 2.0**-self.mutual_information)

    @cached_property
    def mutual_information(self) -> float:
        """The information about the true value A in a report B, in bits, on average over both: I(A;B)."""
        reports = self._law @ self._prior
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(self._law > 0, np.log2(self._law / reports[:, None]), 0.0)
        return max(float((self._law * ratio @ self._prior).sum()), 0.0)

    @cached_property
    def worst_case_information(self) -> float:
        """The information about the true value in the report that reveals most, in bits: ``information`` with f = log2.
        """
        return self.information()

    @cached_property
    def inverse_worst_case_information(self) -> float:
        """The largest information, in bits, from the belief after a report back to the one before.

        It is max_y Σ_x P[x]·log2(P[x]/P[x|y]), large where a report y makes values x unlikely; ∞ if a report rules a
        possible value out.
        """
        return self.information(inverse=True)

    def information(self, f: Callable[[Any], Any] = np.log2, *, inverse: bool = False) -> float:
        """Return the information about the true value x in the report y with most: max_y Σ_x P[x|y]·f(P[x|y]/P[x]).

        It is the worst-case information of EGS03 §7.

        ``f``: how information is measured: a function with x·f(x) convex; log2 gives bits. ``inverse``: True: the
        inverse, max_y Σ_x P[x]·f(P[x]/P[x|y]); ∞ if a report rules a possible value out.
        """
        check_convex(f)
        possible = self._prior > 0
        before, after = self._prior[possible], self._posterior[:, possible]
        if not inverse:
            return float(_expected(f, after, np.broadcast_to(before, after.shape)).max())
        if (after <= 0).any():
            return math.inf
        return float(_expected(f, np.broadcast_to(before, after.shape), after).max())

    def excludes_by_information(self, rho1: float, rho2: float, f: Callable[[Any], Any] = np.log2) -> bool:
        """Return whether the information in reports is too small for a ρ1-to-ρ2 breach, under this guarantee's prior.

        The prior is the belief before a report. A breach moves the chance of a property from ρ1 (``rho1``) to ρ2
        (``rho2``) or back. One upward needs a worst-case information of at least B, one downward an inverse one of at
        least B, with B the ``breach_information(rho1, rho2, f)`` (EGS03, Statements 6 and 7); ``f``: how information is
        measured. This can exclude breaches that γ permits, and γ some that this permits.
        """
        bound = breach_information(rho1, rho2, f)
        below = bound - 1e-9 * (1 + abs(bound))  # equality up to rounding excludes nothing
        return self.information(f) < below and self.information(f, inverse=True) < below

    def posterior(self, report: Any, property: Any, prior: Any = None) -> float:
        """Return the chance that the true value has a property once the report is known, P[Q | report].

        ``report``: as it is sent. ``property``: a function from value to bool, a value, a collection of values, or
        (low, high) of numbers, ends included. ``prior``: the belief before the report, as ``read_prior`` takes it;
        None: this guarantee's own.

        >>> import sfumato as sf
        >>> kept = sf.RandomizedResponse(sf.Categories(range(1001)), keep=0.2).guarantee([0.01] + [0.00099] * 1000)
        >>> round(kept.posterior(0, 0), 4), round(kept.posterior(0, lambda x: not 200 <= x <= 800), 4)
        (0.7163, 0.8295)
        """
        channel = self._needs_law("a posterior")
        belief = self._prior if prior is None else read_prior(channel, prior)
        joint = self._law[int(channel.outputs.encode(report))] * belief
        if joint.sum() <= 0:
            raise ValueError(f"a report of {report!r} cannot occur under this prior; give one that can")
        return float(joint[members_of(channel, property)].sum() / joint.sum())

    def _example(self, rho1: float, rho2: float) -> Breach | None:
        """Find a report that moves a chance from ρ1 to ρ2 (a breach), as a ``Breach``; None if the table is too large.

        It is searched for under this guarantee's prior belief first, then under the belief that makes it worst.
        """
        if self.channel is None or not self.measurable:
            return None
        breach = find_breach(self._law, self._prior, self.channel, rho1, rho2, self.language)
        return breach or adversarial_breach(self._law, self.channel, rho1, rho2, self.language)

    # --- words --------------------------------------------------------------------------------------------------

    @property
    def sent(self) -> str:
        """What leaves the device in place of the answer, in one sentence."""
        return self.voice("sent", how=self.description)

    @property
    def usual(self) -> str:
        """How closely a report narrows a number down on average, in one sentence.

        "" for categories, or where the channel's table is too large.
        """
        if self.channel is None or not self.measurable or not isinstance(self.channel.domain, Interval):
            return ""
        width, say = self.credible_width() or 0.0, self.voice
        share = say.percent(width / self.channel.domain.width, 0)
        return say("width", width=say.number(width), share=share)

    @property
    def worst(self) -> str:
        """What a report can reveal at worst, in one sentence: how far suspicions can grow, or an example."""
        if math.isfinite(self.gamma):
            return self.voice("worst.bound", **self.bound())
        return self.voice("worst.none", example=self.breach(0.05, 0.5))

    @property
    def besides(self) -> str:
        """What the collector sees of this answer beside the blurred report, in one sentence.

        That may be whether there is an answer, the level (how strongly the person chose to blur) or a basket's size.
        """
        if not self.visible:
            return self.voice("visible.nothing")
        return self.voice("visible", what=self.voice.listed(self.voice(f"visible.{kind}") for kind in self.visible))

    def __str__(self) -> str:
        sentences = [self.sent, self.usual, self.worst, *self._for_experts(), self.besides, *self.notes]
        return "\n".join(sentence for sentence in sentences if sentence)

    def _for_experts(self) -> list[str]:
        """Return the sentences with γ, the largest factor on the odds, and ε = ln γ.

        Without a bound there is one sentence, which names a channel that has one.
        """
        if math.isfinite(self.gamma):
            return [self.voice("worst.odds", **self.bound()), self.voice("worst.other")]
        bounded = "RandomizedResponse" if self.channel and isinstance(self.channel.domain, Categories) else "SquareWave"
        return [self.voice("worst.remedy", channel=bounded)]

    def to_dict(self) -> dict[str, Any]:
        """Return every number and sentence as a dict for JSON, with None for what is infinite or does not apply.

        Where the channel's table is too large only γ, ε and the sentences are in it.
        """
        numbers = {"description": self.description, **self.numbers(), "notes": list(self.notes)}
        numbers |= {"visible": list(self.visible), "sent": self.sent, "worst": self.worst, "besides": self.besides}
        if not self.measurable:
            return numbers
        names = ["entropy_privacy", "prior_privacy", "privacy_loss", "mutual_information", "worst_case_information"]
        for name in [*names, "inverse_worst_case_information"]:
            numbers[name] = finite(getattr(self, name))
        numbers["interval"] = {str(c): finite(self.interval(c)) for c in CONFIDENCES}
        numbers["credible_width"] = {str(c): finite(self.credible_width(c)) for c in CONFIDENCES}
        numbers["breach_5_to_50"] = self.breach(0.05, 0.5).to_dict()
        return numbers

    # --- composition --------------------------------------------------------------------------------------------

    def repeated(self, times: int) -> CombinedGuarantee:
        """Return the statement for ``times`` independent reports of the same answer: γ to the power ``times``.

        γ is the largest factor on the odds.
        """
        return repeated(self, times)

    # --- tables -------------------------------------------------------------------------------------------------

    @property
    def measurable(self) -> bool:
        """Whether the channel's table P[reported, true] is small enough to hold: every number but γ and ε needs it."""
        return self.channel is not None and self.channel.inputs.size * self.channel.outputs.size <= LARGEST_LAW

    def _needs_law(self, what: str) -> Describable:
        """Return the channel whose table P[reported, true] a number is computed from; without one raise ValueError.

        ``what``: the number's name, with which the error begins.
        """
        if self.channel is None:
            raise ValueError(f"{what} needs the channel's whole table, which is too large here; γ is exact")
        return self.channel

    @cached_property
    def _law(self) -> Floats:
        """The channel's table of chances, an array [reported, true]; ValueError where it is too large."""
        channel = self._needs_law("this measure")
        if not self.measurable:
            raise ValueError(
                f"the law has {channel.outputs.size} × {channel.inputs.size} entries, too many to measure; "
                f"give the channel a coarser step="
            )
        return channel.law()

    @property
    def _prior(self) -> Floats:
        """The chances of the true values before a report, one for each code (number of a value)."""
        assert self.prior is not None
        return self.prior

    @property
    def _posterior(self) -> Floats:
        """The chances of the true values after each report: an array [report that can occur, true code]."""
        joint = self._law * self._prior
        reports = joint.sum(axis=1)
        seen = reports > 0
        return np.asarray(joint[seen] / reports[seen, None])


def read_prior(channel: Describable, prior: Any) -> Floats:
    """Return a belief about the answer as an array: a chance for each true code, the number of a channel's value.

    ``prior``: probabilities over equal intervals of the domain or over the categories, a mapping from category to
    probability, or an Estimate; None: all values alike.
    """
    size, edges = channel.inputs.size, getattr(prior, "edges", None)
    if prior is None:
        return np.full(size, 1 / size)
    if isinstance(prior, Mapping):
        if not isinstance(channel.inputs, Categories):
            raise TypeError("a prior given by name is for categories; give probabilities over equal intervals instead")
        codes = channel.inputs.encode(list(prior))
        weights = np.zeros(size)
        weights[codes] = list(prior.values())
    else:
        estimated = hasattr(prior, "probabilities")
        weights = np.clip(prior.probabilities, 0, None) if estimated else np.asarray(prior, dtype=float)
    if weights.ndim != 1 or not (weights >= 0).all() or not 0 < weights.sum() < math.inf:
        raise ValueError("prior is not a row of probabilities; give non-negative numbers with a positive sum")
    if edges is None and weights.size != size:
        if isinstance(channel.inputs, Categories):
            raise ValueError(f"prior has {weights.size} entries for {size} categories; give one per category")
        edges = np.linspace(channel.domain.low, channel.domain.high, weights.size + 1)
    if edges is not None:
        weights = channel.interval_weights(np.asarray(edges, dtype=float)) @ weights
    return np.asarray(weights / weights.sum())


def members_of(channel: Describable, property: Any) -> Any:
    """Return which true values have a property, as a mask over their codes (the numbers of the values).

    ``property``: a function from value to bool; for categories a value or a collection of values; for numbers (low,
    high), ends included.
    """
    values = channel.inputs.decode(np.arange(channel.inputs.size))
    if callable(property):
        return np.array([bool(property(value)) for value in values.tolist()])
    if isinstance(channel.inputs, Categories):
        alone = isinstance(property, (str, bytes)) or not isinstance(property, (list, tuple, set, frozenset, range))
        wanted = channel.inputs.encode([property] if alone else list(property))
        return np.isin(np.arange(values.size), wanted)
    if isinstance(property, tuple) and len(property) == 2:
        return (values >= property[0]) & (values <= property[1])
    raise ValueError(f"property={property!r} is unclear for numbers; give (low, high), or a function of the value")


def _expected(f: Callable[[Any], Any], above: Floats, below: Floats) -> Floats:
    """Return Σ p·f(p/q) over each row of two arrays of probabilities: the information of p relative to q, by f.

    ``above``: p, ``below``: q, both [report, value]; terms with p = 0 count 0. The result has one number a row.
    """
    positive = above > 0
    ratio = np.where(positive, above, 1.0) / np.where(positive, below, 1.0)
    try:
        gained = np.asarray(f(ratio), dtype=float)
    except TypeError:  # a function of single numbers
        gained = np.vectorize(f, otypes=[float])(ratio)
    return np.asarray(np.where(positive, above * gained, 0.0).sum(axis=1))


def _some(size: int) -> Any:
    """Return at most 600 indices below ``size`` as an array, evenly spread, both ends included, to save time."""
    return np.unique(np.linspace(0, size - 1, MEASURED_ROWS).astype(int))


def smallest_sets(beliefs: Floats, lengths: Floats | float, confidence: float) -> Floats:
    """Return for each row of probabilities the length of the smallest set of values that has chance ``confidence``.

    The set takes values in the order of probability per length, the last one in part. ``beliefs``: one row a
    distribution, one column a value; ``lengths``: the length that each value stands for.
    """
    lengths = np.broadcast_to(lengths, beliefs.shape[1:])
    density = beliefs / np.maximum(lengths, 1e-300)
    order = np.argsort(-density, axis=1, kind="stable")
    chances = np.take_along_axis(beliefs, order, axis=1)
    taken = np.clip(confidence - (np.cumsum(chances, axis=1) - chances), 0.0, chances)
    return np.asarray((taken / np.maximum(chances, 1e-300) * lengths[order]).sum(axis=1))
