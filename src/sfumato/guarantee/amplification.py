"""Compute what follows from γ alone, the largest factor of a report on odds: beliefs, breaches, sentences.

It is §4 and §7 of EGS03.
"""

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
    """The base class of statements about what reports can reveal, all of which follow from one number γ.

    ``gamma``: γ, the largest factor by which what is sent can multiply the odds of anything about a person.
    ``language``: of the sentences, "en", "de" or "fr". ``Guarantee`` states one report, ``CombinedGuarantee`` all that
    a person sends.
    """

    gamma: float
    language: str

    @property
    def epsilon(self) -> float:
        """ε = ln γ, the parameter of local differential privacy, as a float that is rounded up; ∞ where γ is."""
        if not math.isfinite(self.gamma):
            return math.inf
        return logarithm_above(self.gamma) if self.gamma > 1 else 0.0

    @property
    def voice(self) -> Voice:
        """The object that writes numbers and sentences in the language of this statement."""
        return voice(self.language)

    def worst_posterior(self, prior: float) -> float:
        """Return the highest chance that a property of a person can have after a report: γρ/(γρ + 1 − ρ).

        γ is the largest factor of a report on the odds. ``prior``: the property's chance ρ before, strictly between 0
        and 1.
        """
        check_probability("prior", prior)
        return float(grown(prior, self.gamma))

    def least_posterior(self, prior: float) -> float:
        """Return the lowest chance that a property of a person can have after a report: ρ/(ρ + γ(1 − ρ)).

        γ is the largest factor of a report on the odds. ``prior``: the property's chance ρ before, strictly between 0
        and 1.
        """
        return 1 - self.worst_posterior(1 - prior)

    def excludes(self, rho1: float, rho2: float) -> bool:
        """Return whether γ excludes a ρ1-to-ρ2 breach, up or down: if ρ2(1−ρ1)/(ρ1(1−ρ2)) > γ (EGS03, Statement 1).

        γ is the largest factor of a report on the odds. ``rho1`` and ``rho2``: the chances between which no report may
        move a property of a person, 0 < rho1 < rho2 < 1.
        """
        return excluded_by(self.gamma, rho1, rho2)

    def breach(self, rho1: float = 0.05, rho2: float = 0.5) -> Breach:
        """Return whether a ρ1-to-ρ2 breach can happen, as a ``Breach`` that is true if so, with an example if any.

        ``rho1`` and ``rho2``: a breach is a report that moves the chance of a property of a person from at most rho1 to
        at least rho2, or from at least rho2 to at most rho1.

        >>> import sfumato as sf
        >>> print(sf.RandomizedResponse(sf.Categories(["yes", "no"]), gamma=3).guarantee().breach(0.05, 0.5))
        No report can move a belief from 5 % to 50 % or back, whatever the prior is (γ = 3).
        """
        if self.excludes(rho1, rho2):
            return Breach(rho1, rho2, self.gamma, possible=False, language=self.language)
        return self._example(rho1, rho2) or Breach(rho1, rho2, self.gamma, possible=True, language=self.language)

    def _example(self, rho1: float, rho2: float) -> Breach | None:
        """Find a report and a property of a person that show a ρ1-to-ρ2 breach, as a ``Breach``; None if none is found.

        This base class has no table of chances to search and returns None; its subclasses search theirs.
        """
        return None

    def bound(self) -> dict[str, str]:
        """Return the texts that fill the sentence about γ, the largest factor on the odds: a dict, numbers rounded up.

        "gamma"; "epsilon": ln γ; "five" and "fifty": the highest chance after a report of what had a chance of 5 % and
        of 50 % before; "edge": a remark for where "five" is exactly 50 %, else empty. γ must be finite.
        """
        five, say = self.worst_posterior(0.05), self.voice
        return {
            "gamma": say.number(self.gamma, up=True),
            "epsilon": say.number(self.epsilon, up=True),
            "five": say.percent(five, up=True),
            "fifty": say.percent(self.worst_posterior(0.5), up=True),
            "edge": say("worst.edge") if math.isclose(five, 0.5) else "",
        }

    def numbers(self) -> dict[str, Any]:
        """Return γ (the largest factor on the odds), ε = ln γ and the highest chances after a report: a dict for JSON.

        Infinite numbers are None. "bounded": whether γ is finite; "worst_posterior": the highest chance after a report
        by the chance before it, for four chances.
        """
        return {
            "gamma": finite(self.gamma),
            "epsilon": finite(self.epsilon),
            "bounded": math.isfinite(self.gamma),
            "worst_posterior": {str(p): self.worst_posterior(p) for p in (0.01, 0.05, 0.2, 0.5)},
        }


def rounded_up(gamma: Fraction | None) -> float:
    """Return an exact fraction γ as the smallest float that is not below it, so that no bound is understated.

    ``gamma``: None: there is no bound, and the result is infinity, as for a fraction beyond all floats.
    """
    if gamma is None or gamma > LARGEST_FLOAT:
        return math.inf
    nearest = gamma.numerator / gamma.denominator
    return nearest if Fraction(nearest) >= gamma else math.nextafter(nearest, math.inf)


