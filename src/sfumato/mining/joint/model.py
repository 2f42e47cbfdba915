"""The joint model of class and true values, fitted on reports.

Attributes that tell about the class are selected on the reports alone and modelled together with it, by an exact grid
(or a mixture of products where a grid would be too large); several members with different cells are averaged. The
other attributes hang on them as a forest. From the model come Bayes' rule on true values and synthetic records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sfumato.channels.base import Channel
from sfumato.mining.columns import Axis, axis_of
from sfumato.mining.estimator import (
    Channels,
    channels_of_columns,
    class_codes,
    is_frame,
    read_columns,
    record_weights,
    remember_names,
)
from sfumato.mining.joint.forest import Branch, grow_forest
from sfumato.mining.joint.grid_fit import GridProblem, Labels, coarsened_to
from sfumato.mining.joint.members import GridMember, Member, member_from_dict
from sfumato.mining.joint.mixture import MixtureFit
from sfumato.mining.joint.resolution import Resolution, effective_dimension, resolution_for
from sfumato.mining.joint.selection import cap_helpers, select_attributes

MOST_GRID_DIMENSIONS = 5.0
MOST_UNSUPERVISED_DIMENSIONS = 3.5
MOST_REPORT_CELLS = 400_000
MIXTURE_RESOLUTION = Resolution(24, 0.25)
BLOCK, TOLERANCE, HELD_OUT = 20, 1e-5, 0.2


def generator(random_state: Any) -> np.random.Generator:
    """A Generator from anything scikit-learn takes as random_state."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(0, 2**31 - 1))


