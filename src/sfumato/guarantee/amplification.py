"""Compute everything that follows from γ alone: beliefs, breaches, and sentences about them (EGS03 §4 and §7)."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.guarantee.breach import Breach
from sfumato.prose import Voice, finite, voice

LARGEST_FLOAT = Fraction(1.7e308)  # just below the largest float, 1.797e308: a larger γ counts as infinite
RATIOS = np.geomspace(1e-6, 1e6, 401)
"""The ratios at which x·f(x) is checked to be convex. By judgement: thirty a power of ten, over more than the ratios
that posteriors and priors usually have; a wrong f that is convex at all of them goes unnoticed."""


class Amplification:
    """A statement with a bound γ; the base class of ``Guarantee`` and ``CombinedGuarantee``.

    ``language``: of its sentences, "en", "de" or "fr".
    """

    gamma: float
    language: str

    @property
    def epsilon(self) -> float:
        """ε = ln γ, the parameter of local differential privacy, rounded up."""
        if not math.isfinite(self.gamma):
            return math.inf
        return logarithm_above(self.gamma) if self.gamma > 1 else 0.0

    @property
    def voice(self) -> Voice:
        """The writer of sentences in the statement's language."""
        return voice(self.language)

    def worst_posterior(self, prior: float) -> float:
        """Return the highest chance that a property can have after a report: γρ/(γρ + 1 − ρ).

        ``prior``: its chance ρ before, strictly between 0 and 1.
        """
        check_probability("prior", prior)
        return float(grown(prior, self.gamma))

    def least_posterior(self, prior: float) -> float:
        """Return the lowest chance that a property can have after a report: ρ/(ρ + γ(1 − ρ)).

        ``prior``: its chance ρ before, strictly between 0 and 1.
        """
        return 1 - self.worst_posterior(1 - prior)

    def excludes(self, rho1: float, rho2: float) -> bool:
        """Return whether γ excludes a ρ1-to-ρ2 breach, up or down: if ρ2(1−ρ1)/(ρ1(1−ρ2)) > γ (EGS03, Statement 1).

        ``rho1`` and ``rho2``: the chances between which a property must not move, 0 < rho1 < rho2 < 1.
        """
        return excluded_by(self.gamma, rho1, rho2)

    def breach(self, rho1: float = 0.05, rho2: float = 0.5) -> Breach:
        """Return whether a ρ1-to-ρ2 breach, up or down, can happen, with an example where one is found.

        ``rho1`` and ``rho2``: a breach moves the chance of a property from at most rho1 to at least rho2, or from at
        least rho2 to at most rho1.

        >>> import sfumato as sf
        >>> print(sf.RandomizedResponse(sf.Categories(["yes", "no"]), gamma=3).guarantee().breach(0.05, 0.5))
        No report can move a belief from 5 % to 50 % or back, whatever the prior is (γ = 3).
        """
        if self.excludes(rho1, rho2):
            return Breach(rho1, rho2, self.gamma, possible=False, language=self.language)
        return self._example(rho1, rho2) or Breach(rho1, rho2, self.gamma, possible=True, language=self.language)

    def _example(self, rho1: float, rho2: float) -> Breach | None:
        """Find a report and a property that show a breach which γ permits; None where no table is at hand."""
        return None

    def bound(self) -> dict[str, str]:
        """Return γ, ε and the highest beliefs from 5 % and 50 % as parts of a sentence, rounded up; γ is finite."""
        five, say = self.worst_posterior(0.05), self.voice
        return {
            "gamma": say.number(self.gamma, up=True),
            "epsilon": say.number(self.epsilon, up=True),
            "five": say.percent(five, up=True),
            "fifty": say.percent(self.worst_posterior(0.5), up=True),
            "edge": say("worst.edge") if math.isclose(five, 0.5) else "",
        }

    def numbers(self) -> dict[str, Any]:
        """Return γ, ε and the highest beliefs from some chances as plain data, with None for infinite."""
        return {
            "gamma": finite(self.gamma),
            "epsilon": finite(self.epsilon),
            "bounded": math.isfinite(self.gamma),
            "worst_posterior": {str(p): self.worst_posterior(p) for p in (0.01, 0.05, 0.2, 0.5)},
        }


