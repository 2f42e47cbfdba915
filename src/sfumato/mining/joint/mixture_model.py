"""A mixture of products over all columns, without selection: for many columns of mixed kinds, none of which dominates.

P(w, y) = Σ_z π_z · η(y | z) · Π_j (C_j θ_j)(w_j | z),
members started and cut differently, their P(y | x) averaged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from sfumato.channels.base import Channel
from sfumato.mining.columns import Axis
from sfumato.mining.estimator import Channels
from sfumato.mining.joint.mixture import MixtureFit
from sfumato.mining.joint.model import JointModel, generator
from sfumato.mining.joint.resolution import Resolution, golden

TRUE_CELLS, COARSENESS = 24, 0.25


class MixtureModel(JointModel):
    """P(class, true values) from reports as a mixture over all columns: a classifier and a source of records.

    channels, label_channel, random_state: as in JointModel.
    components: how many products at most; a twentieth of the records if that is less.
    pseudo_count: Dirichlet pseudo-counts in every cell of every component; more of them smooth more.
    members: how many fits are averaged.

    Fitted: ``classes_``, ``members_``.
    """

    def __init__(
        self,
        channels: Channels = None,
        *,
        label_channel: Channel | None = None,
        components: int = 60,
        pseudo_count: float = 0.2,
        members: int = 3,
        random_state: Any = None,
    ) -> None:
        self.channels = channels
        self.label_channel = label_channel
        self.components = components
        self.pseudo_count = pseudo_count
        self.members = members
        self.random_state = random_state

    def _fit_attributes(self, attributes: Sequence[Axis], y: Any, sample_weight: Any) -> Self:
        rng = generator(self.random_state)
        labels = self._labels(attributes[0].codes.size, y, sample_weight)
        shifts = [0.6 * (golden(2 * m + 1) - 0.5) for m in range(self.members or 1)]
        cuts = [Resolution(TRUE_CELLS - m, COARSENESS, shift) for m, shift in enumerate(shifts)]
        self.fits_ = [MixtureFit(attributes, labels, cut, rng, self.components, self.pseudo_count) for cut in cuts]
        self.members_ = [fit.run(rng) for fit in self.fits_]
        self.selected_ = tuple(range(len(attributes)))
        self.forest_ = []
        self.attribute_names_ = [attribute.name for attribute in attributes]
        return self
