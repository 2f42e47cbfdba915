"""How often a model will be right about true values, and how sure held-out reports are of it.

A density of true values and classes says it in two ways behind every held-out report w with class y':

    Σ_d [ŷ(x_d) = y] P(y' | x_d) / Σ_d P(y' | x_d),  x_d ~ P(x | w)        P(y' | x) by the model's own account,
    mean_d [ŷ(x_d) = y],                              x_d ~ P(x | w, y')    by the density's.

A density that learned from the same people as the model makes the same mistakes and flatters it; one that learned from
the held-out people alone makes mistakes of its own and blames them on the model. The estimate is what the first says in
the second way, which was the least biased where the truth is known, and its error holds how far the other three lie
away. Nothing that was tried tells more: noise hides from everybody by how much a density is too sure of itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.counts import Reports
from sfumato.domain import Floats
from sfumato.learners.choose.judging import DRAWS, Generative, label_likelihood, weights_of
from sfumato.learners.estimator import Column

UNSEEN = 0.04  # error that remains where all four agree, as it was found on data whose truth is known
Answers = Callable[[list[Column]], npt.NDArray[Any]]
"""P(y | x) of records given by their columns."""


def accuracy(
    parts: Sequence[tuple[Answers, Reports, Sequence[Generative]]], rng: np.random.Generator
) -> tuple[float, float]:
    """The share of people about whom answers are right on true values, and its standard error.

    parts: answers of a model that never saw the held-out reports beside it, and densities that may stand behind these.
    """
    fewest = min(len(densities) for _, _, densities in parts)
    ways = [
        np.stack([way for density in densities[:fewest] for way in rightness(answers, held, density, rng)])
        for answers, held, densities in parts
    ]
    records = np.concatenate(ways, axis=1)
    weight = np.concatenate([weights_of(held) for _, held, _ in parts])
    told = np.average(records, axis=1, weights=weight)
    sampling = np.average((records[1] - told[1]) ** 2, weights=weight) / weight.size
    return float(told[1]), float(np.sqrt(sampling + np.mean((told - told[1]) ** 2) + UNSEEN**2))


def rightness(
    answers: Answers, held: Reports, density: Generative, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """How likely the class named behind each report is the true one: as the model weighs draws, as the density does."""
    label = label_likelihood(held)
    found = []
    for with_class in (False, True):
        p = answers(density.draws_given(held, DRAWS, rng, with_class=with_class)).reshape(len(held), DRAWS, -1)
        likely = label[:, None] * np.maximum(p, 1e-9)  # of a true class, given the draw and what was reported
        right = np.take_along_axis(likely, p.argmax(axis=2)[..., None], axis=2)[..., 0]
        told = likely.sum(axis=2)
        found.append((right / told).mean(axis=1) if with_class else right.sum(axis=1) / told.sum(axis=1))
    return found[0], found[1]
