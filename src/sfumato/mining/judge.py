"""How well a classifier of true values explains the classes of people whom it knows by their reports only.

    score = mean log Σ_x P(x | w) · p(y | x)

over held-out records (w, y). P(x | w) comes from a mixture fitted to the reports without their classes, so that the
judge favours no classifier. The true P(y | x) has the highest expected score: what noise flattened is blurred a second
time by P(x | w) and scores less. Probabilities may be too sure or too shy without changing an answer, so each
classifier is judged at its best temperature τ, as P(y) · (p(y | x)/P(y))^τ, normalised.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.domain import Floats
from sfumato.mining.columns import Channels
from sfumato.mining.joint_model import generator
from sfumato.mining.members import draw_columns
from sfumato.mining.mixture_model import MixtureModel

COMPONENTS, PSEUDO_COUNT = 60, 0.2
TEMPERATURES = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
TINY, LEAST = 1e-9, 1e-3


class Judge:
    """Draws of the true values behind reports, given the reports only."""

    def __init__(self, channels: Channels, X: Any, random_state: Any = None) -> None:
        self.rng = generator(random_state)
        self.model = MixtureModel(
            channels, components=COMPONENTS, pseudo_count=PSEUDO_COUNT, members=1, random_state=self.rng
        ).fit(X)

    def draws(self, rows: npt.NDArray[np.int64], each: int) -> Any:
        """`each` draws of the true values behind each of these records, one record after another, in the form of X."""
        fit, cells = self.model.fits_[0], self.model.members_[0].cells
        reports = fit.reports[rows]
        p_report = fit.p_report()
        log_mass = np.log(fit.prior) + sum(np.log(p_report[j, reports[:, j]]) for j in range(len(cells)))
        mass = np.exp(log_mass - log_mass.max(axis=1, keepdims=True))
        records = np.repeat(np.arange(rows.size), each)
        component = draw_columns(mass.T, records, self.rng)
        columns = []
        for j, cut in enumerate(cells):
            posterior = fit.tables[j][reports[records, j]] * fit.thetas[j].T[component]
            below = np.cumsum(posterior, axis=1, dtype=np.float64)
            place = (below < self.rng.random(records.size)[:, None] * below[:, -1:]).sum(axis=1)
            columns.append(cut.draw(np.minimum(place, cut.size - 1).astype(np.int64), self.rng))
        return self.model._as_given(columns)


def held_out_score(p_class: Floats, y: npt.NDArray[np.int64]) -> float:
    """The mean log-probability of the classes y; `p_class` holds P(class | x) for equally many draws a record."""
    logs = np.log(np.maximum(p_class, TINY))
    shares = np.log((np.bincount(y, minlength=logs.shape[1]) + 1.0) / (y.size + logs.shape[1]))
    return max(_score_at(shares + temperature * (logs - shares), y) for temperature in TEMPERATURES)


def _score_at(logs: Floats, y: npt.NDArray[np.int64]) -> float:
    odds = np.exp(logs - logs.max(axis=1, keepdims=True))
    p_class = odds / odds.sum(axis=1, keepdims=True)
    given_report = p_class.reshape(y.size, -1, p_class.shape[1]).mean(axis=1)
    return float(np.mean(np.log(np.maximum(given_report[np.arange(y.size), y], LEAST))))
