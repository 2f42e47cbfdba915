"""A tree drawn with matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.mining.tree_kernels import LEAF
from sfumato.mining.tree_model import Feature, Tree
from sfumato.mining.tree_text import split_words


def draw_tree(tree: Tree, features: list[Feature], classes: list[Any], ax: Any, max_depth: int) -> Any:
    """The upper levels of a tree: questions in boxes, the left branch is the answer yes."""
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(figsize=(min(4 + 2 ** min(max_depth, tree.depth()), 16), 2 + min(max_depth, tree.depth())))
    places = layout(tree, max_depth)
    for node, (x, depth) in places.items():
        ax.annotate(
            words(tree, features, classes, node, node_is_cut_off(tree, node, places)),
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
        if tree.attribute[node] == LEAF or depth == max_depth:
            x = float(sum(1 for other in places if tree.attribute[other] == LEAF or places[other][1] == max_depth))
        else:
            x = (place(int(tree.left[node]), depth + 1) + place(int(tree.right[node]), depth + 1)) / 2
        places[node] = (x, depth)
        return x

    place(0, 0)
    return places


def node_is_cut_off(tree: Tree, node: int, places: dict[int, tuple[float, int]]) -> bool:
    return bool(tree.attribute[node] != LEAF and int(tree.left[node]) not in places)


def words(tree: Tree, features: list[Feature], classes: list[Any], node: int, cut_off: bool) -> str:
    counts = tree.counts[node]
    winner = int(np.argmax(counts))
    share = f"{classes[winner]} ({counts[winner] / max(counts.sum(), 1e-12):.0%})"
    if tree.attribute[node] == LEAF:
        return share
    return f"… {share}" if cut_off else f"{split_words(tree, features, node)[0]}?"
