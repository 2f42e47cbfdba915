"""A classifier of true values by a mixture of products over all columns, from reports."""

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
    """P(class, true values) from reports as a mixture of products over all columns, without selection.

    For many columns of mixed kinds, none of which dominates.

    channels, label_channel, random_state: as in JointModel.
    components: how many products at most; a twentieth of the records if that is less.
    pseudo_count: Dirichlet pseudo-counts in every cell of every component; more of them smooth more.
    members: how many fits are averaged.

    Fitted: ``classes_``, ``members_``.
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
        """m draws of the true record behind each record of reports, whatever its class or given that too, spread over
        the members.

        One array a column, of len(reports)·m values: the m draws of the first record, then those of the second.
        """
        check_is_fitted(self)
        shares = [m // len(self.members_) + (place < m % len(self.members_)) for place in range(len(self.members_))]
        parts = [
            each.draws_given(reports, share, rng, with_class=with_class)
            for each, share in zip(self.members_, shares, strict=True)
        ]
        return [
            np.concatenate([drawn.reshape(len(reports), -1) for drawn in column], axis=1).ravel()
            for column in zip(*parts, strict=True)
        ]

    def p_class_given(self, reports: Reports) -> Floats:
        """P(reported class | reports), one row a record."""
        check_is_fitted(self)
        return np.asarray(np.mean([member.p_class_given(reports) for member in self.members_], axis=0))
