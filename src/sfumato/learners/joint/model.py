"""`JointModel`: the joint distribution of class and true values, fitted to reports.

Columns that tell about the class are selected on the reports alone and modelled together with it, by a grid of cells;
several members with different cells are averaged. The other columns depend on these as a forest. A mixture of products
over all columns takes the grid's place where people are so few that no column is selected, or where many classes need
more columns than a grid can hold. The model predicts classes from true values by Bayes' rule and draws synthetic
records.
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
from sfumato.evidence.observed import LEAST_DOUBLE
from sfumato.evidence.resolution import effective_dimension, resolution_for
from sfumato.evidence.tables import Array
from sfumato.learners.classes import class_people
from sfumato.learners.device import DeviceForm
from sfumato.learners.estimator import Channels, Column, Learner, generator
from sfumato.learners.joint.forest import forest_from_dict, grow_forest
from sfumato.learners.joint.marginals import LEAST_DRAWN, Marginal
from sfumato.learners.joint.mixture import MixtureMember, fit_mixtures
from sfumato.learners.probabilities import add_in_order
from sfumato.prose import Voice

STRUCTURES = ("auto", "grid", "mixture")
MOST_GRID_DIMENSIONS = 5.0
"""Effective dimensions that a grid of selected columns may have: at five a column has ten cells (`evidence.resolution`)
and the grid a hundred thousand. More leave too few cells a column."""
MOST_MIXTURE_DIMENSIONS = 12.0
"""The same for a mixture of selected columns, whose cost grows linearly. By judgement; more let irrelevant columns take
components."""
MOST_UNSUPERVISED_DIMENSIONS = 3.5
"""Effective dimensions up to which all columns of reports without classes are modelled by a grid. By judgement; more
leave coarse cells to all columns, because none is left out."""
MOST_GRID_CLASSES = 4
"""Classes from which on a selection that fills a grid gives way to a mixture of all columns. By judgement; each class
multiplies the cells of the grid."""
FEW_PEOPLE = 500
"""People below which a mixture of all columns is fitted where no column is selected: so few seldom tell that a column
matters. By judgement; with more people that no column tells about the class is taken as a finding."""
MIXED_COLUMNS = 60
"""Columns of all mixtures that are averaged, together, which bounds the time. By judgement; at most five members."""
BLOCK = 20
"""Steps of EM between two looks at held-out people. By judgement; a look costs about as much as a step."""
TOLERANCE = 1e-5
"""Nats a held-out person by which a block has to raise the likelihood for EM to go on. By judgement: larger stops while
cells are still too alike, smaller takes steps that gain nothing."""


class Member(Protocol):
    """One fit of P(y, x₁..x_D) over cells; a joint model averages several.

    cells: of each column. classes: the number of classes.
    """

    cells: tuple[ColumnCells, ...]
    classes: int

    def joint_of_classes(self, cell_codes: list[Codes]) -> Floats:
        """Return P(y, x) of every record up to a factor of its own, one column a class.

        cell_codes: of each column the cell of every record; −1: missing, summed over.
        """
        ...

    def sample_cells(self, n: int, rng: np.random.Generator) -> tuple[Codes, list[Codes]]:
        """Draw n records; return their class codes, and their cells by column."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return the member as plain data for JSON."""
        ...


