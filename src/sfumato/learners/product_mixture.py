"""`ProductMixtureClassifier`: a classifier of true values by a mixture of products over all columns, from reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sfumato.channels import Channel
from sfumato.counts import Reports
from sfumato.domain import Floats
from sfumato.evidence import Axis
from sfumato.learners.estimator import Channels, Column
from sfumato.learners.joint import JointModel
from sfumato.learners.joint.mixture import COMPONENTS, PSEUDO_COUNT, MixtureMember, fit_mixtures


class ProductMixtureClassifier(JointModel):
    """P(class, true values) from reports, as a mixture of products over all columns, without selection of columns.

        P(y, x) = Σ_z π_z · P(y | z) · Π_j P(x_j | z)

    For many columns of mixed kinds, none of which dominates.

    channels: one entry (channel, choice, or None for a clear column) a column, or a mapping from column name; a column
        ``<name>.level`` says which level of a choice each person took. None: nothing is blurred.
    label_channel: the channel that class labels went through; None: they are clear.
    components: the most products z in the mixture; a twentieth of the records if that is less.
    pseudo_count: Dirichlet pseudo-counts in every cell of every component; larger smooths more.
    members: the number of fits, with different cells and starts, that are averaged.
    random_state: a whole number or a NumPy generator, by which components are started; None: 0.

    Fitted: ``classes_``, ``members_``.

    >>> import numpy as np, sfumato as sf
    >>> coin = sf.RandomizedResponse(sf.Categories(["no", "yes"]), keep=0.8)
    >>> rng = np.random.default_rng(1)
    >>> ill = rng.random(3000) < 0.5
    >>> answers = {name: np.where(rng.random(3000) < 0.9, ill, ~ill) for name in ("fever", "cough")}
    >>> reports = {name: coin.randomize(np.where(yes, "yes", "no"), rng) for name, yes in answers.items()}
    >>> model = sf.ProductMixtureClassifier({"fever": coin, "cough": coin}, members=1).fit(reports, ill)
    >>> model.predict({"fever": ["no", "yes"], "cough": ["no", "yes"]}).tolist()
    [False, True]
    """

    form = "product-mixture"
    members_: Sequence[MixtureMember]

    def __init__(
        self, channels: Channels = None, *, label_channel: Channel | None = None, components: int = COMPONENTS,
        pseudo_count: float = PSEUDO_COUNT, members: int = 3, random_state: Any = None,
    ) -> None:
        self.channels = channels
        self.label_channel = label_channel
        self.components = components
        self.pseudo_count = pseudo_count
        self.members = members
        self.random_state = random_state

    def _learn(self, reports: Reports, rng: np.random.Generator) -> None:
        axes = [Axis(reports.column(name)) for name in reports.names]
        self.members_ = fit_mixtures(reports, axes, rng, self.members or 1, self.components, self.pseudo_count)
        self.selected_ = tuple(range(len(axes)))
        self.forest_ = []
        self._remember(reports)

    def draws_given(
        self, reports: Reports, m: int, rng: np.random.Generator, *, with_class: bool = False
    ) -> list[Column]:
        """Draw m records of true values for each record of reports, from P(true values | reports) of the members.

        Return one array a column, of len(reports)·m values: the m draws of the first record, then those of the second.

        reports: `sf.Reports` with the columns that were fitted. m: draws a record. rng: random numbers.
        with_class: the draws are given the class that each record reported too; else the columns' reports alone.
        """
        check_is_fitted(self)
        count = len(self.members_)
        shares = [m // count + (number < m % count) for number in range(count)]
        parts = [
            member.draws_given(reports, share, rng, with_class=with_class)
            for member, share in zip(self.members_, shares, strict=True)
        ]
        return [
            np.concatenate([drawn.reshape(len(reports), -1) for drawn in column], axis=1).ravel()
            for column in zip(*parts, strict=True)
        ]

    def p_class_given(self, reports: Reports) -> Floats:
        """Return P(reported class | reports of the columns), one row a record of `sf.Reports`."""
        check_is_fitted(self)
        return np.asarray(np.mean([member.p_class_given(reports) for member in self.members_], axis=0))
