"""A tree to read: indented text, one sentence a leaf, and a drawing of its upper part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.mining.tree.model import Feature, Tree
from sfumato.mining.tree.splits import LEAF


@dataclass(frozen=True)
class Condition:
    """What a path asks of one column: a range of numbers or a set of labels."""

    low: float = -np.inf
    high: float = np.inf
    labels: tuple[Any, ...] | None = None

    def sentence(self, name: str) -> str:
        if self.labels is not None:
            return f"{name} is {' or '.join(str(label) for label in self.labels)}"
        low, high = number(self.low), number(self.high)
        if np.isinf(self.low):
            return f"{name} is below {high}"
        if np.isinf(self.high):
            return f"{name} is at least {low}"
        return f"{name} is between {low} and {high}"


def number(value: float) -> str:
    """A cut in at most five digits."""
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.5g}"


def split_words(tree: Tree, features: list[Feature], node: int) -> tuple[str, str]:
    """The two answers to a node's question."""
    feature = features[tree.column[node]]
    if feature.labels is None:
        cut = number(float(tree.cut[node]))
        return f"{feature.name} < {cut}", f"{feature.name} >= {cut}"
    inside = [str(label) for code, label in enumerate(feature.labels) if tree.bins[node, code]]
    outside = [str(label) for code, label in enumerate(feature.labels) if not tree.bins[node, code]]
    return f"{feature.name} in {{{', '.join(inside)}}}", f"{feature.name} in {{{', '.join(outside)}}}"


def export_text(tree: Tree, features: list[Feature], classes: list[Any], node: int = 0, depth: int = 0) -> str:
    """The tree as indented lines, as scikit-learn's `export_text` writes it."""
    indent = "|   " * depth + "|--- "
    if tree.column[node] == LEAF:
        return f"{indent}class: {classes[int(np.argmax(tree.counts[node]))]}\n"
    yes, no = split_words(tree, features, node)
    below = export_text(tree, features, classes, int(tree.left[node]), depth + 1)
    above = export_text(tree, features, classes, int(tree.right[node]), depth + 1)
    return f"{indent}{yes}\n{below}{indent}{no}\n{above}"


def paths(tree: Tree, features: list[Feature]) -> Iterator[tuple[int, dict[int, Condition]]]:
    """Every leaf with the conditions on its way, one a column."""
    waiting: list[tuple[int, dict[int, Condition]]] = [(0, {})]
    while waiting:
        node, conditions = waiting.pop()
        if tree.column[node] == LEAF:
            yield node, conditions
            continue
        j = int(tree.column[node])
        left, right = narrowed(conditions.get(j, Condition()), tree, features[j], node)
        waiting.append((int(tree.right[node]), {**conditions, j: right}))
        waiting.append((int(tree.left[node]), {**conditions, j: left}))


def narrowed(condition: Condition, tree: Tree, feature: Feature, node: int) -> tuple[Condition, Condition]:
    if feature.labels is None:
        cut = float(tree.cut[node])
        return replace(condition, high=min(condition.high, cut)), replace(condition, low=max(condition.low, cut))
    known = condition.labels if condition.labels is not None else feature.labels
    chosen = {label for code, label in enumerate(feature.labels) if tree.bins[node, code]}
    inside, outside = (tuple(x for x in known if (x in chosen) is side) for side in (True, False))
    return replace(condition, labels=inside), replace(condition, labels=outside)


def rules(tree: Tree, features: list[Feature], classes: list[Any]) -> list[str]:
    """One sentence a leaf, the most common first."""
    total = max(float(tree.counts[0].sum()), 1e-12)
    found = []
    for leaf, conditions in paths(tree, features):
        counts = tree.counts[leaf]
        size = float(counts.sum())
        winner = int(np.argmax(counts))
        certainty = counts[winner] / size if size > 0 else 0.0
        words = " and ".join(condition.sentence(features[j].name) for j, condition in sorted(conditions.items()))
        start = f"If {words}, then" if words else "Always"
        sentence = f"{start} {classes[winner]} ({certainty:.0%} of the {size / total:.1%} of people there)."
        found.append((size, sentence))
    return [sentence for _, sentence in sorted(found, key=lambda pair: -pair[0])]


def draw_tree(tree: Tree, features: list[Feature], classes: list[Any], ax: Any, max_depth: int) -> Any:
    """The upper levels of a tree: questions in boxes, the left branch is the answer yes."""
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(figsize=(min(4 + 2 ** min(max_depth, tree.depth()), 16), 2 + min(max_depth, tree.depth())))
    places = layout(tree, max_depth)
    for node, (x, depth) in places.items():
        ax.annotate(
            words(tree, features, classes, node, cut_off=int(tree.left[node]) not in places),
            (x, -depth),
            ha="center",
            va="center",
            fontsize=8,
            bbox={"boxstyle": "round", "facecolor": "white", "edgecolor": "grey"},
        )
        for child in (int(tree.left[node]), int(tree.right[node])):
            if child in places:
                ax.plot([x, places[child][0]], [-depth, -depth - 1], color="grey", lw=1, zorder=0)
    ax.set_axis_off()
    return ax


def layout(tree: Tree, max_depth: int) -> dict[int, tuple[float, int]]:
    """Leaves side by side, every other node above the middle of its children."""
    places: dict[int, tuple[float, int]] = {}

    def place(node: int, depth: int) -> float:
        if tree.column[node] == LEAF or depth == max_depth:
            x = float(sum(1 for other in places if tree.column[other] == LEAF or places[other][1] == max_depth))
        else:
            x = (place(int(tree.left[node]), depth + 1) + place(int(tree.right[node]), depth + 1)) / 2
        places[node] = (x, depth)
        return x

    place(0, 0)
    return places


def words(tree: Tree, features: list[Feature], classes: list[Any], node: int, cut_off: bool) -> str:
    counts = tree.counts[node]
    winner = int(np.argmax(counts))
    share = f"{classes[winner]} ({counts[winner] / max(counts.sum(), 1e-12):.0%})"
    if tree.column[node] == LEAF:
        return share
    return f"… {share}" if cut_off else f"{split_words(tree, features, node)[0]}?"
