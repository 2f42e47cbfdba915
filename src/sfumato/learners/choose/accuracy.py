"""Estimate a model's accuracy on true values from held-out reports, with the error of the estimate.

A density of true values and classes gives two estimates from draws x_d behind every held-out report w with class y',
ŷ the model's prediction:

    Σ_d P(ŷ(x_d), y' | x_d) / Σ_d P(y' | x_d),    x_d ~ P(x | w)        by the model's own probabilities
    mean_d P(ŷ(x_d) | x_d, y'),                   x_d ~ P(x | w, y')    by draws that know the reported class

A density that learned from the same people as the model makes the same mistakes and flatters it; one that learned from
the held-out people alone makes mistakes of its own, which count against the model. The estimate is the second formula's
by the first density, which was the least biased on data whose truth is known; its error includes how far the other
three are from it. Noise hides how much too sure a density is, so that nothing else that was tried is more accurate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.counts import Reports
from sfumato.domain import Floats
from sfumato.learners.choose.judging import DRAWS, LEAST_CHANCE, Generative, label_likelihood, mean_one_weights
from sfumato.learners.estimator import Column

UNSEEN = 0.04
"""Error of the estimate that remains where all four agree, as it was found on data whose truth is known; its square is
added. bench/choosing.py prints estimates beside the truth: a smaller number promises too much there."""
Predictor = Callable[[list[Column]], npt.NDArray[Any]]
"""A function that returns P(class | true values), one row a record, from records given by their columns."""


def accuracy(
    parts: Sequence[tuple[Predictor, Reports, Sequence[Generative]]], rng: np.random.Generator
) -> tuple[float, float]:
    """Return (the estimated share of people whose class a model predicts from true values, its standard error).

    parts: for each fold the model that never saw it, its reports, and one or two densities of true values behind them:
        one that never saw the fold, then one that learned from the fold alone. rng: random numbers for draws.
    """
    fewest = min(len(densities) for _, _, densities in parts)
    estimates = [
        np.stack([
            estimate for density in densities[:fewest] for estimate in p_right(predictor, held_out, density, rng)
        ])
        for predictor, held_out, densities in parts
    ]
    of_record = np.concatenate(estimates, axis=1)
    weight = np.concatenate([mean_one_weights(held_out) for _, held_out, _ in parts])
    means = np.average(of_record, axis=1, weights=weight)
    sampling = np.average((of_record[1] - means[1]) ** 2, weights=weight) / weight.size
    return float(means[1]), float(np.sqrt(sampling + np.mean((means - means[1]) ** 2) + UNSEEN**2))


def p_right(
    predictor: Predictor, held_out: Reports, density: Generative, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return two estimates of the chance that the class predicted for each record is its true one.

    The first draws true values given the columns and weighs draws by the model's probabilities, the second draws them
    given the reported class too.
    """
    label = label_likelihood(held_out)
    estimates = []
    for with_class in (False, True):
        draws = density.draws_given(held_out, DRAWS, rng, with_class=with_class)
        p = predictor(draws).reshape(len(held_out), DRAWS, -1)
        likely = label[:, None] * np.maximum(p, LEAST_CHANCE)  # of a true class and the reported one, given the draw
        right = np.take_along_axis(likely, p.argmax(axis=2)[..., None], axis=2)[..., 0]
        of_all = likely.sum(axis=2)
        estimates.append((right / of_all).mean(axis=1) if with_class else right.sum(axis=1) / of_all.sum(axis=1))
    return estimates[0], estimates[1]
