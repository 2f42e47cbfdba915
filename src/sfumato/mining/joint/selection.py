"""Which attributes to model together with the class, judged on the randomized reports alone.

Forward: add the attribute that lowers the held-out log-loss of y' | w most, while the mean gain is at least
`LEAST_GAIN` and at least two standard errors; if no single one helps at the start, the best pair. Then prune: drop what
the others make superfluous.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from sfumato.mining.columns import Axis, Capped
from sfumato.mining.joint.grid import Array
from sfumato.mining.joint.grid_fit import GridProblem, Labels, coarsened_to
from sfumato.mining.joint.resolution import Resolution, effective_dimension, resolution_for

LEAST_GAIN = 3e-4
LEAST_Z = 2.0
ITERATIONS = 40
HELD_OUT = 1 / 3
MOST_PAIRS = 100
HELPER_SHARE = 0.15
HELPER_CELLS = 12
MOST_REPORT_CELLS = 100_000


class Selector:
    """Held-out losses of attribute subsets, remembered."""

    def __init__(
        self, attributes: Sequence[Axis], labels: Labels, rng: np.random.Generator, most_dimensions: float
    ) -> None:
        self.attributes, self.labels, self.most_dimensions = attributes, labels, most_dimensions
        self.held = rng.random(labels.codes.size) < HELD_OUT
        self.weight = labels.weight[self.held].astype(np.float64)
        self._losses: dict[tuple[tuple[int, ...], Resolution], npt.NDArray[np.float64]] = {}

    def loss(self, chosen: tuple[int, ...], resolution: Resolution) -> npt.NDArray[np.float64]:
        """−log P(y' | w) of each held-out record when these attributes are modelled."""
        key = (tuple(sorted(chosen)), resolution)
        if key not in self._losses:
            problem = GridProblem.of([self.attributes[j] for j in key[0]], self.labels, resolution)
            joint = problem.fit(problem.counts(~self.held), ITERATIONS)
            self._losses[key] = problem.log_loss_of_label(joint, self.held)
        return self._losses[key]

    def gain(self, smaller: tuple[int, ...], larger: tuple[int, ...]) -> tuple[float, float]:
        """Mean gain of the larger set over the smaller, cut equally coarsely, and that mean in standard errors."""
        subset = [self.attributes[j] for j in larger]
        resolution = resolution_for(subset, self.labels.codes.size, selecting=True)
        resolution = coarsened_to(subset, resolution, MOST_REPORT_CELLS)
        difference = self.loss(smaller, resolution) - self.loss(larger, resolution)
        total = max(float(self.weight.sum()), 1e-12)
        mean = float(self.weight @ difference) / total
        error = np.sqrt(max(float(self.weight**2 @ (difference - mean) ** 2), 1e-300)) / total
        return mean, mean / error

    def best(self, chosen: tuple[int, ...], additions: Sequence[tuple[int, ...]]) -> tuple[int, ...] | None:
        """The addition that gains most, if it gains enough."""
        judged = [(self.gain(chosen, chosen + extra), extra) for extra in additions if self._fits(chosen + extra)]
        if not judged:
            return None
        (mean, z), extra = max(judged)
        return extra if mean >= LEAST_GAIN and z >= LEAST_Z else None

    def _fits(self, chosen: tuple[int, ...]) -> bool:
        return effective_dimension([self.attributes[j] for j in chosen]) <= self.most_dimensions

    def forward(self) -> tuple[int, ...]:
        chosen: tuple[int, ...] = ()
        while True:
            left = [j for j in range(len(self.attributes)) if j not in chosen]
            extra = self.best(chosen, [(j,) for j in left])
            if extra is None and not chosen:
                extra = self.best(chosen, list(combinations(left, 2))[:MOST_PAIRS])
            if extra is None:
                return chosen
            chosen += extra

    def prune(self, chosen: tuple[int, ...]) -> tuple[int, ...]:
        """Drop, one at a time, the attribute whose loss costs least, while it costs less than the least gain."""
        while len(chosen) > 1:
            costs = [(self.gain(tuple(k for k in chosen if k != j), chosen)[0], j) for j in chosen]
            cost, least = min(costs)
            if cost >= LEAST_GAIN:
                break
            chosen = tuple(k for k in chosen if k != least)
        return chosen


def class_entropy(joint: Array) -> float:
    """H(y | t) of a joint distribution P(y, t)."""
    p_class = joint / np.maximum(joint.sum(axis=0), 1e-30)
    return -float(np.sum(joint * np.log(np.maximum(p_class, 1e-30))))


def cap_helpers(chosen: list[Axis], labels: Labels) -> list[Axis]:
    """Attributes with a small I(y; t_j | the others) help mostly by telling about other attributes: few cells do."""
    if len(chosen) < 3 or labels.classes < 2 or not all(attribute.noisy for attribute in chosen):
        return chosen
    resolution = resolution_for(chosen, labels.codes.size, selecting=True)
    problem = GridProblem.of(chosen, labels, coarsened_to(chosen, resolution, MOST_REPORT_CELLS))
    joint = problem.fit(problem.counts(), ITERATIONS)
    information = [class_entropy(joint.sum(axis=1 + j)) - class_entropy(joint) for j in range(len(chosen))]
    least = HELPER_SHARE * max(information)
    return [a if told >= least else Capped(a, HELPER_CELLS) for a, told in zip(chosen, information, strict=True)]


def select_attributes(
    attributes: Sequence[Axis], labels: Labels, rng: np.random.Generator, most_dimensions: float
) -> tuple[int, ...]:
    """Indices of the attributes to model together, in the order in which they were found."""
    selector = Selector(attributes, labels, rng, most_dimensions)
    return selector.prune(selector.forward())
