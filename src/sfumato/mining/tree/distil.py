"""One readable tree from a joint model.

It is grown on a large sample of the model, every record labelled by Bayes' rule, so that it learns the model's
decision and no noise; cuts are placed afresh among the sampled values. Leaves then count P(y | x).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.mining.columns import Axis, ClearCategory, ClearNumber, encode_known
from sfumato.mining.joint.model import JointModel
from sfumato.mining.tree.growth import ClassMass, Limits, clean_tree
from sfumato.mining.tree.model import Feature, Tree

RECORDS = 150_000
LEAST_LEAF = 0.0003


def distilled_tree(
    model: JointModel, limits: Limits, weight: float, rng: np.random.Generator
) -> tuple[Tree, list[Feature]]:
    """A tree over the model's selected attributes; counts are in the units of the `weight` of the records fitted on."""
    if not model.selected_:
        return prior_leaf(model, weight), []
    sample = model.sample_core(RECORDS, rng)
    columns = [sample[j] for j in model.selected_]
    p_class = model.bayes(columns, RECORDS)
    names = [model.attribute_names_[j] for j in model.selected_]
    attributes = [clear_attribute(name, column) for name, column in zip(names, columns, strict=True)]
    values = np.array([values_of(a, column) for a, column in zip(attributes, columns, strict=True)])
    decided = np.eye(p_class.shape[1])[np.argmax(p_class, axis=1)] * (weight / RECORDS)
    floor = LEAST_LEAF * weight
    tight = Limits(limits.max_depth, max(limits.min_leaf, floor), max(limits.min_split, 2 * floor), limits.prune)
    tree, features = clean_tree(attributes, values, ClassMass.soft(decided), tight)
    leaves = tree.leaves(values, np.array([feature.categorical for feature in features]))
    tree.counts = summed_counts(tree, leaves, p_class * (weight / RECORDS))
    tree.column[:] = np.where(tree.column < 0, -1, np.array(model.selected_, np.int32)[tree.column])
    return tree, features


def summed_counts(tree: Tree, leaves: npt.NDArray[np.int64], mass: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The mass of the records in each node, from the leaves up."""
    counts = np.column_stack([np.bincount(leaves, column, tree.column.size) for column in mass.T])
    for node in range(tree.column.size - 1, -1, -1):
        if tree.left[node] >= 0:
            counts[node] = counts[tree.left[node]] + counts[tree.right[node]]
    return np.asarray(counts, np.float64)


def prior_leaf(model: JointModel, weight: float) -> Tree:
    """When no attribute tells about the class: one leaf."""
    counts = model.bayes([], 1) * weight
    nothing = np.full(1, -1, np.int32)
    return Tree(
        nothing,
        np.full(1, np.nan),
        nothing.copy(),
        nothing.copy(),
        np.zeros(1, bool),
        np.zeros((1, 1), bool),
        counts,
        np.zeros(1),
    )


def clear_attribute(name: str, column: npt.NDArray[np.generic]) -> Axis:
    return ClearNumber(name, column) if column.dtype.kind in "iuf" else ClearCategory(name, column)


def values_of(attribute: Axis, column: npt.NDArray[np.generic]) -> npt.NDArray[np.float64]:
    if isinstance(attribute, ClearCategory):
        return encode_known(attribute.labels, column).astype(float)
    return column.astype(float)
