"""The joint model of class and true values, fitted on reports.

Columns that tell about the class are selected on the reports alone and modelled together with it, by an exact grid;
several members with different cells are averaged. The other columns hang on them as a forest. A mixture of products
over all columns takes the grid's place where people are so few that none is selected, or where many classes want more
columns than a grid can hold. From the model come Bayes' rule on true values and synthetic records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from sfumato.channels.base import Channel
from sfumato.counts import Reports
from sfumato.domain import Codes, Floats
from sfumato.domain.checked import given_numbers, given_one_of, given_rows, given_table, given_wholes
from sfumato.evidence import Axis, ColumnCells, Evidence
from sfumato.evidence.columns import MOST_REPORT_CELLS, cap_helpers, select_columns, shared_by_classes
from sfumato.evidence.grids import fit_grid, steps_by_held_out
from sfumato.evidence.held_out import FIFTH
from sfumato.evidence.resolution import effective_dimension, resolution_for
from sfumato.evidence.tables import Array
from sfumato.learners.classes import class_people
from sfumato.learners.device import DeviceForm
from sfumato.learners.estimator import Channels, Column, Learner, generator
from sfumato.learners.joint.forest import forest_from_dict, grow_forest
from sfumato.learners.joint.marginals import LEAST_DRAWN, Marginal
from sfumato.learners.joint.mixture import MixtureMember, fit_mixtures
from sfumato.learners.probabilities import added
from sfumato.prose import Voice

STRUCTURES = ("auto", "grid", "mixture")
MOST_GRID_DIMENSIONS, MOST_MIXTURE_DIMENSIONS = 5.0, 12.0
MOST_UNSUPERVISED_DIMENSIONS = 3.5
MOST_GRID_CLASSES = 4
FEW_PEOPLE = 500
MIXED_COLUMNS = 60  # of all mixtures that are averaged
BLOCK, TOLERANCE = 20, 1e-5


class Member(Protocol):
    """P(y, x₁..x_D) over cells."""

    cells: tuple[ColumnCells, ...]
    classes: int

    def joint_of_classes(self, places: list[Codes]) -> Floats:
        """P(y, x) of records in these cells, up to a factor for each, one column a class; −1 integrates one out."""
        ...

    def sample_cells(self, n: int, rng: np.random.Generator) -> tuple[Codes, list[Codes]]:
        """Class codes and cells of n draws."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """The member as plain data."""
        ...


class GridMember:
    """P(y, t₁..t_D) as one array."""

    def __init__(self, cells: tuple[ColumnCells, ...], joint: Array) -> None:
        self.cells, self.joint, self.classes = cells, joint, int(joint.shape[0])

    def joint_of_classes(self, places: list[Codes]) -> Floats:
        records = places[0].size if places else 1
        if not self.cells:
            return np.repeat(self.joint.reshape(1, -1).astype(np.float64), records, axis=0)
        missing = np.array(places) < 0
        found = np.empty((records, self.classes))
        patterns, which = np.unique(missing, axis=1, return_inverse=True) if missing.any() else (missing[:, :1], None)
        for number, pattern in enumerate(patterns.T):
            rows = slice(None) if which is None else np.flatnonzero(which.ravel() == number)
            table = self._summed_over(1 + np.flatnonzero(pattern)) if pattern.any() else self.joint
            kept = [place[rows] for place, gone in zip(places, pattern, strict=True) if not gone]
            found[rows] = np.moveaxis(table, 0, -1)[tuple(kept)] if kept else table
        return found

    def _summed_over(self, axes: Codes) -> Floats:
        """The joint distribution without these axes, cell by cell, the last axis running fastest."""
        first = np.moveaxis(self.joint.astype(np.float64), axes, np.arange(axes.size))
        return added(first.reshape(-1, *first.shape[axes.size :]))

    def sample_cells(self, n: int, rng: np.random.Generator) -> tuple[Codes, list[Codes]]:
        cumulative = np.cumsum(self.joint.ravel(), dtype=np.float64)
        drawn = np.searchsorted(cumulative, rng.random(n) * cumulative[-1], side="right")
        places = np.unravel_index(np.minimum(drawn, cumulative.size - 1), self.joint.shape)
        return places[0].astype(np.int64), [place.astype(np.int64) for place in places[1:]]

    def to_dict(self) -> dict[str, Any]:
        shortened = [float(f"{value:.9g}") for value in self.joint.ravel()]  # nine digits tell all floats apart
        return {
            "form": "grid",
            "cells": [cut.to_dict() for cut in self.cells],
            "shape": list(self.joint.shape),
            "joint": shortened,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: int, classes: int) -> Self:
        cells = tuple(ColumnCells.from_dict(cut) for cut in given_rows(data, "cells", columns))
        shape = (classes, *(cut.size for cut in cells))
        if tuple(given_rows(data, "shape")) != shape:
            raise ValueError(f"shape is not {shape}, the classes and the cells of each column")
        joint = given_numbers(data, "joint", (prod(shape),), 0.0)
        return cls(cells, joint.astype(np.float32).reshape(shape))


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

    @classmethod
    def behind(
        cls, learner: Learner, reports: Reports, rng: np.random.Generator, selected: tuple[int, ...] | None = None,
        members: int | None = None,
    ) -> Self:
        """Fit the model that stands behind another learner, to the same reports, classes and names.

        selected: the columns that are modelled with the class, where they are known; None selects them. members: how
        many grids are averaged; None chooses by cost.
        """
        axes = [Axis(reports.column(name)) for name in reports.names]
        mixed = selected is not None and beyond_a_grid(reports, axes, selected)
        few = None if selected is None or mixed else members
        model = cls(learner.channels, label_channel=learner.label_channel, members=few)
        model._remember_as(learner)
        if selected is None:
            model._learn(reports, rng)
        else:
            model.model_columns(reports, axes, tuple(range(len(axes))) if mixed else selected, rng, mixed)
        return model

    # --- fitting ------------------------------------------------------------------------------------------------

    def _learn(self, reports: Reports, rng: np.random.Generator) -> None:
        if self.structure not in STRUCTURES:
            raise ValueError(f"structure={self.structure!r} is unknown; use 'auto', 'grid' or 'mixture'")
        axes = [Axis(reports.column(name)) for name in reports.names]
        selected, mixed = self._select(reports, axes)
        self.model_columns(reports, axes, selected, rng, mixed)

    def model_columns(
        self, reports: Reports, axes: list[Axis], selected: tuple[int, ...], rng: np.random.Generator,
        mixed: bool = False,
    ) -> None:
        """Fit with these columns modelled together with the class, by a grid or by a mixture."""
        self.selected_ = selected
        core = [axes[j] for j in selected]
        self.members_ = self._fit_mixtures(reports, core, rng) if mixed else self._fit_grids(reports, core)
        self.forest_ = grow_forest(reports, axes, selected) if len(selected) < len(axes) else []
        self._remember(reports)

    def _remember(self, reports: Reports) -> None:
        """What `marginals_` are reconstructed from when somebody asks for them."""
        blurred = [j for j, name in enumerate(reports.names) if reports.channels[name] is not None]
        self._tallies = dict(zip(blurred, reports.tallies(blurred), strict=True))
        self._p_class = None
        if reports.classes is not None:
            self._p_class = class_people(reports)

    @property
    def marginals_(self) -> dict[int, Marginal]:
        """The reconstructed distribution of each blurred column, and under −1 that of the classes."""
        if not hasattr(self, "_marginals"):
            names = self.attribute_names_
            found = {j: Marginal.of(names[j], counts) for j, counts in self._tallies.items() if counts.total}
            if self._p_class is not None:
                places = tuple(range(self._p_class.size))
                found[-1] = Marginal.over("class", self._p_class, None, places)
            self._marginals = found
        return self._marginals

    def _select(self, reports: Reports, axes: list[Axis]) -> tuple[tuple[int, ...], bool]:
        """The columns to model together, and whether by a mixture."""
        everything = tuple(j for j, axis in enumerate(axes) if axis.answered)
        mixed, by_cost = self.structure == "mixture", self.structure == "auto"
        if reports.classes is None:
            return everything, mixed or (by_cost and effective_dimension(axes) > MOST_UNSUPERVISED_DIMENSIONS)
        most = MOST_MIXTURE_DIMENSIONS if mixed else MOST_GRID_DIMENSIONS
        found = select_columns(reports, axes, most)
        if (mixed and not found) or (by_cost and beyond_a_grid(reports, axes, found)):
            return everything, True
        return found, mixed

    def _fit_mixtures(self, reports: Reports, core: list[Axis], rng: np.random.Generator) -> Sequence[Member]:
        count = 1 if reports.classes is None else int(np.clip(MIXED_COLUMNS / max(len(core), 1), 1, 5))
        return fit_mixtures(reports, core, rng, self.members or count)

    def _fit_grids(self, reports: Reports, core: list[Axis]) -> Sequence[Member]:
        """Fit members with different cells; the first learns on held-out reports how many steps they take."""
        count = self.members or members_for(effective_dimension(core))
        core = cap_helpers(reports, core)
        single = effective_dimension(core) <= 1.5
        limit, tolerance = (5 * self.max_iter, TOLERANCE / 10) if single else (self.max_iter, TOLERANCE)
        self.n_iter_ = limit
        resolutions = [resolution_for(core, reports.people, member) for member in range(count)]
        cuts = [each.coarsened(core, shared_by_classes(MOST_REPORT_CELLS, reports)) for each in resolutions]
        everybody = [Evidence.of_columns(reports, core, each) for each in cuts]
        first, *others = everybody
        questions = [question for evidence in others for question in evidence.questions()]
        reports.prepare([*first.questions(None, FIFTH, ~FIFTH), *questions])
        fitted, held = first.of_fold(~FIFTH), first.of_fold(FIFTH)
        if fitted.total and held.total:
            blocks = [BLOCK] * max(limit // BLOCK, 1)
            joint, taken = steps_by_held_out(fitted, held, blocks, tolerance * held.total)
            self.n_iter_ = BLOCK * taken
            joints = [fit_grid(first, BLOCK, joint)]
        else:
            joints = [fit_grid(first, self.n_iter_)]
        joints += [fit_grid(evidence, self.n_iter_) for evidence in others]
        return [GridMember(evidence.cells, joint) for evidence, joint in zip(everybody, joints, strict=True)]

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

    def device_form(self, say: Voice) -> DeviceForm:
        core = zip(self.selected_, self.members_[0].cells, strict=True)
        return DeviceForm.joint(self.device_classes(), (j for j, cut in core if cut.labels is None))

    # --- synthetic records --------------------------------------------------------------------------------------

    def sample(self, n: int, random_state: Any = None) -> Any:
        """n synthetic records of true values, in the form of X: (X, y), or X alone when fitted without classes.

        Each column by itself is distributed as it is reconstructed (`marginals_`). They are functions of the reports
        only, so their privacy is that of the reports. random_state: None draws others each time.
        """
        check_is_fitted(self)
        rng = generator(np.random if random_state is None else random_state)
        drawn = max(n, LEAST_DRAWN)
        values = self.sample_core(drawn, rng)
        for branch in self.forest_:
            parent = None if branch.parent is None else values[branch.parent]
            values[branch.child] = branch.draw(parent, drawn, rng)
        for j, marginal in self.marginals_.items():
            values[j] = marginal.kept_by(values[j], rng)
        values = {j: column[:n] for j, column in values.items()}
        nobody = np.full(n, None, dtype=object)  # of a column without any answer
        records = self.as_given([values.get(j, nobody) for j in range(len(self.attribute_names_))])
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
            "marginals": {str(j): marginal.to_dict() for j, marginal in self.marginals_.items()},
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
        stated = given_table(data, "marginals") if "marginals" in data else {}
        known = {str(j): j for j in range(-1, columns)}
        model._marginals = {known[j]: Marginal.from_dict(given_table(stated, j)) for j in stated if j in known}
        return model


def beyond_a_grid(reports: Reports, axes: Sequence[Axis], selected: Sequence[int]) -> bool:
    """Whether people are so few that no column is selected, or many classes want more columns than a grid can hold."""
    full = effective_dimension([axes[j] for j in selected]) > MOST_GRID_DIMENSIONS - 1 and len(selected) < len(axes)
    too_many = full and len(reports.classes or ()) > MOST_GRID_CLASSES
    return too_many or (not selected and reports.people < FEW_PEOPLE)


def members_for(dimension: float) -> int:
    """Cheap grids are averaged more often."""
    return int(np.interp(dimension, [1.0, 2.0, 3.0, 4.0, 5.0], [15, 12, 10, 6, 5]))
