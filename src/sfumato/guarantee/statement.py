"""What one report can reveal, under every notion of privacy that we know, in words and numbers.

All of it follows from the channel's table P[reported, true] and, where a notion needs one, from a prior belief:

- γ, the largest ratio within a row, and ε = ln γ (EGS03 §4; on a finite domain, local differential privacy);
- the interval that holds the true value at a wanted confidence (AS00 §2);
- entropy privacy Π(A|B) = 2^h(A|B) and its loss 1 − 2^−I(A;B) (LKT08 §3);
- mutual, worst-case and inverse worst-case information (EGS03 §7);
- ρ1-to-ρ2 breaches, excluded by γ or shown by example (EGS03 §3).

The γ bound holds for every prior, so it holds for an adversary with any background knowledge that is independent of
the noise. Numbers are rounded towards less privacy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from sfumato.domain import Categories, Floats, Grid, Interval
from sfumato.guarantee.breach import Breach, adversarial_breach, find_breach
from sfumato.prose import finite, in_words, percent

INDEPENDENCE = (
    "The bound also holds against somebody who knows other things about you, "
    "as long as what they know does not depend on the random draw."
)
LARGEST_LAW = 100_000_000


class Describable(Protocol):
    """What a guarantee reads of a channel."""

    domain: Any

    @property
    def inputs(self) -> Any: ...
    @property
    def outputs(self) -> Any: ...
    @property
    def gamma(self) -> float: ...
    def law(self) -> Floats: ...
    def interval_width(self, confidence: float) -> float | None: ...
    def interval_weights(self, edges: Floats) -> Floats: ...
    def describe(self) -> str: ...
    def for_measuring(self) -> Describable: ...


class Amplification:
    """Everything that follows from γ alone."""

    gamma: float

    @property
    def epsilon(self) -> float:
        """ε = ln γ, the parameter of local differential privacy."""
        return math.log(self.gamma) if math.isfinite(self.gamma) else math.inf

    def worst_posterior(self, prior: float) -> float:
        """The highest belief in anything that had this probability before: γρ/(γρ + 1 − ρ)."""
        _check_probability("prior", prior)
        if not math.isfinite(self.gamma):
            return 1.0
        return self.gamma * prior / (self.gamma * prior + 1 - prior)

    def least_posterior(self, prior: float) -> float:
        """The lowest belief in anything that had this probability before: ρ/(ρ + γ(1 − ρ))."""
        return 1 - self.worst_posterior(1 - prior)

    def excludes(self, rho1: float, rho2: float) -> bool:
        """Statement 1 of EGS03: no ρ1-to-ρ2 breach, up or down, if ρ2(1−ρ1)/(ρ1(1−ρ2)) > γ (strictly)."""
        needed = breach_gamma(rho1, rho2)
        return bool(needed > self.gamma and not math.isclose(needed, self.gamma, rel_tol=1e-12))

    def breach(self, rho1: float = 0.05, rho2: float = 0.5) -> Breach:
        """Whether a ρ1-to-ρ2 breach, up or down, is excluded; if not, a report and a property that show it, or only
        that γ permits one."""
        if self.excludes(rho1, rho2):
            return Breach(rho1, rho2, self.gamma, possible=False)
        permitted = Breach(rho1, rho2, self.gamma, possible=True, assumption="the bound γ does not exclude it")
        return self._example(rho1, rho2) or permitted

    def _example(self, rho1: float, rho2: float) -> Breach | None:
        """A breach that γ permits, shown; None where no table is at hand."""
        return None

    def sentences(self) -> list[str]:
        """A finite γ in words."""
        five = self.worst_posterior(0.05)
        edge = " (just reachable)" if math.isclose(five, 0.5) else ""
        return [
            "Whatever somebody believes about you before, a report multiplies the odds by at most "
            f"{in_words(self.gamma)} (γ = {in_words(self.gamma)}, ε = {self.epsilon:.3f}).",
            f"A suspicion of 5 % can grow to at most {percent(five, up=True)}{edge}, "
            f"one of 50 % to at most {percent(self.worst_posterior(0.5), up=True)}.",
            INDEPENDENCE,
        ]

    def numbers(self) -> dict[str, Any]:
        """γ and what follows, with None for infinite."""
        return {
            "gamma": finite(self.gamma),
            "epsilon": finite(self.epsilon),
            "bounded": math.isfinite(self.gamma),
            "worst_posterior": {str(p): self.worst_posterior(p) for p in (0.01, 0.05, 0.2, 0.5)},
        }


@dataclass(frozen=True, eq=False)
class Guarantee(Amplification):
    """The privacy of one report of one channel; ``str()`` is prose, ``to_dict()`` is for machines."""

    gamma: float
    description: str
    notes: tuple[str, ...] = ()
    channel: Describable | None = field(default=None, repr=False)
    prior: Floats | None = field(default=None, repr=False)

    @classmethod
    def of_channel(cls, channel: Describable, prior: Any = None) -> Guarantee:
        """The guarantee of a channel whose law fits in memory."""
        measured = channel.for_measuring()
        return cls(channel.gamma, channel.describe(), (), measured, read_prior(measured, prior))

    # --- numbers ------------------------------------------------------------------------------------------------

    def interval(self, confidence: float = 0.95) -> float | None:
        """Width of the interval in which the true value lies with this confidence, given a usual report.

        Additive noise and value classes as in AS00 Table 1; for other laws the shortest interval of the posterior, on
        average over reports; None for categories. An unusual report can tell more: see ``breach``.
        """
        _check_probability("confidence", confidence)
        channel = self._needs_law("interval")
        if not isinstance(channel.domain, Interval):
            return None
        stated = channel.interval_width(confidence)
        if stated is not None:
            return stated
        reports = self._law @ self._prior
        share = reports[reports > 0]
        rows = np.unique(np.linspace(0, share.size - 1, 600).astype(int))
        widths = shortest_widths(self._posterior[rows], channel.inputs.step, confidence)
        return float(np.average(widths, weights=share[rows]))

    @cached_property
    def prior_privacy(self) -> float:
        """Π(A) = 2^h(A) of the prior: the width of the uniform distribution that is as uncertain."""
        channel = self._needs_law("entropy privacy")
        p = self._prior[self._prior > 0]
        continuous = isinstance(channel.inputs, Grid) and not channel.inputs.integer
        cell = channel.inputs.step if continuous else 1.0
        return float(2.0 ** -(p * np.log2(p / cell)).sum())

    @property
    def entropy_privacy(self) -> float:
        """Π(A|B) = 2^h(A|B): what is left of the uncertainty, on average, once the report is known."""
        return float(self.prior_privacy * 2.0**-self.mutual_information)

    @property
    def privacy_loss(self) -> float:
        """1 − Π(A|B)/Π(A) = 1 − 2^−I(A;B)."""
        return float(1 - 2.0**-self.mutual_information)

    @cached_property
    def mutual_information(self) -> float:
        """I(A;B) in bits."""
        reports = self._law @ self._prior
        ratio = _log2_ratio(self._law, reports[:, None])
        return max(float((self._law * ratio @ self._prior).sum()), 0.0)

    @cached_property
    def worst_case_information(self) -> float:
        """max over reports y of Σ_x P[x|y]·log2(P[x|y]/P[x]), in bits."""
        posterior = self._posterior
        return float((posterior * _log2_ratio(posterior, self._prior)).sum(axis=1).max())

    @cached_property
    def inverse_worst_case_information(self) -> float:
        """max over reports y of Σ_x P[x]·log2(P[x]/P[x|y]), in bits; ∞ if a report rules a possible value out."""
        posterior, prior = self._posterior, self._prior
        if (posterior[:, prior > 0] <= 0).any():
            return math.inf
        return float((prior * _log2_ratio(np.broadcast_to(prior, posterior.shape), posterior)).sum(axis=1).max())

    def _example(self, rho1: float, rho2: float) -> Breach | None:
        """Sought under this guarantee's prior first, then under a prior made to break it."""
        if self.channel is None:
            return None
        found = find_breach(self._law, self._prior, self.channel, rho1, rho2)
        return found or adversarial_breach(self._law, self.channel, rho1, rho2)

    # --- words --------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        sentences = [f"Before it leaves your device your answer is blurred: {self.description}."]
        sentences += [self._interval_sentence(), *self._bound_sentences(), *self.notes]
        return "\n".join(sentence for sentence in sentences if sentence)

    def _interval_sentence(self) -> str:
        if self.channel is None or not isinstance(self.channel.domain, Interval):
            return ""
        width = self.interval(0.95) or 0.0
        share = width / self.channel.domain.width
        return (
            f"A usual report places your answer, with 95 % confidence, somewhere in an interval of width "
            f"{in_words(width)} ({percent(share, 0)} of the whole range)."
        )

    def _bound_sentences(self) -> list[str]:
        if math.isfinite(self.gamma):
            return self.sentences()
        bounded = "RandomizedResponse" if self.channel and isinstance(self.channel.domain, Categories) else "SquareWave"
        return [
            "There is no bound on what an unlucky report reveals (γ is infinite).",
            f"For example: {self.breach(0.05, 0.5)}",
            f"If a bound is needed, use {bounded} with gamma=19: it never lets a belief of 5 % grow beyond 50 %.",
        ]

    def to_dict(self) -> dict[str, Any]:
        """Every number, with None for infinite or not applicable."""
        numbers = {"description": self.description, **self.numbers(), "notes": list(self.notes)}
        if self.channel is None:
            return numbers
        names = ["entropy_privacy", "prior_privacy", "privacy_loss", "mutual_information", "worst_case_information"]
        for name in [*names, "inverse_worst_case_information"]:
            numbers[name] = finite(getattr(self, name))
        numbers["interval"] = {str(c): finite(self.interval(c)) for c in (0.5, 0.95, 0.999)}
        numbers["breach_5_to_50"] = self.breach(0.05, 0.5).to_dict()
        return numbers

    # --- composition --------------------------------------------------------------------------------------------

    def repeated(self, times: int) -> CombinedGuarantee:
        """Several independent reports of the same answer: γ is raised to their number."""
        if times < 1:
            raise ValueError(f"times={times} is not a count of reports; give 1 or more")
        return CombinedGuarantee({f"report {i + 1}": self for i in range(times)})

    # --- tables -------------------------------------------------------------------------------------------------

    def _needs_law(self, what: str) -> Describable:
        if self.channel is None:
            raise ValueError(f"{what} needs the channel's whole table, which is too large here; γ is exact")
        return self.channel

    @cached_property
    def _law(self) -> Floats:
        channel = self._needs_law("this measure")
        if channel.inputs.size * channel.outputs.size > LARGEST_LAW:
            raise ValueError(
                f"the law has {channel.outputs.size} × {channel.inputs.size} entries, too many to measure; "
                f"give the channel a coarser step="
            )
        return channel.law()

    @property
    def _prior(self) -> Floats:
        assert self.prior is not None
        return self.prior

    @property
    def _posterior(self) -> Floats:
        """P[true | reported], one row per report that can occur."""
        joint = self._law * self._prior
        reports = joint.sum(axis=1)
        seen = reports > 0
        return np.asarray(joint[seen] / reports[seen, None])


