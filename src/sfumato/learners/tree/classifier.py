"""Decision trees from randomized reports, with scikit-learn's contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from sfumato.channels.base import Channel
from sfumato.counts import Reports
from sfumato.domain import Floats
from sfumato.domain.checked import given, given_flag, given_labels, given_one_of, given_rows, given_table
from sfumato.evidence import Axis
from sfumato.evidence.columns import select_columns
from sfumato.learners.device import DeviceForm
from sfumato.learners.estimator import Channels, Column, Learner
from sfumato.learners.joint import JointModel
from sfumato.learners.joint.model import MOST_GRID_DIMENSIONS, beyond_a_grid
from sfumato.learners.tree import text
from sfumato.learners.tree.by_class.association import ByClassGrowth, GlobalGrowth, LocalGrowth, paper_intervals
from sfumato.learners.tree.by_class.levels import CleanGrowth
from sfumato.learners.tree.model import (
    Feature,
    Labels,
    Limits,
    NodeErrors,
    Tree,
    clean_values,
    compared,
    feature_of,
)
from sfumato.learners.tree.rule.as_tree import tree_of
from sfumato.learners.tree.rule.fitting import FittedRule, RuleSearch
from sfumato.learners.tree.rule.verdict import lead_of_rule
from sfumato.prose import Voice

RECONSTRUCTIONS = ("likelihood", "joint", "byclass", "local", "global", "none")
GROWTHS: dict[str, type[ByClassGrowth]] = {"global": GlobalGrowth, "byclass": ByClassGrowth, "local": LocalGrowth}
DEEPEST = 60
"""Levels of a tree at most, whatever was asked for: a sentence of sixty conditions is read by nobody."""
DISTILLED_RECORDS = 150_000
"""Records drawn from a joint model to grow its tree on. By judgement; with fewer, cuts move by chance, with more it
takes longer."""
LEAST_LEAF = 0.0003
"""Share of the people that a leaf of a distilled tree has at least: about fifty of the records drawn."""
FALLBACK_MEMBERS = 3
"""Grids that are averaged in a joint model that becomes a tree. By judgement; a tree shows no finer shades."""
MOST_CLASSES = 12
"""Classes up to which a rule is looked for: the time grows with their square, and each type of leaf has so many
shares."""
FEWEST_PEOPLE = 2_000
"""People from which on a rule is looked for: of fewer, held-out thirds do not tell a rule from chance (decision 31)."""
BETTER, CLEARLY_BETTER = 0.4, 2.0
"""Standard errors by which a rule has to foretell held-out classes better than the joint model does to be preferred,
and by which it is settled that no other rule is looked for (or that even one leaf is worse); decision 31."""


class TreeClassifier(Learner):
    """A decision tree for true values, learned from reports.

    channels: one entry (channel or None for a clear column) a column, or a mapping from column name.
    reconstruction: "likelihood" finds cuts and leaves by the likelihood of the reports; where held-out reports do not
        pay for a rule, or people are fewer than 2,000, it distils the joint model into a tree; "joint" always does
        that; "byclass", "local" and "global" are AS00's algorithms; "none" takes reports as if they were true values.
        Without any channel all of them grow a clean tree.
    label_channel: the channel that class labels went through, None if they are clear.
    intervals: AS00's number of intervals m; None takes a hundredth of the records, between 10 and 100.
    prune: whether to prune by minimum description length; None prunes when there are channels, as AS00 does, and
        grows a full tree, as scikit-learn does, when there are none.
    max_depth: questions on the way to a leaf at most; None: no limit.
    min_samples_leaf: people that a leaf has at least.
    random_state: of the records that are drawn from a joint model, and of who is held out; None is 0.

    Fitted: ``classes_``, ``tree_``, ``feature_importances_``; ``joint_`` where the joint model was distilled;
    ``errors_``, the standard errors of every node's cut and share, where the likelihood gave them.

    >>> import numpy as np, sfumato as sf
    >>> age = sf.Gaussian(sf.Interval(20, 80), privacy=0.5)
    >>> rng = np.random.default_rng(0)
    >>> true = rng.uniform(20, 80, 5_000)
    >>> tree = sf.TreeClassifier({"age": age}).fit({"age": age.randomize(true, rng)}, true < 40)
    >>> tree.get_n_leaves(), tree.score({"age": true}, true < 40) > 0.97
    (2, True)
    """

    form = "tree"

    def __init__(
        self, channels: Channels = None, reconstruction: str = "likelihood", *, label_channel: Channel | None = None,
        intervals: int | None = None, max_depth: int | None = None, min_samples_leaf: int = 1,
        prune: bool | None = None, random_state: Any = None,
    ) -> None:
        self.channels = channels
        self.reconstruction = reconstruction
        self.label_channel = label_channel
        self.intervals = intervals
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.prune = prune
        self.random_state = random_state

    # --- fitting ------------------------------------------------------------------------------------------------

    def _takes_reports_as_true(self) -> bool:
        return self.reconstruction == "none"

    def _learn(self, reports: Reports, rng: np.random.Generator) -> None:
        """Grow the tree in the way that was asked for; a clean tree where no column is blurred."""
        if self.reconstruction not in RECONSTRUCTIONS:
            raise ValueError(
                f"reconstruction={self.reconstruction!r} is unknown; use one of {', '.join(RECONSTRUCTIONS)}"
            )
        self.errors_: NodeErrors | None = None
        axes = [Axis(reports.column(name)) for name in reports.names]
        limits = self._limits(reports)
        if not any(axis.noisy for axis in axes):
            clean = CleanGrowth(reports, axes, limits)
            self.tree_, self.features_ = clean.grow(), clean.features
        elif self.reconstruction == "likelihood":
            self._follow_likelihood(reports, axes, limits, rng)
        elif self.reconstruction == "joint":
            self._distil(reports, axes, limits, JointModel.behind(self, reports, rng), rng)
        else:
            intervals = self.intervals or paper_intervals(len(reports))
            growth = GROWTHS[self.reconstruction](reports, axes, intervals, limits)
            self.tree_, self.features_ = growth.grow(), growth.features

    def _limits(self, reports: Reports) -> Limits:
        """Return when to stop growing; it is pruned where anything is blurred, unless that was said."""
        least = float(self.min_samples_leaf)
        depth = DEEPEST if self.max_depth is None else min(int(self.max_depth), DEEPEST)
        blurred = self.channels is not None or any(reports.channels.values()) or reports.taken_as_true
        blurred = blurred or reports.label_channel is not None
        return Limits(depth, least, 2 * least, blurred if self.prune is None else bool(self.prune))

    def _follow_likelihood(self, reports: Reports, axes: list[Axis], limits: Limits, rng: np.random.Generator) -> None:
        """Find a rule and keep it if held-out reports prefer it; else distil the joint model."""
        if reports.people < FEWEST_PEOPLE:
            self._distil(reports, axes, limits, JointModel.behind(self, reports, rng), rng)
            return
        chosen, ruled = select_columns(reports, axes, MOST_GRID_DIMENSIONS), None
        if len(self.classes_) <= MOST_CLASSES and not beyond_a_grid(reports, axes, chosen):
            ruled = self._rule(RuleSearch(reports, axes), chosen)
        if ruled is not None:
            self.tree_, self.features_, self.errors_ = tree_of(ruled, axes, limits, reports.people)
        else:
            self._distil(reports, axes, limits, JointModel.behind(self, reports, rng, chosen, FALLBACK_MEMBERS), rng)

    def _rule(self, search: RuleSearch, chosen: tuple[int, ...]) -> FittedRule | None:
        """Return a rule that foretells held-out reports better than the joint model of the chosen columns does."""
        rough = search.find(chosen)
        fitted = search.fit_finely(rough)
        lead = lead_of_rule(search, fitted, chosen)
        if lead <= CLEARLY_BETTER and (better := search.search_again(rough)) is not rough:
            fitted = search.fit_finely(better)
            lead = lead_of_rule(search, fitted, chosen)
        return fitted if lead > (BETTER if fitted.form.columns else -CLEARLY_BETTER) else None

    def _distil(
        self, reports: Reports, axes: list[Axis], limits: Limits, model: JointModel, rng: np.random.Generator
    ) -> None:
        """Keep what a joint model decides, as a tree."""
        self.joint_ = model
        self.tree_, found = distilled_tree(model, limits, reports.people, rng)
        by_name = {feature.name: feature for feature in found}
        self.features_ = [by_name.get(axis.name, feature_of(axis.at(2))) for axis in axes]

    # --- prediction on true values ------------------------------------------------------------------------------

    def _probabilities(self, columns: list[Column]) -> Floats:
        """Return the class shares of the leaf that each record of true values falls into."""
        counts = self._scores(columns)
        total = counts.sum(axis=1, keepdims=True)
        return np.where(total > 0, counts / np.maximum(total, 1e-300), 1 / len(self.classes_))

    def _scores(self, columns: list[Column]) -> Floats:
        """Return the class counts of that leaf, or shares where an answer is missing that nobody's was."""
        values = compared(self.features_, columns)
        return self.tree_.scores(values, np.array([feature.categorical for feature in self.features_]))

    def apply(self, X: Any) -> npt.NDArray[np.int64]:
        """Return the index of the leaf of each record of true values.

        X: a table or array with the columns that the tree was fitted on.
        """
        check_is_fitted(self)
        return self._leaves(self._columns(X, reset=False)[1])

    def _leaves(self, columns: list[Column]) -> npt.NDArray[np.int64]:
        values = compared(self.features_, columns)
        return self.tree_.leaves(values, np.array([feature.categorical for feature in self.features_]))

    def device_form(self, say: Voice) -> DeviceForm:
        return text.device_form(self.tree_, self.features_, self.device_classes(), say)

    def deciding_tree(self) -> tuple[Tree, list[Feature]]:
        return self.tree_, self.features_

    def columns_read(self) -> list[int]:
        return sorted(set(self.tree_.column[self.tree_.column >= 0].tolist()))

    # --- reading the tree ---------------------------------------------------------------------------------------

    @property
    def feature_importances_(self) -> Floats:
        """Each column's share of the decrease of the gini index, of sum 1."""
        check_is_fitted(self)
        return self.tree_.importances(len(self.features_))

    def get_depth(self) -> int:
        """Return how many questions the deepest leaf is below the root."""
        check_is_fitted(self)
        return self.tree_.depth()

    def get_n_leaves(self) -> int:
        """Return how many leaves the tree has."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    def export_text(self) -> str:
        """Return the tree as indented lines of text."""
        check_is_fitted(self)
        return text.export_text(self.tree_, self.features_, self.classes_.tolist(), self.errors_)

    def rules(self) -> list[str]:
        """Return one sentence for each leaf, the leaf of most people first."""
        check_is_fitted(self)
        return text.rules(self.tree_, self.features_, self.classes_.tolist(), self.errors_)

    def plot(self, ax: Any = None, max_depth: int = 4) -> Any:
        """Draw the upper levels with matplotlib and return the axes.

        ax: the axes to draw in; None makes new ones. max_depth: levels below the root that are drawn.
        """
        check_is_fitted(self)
        return text.draw_tree(self.tree_, self.features_, self.classes_.tolist(), ax, max_depth)

    # --- plain data ---------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        features = [
            {"name": f.name, "labels": None if f.labels is None else list(f.labels), "integer": f.integer}
            for f in self.features_
        ]
        errors = {} if self.errors_ is None else {"errors": self.errors_.to_dict()}
        return {"reconstruction": self.reconstruction, "features": features, "tree": self.tree_.to_dict(), **errors}

    @classmethod
    def _from_state(cls, data: Mapping[str, Any]) -> Self:
        model = cls(reconstruction=given_one_of(data, "reconstruction", RECONSTRUCTIONS))
        columns = len(data["attributes"])
        model.features_ = [feature_from_dict(each) for each in given_rows(data, "features", columns)]
        tree = given_table(data, "tree")
        model.tree_ = Tree.from_dict(tree, model.features_, len(given_rows(data, "classes")))
        known = "errors" in data
        model.errors_ = NodeErrors.from_dict(given_table(data, "errors"), model.tree_.column.size) if known else None
        return model


def feature_from_dict(data: Mapping[str, Any]) -> Feature:
    """Read the column of a tree in a model document."""
    name, integer = str(given(data, "name")), given_flag(data, "integer")
    if given(data, "labels"):
        return Feature(name, None, given_labels(data, "labels"), integer)
    return Feature(name, np.array([0.0, 1.0]), None, integer)


# --- one readable tree from a joint model -----------------------------------------------------------------------------


def distilled_tree(
    model: JointModel, limits: Limits, people: float, rng: np.random.Generator
) -> tuple[Tree, list[Feature]]:
    """Return a tree over the model's selected columns; counts are in the units of the people that it was fitted on.

    It is grown on a large sample of the model, every record labelled by Bayes' rule, so that it learns the model's
    decision and no noise; cuts are placed afresh among the sampled values. Leaves then count P(y | x).
    """
    if not model.selected_:
        return Tree.leaf(model.bayes([], 1) * people), []
    sample = model.sample_core(DISTILLED_RECORDS, rng)
    names = [model.attribute_names_[j] for j in model.selected_]
    drawn = Reports({name: sample[j] for name, j in zip(names, model.selected_, strict=True)})
    axes = [Axis(drawn.column(name)) for name in names]
    answers = model.bayes([sample[j] for j in model.selected_], DISTILLED_RECORDS)
    p_class = answers * (people / DISTILLED_RECORDS)
    decided = Labels.all_weighing(np.argmax(p_class, axis=1), people / DISTILLED_RECORDS, p_class.shape[1])
    floor = LEAST_LEAF * people
    tight = Limits(limits.max_depth, max(limits.min_leaf, floor), max(limits.min_split, 2 * floor), limits.prune)
    growth = CleanGrowth(drawn, axes, tight, decided)
    tree = growth.grow()
    leaves = tree.leaves(clean_values(drawn), growth.categorical)
    tree.counts = summed_counts(tree, leaves, p_class)
    tree.column[:] = np.where(tree.column < 0, -1, np.array(model.selected_, np.int32)[tree.column])
    return tree, growth.features


def summed_counts(tree: Tree, leaves: npt.NDArray[np.int64], mass: Floats) -> Floats:
    """Return the mass of the records in each node, summed from the leaves up.

    leaves: the leaf of each record. mass: of each record, one column a class.
    """
    counts = np.column_stack([np.bincount(leaves, column, tree.column.size) for column in mass.T])
    for node in range(tree.column.size - 1, -1, -1):
        if tree.left[node] >= 0:
            counts[node] = counts[tree.left[node]] + counts[tree.right[node]]
    return np.asarray(counts, np.float64)
