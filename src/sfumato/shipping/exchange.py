"""Trees as ONNX files, for other runtimes: the operator TreeEnsemble of ai.onnx.ml, in double precision.

    answers        [people, attributes], double: numbers; the index of a label; NaN where missing or unknown
    label          [people]: the class
    probabilities  [people, classes], double

Single precision would put people near a cut on its other side. The ensemble gives the number of the leaf; label and
probabilities are looked up by it, so that they are exactly Python's. The metadata ``attributes`` describes the columns
in JSON: their names, their labels in the order of the indices, or the bounds of their numbers. ``classes`` are the
columns of the probabilities.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sfumato.learners.tree.model import Feature, Tree
from sfumato.learners.tree.splits import LEAF
from sfumato.plan import Plan
from sfumato.prose import json_text
from sfumato.shipping.forms import reading
from sfumato.shipping.shipped import METHODS
from sfumato.tables import write_whole

OPSET = 21
"""The version of ONNX's operators that came with the first TreeEnsemble in double precision (ONNX 1.16)."""

TREES = 5
"""The version of ai.onnx.ml's operators with the first TreeEnsemble in double precision."""

IR = 10
"""The version of the file format that belongs to OPSET 21."""

BELOW = 1  # BRANCH_LT: TreeEnsemble's number for the test x < split (specification of ai.onnx.ml 5)
EQUAL = 4  # BRANCH_EQ: for the test x = split
AMONG = 6  # BRANCH_MEMBER: for the test whether x is in a set
SUM = 1  # its number for adding up the leaves' weights
NONE = 0  # its number for no transform afterwards
NO_LABEL = -1.0
"""A number that is no label's index, so that a test for it sends nobody to the left."""


def save_onnx(model: Any, path: str | Path, *, plan: Plan | None = None) -> None:
    """Write a fitted decision tree to an .onnx file, for other programs; the file is written whole or not at all.

    ``model``: a learner that predicts by one tree. ``path``: the file. ``plan``: adds bounds of the numbers to the
    file's metadata (None: without).
    """
    onnx, file = import_onnx(), Path(path)
    if file.suffix.lower() != ".onnx":
        raise ValueError(f"{file}: ONNX models are saved as .onnx; name the file so")
    deciding = model.deciding_tree()
    if deciding is None:
        raise TypeError(f"a {type(model).__name__} is not a tree, and only trees go to ONNX; save it as .json")
    tree, features = with_a_test(deciding[0]), deciding[1]
    classes = model.device_classes()
    document = onnx.helper.make_model(
        graph_of(tree, features, classes or []), producer_name="sfumato", ir_version=IR,
        opset_imports=[onnx.helper.make_opsetid("", OPSET), onnx.helper.make_opsetid("ai.onnx.ml", TREES)],
    )
    metadata = {"attributes": [column_of(feature, plan) for feature in features], "classes": classes}
    onnx.helper.set_model_props(document, {name: json_text(part) for name, part in metadata.items()})
    onnx.checker.check_model(document, full_check=True)
    write_whole(file, lambda part: part.write_bytes(document.SerializeToString()))


def check_exchangeable(method: str) -> None:
    """Raise an error if models of a training method cannot be written as ONNX: onnx is missing, or no tree is grown.

    ``method``: a key of `METHODS`.
    """
    import_onnx()
    if METHODS[method][0] != "TreeClassifier":
        raise ValueError(f"method {method} grows no tree, and only trees go to ONNX; name the file .json")


def import_onnx() -> Any:
    """Return the package onnx; raise ImportError with the way to install it."""
    try:
        import onnx
    except ImportError:
        raise ImportError("ONNX files need onnx; install sfumato[onnx], or save the model as .json") from None
    return onnx


def column_of(feature: Feature, plan: Plan | None) -> dict[str, Any]:
    """Return a dict that describes a column of answers in an ONNX file: its name, and its labels or bounds."""
    if feature.labels is not None:
        return {"name": feature.name, "labels": list(feature.labels)}
    return reading(feature.name, plan, is_number=True)


