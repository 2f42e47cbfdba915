"""Estimates of independent samples, such as classes or strata, held against each other or put together.

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
"""Differences that chance alone would show less often than this are called so."""
MOST_TOGETHER = 2_000  # numbers whose covariance is written out for the test of all of them at once


def two_sided(z: Any) -> Floats:
    """How often a normal number is as far from zero, on either side."""
    return np.asarray(erfc(np.abs(z) / np.sqrt(2)))


@dataclass(frozen=True, eq=False, repr=False)
class Difference:
    """One estimate less another, interval by interval or category by category."""

    first: Estimate
    second: Estimate

    @cached_property
    def differences(self) -> Floats:
        return np.asarray(_shares(self.first) - _shares(self.second))

    @cached_property
    def covariance(self) -> Any:
        return _summed([(1.0, self.first.covariance), (1.0, self.second.covariance)])

    @cached_property
    def stderr(self) -> Floats:
        """Standard error of each difference."""
        return np.asarray(np.sqrt(np.maximum(self.covariance.diagonal(), 0.0)))

    @property
    def z(self) -> Floats:
        """Each difference in standard errors."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num(self.differences / self.stderr, nan=0.0)

    @property
    def p(self) -> Floats:
        """How often two samples of the same people would differ as much, each interval or category by itself."""
        return two_sided(self.z)

    @cached_property
    def p_together(self) -> float:
        """The same of all of them at once: dᵀC⁺d against χ²; NaN where they are too many."""
        if self.differences.size > MOST_TOGETHER:
            return float("nan")
        variances, axes = np.linalg.eigh(np.asarray(self.covariance))
        seen = variances > 1e-9 * max(variances[-1], 1e-300)
        if not seen.any():
            return 1.0
        along = axes[:, seen].T @ self.differences
        return float(chdtrc(seen.sum(), float((along**2 / variances[seen]).sum())))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for machines."""
        numbers = {"differences": self.differences, "stderr": self.stderr, "p": self.p, "p_together": self.p_together}
        found: dict[str, Any] = plain({"labels": self.first.labels(), **numbers})
        return found

    def __str__(self) -> str:
        labels = self.first.labels()
        width = max(map(len, labels))
        rows = [
            f"{label:>{width}}  {100 * d:+7.2f} % ± {100 * error:5.2f}{_sure(p)}"
            for label, d, error, p in zip(labels, self.differences, self.stderr, self.p, strict=True)
        ]
        sizes = " and ".join(f"{each.diagnostics.reports:,.0f}" for each in (self.first, self.second))
        return "\n".join([f"{sizes} reports; {self.verdict}", *rows])

    @property
    def verdict(self) -> str:
        """Whether chance alone may have made all of it, in words."""
        if np.isnan(self.p_together):
            return f"{(self.p < SURE).sum()} of {self.p.size} differ by themselves at {SURE:.0%}"
        if self.p_together >= SURE:
            return f"chance alone may make all of this (p = {self.p_together:.2f})"
        return f"they differ beyond chance ({_p(self.p_together)})"

    def __repr__(self) -> str:
        return f"<Difference of {self.differences.size} shares, {_p(self.p_together)} together>"


def difference(first: Any, second: Any) -> Any:
    """``first`` less ``second``, which come from different people: two classes, two strata, two surveys.

    Of two estimates a `Difference` with standard errors from both covariances; of two numbers with errors (a mean, a
    share, a quantile, a coefficient) one more such number.

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
    """Strata put together by their known shares of the population, with the error that this leaves.

    ``parts``: by stratum an Estimate or a number with its error, as ``sf.reconstruct(..., by=)`` and ``sf.mean`` give
    them, or by attribute such a mapping, as ``plan.reconstruct(..., by=)`` does. ``shares``: how many people, or which
    part of them, each stratum has.

    >>> import sfumato as sf
    >>> print(sf.combine({"town": WithError(3.0, 0.3), "land": WithError(5.0, 0.4)}, {"town": 3, "land": 1}))
    3.50 ± 0.25
    """
    if not isinstance(parts, Mapping) or not parts:
        raise TypeError("combine takes a mapping from stratum to estimate; reconstruct with by= to have one")
    if all(isinstance(part, Mapping) for part in parts.values()):
        return {name: combine(part, shares) for name, part in parts.items()}
    known = _check_shares(parts, shares)
    each = [(share, part) for share, part in zip(known, parts.values(), strict=True) if share]
    if all(isinstance(part, WithError) for part in parts.values()):
        errors = [share * part.stderr for share, part in each]
        return WithError(sum(share * float(part) for share, part in each), float(np.linalg.norm(errors)))
    if not all(isinstance(part, Estimate) for part in parts.values()):
        raise TypeError("combine takes estimates, or numbers with errors, all of one kind")
    for part in parts.values():
        _check_alike(each[0][1], part)
    found = sum(share * part.probabilities for share, part in each)
    unbiased = None
    if each[0][1].unbiased is not None:
        unbiased = np.asarray(sum(share * _shares(part) for share, part in each))
    facts, first = _facts(parts, known), each[0][1]
    power = 1.0 if facts.cannot_tell else 2.0  # Cov ΣWX ≤ ΣW·Cov X, were even what noise hides the same everywhere
    covariance = _summed([(share**power, part.covariance) for share, part in each])
    fine = _fine([(share, share ** (power / 2), part.fine) for share, part in each])
    return Estimate(
        first.edges, first.categories, np.asarray(found), covariance, facts, first.integer, unbiased, fine
    )