class GridMember:
    """A fit of P(y, t₁..t_D) as one array: [class, cell of the first column, …]."""

    def __init__(self, cells: tuple[ColumnCells, ...], joint: Array) -> None:
        self.cells, self.joint, self.classes = cells, joint, int(joint.shape[0])

    def joint_of_classes(self, cell_codes: list[Codes]) -> Floats:
        """Return P(y, t) of every record, one column a class; a missing cell, −1, is summed over."""
        records = cell_codes[0].size if cell_codes else 1
        if not self.cells:
            return np.repeat(self.joint.reshape(1, -1).astype(np.float64), records, axis=0)
        missing = np.array(cell_codes) < 0
        p_joint = np.empty((records, self.classes))
        patterns, which = np.unique(missing, axis=1, return_inverse=True) if missing.any() else (missing[:, :1], None)
        for number, pattern in enumerate(patterns.T):
            rows = slice(None) if which is None else np.flatnonzero(which.ravel() == number)
            table = self._sum_over(1 + np.flatnonzero(pattern)) if pattern.any() else self.joint
            present = [codes[rows] for codes, absent in zip(cell_codes, pattern, strict=True) if not absent]
            p_joint[rows] = np.moveaxis(table, 0, -1)[tuple(present)] if present else table
        return p_joint

    def _sum_over(self, axes: Codes) -> Floats:
        """Sum the joint distribution over these axes, cell by cell, the last axis running fastest."""
        first = np.moveaxis(self.joint.astype(np.float64), axes, np.arange(axes.size))
        return add_in_order(first.reshape(-1, *first.shape[axes.size :]))

    def sample_cells(self, n: int, rng: np.random.Generator) -> tuple[Codes, list[Codes]]:
        """Draw n records; return their class codes, and their cells by column."""
        cumulative = np.cumsum(self.joint.ravel(), dtype=np.float64)
        drawn = np.searchsorted(cumulative, rng.random(n) * cumulative[-1], side="right")
        group, *cells = np.unravel_index(np.minimum(drawn, cumulative.size - 1), self.joint.shape)
        return group.astype(np.int64), [codes.astype(np.int64) for codes in cells]

    def to_dict(self) -> dict[str, Any]:
        """Return the grid as plain data for JSON."""
        shortened = [float(f"{value:.9g}") for value in self.joint.ravel()]  # nine digits tell all floats apart
        return {
            "form": "grid",
            "cells": [cut.to_dict() for cut in self.cells],
            "shape": list(self.joint.shape),
            "joint": shortened,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], columns: int, classes: int) -> Self:
        """Return the grid of so many columns and classes that ``to_dict`` wrote."""
        cells = tuple(ColumnCells.from_dict(cut) for cut in given_rows(data, "cells", columns))
        shape = (classes, *(cut.size for cut in cells))
        if tuple(given_rows(data, "shape")) != shape:
            raise ValueError(f"shape is not {shape}, the classes and the cells of each column")
        joint = given_numbers(data, "joint", (prod(shape),), 0.0)
        return cls(cells, joint.astype(np.float32).reshape(shape))


MEMBERS: dict[str, type[GridMember] | type[MixtureMember]] = {"grid": GridMember, "mixture": MixtureMember}


