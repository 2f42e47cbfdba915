"""The joint model of class and true values, fitted on reports.

Columns that tell about the class are selected on the reports alone and modelled together with it, by an exact grid (or
a mixture of products where a grid would be too large); several members with different cells are averaged. The other
columns hang on them as a forest. From the model come Bayes' rule on true values and synthetic records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from sfumato.channels.base import Channel
from sfumato.counts import Fold, Reports
from sfumato.domain import Codes, Floats
from sfumato.domain.checked import given_one_of, given_rows, given_wholes
from sfumato.mining.estimator import Channels, Column, Learner, generator
from sfumato.mining.joint.grid import (
    GridMember,
    GridProblem,
    Member,
    Resolution,
    added,
    effective_dimension,
    resolution_for,
    shift_of,
)
from sfumato.mining.joint.mixture import COMPONENTS, PSEUDO_COUNT, MixtureFit, MixtureMember
from sfumato.mining.joint.selection import cap_helpers, forest_from_dict, grow_forest, select_columns
from sfumato.reconstruction import Axis

STRUCTURES = ("auto", "grid", "mixture")
MOST_GRID_DIMENSIONS, MOST_MIXTURE_DIMENSIONS = 5.0, 12.0
MOST_UNSUPERVISED_DIMENSIONS = 3.5
MOST_REPORT_CELLS = 100_000
MIXTURE_RESOLUTION = Resolution(24, 0.25)
BLOCK, TOLERANCE = 20, 1e-5
HELD_OUT = Fold(0, 5)
MEMBERS: dict[str, type[GridMember] | type[MixtureMember]] = {"grid": GridMember, "mixture": MixtureMember}


class JointModel(Learner):
    """P(class, true values) from reports: a classifier of true values and a source of synthetic records.

    channels: one entry (channel or None for a clear column) a column, or a mapping from column name.
    label_channel: the channel that class labels went through, None if they are clear.
    structure: "auto", "grid" or "mixture".
    members: how many fits with different cells are averaged; None chooses by cost.
    max_iter: the limit on EM steps (five times as many for a single column, where they are cheap); fitting stops
        earlier when held-out reports gain nothing.

    Without y the records' joint distribution alone is modelled.
    Fitted: ``classes_``, ``selected_`` (the columns modelled with the class), ``members_``, ``forest_``.
    """

    form = "joint"
    members_: Sequence[Member]

    def __init__(
        self, channels: Channels = None, *, label_channel: Channel | None = None, structure: str = "auto",
        members: int | None = None, max_iter: int = 400, random_state: Any = None,
    ) -> None:
        self.channels = channels
        self.label_channel = label_channel
        self.structure = structure
        self.members = members
        self.max_iter = max_iter
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags

    # --- fitting ------------------------------------------------------------------------------------------------

    def _learn(self, reports: Reports, rng: np.random.Generator) -> None:
        if self.structure not in STRUCTURES:
            raise ValueError(f"structure={self.structure!r} is unknown; use 'auto', 'grid' or 'mixture'")
        axes = [Axis(reports.column(name)) for name in reports.names]
        if reports.classes is None:
            selected = tuple(range(len(axes)))
        else:
            most = MOST_MIXTURE_DIMENSIONS if self.structure == "mixture" else MOST_GRID_DIMENSIONS
            selected = select_columns(reports, axes, most)
        self.model_columns(reports, axes, selected, rng)

    def model_columns(
        self, reports: Reports, axes: list[Axis], selected: tuple[int, ...], rng: np.random.Generator
    ) -> None:
        """Fit with these columns modelled together with the class."""
        self.selected_ = selected
        self.members_ = self._fit_members(reports, [axes[j] for j in self.selected_], rng)
        self.forest_ = grow_forest(reports, axes, self.selected_)

    def _fit_members(self, reports: Reports, core: list[Axis], rng: np.random.Generator) -> Sequence[Member]:
        dimension = effective_dimension(core)
        unsupervised = reports.classes is None
        too_large = unsupervised and dimension > MOST_UNSUPERVISED_DIMENSIONS
        if self.structure == "mixture" or (self.structure == "auto" and too_large):
            return fit_mixtures(reports, core, rng, self.members or (1 if unsupervised else 5))
        return self._fit_grids(reports, core, self.members or members_for(dimension))

    def _fit_grids(self, reports: Reports, core: list[Axis], count: int) -> list[Member]:
        """The first member learns on held-out reports how many steps to take; the others take as many on all."""
        core = cap_helpers(reports, core)
        single = effective_dimension(core) <= 1.5
        limit, tolerance = (5 * self.max_iter, TOLERANCE / 10) if single else (self.max_iter, TOLERANCE)
        found: list[Member] = []
        self.n_iter_ = limit
        resolutions = [resolution_for(core, reports.people, member) for member in range(count)]
        most = 2 * MOST_REPORT_CELLS // max(len(reports.classes or ()), 2)
        problems = [GridProblem.of(reports, core, each.coarsened(core, most)) for each in resolutions]
        reports.prepare([problems[0].question(HELD_OUT), *(problem.question() for problem in problems)])
        for member, problem in enumerate(problems):
            counts, joint, steps = problem.counts(), None, self.n_iter_
            held = problem.counts(HELD_OUT) if member == 0 else counts
            if member == 0 and 0 < held.sum() < counts.sum():
                fitted = np.maximum(counts - held, 0)
                joint, self.n_iter_ = problem.fit_until_held_out_falls(fitted, held, BLOCK, limit, tolerance)
                steps = BLOCK
            found.append(GridMember(problem.cells, problem.fit(counts, steps, joint)))
        return found

    # --- Bayes' rule on true values -----------------------------------------------------------------------------

    def _probabilities(self, columns: list[Column]) -> Floats:
        """P(class | true values), averaged over members; missing values integrate out."""
        if not hasattr(self, "classes_"):
            raise ValueError("this model was fitted without classes and cannot classify; pass y to fit")
        return self.bayes([columns[j] for j in self.selected_], len(columns[0]))

    def bayes(self, columns: list[Column], records: int) -> Floats:
        """P(class | the selected columns)."""
        total = np.zeros((records, len(self.classes_)))
        for member in self.members_:
            places = [cut.true_cells(column) for cut, column in zip(member.cells, columns, strict=True)]
            mass = member.joint_of_classes(places) + 1e-300
            total += mass / added(mass.T)[:, None]
        return np.asarray(total / len(self.members_))

    @property
    def number_columns(self) -> list[int]:
        """The columns that are compared with edges of cells."""
        return [j for j, cut in zip(self.selected_, self.members_[0].cells, strict=True) if cut.labels is None]

    # --- synthetic records --------------------------------------------------------------------------------------

    def sample(self, n: int, random_state: Any = None) -> Any:
        """n synthetic records of true values, in the form of X: (X, y), or X alone when fitted without classes.

        They are functions of the reports only, so their privacy is that of the reports.
        """
        check_is_fitted(self)
        rng = generator(random_state)
        values = self.sample_core(n, rng)
        for branch in self.forest_:
            parent = None if branch.parent is None else values[branch.parent]
            values[branch.child] = branch.draw(parent, n, rng)
        records = self.as_given([values[j] for j in range(len(self.attribute_names_))])
        return (records, self.classes_[values[-1]]) if hasattr(self, "classes_") else records

    def sample_core(self, n: int, rng: np.random.Generator) -> dict[int, npt.NDArray[Any]]:
        """n draws of the selected columns, by column index; the class codes stand under −1."""
        shares = rng.multinomial(n, np.full(len(self.members_), 1 / len(self.members_)))
        groups: list[Codes] = []
        parts: list[list[Column]] = []
        for member, share in zip(self.members_, shares, strict=True):
            group, places = member.sample_cells(int(share), rng)
            groups.append(group)
            parts.append([cut.draw(place, rng) for cut, place in zip(member.cells, places, strict=True)])
        order = rng.permutation(n)
        values = {j: np.concatenate([part[place] for part in parts])[order] for place, j in enumerate(self.selected_)}
        return {**values, -1: np.concatenate(groups)[order]}

    # --- plain data ---------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        return {
            "selected": [int(j) for j in self.selected_],
            "members": [member.to_dict() for member in self.members_],
            "forest": [branch.to_dict() for branch in self.forest_],
        }

    @classmethod
    def _from_state(cls, data: Mapping[str, Any]) -> Self:
        model = cls()
        columns, classes = len(data["attributes"]), 1 if data["classes"] is None else len(data["classes"])
        model.selected_ = tuple(given_wholes(data, "selected", 0, columns - 1).tolist())
        members = given_rows(data, "members")
        if not members or len(set(model.selected_)) < len(model.selected_):
            raise ValueError("there is no member, or a column is selected twice")
        model.members_ = [
            MEMBERS[given_one_of(each, "form", MEMBERS)].from_dict(each, len(model.selected_), classes)
            for each in members
        ]
        model.forest_ = forest_from_dict(given_rows(data, "forest"), model.selected_, columns)
        return model


class MixtureModel(JointModel):
    """P(class, true values) from reports as a mixture of products over all columns, without selection.

    For many columns of mixed kinds, none of which dominates.

    channels, label_channel, random_state: as in JointModel.
    components: how many products at most; a twentieth of the records if that is less.
    pseudo_count: Dirichlet pseudo-counts in every cell of every component; more of them smooth more.
    members: how many fits are averaged.

    Fitted: ``classes_``, ``members_``.
    """

    form = "mixture"
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

    def draws_given(self, reports: Reports, m: int, rng: np.random.Generator) -> list[Column]:
        """m draws of the true record behind each record of reports, whatever its class, spread over the members.

        One array a column, of len(reports)·m values: the m draws of the first record, then those of the second. To
        judge classifiers, fit on reports without their classes, so that the draws favour none.
        """
        check_is_fitted(self)
        shares = [m // len(self.members_) + (place < m % len(self.members_)) for place in range(len(self.members_))]
        parts = [each.draws_given(reports, share, rng) for each, share in zip(self.members_, shares, strict=True)]
        return [
            np.concatenate([drawn.reshape(len(reports), -1) for drawn in column], axis=1).ravel()
            for column in zip(*parts, strict=True)
        ]


def fit_mixtures(
    reports: Reports, axes: list[Axis], rng: np.random.Generator, count: int, components: int = COMPONENTS,
    pseudo_count: float = PSEUDO_COUNT,
) -> list[MixtureMember]:
    """Mixtures that are started and cut differently."""
    cuts = [Resolution(MIXTURE_RESOLUTION.cells - m, MIXTURE_RESOLUTION.coarseness, shift_of(m)) for m in range(count)]
    return [MixtureFit(reports, axes, cut, rng, components, pseudo_count).run() for cut in cuts]


def members_for(dimension: float) -> int:
    """Cheap grids are averaged more often."""
    return int(np.interp(dimension, [1.0, 2.0, 3.0, 4.0, 5.0], [15, 12, 10, 6, 5]))
