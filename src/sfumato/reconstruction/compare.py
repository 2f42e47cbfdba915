"""Differences and weighted sums of estimates from independent samples, such as classes or strata.

    difference   d = a − b,            Cov d = Cov a + Cov b
    combination  p = Σ_h W_h·p_h,      Cov p = Σ_h W_h²·Cov p_h,   W_h the known share of stratum h
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import chdtrc, erfc

from sfumato.domain import Floats
from sfumato.prose import plain, suggest
from sfumato.reconstruction.estimate import Diagnostics, Estimate, Fine, WithError

SURE = 0.05
"""The p-value below which a difference is said to be beyond chance: the customary level of statistical tests."""
MOST_TOGETHER = 2_000
"""Intervals or categories up to which all differences are tested together. By judgement: the test takes eigenvectors of
their covariance, seconds at this size, and time grows with the third power."""


def two_sided(z: Any) -> Floats:
    """Return the two-sided p-value of a standard normal number ``z``, or of each of an array: P(|Z| ≥ |z|)."""
    return np.asarray(erfc(np.abs(z) / np.sqrt(2)))


@dataclass(frozen=True, eq=False, repr=False)
class Difference:
    """The difference of two estimates from different people, for each interval or category.

    Made by `difference`; printed with a p-value where chance alone would seldom show as much.

    ``first``, ``second``: estimates of the same intervals or categories; the second is subtracted.

    >>> import sfumato as sf
    >>> coin = sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=0.75)
    >>> north, south = (sf.reconstruct(["yes"] * n + ["no"] * (1000 - n), coin) for n in (480, 400))
    >>> difference = sf.difference(north, south)
    >>> difference.differences.round(2).tolist(), difference.verdict
    ([0.16, -0.16], 'they differ beyond chance (p = 0.0003)')
    """

    first: Estimate
    second: Estimate

    @cached_property
    def differences(self) -> Floats:
        """The first share less the second, for each interval or category; of categories, the unbiased shares."""
        return np.asarray(_shares(self.first) - _shares(self.second))

    @cached_property
    def covariance(self) -> Any:
        """The covariance of the differences: the sum of both estimates' covariances."""
        return _summed([(1.0, self.first.covariance), (1.0, self.second.covariance)])

    @cached_property
    def stderr(self) -> Floats:
        """The standard error of each difference."""
        return np.asarray(np.sqrt(np.maximum(self.covariance.diagonal(), 0.0)))

    @property
    def z(self) -> Floats:
        """Each difference divided by its standard error; 0 where both are 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num(self.differences / self.stderr, nan=0.0)

    @property
    def p(self) -> Floats:
        """The p-value of each interval or category alone: how often two samples of one population differ as much."""
        return two_sided(self.z)

    @cached_property
    def p_together(self) -> float:
        """The p-value of all differences d together: dᵀC⁺d against χ², C their covariance.

        NaN where there are more than MOST_TOGETHER.
        """
        if self.differences.size > MOST_TOGETHER:
            return float("nan")
        variances, axes = np.linalg.eigh(np.asarray(self.covariance))
        seen = variances > 1e-9 * max(variances[-1], 1e-300)
        if not seen.any():
            return 1.0
        along = axes[:, seen].T @ self.differences
        return float(chdtrc(seen.sum(), float((along**2 / variances[seen]).sum())))

    def to_dict(self) -> dict[str, Any]:
        """Return labels, differences, errors and p-values as plain data for JSON."""
        numbers = {"differences": self.differences, "stderr": self.stderr, "p": self.p, "p_together": self.p_together}
        data: dict[str, Any] = plain({"labels": self.first.labels(), **numbers})
        return data

    def __str__(self) -> str:
        labels = self.first.labels()
        width = max(map(len, labels))
        rows = [
            f"{label:>{width}}  {100 * d:+7.2f} % ± {100 * error:5.2f}{_sure(p)}"
            for label, d, error, p in zip(labels, self.differences, self.stderr, self.p, strict=True)
        ]
        sizes = " and ".join(f"{estimate.diagnostics.reports:,.0f}" for estimate in (self.first, self.second))
        return "\n".join([f"{sizes} reports; {self.verdict}", *rows])

    @property
    def verdict(self) -> str:
        """A phrase that says whether chance alone may have made all differences."""
        if np.isnan(self.p_together):
            return f"{(self.p < SURE).sum()} of {self.p.size} differ by themselves at {SURE:.0%}"
        if self.p_together >= SURE:
            return f"chance alone may make all of this (p = {self.p_together:.2f})"
        return f"they differ beyond chance ({_p(self.p_together)})"

    def __repr__(self) -> str:
        return f"<Difference of {self.differences.size} shares, {_p(self.p_together)} together>"


def difference(first: Any, second: Any) -> Any:
    """Return the difference of two estimates, or of two numbers with errors, that come from different people.

    ``first``, ``second``: two estimates (of classes, strata or surveys), which give a `Difference`, or two numbers with
    errors (means, shares, quantiles, coefficients), which give one more such number. ``second`` is subtracted.

    >>> import sfumato as sf
    >>> coin = sf.RandomizedResponse(sf.Categories(["yes", "no"]), keep=0.75)
    >>> north = sf.reconstruct(["yes"] * 480 + ["no"] * 520, coin)
    >>> south = sf.reconstruct(["yes"] * 400 + ["no"] * 600, coin)
    >>> print(sf.difference(north, south))
    1,000 and 1,000 reports; they differ beyond chance (p = 0.0003)
    yes   +16.00 % ±  4.43  p = 0.0003
     no   -16.00 % ±  4.43  p = 0.0003
    """
    if isinstance(first, WithError) and isinstance(second, WithError):
        return WithError(float(first) - float(second), float(np.hypot(first.stderr, second.stderr)))
    if not (isinstance(first, Estimate) and isinstance(second, Estimate)):
        kinds = f"{type(first).__name__} and {type(second).__name__}"
        raise TypeError(f"a difference is of two estimates or of two numbers with errors, not of {kinds}")
    _check_alike(first, second)
    return Difference(first, second)


def combine(parts: Mapping[Any, Any], shares: Mapping[Any, float]) -> Any:
    """Return the estimate of a whole population from estimates of its strata and their known sizes, with its error.

    ``parts``: an `Estimate`, or a number with its error, for each stratum by name, as ``sf.reconstruct(..., by=)`` and
    ``sf.mean`` give them; or for each attribute such a mapping, as ``plan.reconstruct(..., by=)`` gives it.
    ``shares``: how many people, or which part of the population, each stratum has, by name.

    >>> import sfumato as sf
    >>> print(sf.combine({"town": WithError(3.0, 0.3), "land": WithError(5.0, 0.4)}, {"town": 3, "land": 1}))
    3.50 ± 0.25
    """
    if not isinstance(parts, Mapping) or not parts:
        raise TypeError("combine takes a mapping from stratum to estimate; reconstruct with by= to have one")
    if all(isinstance(part, Mapping) for part in parts.values()):
        return {name: combine(part, shares) for name, part in parts.items()}
    all_shares = _check_shares(parts, shares)
    weighted = [(share, part) for share, part in zip(all_shares, parts.values(), strict=True) if share]
    if all(isinstance(part, WithError) for part in parts.values()):
        errors = [share * part.stderr for share, part in weighted]
        return WithError(sum(share * float(part) for share, part in weighted), float(np.linalg.norm(errors)))
    if not all(isinstance(part, Estimate) for part in parts.values()):
        raise TypeError("combine takes estimates, or numbers with errors, all of one kind")
    first = weighted[0][1]
    for part in parts.values():
        _check_alike(first, part)
    probabilities = np.asarray(sum(share * part.probabilities for share, part in weighted))
    unbiased = None
    if first.unbiased is not None:
        unbiased = np.asarray(sum(share * _shares(part) for share, part in weighted))
    facts = _facts(parts, all_shares)
    power = 1.0 if facts.cannot_tell else 2.0  # Cov ΣWX ≤ ΣW·Cov X, were even what noise hides the same everywhere
    covariance = _summed([(share**power, part.covariance) for share, part in weighted])
    fine = _fine([(share, share ** (power / 2), part.fine) for share, part in weighted])
    return Estimate(first.edges, first.categories, probabilities, covariance, facts, first.integer, unbiased, fine)


def _fine(parts: list[tuple[float, float, Fine | None]]) -> Fine | None:
    """Return the weighted sum of the strata's distributions on fine cells; None where their cells differ.

    parts: (share of the stratum, factor of its errors, its distribution).
    """
    fines = [fine for _, _, fine in parts if fine is not None]
    if len(fines) < len(parts) or any(not np.array_equal(fine.edges, fines[0].edges) for fine in fines):
        return None
    shares = np.asarray(sum(share * fine.shares for (share, _, _), fine in zip(parts, fines, strict=True)))
    atoms = tuple(
        (value, share * mass) for (share, _, _), fine in zip(parts, fines, strict=True) for value, mass in fine.atoms
    )
    root = np.hstack([factor * fine.root for (_, factor, _), fine in zip(parts, fines, strict=True)])
    rounding = Counter[float]()
    for (share, _, _), fine in zip(parts, fines, strict=True):
        rounding.update({multiple: share * part for multiple, part in fine.unseen_rounding})  # as in all, so in each
    return Fine(fines[0].edges, shares, atoms, root, tuple(rounding.items()))


def _facts(parts: Mapping[Hashable, Estimate], shares: list[float]) -> Diagnostics:
    """Return the diagnostics of strata together; strata of shares w, each worth n reports, are worth 1/Σ(w²/n)."""
    facts = [part.diagnostics for part in parts.values()]
    messages = tuple(f"{name}: {text}" for name, part in parts.items() for text in part.diagnostics.messages)
    sums = {
        key: sum(getattr(of_part, key) for of_part in facts)
        for key in ("reports", "missing", "iterations", "table_applications", "log_likelihood", "degrees_of_freedom")
    }
    fit, hidden = min(of_part.fit for of_part in facts), any(of_part.cannot_tell for of_part in facts)
    worths = [of_part.reports if of_part.worth is None else of_part.worth for of_part in facts]
    worth = 1 / sum(share**2 / worth for share, worth in zip(shares, worths, strict=True) if share)
    return Diagnostics(facts[0].method, **sums, messages=messages, fit=fit, worth=worth, cannot_tell=hidden)


def _check_shares(parts: Mapping[Any, Any], shares: Any) -> list[float]:
    """Return the share of each stratum, scaled to sum 1; raise where a stratum has none or a share makes no sense."""
    if not isinstance(shares, Mapping):
        raise TypeError("shares is a mapping from stratum to its part of the population, such as {'north': 0.4, ...}")
    for name in parts:
        if name not in shares:
            raise ValueError(f"shares has none for stratum {name!r}; give how many people each has")
    for name, share in shares.items():
        if name not in parts:
            raise ValueError(f"shares names {name!r}, which is no stratum here{suggest(str(name), parts)}")
        if isinstance(share, bool) or not isinstance(share, (int, float, np.number)) or not 0 <= share < np.inf:
            raise ValueError(f"the share of {name!r} is {share!r}; give a number of people, or a part of them")
    total = float(sum(shares.values()))
    if not total:
        raise ValueError("every share is zero; give how many people each stratum has")
    return [float(shares[name]) / total for name in parts]


def _check_alike(first: Estimate, second: Estimate) -> None:
    """Raise ValueError if two estimates have different intervals or categories."""
    alike = first.categories == second.categories and (first.edges is None) == (second.edges is None)
    if alike and first.edges is not None and second.edges is not None:
        alike = first.edges.size == second.edges.size and bool(np.allclose(first.edges, second.edges))
    if not alike:
        raise ValueError("the estimates are of different intervals or categories; ask for the same ones in both")


def _shares(estimate: Estimate) -> Floats:
    """Return the unbiased shares of an estimate, or its probabilities where it has none."""
    return estimate.probabilities if estimate.unbiased is None else estimate.unbiased


def _sure(p: float) -> str:
    """Return a p-value as text to print after a difference; empty text if it is not below SURE."""
    return f"  {_p(p)}" if p < SURE else ""


def _p(p: float) -> str:
    """Return a p-value as text."""
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.4f}"


# --- sums of covariances --------------------------------------------------------------------------------------------


class AddedCovariance:
    """Σ scale·covariance as a linear map, where some covariances are no matrices (`closed.SumCovariance`).

    ``w @ covariance @ w`` is a variance; ``np.asarray`` computes the matrix.
    """

    __array_ufunc__ = None  # so that w @ covariance comes here

    def __init__(self, parts: list[tuple[float, Any]]) -> None:
        self.parts, self.shape = parts, parts[0][1].shape

    def __matmul__(self, weights: Any) -> Floats:
        return np.asarray(sum(scale * (part @ weights) for scale, part in self.parts))

    __rmatmul__ = __matmul__  # it is symmetric

    def diagonal(self) -> Floats:
        """Return the diagonal of the sum of covariances, the variances."""
        return np.asarray(sum(scale * part.diagonal() for scale, part in self.parts))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Floats:
        return np.asarray(sum(scale * np.asarray(part) for scale, part in self.parts), dtype=dtype)


def _summed(parts: list[tuple[float, Any]]) -> Any:
    """Return Σ scale·covariance as a matrix; as an `AddedCovariance` where a covariance is no matrix."""
    if all(isinstance(part, np.ndarray) for _, part in parts):
        return np.asarray(sum(scale * part for scale, part in parts))
    return AddedCovariance(parts)