def logarithm_above(gamma: float) -> float:
    """Return the smallest float that is not below ln γ, so that a stated ε is never too small."""
    with localcontext() as digits:
        digits.prec = 40  # digits, of which a float has 17: enough that the rounding is always known
        exact = Decimal(gamma).ln()
        nearest = float(exact)
        return nearest if Decimal(nearest) >= exact else math.nextafter(nearest, math.inf)


def gamma_text(gamma: Fraction | None) -> str | None:
    """Return an exact fraction γ as text, such as "19" or "19/3", for plain data; None, for no bound, as it is.

    A fraction of more than 1,024 bits is first rounded up to a multiple of 2^−64.
    """
    if gamma is None:
        return None
    if max(gamma.numerator, gamma.denominator) >> 1024:
        gamma = Fraction(math.ceil(gamma * (1 << 64)), 1 << 64)
    return str(gamma)


def product_of(gammas: list[float]) -> float:
    """Return the product of the γ of several reports, which bounds all of them together, rounded up; 1 for none.

    ``gammas``: for each report the largest factor by which it multiplies odds.
    """
    return math.inf if math.inf in gammas else rounded_up(math.prod(map(Fraction, gammas), start=Fraction(1)))


def grown(prior: Any, gamma: Any) -> Any:
    """Return the highest chance after a report of what had chance ρ before: γρ/(γρ + 1 − ρ), exact for fractions.

    ``prior``: ρ. ``gamma``: γ, the largest factor by which the report multiplies odds.
    """
    return 1.0 if gamma == math.inf else gamma * prior / (gamma * prior + 1 - prior)


def excluded_by(gamma: float, rho1: float, rho2: float) -> bool:
    """Return whether γ, the largest factor on the odds, is too small to move a chance from ρ1 to ρ2 (a breach)."""
    needed = breach_gamma(rho1, rho2)
    return bool(needed > gamma and not math.isclose(needed, gamma, rel_tol=1e-12))


def breach_gamma(rho1: Any, rho2: Any) -> Any:
    """Return the smallest γ that permits a ρ1-to-ρ2 breach, ρ2(1−ρ1)/(ρ1(1−ρ2)), exact for fractions.

    γ is the largest factor of a report on the odds; a breach is a report that moves a chance from ρ1 to ρ2.
    """
    check_rhos(rho1, rho2)
    return rho2 * (1 - rho1) / (rho1 * (1 - rho2))


def breach_information(rho1: float, rho2: float, f: Callable[[Any], Any] = np.log2) -> float:
    """Return the least information that some report carries if a ρ1-to-ρ2 breach can happen (EGS03, Statements 6, 7):

        B = ρ2·f(ρ2/ρ1) + (1−ρ2)·f((1−ρ2)/(1−ρ1)).

    Where a breach can happen upwards, the worst-case information of a report (``Guarantee.information``) is at least B;
    where it can happen downwards, the inverse worst-case information is. So smaller ones exclude the breach.

    ``rho1`` and ``rho2``: the chances between which the breach moves a property of a person, 0 < rho1 < rho2 < 1.
    ``f``: how information is measured: a function with x·f(x) convex; log2 gives bits.

    >>> round(breach_information(0.05, 0.5), 3)
    1.198
    """
    check_rhos(rho1, rho2)
    check_convex(f)
    return float(rho2 * f(rho2 / rho1) + (1 - rho2) * f((1 - rho2) / (1 - rho1)))


def check_convex(f: Callable[[Any], Any]) -> None:
    """Raise ValueError unless x·f(x) is finite and convex, as the statements about information need.

    ``f``: the measure of information. It is tested at 401 ratios x: no value in the middle of three may lie above the
    line between the other two.
    """
    values = RATIOS * np.asarray([f(ratio) for ratio in RATIOS], dtype=float)
    steps = np.diff(RATIOS)
    slopes, rounding = np.diff(values) / steps, 1e-14 * (np.abs(values[:-1]) + np.abs(values[1:])) / steps
    if not np.isfinite(values).all() or (np.diff(slopes) < -(rounding[:-1] + rounding[1:])).any():
        raise ValueError("f is not usable: x·f(x) must be finite and convex for x > 0, as with numpy.log2")


def check_rhos(rho1: Any, rho2: Any) -> None:
    """Raise ValueError unless 0 < rho1 < rho2 < 1, the two chances between which a breach moves a property."""
    if not 0 < rho1 < rho2 < 1:
        given = f"rho1={float(rho1):g}, rho2={float(rho2):g}"
        raise ValueError(f"{given}: a breach needs 0 < rho1 < rho2 < 1, for example 0.05 and 0.5")


def check_probability(name: str, value: float) -> None:
    """Raise ValueError unless a value lies strictly between 0 and 1; ``name``: what the error calls it."""
    if not 0 < value < 1:
        raise ValueError(f"{name}={value!r} is not strictly between 0 and 1; give a probability")