def rounded_up(gamma: Fraction | None) -> float:
    """Return the smallest float that is not below γ; infinity for None."""
    if gamma is None or gamma > LARGEST_FLOAT:
        return math.inf
    nearest = gamma.numerator / gamma.denominator
    return nearest if Fraction(nearest) >= gamma else math.nextafter(nearest, math.inf)


def logarithm_above(gamma: float) -> float:
    """Return the smallest float that is not below ln γ."""
    with localcontext() as digits:
        digits.prec = 40  # digits, of which a float has 17: enough that the rounding is always known
        exact = Decimal(gamma).ln()
        nearest = float(exact)
        return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)


def gamma_text(gamma: Fraction | None) -> str | None:
    """Return γ as the text of a fraction, one of more than 1,024 bits rounded up to a multiple of 2^−64; None for ∞."""
    if gamma is None:
        return None
    if max(gamma.numerator, gamma.denominator) >> 1024:
        gamma = Fraction(math.ceil(gamma * (1 << 64)), 1 << 64)
    return str(gamma)


def product_of(gammas: list[float]) -> float:
    """Return the product of several γ, rounded up; 1 for none."""
    return math.inf if math.inf in gammas else rounded_up(math.prod(map(Fraction, gammas), start=Fraction(1)))


def grown(prior: Any, gamma: Any) -> Any:
    """Return the highest chance after a report of what had chance ρ before: γρ/(γρ + 1 − ρ), exact for fractions."""
    return 1.0 if gamma == math.inf else gamma * prior / (gamma * prior + 1 - prior)


def excluded_by(gamma: float, rho1: float, rho2: float) -> bool:
    """Return whether γ is too small for a ρ1-to-ρ2 breach."""
    needed = breach_gamma(rho1, rho2)
    return bool(needed > gamma and not math.isclose(needed, gamma, rel_tol=1e-12))


def breach_gamma(rho1: Any, rho2: Any) -> Any:
    """Return the smallest γ that permits a ρ1-to-ρ2 breach, ρ2(1−ρ1)/(ρ1(1−ρ2)), exact for fractions."""
    check_rhos(rho1, rho2)
    return rho2 * (1 - rho1) / (rho1 * (1 - rho2))


def breach_information(rho1: float, rho2: float, f: Callable[[Any], Any] = np.log2) -> float:
    """Return the least worst-case information that a ρ1-to-ρ2 breach implies (EGS03, Statements 6 and 7):

        B = ρ2·f(ρ2/ρ1) + (1−ρ2)·f((1−ρ2)/(1−ρ1)).

    After an upward breach the worst-case information is at least B; after a downward one the inverse worst-case
    information is.

    ``rho1`` and ``rho2``: the chances between which the breach moves a property, 0 < rho1 < rho2 < 1.
    ``f``: how information is measured: a function with x·f(x) convex; log2 gives bits.

    >>> round(breach_information(0.05, 0.5), 3)
    1.198
    """
    check_rhos(rho1, rho2)
    check_convex(f)
    return float(rho2 * f(rho2 / rho1) + (1 - rho2) * f((1 - rho2) / (1 - rho1)))


def check_convex(f: Callable[[Any], Any]) -> None:
    """Raise an error unless x·f(x) is convex, as the statements need: no middle one of three ratios above the chord."""
    values = RATIOS * np.asarray([f(ratio) for ratio in RATIOS], dtype=float)
    steps = np.diff(RATIOS)
    slopes, rounding = np.diff(values) / steps, 1e-14 * (np.abs(values[:-1]) + np.abs(values[1:])) / steps
    if not np.isfinite(values).all() or (np.diff(slopes) < -(rounding[:-1] + rounding[1:])).any():
        raise ValueError("f is not usable: x·f(x) must be finite and convex for x > 0, as with numpy.log2")


def check_rhos(rho1: Any, rho2: Any) -> None:
    """Raise an error unless 0 < rho1 < rho2 < 1."""
    if not 0 < rho1 < rho2 < 1:
        given = f"rho1={float(rho1):g}, rho2={float(rho2):g}"
        raise ValueError(f"{given}: a breach needs 0 < rho1 < rho2 < 1, for example 0.05 and 0.5")


def check_probability(name: str, value: float) -> None:
    """Raise an error that names the parameter unless its value lies strictly between 0 and 1."""
    if not 0 < value < 1:
        raise ValueError(f"{name}={value!r} is not strictly between 0 and 1; give a probability")