def graph_of(tree: Tree, features: list[Feature], classes: list[Any]) -> Any:
    """Return the ONNX graph from answers to labels and probabilities: each row's leaf, looked up in two tables.

    ``features``: the columns that the tree reads; ``classes``: the labels that it predicts.
    """
    onnx = import_onnx()
    node, typed = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    counts = tree.counts[tree.column == LEAF]
    total = counts.sum(axis=1, keepdims=True)
    shares = np.where(total > 0, counts / np.maximum(total, 1e-300), 1 / len(classes))
    names = np.array(classes, dtype=object if isinstance(classes[0], str) else None)
    tables = {"labels": names[np.argmax(counts, axis=1)], "shares": shares, "column": np.array([1])}
    given = [onnx.numpy_helper.from_array(table, name) for name, table in tables.items()]
    steps = [
        node("TreeEnsemble", ["answers"], ["leaf"], domain="ai.onnx.ml", **ensemble(tree, features)),
        node("Cast", ["leaf"], ["whole"], to=onnx.TensorProto.INT64),
        node("Squeeze", ["whole", "column"], ["place"]),
        node("Gather", ["labels", "place"], ["label"]),
        node("Gather", ["shares", "place"], ["probabilities"]),
    ]
    answers = typed("answers", onnx.TensorProto.DOUBLE, ["people", len(features)])
    outputs = [
        typed("label", given[0].data_type, ["people"]),
        typed("probabilities", onnx.TensorProto.DOUBLE, ["people", len(classes)]),
    ]
    return onnx.helper.make_graph(steps, "tree", [answers], outputs, given)


def ensemble(tree: Tree, features: list[Feature]) -> dict[str, Any]:
    """Return the attributes of ONNX's node TreeEnsemble for one tree, a dict; its output is the leaf's number."""
    tensor = import_onnx().numpy_helper.from_array
    inner, leaves = np.flatnonzero(tree.column != LEAF), np.flatnonzero(tree.column == LEAF)
    index_of = np.zeros(tree.column.size, np.int64)
    index_of[inner], index_of[leaves] = np.arange(inner.size), np.arange(leaves.size)
    left, right = tree.left[inner], tree.right[inner]
    whole = {
        "nodes_featureids": tree.column[inner], "nodes_missing_value_tracks_true": tree.missing_left[inner],
        "nodes_truenodeids": index_of[left], "nodes_trueleafs": tree.column[left] == LEAF,
        "nodes_falsenodeids": index_of[right], "nodes_falseleafs": tree.column[right] == LEAF,
        "leaf_targetids": np.zeros(leaves.size), "tree_roots": np.zeros(1),
    }
    modes, splits, members = zip(*(test_at(tree, features, node) for node in inner.tolist()), strict=True)
    among = [number for label_indices in members for number in (*label_indices, np.nan) if label_indices]
    return {
        **{name: part.astype(int).tolist() for name, part in whole.items()},
        "nodes_modes": tensor(np.array(modes, np.uint8)), "nodes_splits": tensor(np.array(splits)),
        **({"membership_values": tensor(np.array(among))} if among else {}),
        "leaf_weights": tensor(np.arange(leaves.size, dtype=float)),
        "n_targets": 1, "aggregate_function": SUM, "post_transform": NONE,
    }


def test_at(tree: Tree, features: list[Feature], node: int) -> tuple[int, float, list[float]]:
    """Return the test that sends people to the left at a node of a tree, in ONNX's terms.

    It is (number of the kind of test, the split of a number, the indices of the labels that go left); the last is empty
    for numbers.
    """
    if not features[tree.column[node]].categorical:
        return BELOW, float(tree.cut[node]), []
    label_indices = np.flatnonzero(tree.bins[node]).astype(float).tolist()
    return (AMONG, 0.0, label_indices) if label_indices else (EQUAL, NO_LABEL, [])


def with_a_test(tree: Tree) -> Tree:
    """Return a tree with a test at its root, as ONNX's TreeEnsemble requires.

    A tree of one leaf gets a test with two equal leaves.
    """
    if tree.column.size > 1:
        return tree
    column, left, right = (np.array([first, LEAF, LEAF], np.int32) for first in (0, 1, 2))
    no, zero, counts = np.zeros(3, bool), np.zeros(3), np.repeat(tree.counts, 3, axis=0)
    return Tree(column, zero, left, right, no, no[:, None], counts, zero, no)
