"""A tree as people read it: indented text, one sentence a leaf, and a drawing of its upper part."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.learners.device import DeviceForm
from sfumato.learners.tree.model import Feature, NodeErrors, Tree
from sfumato.learners.tree.splits import LEAF
from sfumato.prose import Voice, voice

MOST_LABELS = 6
"""Labels that a sentence names; of more it says how many others there are. By judgement; longer lists are not read."""
SIDES = 1.96
"""Standard errors to each side of a 95 % interval: a quantile of the normal distribution."""


@dataclass(frozen=True)
class Condition:
    """What a record has to fulfil in one column to reach a node: a range of numbers or a set of labels.

    low, high: numbers from ``low`` to below ``high``; infinite where there is no bound.
    labels: the labels that fulfil it; None for numbers.
    """

    low: float = -np.inf
    high: float = np.inf
    labels: tuple[Any, ...] | None = None

    def sentence(self, name: str, say: Voice) -> str:
        """Write the condition in words, in the language of the voice. name: of the column."""
        if self.labels is not None:
            labels, more = list(map(str, self.labels)), len(self.labels) - MOST_LABELS
            if more > 1:
                return say("rule.among", name=name, labels=", ".join(labels[:MOST_LABELS]), count=more)
            return say("rule.is", name=name, labels=f" {say('or')} ".join(labels))
        if np.isinf(self.low):
            return say("rule.below", name=name, high=bound(self.high, say, up=True))
        low = bound(self.low, say, up=False)
        if np.isinf(self.high):
            return say("rule.least", name=name, low=low)
        return say("rule.between", name=name, low=low, high=bound(self.high, say, up=True))


def number(value: float) -> str:
    """Write a cut in five digits at most, or as a whole number."""
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.5g}"


def bound(value: float, say: Voice, *, up: bool) -> str:
    """Write a cut in about five digits, rounded to the side where a sentence about it stays true.

    up: whether it is rounded up, as the upper end of a range, or down.
    """
    if abs(value) >= 10_000:
        return say.marked(f"{math.ceil(value) if up else math.floor(value):,}")
    nearest = f"{value:.4e}"
    rounded, step = float(nearest), 10.0 ** (int(nearest[nearest.index("e") + 1 :]) - 4)
    if rounded < value if up else rounded > value:
        rounded += step if up else -step
    return say.marked(f"{rounded + 0.0:.5g}")


def split_words(tree: Tree, features: list[Feature], node: int) -> tuple[str, str]:
    """Write the tests that lead to the left and to the right of a node, such as "age < 40" and "age >= 40"."""
    feature = features[tree.column[node]]
    if feature.labels is None:
        cut = number(float(tree.cut[node]))
        return f"{feature.name} < {cut}", f"{feature.name} >= {cut}"
    inside = [str(label) for code, label in enumerate(feature.labels) if tree.bins[node, code]]
    outside = [str(label) for code, label in enumerate(feature.labels) if not tree.bins[node, code]]
    return f"{feature.name} in {{{', '.join(inside)}}}", f"{feature.name} in {{{', '.join(outside)}}}"


def export_text(
    tree: Tree, features: list[Feature], classes: list[Any], errors: NodeErrors | None = None, node: int = 0,
    depth: int = 0,
) -> str:
    """Write the tree as indented lines, as scikit-learn's `export_text` does, with 95 % intervals of cuts.

    errors: standard errors of the cuts; None writes no intervals. node: where to begin. depth: its depth.
    """
    indent = "|   " * depth + "|--- "
    if tree.column[node] == LEAF:
        return f"{indent}class: {classes[int(np.argmax(tree.counts[node]))]}\n"
    yes, no = split_words(tree, features, node)
    below = export_text(tree, features, classes, errors, int(tree.left[node]), depth + 1)
    above = export_text(tree, features, classes, errors, int(tree.right[node]), depth + 1)
    stated = errors is not None and np.isfinite(errors.cut[node])
    within = f" (± {SIDES * errors.cut[node]:.2g})" if errors is not None and stated else ""
    return f"{indent}{yes}{within}\n{below}{indent}{no}{within}\n{above}"


def conditions_of(tree: Tree, features: list[Feature]) -> list[dict[int, Condition]]:
    """Return what a record has to fulfil to reach each node: a condition a column, in the order of the tests."""
    conditions: list[dict[int, Condition]] = [{} for _ in tree.column]
    for node in np.flatnonzero(tree.column != LEAF).tolist():
        j = int(tree.column[node])
        left, right = narrowed(conditions[node].get(j, Condition()), tree, features[j], node)
        conditions[tree.left[node]] = {**conditions[node], j: left}
        conditions[tree.right[node]] = {**conditions[node], j: right}
    return conditions


def narrowed(condition: Condition, tree: Tree, feature: Feature, node: int) -> tuple[Condition, Condition]:
    """Return the condition of a column on the left and on the right of a node that tests this column.

    condition: at the node itself.
    """
    if feature.labels is None:
        cut = float(tree.cut[node])
        return replace(condition, high=min(condition.high, cut)), replace(condition, low=max(condition.low, cut))
    labels = condition.labels if condition.labels is not None else feature.labels
    chosen = {label for code, label in enumerate(feature.labels) if tree.bins[node, code]}
    inside, outside = (tuple(x for x in labels if (x in chosen) is side) for side in (True, False))
    return replace(condition, labels=inside), replace(condition, labels=outside)


def rules(
    tree: Tree, features: list[Feature], classes: list[Any], errors: NodeErrors | None = None
) -> list[str]:
    """Write a sentence for each leaf, the most common leaf first.

    errors: standard errors of the leaves' shares; None writes no 95 % intervals.
    """
    total = max(float(tree.counts[0].sum()), 1e-12)
    sentences = []
    at_nodes = conditions_of(tree, features)
    for leaf in np.flatnonzero(tree.column == LEAF).tolist():
        counts = tree.counts[leaf]
        size = float(counts.sum())
        winner = int(np.argmax(counts))
        certainty = counts[winner] / size if size > 0 else 0.0
        conditions = sorted(at_nodes[leaf].items())
        premise = " and ".join(condition.sentence(features[j].name, voice("en")) for j, condition in conditions)
        start = f"If {premise}, then" if premise else "Always"
        stated = errors is not None and np.isfinite(errors.share[leaf])
        within = f" ± {SIDES * errors.share[leaf]:.1%}" if errors is not None and stated else ""
        sentence = f"{start} {classes[winner]} ({certainty:.0%}{within} of the {size / total:.1%} of people there)."
        sentences.append((size, sentence))
    return [sentence for _, sentence in sorted(sentences, key=lambda pair: -pair[0])]


def reasons(tree: Tree, features: list[Feature], values: npt.NDArray[np.float64], say: Voice) -> list[list[str]]:
    """Write, for each record, the conditions that it fulfils on its way to a leaf, one a column.

    values: the records as `Tree.leaves` reads them, one row a column.
    """
    at_nodes = conditions_of(tree, features)
    leaves = tree.leaves(values, np.array([feature.categorical for feature in features])).tolist()
    missing = np.isnan(values) | (np.array([[feature.categorical] for feature in features]) & (values < 0))
    return [
        [
            unknown(features[j], say) if missing[j, i] else condition.sentence(features[j].name, say)
            for j, condition in at_nodes[leaf].items()
        ]
        for i, leaf in enumerate(leaves)
    ]


def answers_in_words(tree: Tree, features: list[Feature], say: Voice) -> dict[int, list[str]]:
    """Write, for each node that tests, three sentences: of answers that go left, go right, and are unknown.

    The first two state all that the tests so far and this one demand of the column.
    """
    at_nodes, answers = conditions_of(tree, features), {}
    for node in np.flatnonzero(tree.column != LEAF).tolist():
        j, sides = int(tree.column[node]), (tree.left[node], tree.right[node])
        sentences = [at_nodes[side][j].sentence(features[j].name, say) for side in sides]
        answers[node] = [*sentences, unknown(features[j], say)]
    return answers


def device_form(tree: Tree, features: list[Feature], classes: list[Any] | None, say: Voice) -> DeviceForm:
    """Return what a device evaluates: the labels of each column, and the nodes, children after their parents.

    A leaf has ``counts`` of classes. A node that tests has

        column, cut     the column, and the number below which answers go left, or the codes of the labels that do
        left, right     the nodes that follow
        missing_left    whether an unknown answer goes left
        parts           instead, the weights with which an unknown answer goes both ways
        said            sentences of what it means to go left, to go right, and to be unknown
    """
    answers = answers_in_words(tree, features, say)
    nodes: list[dict[str, Any]] = []
    for node, j in enumerate(tree.column.tolist()):
        if j == LEAF:
            counts = tree.counts[node]
            nodes.append({"counts": (counts if counts.any() else np.ones_like(counts)).tolist()})
            continue
        cut = np.flatnonzero(tree.bins[node]).tolist() if features[j].categorical else float(tree.cut[node])
        sides = {"left": int(tree.left[node]), "right": int(tree.right[node])}
        missing: dict[str, Any] = {"missing_left": bool(tree.missing_left[node])}
        if tree.parts[node]:
            missing["parts"] = list(tree.parts_of(node))
        nodes.append({"column": j, "cut": cut, **sides, **missing, "said": answers[node]})
    columns = [{} if each.labels is None else {"labels": list(each.labels)} for each in features]
    return DeviceForm.tree(classes, columns, nodes)


def unknown(feature: Feature, say: Voice) -> str:
    """Write the sentence about an answer that is missing, or a label that the tree has not seen."""
    return say("rule.unknown", name=feature.name)


def draw_tree(tree: Tree, features: list[Feature], classes: list[Any], ax: Any, max_depth: int) -> Any:
    """Draw the upper levels of a tree: questions in boxes, the left branch is the answer yes; return the axes.

    ax: matplotlib's axes; None: new ones. max_depth: the last level that is drawn.
    """
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(figsize=(min(4 + 2 ** min(max_depth, tree.depth()), 16), 2 + min(max_depth, tree.depth())))
    positions = layout(tree, max_depth)
    for node, (x, depth) in positions.items():
        ax.annotate(
            box_words(tree, features, classes, node, cut_off=int(tree.left[node]) not in positions),
            (x, -depth),
            ha="center",
            va="center",
            fontsize=8,
            bbox={"boxstyle": "round", "facecolor": "white", "edgecolor": "grey"},
        )
        for child in (int(tree.left[node]), int(tree.right[node])):
            if child in positions:
                ax.plot([x, positions[child][0]], [-depth, -depth - 1], color="grey", lw=1, zorder=0)
    ax.set_axis_off()
    return ax


def layout(tree: Tree, max_depth: int) -> dict[int, tuple[float, int]]:
    """Return the position (x, depth) of each node that is drawn: leaves side by side, others above their children."""
    positions: dict[int, tuple[float, int]] = {}

    def set_position(node: int, depth: int) -> float:
        """Set the positions of a node and all below it; return its x."""
        if tree.column[node] == LEAF or depth == max_depth:
            x = float(sum(1 for other in positions if tree.column[other] == LEAF or positions[other][1] == max_depth))
        else:
            x = (set_position(int(tree.left[node]), depth + 1) + set_position(int(tree.right[node]), depth + 1)) / 2
        positions[node] = (x, depth)
        return x

    set_position(0, 0)
    return positions


def box_words(tree: Tree, features: list[Feature], classes: list[Any], node: int, cut_off: bool) -> str:
    """Write what stands in a node's box: its question, or the class of most people and their share.

    cut_off: whether nodes follow that are not drawn.
    """
    counts = tree.counts[node]
    winner = int(np.argmax(counts))
    share = f"{classes[winner]} ({counts[winner] / max(counts.sum(), 1e-12):.0%})"
    if tree.column[node] == LEAF:
        return share
    return f"… {share}" if cut_off else f"{split_words(tree, features, node)[0]}?"
