"""One readable tree from a joint model.

It is grown on a large sample of the model, every record labelled by Bayes' rule, so that it learns the model's
decision and no noise; cuts are placed afresh among the sampled values. Leaves then count P(y | x).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.counts import Reports
from sfumato.domain import Floats
from sfumato.mining.joint import JointModel
from sfumato.mining.tree.growth import ClassMass, Limits, clean_tree, clean_values
from sfumato.mining.tree.model import Feature, Tree
from sfumato.reconstruction import Axis

RECORDS = 150_000
LEAST_LEAF = 0.0003


def distilled_tree(
    model: JointModel, limits: Limits, people: float, rng: np.random.Generator
) -> tuple[Tree, list[Feature]]:
    """A tree over the model's selected columns; counts are in the units of the people that it was fitted on."""
    if not model.selected_:
        return Tree.leaf(model.bayes([], 1) * people), []
    sample = model.sample_core(RECORDS, rng)
    names = [model.attribute_names_[j] for j in model.selected_]
    drawn = Reports({name: sample[j] for name, j in zip(names, model.selected_, strict=True)})
    axes = [Axis(drawn.column(name)) for name in names]
    values = np.array([clean_values(drawn, axis) for axis in axes])
    p_class = model.bayes([sample[j] for j in model.selected_], RECORDS) * (people / RECORDS)
    decided = np.eye(p_class.shape[1])[np.argmax(p_class, axis=1)] * (people / RECORDS)
    floor = LEAST_LEAF * people
    tight = Limits(limits.max_depth, max(limits.min_leaf, floor), max(limits.min_split, 2 * floor), limits.prune)
    tree, features = clean_tree(axes, values, ClassMass.soft(decided), tight)
    leaves = tree.leaves(values, np.array([feature.categorical for feature in features]))
    tree.counts = summed_counts(tree, leaves, p_class)
    tree.column[:] = np.where(tree.column < 0, -1, np.array(model.selected_, np.int32)[tree.column])
    return tree, features


def summed_counts(tree: Tree, leaves: npt.NDArray[np.int64], mass: Floats) -> Floats:
    """The mass of the records in each node, from the leaves up."""
    counts = np.column_stack([np.bincount(leaves, column, tree.column.size) for column in mass.T])
    for node in range(tree.column.size - 1, -1, -1):
        if tree.left[node] >= 0:
            counts[node] = counts[tree.left[node]] + counts[tree.right[node]]
    return np.asarray(counts, np.float64)
