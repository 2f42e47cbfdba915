"""Attacks by all of a person's numbers at once: correlated people live near few directions, independent noise does not.

For reports y = x + e with the noise's covariance N known and the people's Σ known or estimated as Cov(y) − N:

Spectral filtering (Kargupta, Datta, Wang and Sivakumar 2003). In units of the noise (z = C⁻¹(y − mean), N = CCᵀ) the
covariance of n reports of d attributes that hold nothing but noise has its eigenvalues below (1 + √(d/n))² (Marchenko
and Pastur). The reports are projected (Π) on the directions with larger ones:

    error covariance  C(Π + (I − Π)S(I − Π))Cᵀ,   S = C⁻¹ΣC⁻ᵀ.

Principal components (Huang, Du and Chen 2005). A principal direction v of Σ is kept if it holds more of the people than
of the noise, vᵀΣv > vᵀNv:

    error covariance  ΠNΠ + (I − Π)Σ(I − Π);
    white noise σ², p of d directions kept:  σ²·p/d + Σ_{i>p} λ_i/d on average.

Bayes estimate (the same authors). No linear guess has a smaller squared error, whatever the distribution of x:

    E[x|y] = μ + Σ(Σ + N)⁻¹(y − μ),   Cov[x|y] = Σ − Σ(Σ + N)⁻¹Σ.

With noise that follows the people, N = κΣ, every value has the error κ/(1 + κ)·Σ_jj that its own report alone gives:
the other reports add nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from sfumato.domain import Floats
from sfumato.privacy.attacks.finding import Finding, width_of_errors
from sfumato.privacy.population import Population, true_covariance


def spectral_filter(reports: Floats, noise: Floats) -> Floats:
    """The adversary's guess of every true value; ``noise`` is the covariance of the noise."""
    rows, noise = _check_records(reports, noise)
    center, factor = rows.mean(axis=0), np.linalg.cholesky(noise)
    whitened = np.linalg.solve(factor, (rows - center).T).T
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(whitened, rowvar=False)))
    signal = vectors[:, values > (1 + math.sqrt(rows.shape[1] / rows.shape[0])) ** 2]
    return np.asarray(center + whitened @ signal @ signal.T @ factor.T)


def principal_components(reports: Floats, noise: Floats) -> Floats:
    """The adversary's guess of every true value."""
    rows, noise = _check_records(reports, noise)
    center = rows.mean(axis=0)
    values, vectors = np.linalg.eigh(true_covariance(rows, noise))
    signal = vectors[:, values > np.einsum("ij,ik,kj->j", vectors, noise, vectors)]
    return np.asarray(center + (rows - center) @ signal @ signal.T)


def bayes_estimate(reports: Floats, noise: Floats) -> Floats:
    """The adversary's guess of every true value."""
    rows, noise = _check_records(reports, noise)
    center = rows.mean(axis=0)
    return np.asarray(center + (rows - center) @ _bayes_weights(true_covariance(rows, noise), noise).T)


def bayes_error(covariance: Floats, noise: Floats) -> Floats:
    """The variance of each true value given all reports."""
    return np.asarray(np.diag(covariance - _bayes_weights(covariance, noise) @ covariance))


def alone_error(covariance: Floats, noise: Floats) -> Floats:
    """The variance of each true value given its own report only: σ²n/(σ² + n)."""
    own, spread = np.diag(covariance), np.diag(noise)
    return np.asarray(own * spread / (own + spread))


def _bayes_weights(covariance: Floats, noise: Floats) -> Floats:
    """Σ(Σ + N)⁻¹."""
    return np.asarray(np.linalg.solve(covariance + noise, covariance).T)


def _check_records(reports: Floats, noise: Floats) -> tuple[Floats, Floats]:
    """Reports as rows of numbers, and a covariance that fits them."""
    rows, covariance = np.asarray(reports, dtype=float), np.asarray(noise, dtype=float)
    if rows.ndim != 2 or rows.shape[0] < 2:
        raise ValueError(f"reports has shape {rows.shape}; give one row a person and one column an attribute")
    if covariance.shape != (rows.shape[1], rows.shape[1]):
        raise ValueError(f"noise has shape {covariance.shape} for {rows.shape[1]} attributes; give its covariance")
    return rows, covariance


ATTACKS = {
    "spectral filtering": spectral_filter,
    "principal components": principal_components,
    "Bayes estimate from all numbers": bayes_estimate,
}


def correlation_attacks(population: Population) -> list[Finding]:
    """Every attack on every number; nothing where there are no two numbers whose correlation is known."""
    if population.covariance is None:
        return []
    targets = population.numeric
    true = np.column_stack([target.true_numbers for target in targets])
    reports = np.column_stack([each.unblurred(each.coarse.report_values[each.reports]) for each in targets])
    stated = {target.name: target.stated_width for target in targets}
    return attack_numbers(stated, true, reports, population.noise())


def attack_numbers(stated: Mapping[str, float | None], true: Floats, reports: Floats, noise: Floats) -> list[Finding]:
    """Every attack on every number, one column each in the order of ``stated``."""
    unit = np.sqrt(np.diag(noise))  # in units of its noise no attribute dwarfs another
    found = []
    for attack, guess_from in ATTACKS.items():
        guess = guess_from(reports / unit, noise / np.outer(unit, unit)) * unit
        for (name, width), own, guessed in zip(stated.items(), true.T, guess.T, strict=True):
            before, after = width_of_errors(own, own.mean()), width_of_errors(own, guessed)
            found.append(Finding(attack, name, "width", before, after, width))
    return found
