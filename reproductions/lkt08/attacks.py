"""What LKT08 says of attacks: §2, correlated attributes give values away; §7, independent noise on many attributes does
not hide outliers."""

from __future__ import annotations

import numpy as np

from reproductions import Rows
from reproductions.lkt08.real import Split, channels_for
from reproductions.lkt08.synthetic import randomized
from sfumato.privacy.attacks import bayes_error, distances, principal_components

ATTRIBUTES, PEOPLE, UNUSUAL = 6, 20_000, 0.02


def correlated(correlations: tuple[float, ...] = (0.0, 0.5, 0.9), seed: int = 11) -> Rows:
    """Six normal attributes of equal correlation, noise as strong as they are (SNR 1): what is left of the variance
    after the best linear guess, and after principal components."""
    rng, noise, rows = np.random.default_rng(seed), np.eye(ATTRIBUTES), []
    for correlation in correlations:
        covariance = np.full((ATTRIBUTES, ATTRIBUTES), correlation) + (1 - correlation) * noise
        true = rng.multivariate_normal(np.zeros(ATTRIBUTES), covariance, PEOPLE)
        guess = principal_components(true + rng.standard_normal(true.shape), noise)
        best, filtered = float(bayes_error(covariance, noise).mean()), float(((guess - true) ** 2).mean())
        rows.append({"correlation": correlation, "best linear guess": best, "principal components": filtered})
    return rows


def outliers_found(split: Split, snr: float = 1.0, seed: int = 12) -> Rows:
    """Of the 2 % of people whose true records are the most unusual, the share that the 2 % most unusual reports are."""
    channels = channels_for(split, snr)
    reports = randomized(split.X, channels, np.random.default_rng(seed))
    count, rows = int(UNUSUAL * len(split.X)), []
    for attributes in range(2, len(channels) + 1):
        names = list(channels)[:attributes]
        wanted, pointed = (
            np.argsort(-distances(table[names].to_numpy(float)), kind="stable")[:count] for table in (split.X, reports)
        )
        rows.append({"attributes": attributes, "found": float(np.isin(pointed, wanted).mean())})
    return rows
