"""How much a classifier's answers on true values tell about the classes of people known by their reports only.

    score = max_λ mean log[λ · P(h(x) = y | w) + (1 − λ) · P(y)]

over held-out records (w, y). P(x | w) comes from a mixture fitted to the reports without their classes, so that the
judge favours no classifier; h(x) are the classifier's answers on draws from it, right with probability λ and else no
better than the classes' shares. Only answers count, not how sure a classifier is of them: a direct classifier that
noise made too shy to leave the larger class tells nothing by its answers, and scores so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.domain import Floats
from sfumato.mining.estimator import Channels
from sfumato.mining.joint.members import draw_columns
from sfumato.mining.joint.mixture_model import MixtureModel
from sfumato.mining.joint.model import generator

COMPONENTS, PSEUDO_COUNT = 60, 0.2
RIGHT = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99)


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


def held_out_logs(answers: npt.NDArray[np.int64], y: npt.NDArray[np.int64], classes: int) -> Floats:
    """The log-likelihood of each record's class y, from `answers[record, draw]`, at the best λ."""
    agreeing = (answers == y[:, None]).mean(axis=1)
    share = (np.bincount(y, minlength=classes) / y.size)[y]
    found = [np.log(right * agreeing + (1.0 - right) * share) for right in RIGHT]
    return np.asarray(max(found, key=lambda logs: float(logs.mean())))
