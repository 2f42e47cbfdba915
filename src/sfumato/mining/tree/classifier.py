"""Decision trees from randomized reports, with scikit-learn's contract."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sfumato.channels.base import Channel
from sfumato.mining.columns import Axis, ClearNumber, axis_of, encode_known
from sfumato.mining.estimator import (
    Channels,
    channels_of_columns,
    class_codes,
    read_columns,
    record_weights,
    remember_names,
)
from sfumato.mining.joint.model import JointModel, generator
from sfumato.mining.level_columns import reports_in
from sfumato.mining.tree import text
from sfumato.mining.tree.distil import distilled_tree
from sfumato.mining.tree.growth import (
    ByClassGrowth,
    ClassMass,
    GlobalGrowth,
    Growth,
    Limits,
    LocalGrowth,
    clean_tree,
    paper_intervals,
)
from sfumato.mining.tree.model import Feature, Tree

RECONSTRUCTIONS = ("joint", "byclass", "local", "global", "none")
GROWTHS: dict[str, type[Growth]] = {"global": GlobalGrowth, "byclass": ByClassGrowth, "local": LocalGrowth}
DEEPEST = 60


class TreeClassifier(ClassifierMixin, BaseEstimator):
    """A decision tree for true values, learned from reports.

    channels: one entry (channel or None for a clear column) a column, or a mapping from column name.
    reconstruction: "joint" distils a tree from the joint model; "byclass", "local" and "global" are AS00's algorithms;
        "none" takes reports as if they were true values. Without any channel all of them grow a clean tree.
    label_channel: the channel that class labels went through, None if they are clear.
    intervals: AS00's number of intervals m; None takes a hundredth of the records, between 10 and 100.
    prune: whether to prune by minimum description length; None prunes when there are channels, as AS00 does, and
        grows a full tree, as scikit-learn does, when there are none.

    Fitted: ``classes_``, ``tree_``, ``feature_importances_``, and ``joint_`` after reconstruction="joint".
    """

    def __init__(
        self,
        channels: Channels = None,
        reconstruction: str = "joint",
        *,
        label_channel: Channel | None = None,
        intervals: int | None = None,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        prune: bool | None = None,
        random_state: Any = None,
    ) -> None:
        self.channels = channels
        self.reconstruction = reconstruction
        self.label_channel = label_channel
        self.intervals = intervals
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.prune = prune
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # --- fitting ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit on reports X and classes y."""
        if self.reconstruction not in RECONSTRUCTIONS:
            raise ValueError(
                f"reconstruction={self.reconstruction!r} is unknown; use one of {', '.join(RECONSTRUCTIONS)}"
            )
        names, columns = read_columns(self, X, reset=True)
        self.classes_, group = class_codes(y, self.label_channel)
        records = len(columns[0])
        if group.size != records:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {records}, y has {group.size}"
            )
        weight = record_weights(sample_weight, records)
        if (weight == 0).any():
            columns, group = [column[weight > 0] for column in columns], group[weight > 0]
            weight = weight[weight > 0]
        channels = channels_of_columns(self.channels, names)
        if self.reconstruction == "none":
            channels, columns = [None] * len(channels), [reports_in(column) for column in columns]
        attributes = [axis_of(*pair) for pair in zip(names, channels, columns, strict=True)]
        self._grow(attributes, columns, group, weight)
        self.attribute_names_ = names
        return self

    def _limits(self) -> Limits:
        least = float(self.min_samples_leaf)
        depth = DEEPEST if self.max_depth is None else min(int(self.max_depth), DEEPEST)
        blurred = self.channels is not None or self.label_channel is not None
        return Limits(depth, least, 2 * least, blurred if self.prune is None else bool(self.prune))

    def _grow(
        self,
        attributes: list[Axis],
        columns: list[npt.NDArray[Any]],
        group: npt.NDArray[np.int64],
        weight: npt.NDArray[Any],
    ) -> None:
        table = None if self.label_channel is None else self.label_channel.matrix()
        labels = ClassMass.of(group, weight, len(self.classes_), table)
        noisy = any(attribute.noisy for attribute in attributes)
        if not noisy:
            values = np.array([clean_values(a, column) for a, column in zip(attributes, columns, strict=True)])
            self.tree_, self.features_ = clean_tree(attributes, values, labels, self._limits())
        elif self.reconstruction == "joint":
            self._distil(attributes, group, weight)
        else:
            intervals = self.intervals or paper_intervals(group.size)
            growth = GROWTHS[self.reconstruction](attributes, intervals, labels, self._limits())
            self.tree_, self.features_ = growth.grow(), growth.features

    def _distil(self, attributes: list[Axis], group: npt.NDArray[np.int64], weight: npt.NDArray[Any]) -> None:
        rng = generator(self.random_state)
        model = JointModel(label_channel=self.label_channel, random_state=rng)
        self.joint_ = model._fit_attributes(attributes, self.classes_[group], weight)
        self.tree_, found = distilled_tree(self.joint_, self._limits(), float(weight.sum()), rng)
        by_name = {feature.name: feature for feature in found}
        self.features_ = [
            by_name.get(a.name, Feature(a.name, np.array([0.0, 1.0]), getattr(a, "labels", None))) for a in attributes
        ]

    # --- prediction on true values ------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Class shares in the leaf that each record of true values falls into."""
        leaves = self.apply(X)
        counts = self.tree_.counts[leaves]
        total = counts.sum(axis=1, keepdims=True)
        return np.where(total > 0, counts / np.maximum(total, 1e-300), 1 / len(self.classes_))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most common class of the leaf that each record of true values falls into."""
        check_is_fitted(self, "tree_")
        winners = np.argmax(self.tree_.counts, axis=1)
        return np.asarray(self.classes_[winners[self.apply(X)]])

    def apply(self, X: Any) -> npt.NDArray[np.int64]:
        """The index of the leaf of each record."""
        check_is_fitted(self, "tree_")
        _, columns = read_columns(self, X, reset=False)
        values = np.empty((len(columns), len(columns[0])))
        for j, (feature, column) in enumerate(zip(self.features_, columns, strict=True)):
            values[j] = encode_known(feature.labels, column) if feature.labels is not None else numeric(column)
        return self.tree_.leaves(values, np.array([feature.categorical for feature in self.features_]))

    # --- reading the tree ---------------------------------------------------------------------------------------

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """Each attribute's share of the gini decrease."""
        check_is_fitted(self, "tree_")
        return self.tree_.importances(len(self.features_))

    def get_depth(self) -> int:
        check_is_fitted(self, "tree_")
        return self.tree_.depth()

    def get_n_leaves(self) -> int:
        check_is_fitted(self, "tree_")
        return self.tree_.n_leaves

    def export_text(self) -> str:
        """The tree as indented lines."""
        check_is_fitted(self, "tree_")
        return text.export_text(self.tree_, self.features_, self.classes_.tolist())

    def rules(self) -> list[str]:
        """One sentence a leaf, the most common first."""
        check_is_fitted(self, "tree_")
        return text.rules(self.tree_, self.features_, self.classes_.tolist())

    def plot(self, ax: Any = None, max_depth: int = 4) -> Any:
        """Draw the upper levels with matplotlib; the axes are returned."""
        check_is_fitted(self, "tree_")
        from sfumato.mining.tree.text import draw_tree

        return draw_tree(self.tree_, self.features_, self.classes_.tolist(), ax, max_depth)

    # --- plain data ---------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The tree as plain data for JSON; `from_dict` gives back a tree that classifies and can be read."""
        check_is_fitted(self, "tree_")
        features = [
            {"name": f.name, "labels": None if f.labels is None else list(f.labels), "integer": f.integer}
            for f in self.features_
        ]
        return {
            "model": "tree",
            "named": hasattr(self, "feature_names_in_"),
            "reconstruction": self.reconstruction,
            "classes": self.classes_.tolist(),
            "features": features,
            "tree": self.tree_.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        model = cls(reconstruction=data["reconstruction"])
        model.classes_ = np.array(data["classes"])
        model.features_ = [
            Feature(
                f["name"],
                None if f["labels"] else np.array([0.0, 1.0]),
                tuple(f["labels"]) if f["labels"] else None,
                f["integer"],
            )
            for f in data["features"]
        ]
        model.attribute_names_ = [feature.name for feature in model.features_]
        remember_names(model, data)
        model.tree_ = Tree.from_dict(data["tree"])
        return model


def clean_values(attribute: Axis, column: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Numbers as they are, categories as codes."""
    return numeric(column) if isinstance(attribute, ClearNumber) else attribute.codes.astype(float)


def numeric(column: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    return np.asarray(column, dtype=np.float64)
