"""How much a classifier's answers on true values tell about the classes of people known by their reports only.

    score = max_q mean log Σ_h P(h(x) = h | w) · q(y | h)

over held-out records (w, y). P(x | w) comes from a mixture fitted to the reports without their classes, so that the
judge favours no classifier; h(x) are the classifier's answers on draws from it; q, its confusion table on true values,
is the one under which the held-out classes are most likely. Only answers count, not how sure a classifier is of them:
a direct classifier that noise made too shy to leave the larger class tells nothing by its answers, and scores so.
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
STEPS = 200
TINY = 1e-9


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


def confusion(p_answer: Floats, y: npt.NDArray[np.int64]) -> Floats:
    """q[h, y] that maximises Σ log Σ_h P(h | w_i) · q(y_i | h), by EM from near-certainty in the answers."""
    classes = p_answer.shape[1]
    q = np.full((classes, classes), 0.2 / classes) + 0.8 * np.eye(classes)
    for _ in range(STEPS):
        responsible = p_answer * q[:, y].T
        responsible /= np.maximum(responsible.sum(axis=1, keepdims=True), TINY)
        counts = np.array([responsible[y == k].sum(axis=0) for k in range(classes)]).T + TINY
        q = counts / counts.sum(axis=1, keepdims=True)
    return np.asarray(q)


def held_out_score(answers: npt.NDArray[np.int64], y: npt.NDArray[np.int64], classes: int) -> float:
    """The mean log-likelihood of the classes y, from `answers[record, draw]`."""
    p_answer = np.array([(answers == k).mean(axis=1) for k in range(classes)]).T
    q = confusion(p_answer, y)
    return float(np.mean(np.log(np.maximum((p_answer * q[:, y].T).sum(axis=1), TINY))))