@dataclass(frozen=True, eq=False)
class CombinedGuarantee(Amplification):
    """Several reports of one person together: their γ multiply, whatever the values have to do with each other."""

    parts: Mapping[str, Guarantee | CombinedGuarantee]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.parts:
            raise ValueError("nothing to combine; give at least one guarantee")

    @property
    def gamma(self) -> float:  # type: ignore[override]
        return math.prod(part.gamma for part in self.parts.values())

    def interval(self, confidence: float = 0.95) -> dict[str, Any]:
        """The interval widths of the parts, each on its own; correlated answers can be placed more closely."""
        return {name: part.interval(confidence) for name, part in self.parts.items()}

    def _example(self, rho1: float, rho2: float) -> Breach | None:
        """That of a single part."""
        return next(filter(None, (part.breach(rho1, rho2) for part in self.parts.values())), None)

    def repeated(self, times: int) -> CombinedGuarantee:
        """All of it asked several times, with fresh noise each time."""
        if times < 1:
            raise ValueError(f"times={times} is not a count of reports; give 1 or more")
        return CombinedGuarantee({f"time {i + 1}": self for i in range(times)}, self.notes)

    def __str__(self) -> str:
        if not math.isfinite(self.gamma):
            unbounded = [name for name, part in self.parts.items() if not math.isfinite(part.gamma)]
            total = [f"Together the answers have no bound on what they reveal, because of {', '.join(unbounded)}."]
        else:
            total = [f"Taken together ({len(self.parts)} reports of one person):", *self.sentences()]
        return "\n".join([*total, *self.notes])

    def to_dict(self) -> dict[str, Any]:
        parts = {name: part.to_dict() for name, part in self.parts.items()}
        return {**self.numbers(), "notes": list(self.notes), "parts": parts}