class JointModel(ClassifierMixin, BaseEstimator):
    """P(class, true values) from reports: a classifier of true values and a source of synthetic records.

    channels: one entry (channel or None for a clear column) a column, or a mapping from column name.
    label_channel: the channel that class labels went through, None if they are clear.
    structure: "auto", "grid" or "mixture".
    members: how many fits with different cells are averaged; None chooses by cost.
    max_iter: the limit on EM steps (five times as many for a single attribute, where they are cheap); fitting stops
        earlier when held-out reports gain nothing.

    Fitted: ``classes_``, ``selected_`` (the columns modelled with the class), ``members_``, ``forest_``.
    """

    def __init__(
        self,
        channels: Channels = None,
        *,
        label_channel: Channel | None = None,
        structure: str = "auto",
        members: int | None = None,
        max_iter: int = 400,
        random_state: Any = None,
    ) -> None:
        self.channels = channels
        self.label_channel = label_channel
        self.structure = structure
        self.members = members
        self.max_iter = max_iter
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = False
        return tags

    # --- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit on reports; without y the records' joint distribution alone."""
        names, columns = read_columns(self, X, reset=True)
        self._frame = type(X) if is_frame(X) else None
        channels = channels_of_columns(self.channels, names)
        attributes = [axis_of(*pair) for pair in zip(names, channels, columns, strict=True)]
        return self._fit_attributes(attributes, y, None)

    def _fit_attributes(self, attributes: Sequence[Axis], y: Any, sample_weight: Any) -> Self:
        if self.structure not in ("auto", "grid", "mixture"):
            raise ValueError(f"structure={self.structure!r} is unknown; use 'auto', 'grid' or 'mixture'")
        rng = generator(self.random_state)
        labels = self._labels(attributes[0].codes.size, y, sample_weight)
        if y is None:
            self.selected_ = tuple(range(len(attributes)))
        else:
            self.selected_ = select_attributes(attributes, labels, rng, self._most_dimensions())
        self.members_ = self._fit_members([attributes[j] for j in self.selected_], labels, rng)
        self.forest_ = grow_forest(attributes, self.selected_, labels.weight, rng)
        self.attribute_names_ = [attribute.name for attribute in attributes]
        return self

    def _labels(self, records: int, y: Any, sample_weight: Any) -> Labels:
        weight = record_weights(sample_weight, records).astype(np.float32)
        if y is None:
            return Labels(np.zeros(records, np.int64), weight, 1)
        self.classes_, codes = class_codes(y, self.label_channel)
        if codes.size != records:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {records}, y has {codes.size}"
            )
        table = None if self.label_channel is None else self.label_channel.matrix().astype(np.float32)
        return Labels(codes, weight, len(self.classes_), table)

    def _most_dimensions(self) -> float:
        return 12.0 if self.structure == "mixture" else MOST_GRID_DIMENSIONS

    def _fit_members(self, core: list[Axis], labels: Labels, rng: np.random.Generator) -> list[Member]:
        dimension = effective_dimension(core)
        unsupervised = labels.classes == 1
        too_large = unsupervised and dimension > MOST_UNSUPERVISED_DIMENSIONS
        if self.structure == "mixture" or (self.structure == "auto" and too_large):
            count = self.members or (1 if unsupervised else 5)
            shifts = [resolution_for(core, labels.weight.size, member).shift for member in range(count)]
            resolutions = [
                Resolution(MIXTURE_RESOLUTION.cells - m, MIXTURE_RESOLUTION.coarseness, shifts[m]) for m in range(count)
            ]
            return [MixtureFit(core, labels, resolution, rng).run(rng) for resolution in resolutions]
        return self._fit_grids(core, labels, rng, self.members or members_for(dimension))

    def _fit_grids(self, core: list[Axis], labels: Labels, rng: np.random.Generator, count: int) -> list[Member]:
        """The first member learns on held-out reports how many steps to take; the others take as many on all."""
        held = rng.random(labels.weight.size) < HELD_OUT
        core = cap_helpers(core, labels)
        found: list[Member] = []
        single = effective_dimension(core) <= 1.5
        limit, tolerance = (5 * self.max_iter, TOLERANCE / 10) if single else (self.max_iter, TOLERANCE)
        steps = limit
        for member in range(count):
            resolution = resolution_for(core, labels.weight.size, member)
            problem = GridProblem.of(core, labels, coarsened_to(core, resolution, MOST_REPORT_CELLS))
            if member == 0 and held.any() and not held.all():
                counts, left_out = problem.counts(~held), problem.counts(held)
                joint, steps = problem.fit_until_held_out_falls(counts, left_out, BLOCK, limit, tolerance)
                joint = problem.fit(problem.counts(), BLOCK, joint)
            else:
                joint = problem.fit(problem.counts(), steps)
            found.append(GridMember(problem.cells, joint))
        self.n_iter_ = steps
        return found

    # --- Bayes' rule on true values -----------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """P(class | true values), averaged over members; missing values integrate out."""
        self._check_classes()
        _, columns = read_columns(self, X, reset=False)
        return self.bayes([columns[j] for j in self.selected_], len(columns[0]))

    def bayes(self, columns: list[npt.NDArray[Any]], records: int) -> npt.NDArray[np.float64]:
        """P(class | the selected columns)."""
        total = np.zeros((records, len(self.classes_)))
        for member in self.members_:
            places = [cut.true_cells(column) for cut, column in zip(member.cells, columns, strict=True)]
            mass = member.joint_of_classes(places) + 1e-300
            total += mass / mass.sum(axis=1, keepdims=True)
        return np.asarray(total / len(self.members_))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each record of true values."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[np.argmax(probabilities, axis=1)])

    def _check_classes(self) -> None:
        check_is_fitted(self, "members_")
        if not hasattr(self, "classes_"):
            raise ValueError("this model was fitted without classes and cannot classify; pass y to fit")

    # --- synthetic records --------------------------------------------------------------------------------------

    def sample(self, n: int, random_state: Any = None) -> Any:
        """n synthetic records of true values, in the form of X: (X, y), or X alone when fitted without classes.

        They are functions of the reports only, so their privacy is that of the reports.
        """
        check_is_fitted(self, "members_")
        columns, group = self._sample_columns(n, generator(random_state))
        records = self._as_given(columns)
        return (records, self.classes_[group]) if hasattr(self, "classes_") else records

    def sample_core(self, n: int, rng: np.random.Generator) -> dict[int, npt.NDArray[Any]]:
        """n draws of the selected columns, by column index; the class codes stand under −1."""
        shares = rng.multinomial(n, np.full(len(self.members_), 1 / len(self.members_)))
        groups, parts = [], []
        for member, share in zip(self.members_, shares, strict=True):
            group, places = member.sample_cells(int(share), rng)
            groups.append(group)
            parts.append([cut.draw(place, rng) for cut, place in zip(member.cells, places, strict=True)])
        order = rng.permutation(n)
        values = {j: np.concatenate([part[place] for part in parts])[order] for place, j in enumerate(self.selected_)}
        return {**values, -1: np.concatenate(groups)[order]}

    def _sample_columns(self, n: int, rng: np.random.Generator) -> tuple[list[npt.NDArray[Any]], npt.NDArray[np.int64]]:
        values = self.sample_core(n, rng)
        for branch in self.forest_:
            parent = None if branch.parent is None else values[branch.parent]
            values[branch.child] = branch.draw(parent, n, rng)
        return [values[j] for j in range(len(self.attribute_names_))], values[-1]

    def _as_given(self, columns: list[npt.NDArray[Any]]) -> Any:
        if self._frame is None:
            numeric = all(column.dtype.kind in "iufb" for column in columns)
            if numeric:
                return np.column_stack([column.astype(float) for column in columns])
            return np.column_stack([column.astype(object) for column in columns])
        data = dict(zip(self.attribute_names_, columns, strict=True))
        module = self._frame.__module__.split(".")[0]
        if module == "polars":
            import polars

            return polars.DataFrame(data)
        if module in ("pyarrow", "_duckdb", "duckdb"):
            import pyarrow

            return pyarrow.table(data)
        import pandas

        return pandas.DataFrame(data)

    # --- plain data ---------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The fitted model as plain data for JSON; `from_dict` gives back a model that classifies and samples."""
        check_is_fitted(self, "members_")
        return {
            "model": "joint",
            "named": hasattr(self, "feature_names_in_"),
            "attributes": self.attribute_names_,
            "classes": self.classes_.tolist() if hasattr(self, "classes_") else None,
            "selected": [int(j) for j in self.selected_],
            "members": [member.to_dict() for member in self.members_],
            "forest": [branch.to_dict() for branch in self.forest_],
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        model = cls()
        model.attribute_names_ = list(data["attributes"])
        remember_names(model, data)
        if data["classes"] is not None:
            model.classes_ = np.array(data["classes"])
        model.selected_ = tuple(data["selected"])
        model.members_ = [member_from_dict(member) for member in data["members"]]
        model.forest_ = [Branch.from_dict(branch) for branch in data["forest"]]
        model._frame = None
        return model


def members_for(dimension: float) -> int:
    """Cheap grids are averaged more often."""
    return int(np.interp(dimension, [1.0, 2.0, 3.0, 4.0, 5.0], [15, 12, 10, 6, 5]))