def _fine(parts: list[tuple[float, float, Fine | None]]) -> Fine | None:
    """The pictures behind the intervals put together, each with its share and the factor of its errors; None where
    they have different cells."""
    fines = [fine for _, _, fine in parts if fine is not None]
    if len(fines) < len(parts) or any(not np.array_equal(fine.edges, fines[0].edges) for fine in fines):
        return None
    shares = np.asarray(sum(share * fine.shares for (share, _, _), fine in zip(parts, fines, strict=True)))
    atoms = tuple(
        (place, share * mass) for (share, _, _), fine in zip(parts, fines, strict=True) for place, mass in fine.atoms
    )
    root = np.hstack([factor * fine.root for (_, factor, _), fine in zip(parts, fines, strict=True)])
    rounding = Counter[float]()
    for (share, _, _), fine in zip(parts, fines, strict=True):
        rounding.update({multiple: share * part for multiple, part in fine.unseen_rounding})  # as in all, so in each
    return Fine(fines[0].edges, shares, atoms, root, tuple(rounding.items()))


def _facts(parts: Mapping[Hashable, Estimate], shares: list[float]) -> Diagnostics:
    """What stands behind strata together; where a stratum of share w is worth n, all are worth 1/Σ(w²/n)."""
    facts = [part.diagnostics for part in parts.values()]
    said = tuple(f"{name}: {text}" for name, part in parts.items() for text in part.diagnostics.messages)
    sums = {
        key: sum(getattr(each, key) for each in facts)
        for key in ("reports", "missing", "iterations", "table_applications", "log_likelihood", "degrees_of_freedom")
    }
    fit, hidden = min(each.fit for each in facts), any(each.cannot_tell for each in facts)
    worths = [each.reports if each.worth is None else each.worth for each in facts]
    worth = 1 / sum(share**2 / worth for share, worth in zip(shares, worths, strict=True) if share)
    return Diagnostics(facts[0].method, **sums, messages=said, fit=fit, worth=worth, cannot_tell=hidden)


def _check_shares(parts: Mapping[Any, Any], shares: Any) -> list[float]:
    """The share of each stratum, of sum 1."""
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
    alike = first.categories == second.categories and (first.edges is None) == (second.edges is None)
    if alike and first.edges is not None and second.edges is not None:
        alike = first.edges.size == second.edges.size and bool(np.allclose(first.edges, second.edges))
    if not alike:
        raise ValueError("the estimates are of different intervals or categories; ask for the same ones in both")


def _shares(estimate: Estimate) -> Floats:
    """Shares that are right on average, where they are known."""
    return estimate.probabilities if estimate.unbiased is None else estimate.unbiased


def _sure(p: float) -> str:
    return f"  {_p(p)}" if p < SURE else ""


def _p(p: float) -> str:
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.4f}"


# --- covariances that are added, written out or not -----------------------------------------------------------------


class AddedCovariance:
    """Σ scale·covariance, of which some are not written out (`closed.SumCovariance`)."""

    __array_ufunc__ = None  # so that w @ covariance comes here

    def __init__(self, parts: list[tuple[float, Any]]) -> None:
        self.parts, self.shape = parts, parts[0][1].shape

    def __matmul__(self, weights: Any) -> Floats:
        return np.asarray(sum(scale * (part @ weights) for scale, part in self.parts))

    __rmatmul__ = __matmul__  # it is symmetric

    def diagonal(self) -> Floats:
        return np.asarray(sum(scale * part.diagonal() for scale, part in self.parts))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Floats:
        return np.asarray(sum(scale * np.asarray(part) for scale, part in self.parts), dtype=dtype)


def _summed(parts: list[tuple[float, Any]]) -> Any:
    if all(isinstance(part, np.ndarray) for _, part in parts):
        return np.asarray(sum(scale * part for scale, part in parts))
    return AddedCovariance(parts)