def breach_gamma(rho1: float, rho2: float) -> float:
    """The γ that a ρ1-to-ρ2 breach takes."""
    check_rhos(rho1, rho2)
    return rho2 * (1 - rho1) / (rho1 * (1 - rho2))


def breach_information(rho1: float, rho2: float) -> float:
    """The worst-case information that a ρ1-to-ρ2 breach implies, in bits:
    ρ2·log2(ρ2/ρ1) + (1−ρ2)·log2((1−ρ2)/(1−ρ1))."""
    check_rhos(rho1, rho2)
    return rho2 * math.log2(rho2 / rho1) + (1 - rho2) * math.log2((1 - rho2) / (1 - rho1))


def read_prior(channel: Describable, prior: Any) -> Floats:
    """A belief over the true codes; flat without one."""
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


def _log2_ratio(above: Floats, below: Floats) -> Floats:
    """log2(above/below) where above > 0, else 0 (0·log 0 = 0)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(above > 0, np.log2(above / below), 0.0)


def shortest_widths(beliefs: Floats, step: float, confidence: float) -> Floats:
    """For each belief (a row over values one step apart) the width of the shortest run with the wanted probability."""
    rows, size = beliefs.shape
    cumulative = np.hstack([np.zeros((rows, 1)), np.cumsum(beliefs, axis=1)])
    start = np.arange(size + 1)
    low, high = np.ones(rows, dtype=np.int64), np.full(rows, size, dtype=np.int64)
    while (low < high).any():
        middle = (low + high) // 2
        end = np.minimum(start + middle[:, None], size)
        held = (np.take_along_axis(cumulative, end, axis=1) - cumulative).max(axis=1)
        enough = held >= confidence - 1e-12
        low, high = np.where(enough, low, middle + 1), np.where(enough, middle, high)
    return np.asarray(step * low, dtype=np.float64)


def check_rhos(rho1: float, rho2: float) -> None:
    if not 0 < rho1 < rho2 < 1:
        raise ValueError(f"rho1={rho1:g}, rho2={rho2:g}: a breach needs 0 < rho1 < rho2 < 1, for example 0.05 and 0.5")


def _check_probability(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise ValueError(f"{name}={value!r} is not strictly between 0 and 1; give a probability")
