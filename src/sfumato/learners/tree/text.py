"""A tree to read: indented text, one sentence a leaf, and a drawing of its upper part."""

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
SIDES = 1.96  # standard errors to each side of a 95 % interval


@dataclass(frozen=True)
class Condition:
    """What a path asks of one column: a range of numbers or a set of labels."""

    low: float = -np.inf
    high: float = np.inf
    labels: tuple[Any, ...] | None = None

    def sentence(self, name: str, say: Voice) -> str:
        if self.labels is not None:
            known, more = list(map(str, self.labels)), len(self.labels) - MOST_LABELS
            if more > 1:
                return say("rule.among", name=name, labels=", ".join(known[:MOST_LABELS]), count=more)
            return say("rule.is", name=name, labels=f" {say('or')} ".join(known))
        if np.isinf(self.low):
            return say("rule.below", name=name, high=bound(self.high, say, up=True))
        low = bound(self.low, say, up=False)
        if np.isinf(self.high):
            return say("rule.least", name=name, low=low)
        return say("rule.between", name=name, low=low, high=bound(self.high, say, up=True))


def number(value: float) -> str:
    """A cut in at most five digits."""
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.5g}"


def bound(value: float, say: Voice, *, up: bool) -> str:
    """A cut in about five digits, rounded to the side where the sentence stays true."""
    if abs(value) >= 10_000:
        return say.marked(f"{math.ceil(value) if up else math.floor(value):,}")
    nearest = f"{value:.4e}"
    found, step = float(nearest), 10.0 ** (int(nearest[nearest.index("e") + 1 :]) - 4)
    if found < value if up else found > value:
        found += step if up else -step
    return say.marked(f"{found + 0.0:.5g}")


def split_words(tree: Tree, features: list[Feature], node: int) -> tuple[str, str]:
    """The two answers to a node's question."""
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
    """The tree as indented lines, as scikit-learn's `export_text` writes it, with a cut's 95 % interval if known."""
    indent = "|   " * depth + "|--- "
    if tree.column[node] == LEAF:
        return f"{indent}class: {classes[int(np.argmax(tree.counts[node]))]}\n"
    yes, no = split_words(tree, features, node)
    below = export_text(tree, features, classes, errors, int(tree.left[node]), depth + 1)
    above = export_text(tree, features, classes, errors, int(tree.right[node]), depth + 1)
    known = errors is not None and np.isfinite(errors.cut[node])
    within = f" (± {SIDES * errors.cut[node]:.2g})" if errors is not None and known else ""
    return f"{indent}{yes}{within}\n{below}{indent}{no}{within}\n{above}"


def ways(tree: Tree, features: list[Feature]) -> list[dict[int, Condition]]:
    """The conditions on the way to every node, one a column, in the order in which columns are first tested."""
    found: list[dict[int, Condition]] = [{} for _ in tree.column]
    for node in np.flatnonzero(tree.column != LEAF).tolist():
        j = int(tree.column[node])
        left, right = narrowed(found[node].get(j, Condition()), tree, features[j], node)
        found[tree.left[node]] = {**found[node], j: left}
        found[tree.right[node]] = {**found[node], j: right}
    return found


def narrowed(condition: Condition, tree: Tree, feature: Feature, node: int) -> tuple[Condition, Condition]:
    if feature.labels is None:
        cut = float(tree.cut[node])
        return replace(condition, high=min(condition.high, cut)), replace(condition, low=max(condition.low, cut))
    known = condition.labels if condition.labels is not None else feature.labels
    chosen = {label for code, label in enumerate(feature.labels) if tree.bins[node, code]}
    inside, outside = (tuple(x for x in known if (x in chosen) is side) for side in (True, False))
    return replace(condition, labels=inside), replace(condition, labels=outside)


def rules(
    tree: Tree, features: list[Feature], classes: list[Any], errors: NodeErrors | None = None
) -> list[str]:
    """One sentence a leaf, the most common first; shares with their 95 % intervals if known."""
    total = max(float(tree.counts[0].sum()), 1e-12)
    found = []
    conditions_of = ways(tree, features)
    for leaf in np.flatnonzero(tree.column == LEAF).tolist():
        counts = tree.counts[leaf]
        size = float(counts.sum())
        winner = int(np.argmax(counts))
        certainty = counts[winner] / size if size > 0 else 0.0
        conditions = sorted(conditions_of[leaf].items())
        words = " and ".join(each.sentence(features[j].name, voice("en")) for j, each in conditions)
        start = f"If {words}, then" if words else "Always"
        known = errors is not None and np.isfinite(errors.share[leaf])
        within = f" ± {SIDES * errors.share[leaf]:.1%}" if errors is not None and known else ""
        sentence = f"{start} {classes[winner]} ({certainty:.0%}{within} of the {size / total:.1%} of people there)."
        found.append((size, sentence))
    return [sentence for _, sentence in sorted(found, key=lambda pair: -pair[0])]


def reasons(tree: Tree, features: list[Feature], values: npt.NDArray[np.float64], say: Voice) -> list[list[str]]:
    """The conditions on each record's way to its leaf, one a column; values as `Tree.leaves` reads them."""
    conditions_of = ways(tree, features)
    leaves = tree.leaves(values, np.array([feature.categorical for feature in features])).tolist()
    missing = np.isnan(values) | (np.array([[feature.categorical] for feature in features]) & (values < 0))
    return [
        [
            unknown(features[j], say) if missing[j, i] else condition.sentence(features[j].name, say)
            for j, condition in conditions_of[leaf].items()
        ]
        for i, leaf in enumerate(leaves)
    ]


def answers_in_words(tree: Tree, features: list[Feature], say: Voice) -> dict[int, list[str]]:
    """At each node that tests: what it means to go left and to go right, with all that its column was asked before, and
    what is said where the answer is unknown."""
    conditions_of, found = ways(tree, features), {}
    for node in np.flatnonzero(tree.column != LEAF).tolist():
        j, sides = int(tree.column[node]), (tree.left[node], tree.right[node])
        words = [conditions_of[side][j].sentence(features[j].name, say) for side in sides]
        found[node] = [*words, unknown(features[j], say)]
    return found


def device_form(tree: Tree, features: list[Feature], classes: list[Any] | None, say: Voice) -> DeviceForm:
    """Return the labels of each column, and the nodes, the root first and children after their parents.

    A leaf has ``counts`` of classes. Of a test, ``cut`` is the number below which answers go left, or the places of the
    labels that do; ``said``: what it means to go left, to go right, and to be unknown. Whose answer is unknown goes
    left if ``missing_left``; with ``parts`` both ways, with these weights of what is said there.
    """
    said = answers_in_words(tree, features, say)
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
        nodes.append({"column": j, "cut": cut, **sides, **missing, "said": said[node]})
    columns = [{} if each.labels is None else {"labels": list(each.labels)} for each in features]
    return DeviceForm.tree(classes, columns, nodes)


def unknown(feature: Feature, say: Voice) -> str:
    """Said of an answer that is missing, or a label that the tree has not seen."""
    return say("rule.unknown", name=feature.name)


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