class JointModel(Learner):
    """P(class, true values) from reports: a classifier of true values and a source of synthetic records.

    channels: one entry (channel, choice, or None for a clear column) a column, or a mapping from column name; a column
        ``<name>.level`` says which level of a choice each person took. None: nothing is blurred.
    label_channel: the channel that class labels went through; None: they are clear.
    structure: "grid": cells of the columns that tell about the class; "mixture": products over these columns; "auto":
        a grid, or a mixture of all columns where people are few or classes many.
    members: the number of fits with different cells that are averaged; None: chosen by cost.
    max_iter: the most EM steps of a grid (five times as many for a single column, where they are cheap); fitting stops
        earlier when held-out reports gain nothing.
    random_state: a whole number or a NumPy generator, by which the components of mixtures are started; None: 0.

    Without y the records' joint distribution alone is modelled.
    Fitted: ``classes_``, ``selected_`` (indices of the columns modelled with the class), ``members_``, ``forest_``
    (by which the other columns are drawn).

    >>> import numpy as np, sfumato as sf
    >>> age, rng = sf.Gaussian(sf.Interval(20, 80), privacy=0.5), np.random.default_rng(1)
    >>> ages = rng.uniform(20, 80, 5000)
    >>> model = sf.JointModel({"age": age}, members=1).fit({"age": age.randomize(ages, rng)}, ages > 50)
    >>> model.predict({"age": [40.0, 60.0]}).tolist()
    [False, True]
    >>> records, classes = model.sample(3, random_state=1)
    >>> list(records), classes.tolist()
    (['age'], [False, False, True])
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
        """Tell scikit-learn that y may be left out."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags

    @classmethod
    def behind(
        cls, learner: Learner, reports: Reports, rng: np.random.Generator, selected: tuple[int, ...] | None = None,
        members: int | None = None,
    ) -> Self:
        """Fit a joint model from which another learner is made, with that learner's channels, classes and names.

        reports: what the other learner is fitted to. rng: random numbers for mixtures. selected: indices of the columns
        modelled with the class; None: selected here. members: the number of grids that are averaged; None: by cost.
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
        """Fit members over some columns and the class, and the forest of the others.

        axes: of all columns. selected: indices of the columns modelled with the class. rng: random numbers for
        mixtures. mixed: whether members are mixtures instead of grids.
        """
        self.selected_ = selected
        core = [axes[j] for j in selected]
        self.members_ = self._fit_mixtures(reports, core, rng) if mixed else self._fit_grids(reports, core)
        self.forest_ = grow_forest(reports, axes, selected) if len(selected) < len(axes) else []
        self._remember(reports)

    def _remember(self, reports: Reports) -> None:
        """Keep the counts from which `marginals_` are reconstructed when they are first read."""
        blurred = [j for j, name in enumerate(reports.names) if reports.channels[name] is not None]
        self._tallies = dict(zip(blurred, reports.tallies(blurred), strict=True))
        self._p_class = None
        if reports.classes is not None:
            self._p_class = class_people(reports)

    @property
    def marginals_(self) -> dict[int, Marginal]:
        """The reconstructed distribution of each blurred column by its index, and of the classes under −1."""
        if not hasattr(self, "_marginals"):
            names = self.attribute_names_
            marginals = {j: Marginal.of(names[j], counts) for j, counts in self._tallies.items() if counts.total}
            if self._p_class is not None:
                codes = tuple(range(self._p_class.size))
                marginals[-1] = Marginal.over("class", self._p_class, None, codes)
            self._marginals = marginals
        return self._marginals

    def _select(self, reports: Reports, axes: list[Axis]) -> tuple[tuple[int, ...], bool]:
        """Return (indices of the columns to model together with the class, whether to model them by a mixture)."""
        everything = tuple(j for j, axis in enumerate(axes) if axis.answered)
        mixed, by_cost = self.structure == "mixture", self.structure == "auto"
        if reports.classes is None:
            return everything, mixed or (by_cost and effective_dimension(axes) > MOST_UNSUPERVISED_DIMENSIONS)
        most = MOST_MIXTURE_DIMENSIONS if mixed else MOST_GRID_DIMENSIONS
        selected = select_columns(reports, axes, most)
        if (mixed and not selected) or (by_cost and beyond_a_grid(reports, axes, selected)):
            return everything, True
        return selected, mixed

    def _fit_mixtures(self, reports: Reports, core: list[Axis], rng: np.random.Generator) -> Sequence[Member]:
        """Fit mixtures of products over the axes of ``core``: fewer, the more columns they have."""
        count = 1 if reports.classes is None else int(np.clip(MIXED_COLUMNS / max(len(core), 1), 1, 5))
        return fit_mixtures(reports, core, rng, self.members or count)

    def _fit_grids(self, reports: Reports, core: list[Axis]) -> Sequence[Member]:
        """Fit grids with different cells; the number of EM steps is chosen on the first grid by held-out reports."""
        count = self.members or members_for(effective_dimension(core))
        core = cap_helpers(reports, core)
        single = effective_dimension(core) <= 1.5
        limit, tolerance = (5 * self.max_iter, TOLERANCE / 10) if single else (self.max_iter, TOLERANCE)
        self.n_iter_ = limit
        most = shared_by_classes(MOST_REPORT_CELLS, reports)
        cuts = [resolution_for(core, reports.people, member).coarsened(core, most) for member in range(count)]
        everybody = [Evidence.of_columns(reports, core, cut) for cut in cuts]
        first, *others = everybody
        questions = [question for evidence in others for question in evidence.questions()]
        reports.prepare([*first.questions(None, FIFTH, ~FIFTH), *questions])
        train, test = first.of_fold(~FIFTH), first.of_fold(FIFTH)
        if train.total and test.total:
            blocks = [BLOCK] * max(limit // BLOCK, 1)
            joint, taken = steps_by_held_out(train, test, blocks, tolerance * test.total)
            self.n_iter_ = BLOCK * taken
            joints = [fit_grid(first, BLOCK, joint)]
        else:
            joints = [fit_grid(first, self.n_iter_)]
        joints += [fit_grid(evidence, self.n_iter_) for evidence in others]
        return [GridMember(evidence.cells, joint) for evidence, joint in zip(everybody, joints, strict=True)]

    # --- Bayes' rule on true values -----------------------------------------------------------------------------

    def _probabilities(self, columns: list[Column]) -> Floats:
        """Return P(class | true values), averaged over members; missing values are summed over."""
        if not hasattr(self, "classes_"):
            raise ValueError("this model was fitted without classes and cannot classify; pass y to fit")
        return self.bayes([columns[j] for j in self.selected_], len(columns[0]))

    def bayes(self, columns: list[Column], records: int) -> Floats:
        """Return P(class | true values) of so many records, from the values of the selected columns alone."""
        total = np.zeros((records, len(self.classes_)))
        for member in self.members_:
            codes = [cut.true_cells(column) for cut, column in zip(member.cells, columns, strict=True)]
            mass = member.joint_of_classes(codes) + LEAST_DOUBLE
            total += mass / add_in_order(mass.T)[:, None]
        return np.asarray(total / len(self.members_))

    def device_form(self, say: Voice) -> DeviceForm:
        core = zip(self.selected_, self.members_[0].cells, strict=True)
        return DeviceForm.joint(self.device_classes(), (j for j, cut in core if cut.labels is None))

    # --- synthetic records --------------------------------------------------------------------------------------

    def sample(self, n: int, random_state: Any = None) -> Any:
        """Draw synthetic records of true values.

        Return (X, y), X in the form that was fitted; X alone where the model was fitted without classes. Each column by
        itself has the distribution that is reconstructed from its reports (`marginals_`). Records follow from the
        reports only, so that they reveal no more than these.

        n: how many. random_state: a whole number or a NumPy generator; None: other records at each call.
        """
        check_is_fitted(self)
        rng = generator(np.random if random_state is None else random_state)
        drawn = max(n, LEAST_DRAWN)
        values = self.sample_core(drawn, rng)
        for branch in self.forest_:
            parent = None if branch.parent is None else values[branch.parent]
            values[branch.child] = branch.draw(parent, drawn, rng)
        for j, marginal in self.marginals_.items():
            values[j] = marginal.impose_on(values[j], rng)
        values = {j: column[:n] for j, column in values.items()}
        unanswered = np.full(n, None, dtype=object)
        records = self.as_given([values.get(j, unanswered) for j in range(len(self.attribute_names_))])
        return (records, self.classes_[values[-1]]) if hasattr(self, "classes_") else records

    def sample_core(self, n: int, rng: np.random.Generator) -> dict[int, npt.NDArray[Any]]:
        """Draw n values of each selected column, by the column's index, and n class codes under −1.

        n: how many. rng: random numbers.
        """
        shares = rng.multinomial(n, np.full(len(self.members_), 1 / len(self.members_)))
        groups: list[Codes] = []
        parts: list[list[Column]] = []
        for member, share in zip(self.members_, shares, strict=True):
            group, cells = member.sample_cells(int(share), rng)
            groups.append(group)
            parts.append([cut.draw(codes, rng) for cut, codes in zip(member.cells, cells, strict=True)])
        order = rng.permutation(n)
        values = {j: np.concatenate([part[k] for part in parts])[order] for k, j in enumerate(self.selected_)}
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
            MEMBERS[given_one_of(member, "form", MEMBERS)].from_dict(member, len(model.selected_), classes)
            for member in members
        ]
        model.forest_ = forest_from_dict(given_rows(data, "forest"), model.selected_, columns)
        stated = given_table(data, "marginals") if "marginals" in data else {}
        index_of = {str(j): j for j in range(-1, columns)}
        model._marginals = {index_of[j]: Marginal.from_dict(given_table(stated, j)) for j in stated if j in index_of}
        return model


def beyond_a_grid(reports: Reports, axes: Sequence[Axis], selected: Sequence[int]) -> bool:
    """Say whether a mixture of all columns should take the place of a grid of the selected ones.

    It should where people are few and no column is selected, or where many classes need more columns than a grid holds.
    """
    full = effective_dimension([axes[j] for j in selected]) > MOST_GRID_DIMENSIONS - 1 and len(selected) < len(axes)
    too_many = full and len(reports.classes or ()) > MOST_GRID_CLASSES
    return too_many or (not selected and reports.people < FEW_PEOPLE)


def members_for(dimension: float) -> int:
    """Return how many grids of this effective dimension are averaged: fewer, the more a grid costs."""
    return int(np.interp(dimension, [1.0, 2.0, 3.0, 4.0, 5.0], [15, 12, 10, 6, 5]))
