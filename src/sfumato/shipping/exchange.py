"""Trees as ONNX, for runtimes that know nothing of this library: ai.onnx.ml's TreeEnsemble, in double precision.

    answers        [people, attributes], double: numbers; labels by their place; NaN where missing or unknown
    label          [people]: the class
    probabilities  [people, classes], double

Single precision would put people near a cut on its other side. The ensemble gives the number of the leaf, and label and
probabilities are looked up by it, so that they are Python's own. The metadata ``attributes`` names the columns in JSON,
with the labels whose places they hold, or the numbers that they lie between; ``classes`` those of the probabilities.
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

OPSET, TREES, IR = 21, 5, 10
"""The first versions of ONNX with a TreeEnsemble in double precision."""
BELOW, EQUAL, AMONG, SUM, NONE = 1, 4, 6, 1, 0  # as its specification numbers tests, aggregates and transforms
NO_LABEL = -1.0


def save_onnx(model: Any, path: str | Path, *, plan: Plan | None = None) -> None:
    """Write a fitted tree to an .onnx file, whole or not at all; ``plan``: what the numbers lie between is told too."""
    onnx, place = import_onnx(), Path(path)
    if place.suffix.lower() != ".onnx":
        raise ValueError(f"{place}: ONNX models are saved as .onnx; name the file so")
    found = model.deciding_tree()
    if found is None:
        raise TypeError(f"a {type(model).__name__} is not a tree, and only trees go to ONNX; save it as .json")
    tree, features = with_a_test(found[0]), found[1]
    classes = model.device_classes()
    document = onnx.helper.make_model(
        graph_of(tree, features, classes or []), producer_name="sfumato", ir_version=IR,
        opset_imports=[onnx.helper.make_opsetid("", OPSET), onnx.helper.make_opsetid("ai.onnx.ml", TREES)],
    )
    told = {"attributes": [column_of(each, plan) for each in features], "classes": classes}
    onnx.helper.set_model_props(document, {name: json_text(part) for name, part in told.items()})
    onnx.checker.check_model(document, full_check=True)
    write_whole(place, lambda part: part.write_bytes(document.SerializeToString()))


def check_exchangeable(method: str) -> None:
    """Said before the work is done: ONNX files need onnx, and a method that grows a tree."""
    import_onnx()
    if METHODS[method][0] != "TreeClassifier":
        raise ValueError(f"method {method} grows no tree, and only trees go to ONNX; name the file .json")


def import_onnx() -> Any:
    try:
        import onnx
    except ImportError:
        raise ImportError("ONNX files need onnx; install sfumato[onnx], or save the model as .json") from None
    return onnx


def column_of(feature: Feature, plan: Plan | None) -> dict[str, Any]:
    if feature.labels is not None:
        return {"name": feature.name, "labels": list(feature.labels)}
    return reading(feature.name, plan, is_number=True)


def graph_of(tree: Tree, features: list[Feature], classes: list[Any]) -> Any:
    """The leaf of each row of answers, and what the tables say of it."""
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
    told = [
        typed("label", given[0].data_type, ["people"]),
        typed("probabilities", onnx.TensorProto.DOUBLE, ["people", len(classes)]),
    ]
    return onnx.helper.make_graph(steps, "tree", [answers], told, given)


def ensemble(tree: Tree, features: list[Feature]) -> dict[str, Any]:
    """One tree, whose leaves weigh their own number."""
    tensor = import_onnx().numpy_helper.from_array
    inner, leaves = np.flatnonzero(tree.column != LEAF), np.flatnonzero(tree.column == LEAF)
    place = np.zeros(tree.column.size, np.int64)
    place[inner], place[leaves] = np.arange(inner.size), np.arange(leaves.size)
    left, right = tree.left[inner], tree.right[inner]
    whole = {
        "nodes_featureids": tree.column[inner], "nodes_missing_value_tracks_true": tree.missing_left[inner],
        "nodes_truenodeids": place[left], "nodes_trueleafs": tree.column[left] == LEAF,
        "nodes_falsenodeids": place[right], "nodes_falseleafs": tree.column[right] == LEAF,
        "leaf_targetids": np.zeros(leaves.size), "tree_roots": np.zeros(1),
    }
    modes, splits, members = zip(*(asked_at(tree, features, node) for node in inner.tolist()), strict=True)
    among = [number for places in members for number in (*places, np.nan) if places]
    return {
        **{name: part.astype(int).tolist() for name, part in whole.items()},
        "nodes_modes": tensor(np.array(modes, np.uint8)), "nodes_splits": tensor(np.array(splits)),
        **({"membership_values": tensor(np.array(among))} if among else {}),
        "leaf_weights": tensor(np.arange(leaves.size, dtype=float)),
        "n_targets": 1, "aggregate_function": SUM, "post_transform": NONE,
    }


def asked_at(tree: Tree, features: list[Feature], node: int) -> tuple[int, float, list[float]]:
    """What goes left at a node: (mode, the number compared with, the places among which a label is)."""
    if not features[tree.column[node]].categorical:
        return BELOW, float(tree.cut[node]), []
    places = np.flatnonzero(tree.bins[node]).astype(float).tolist()
    return (AMONG, 0.0, places) if places else (EQUAL, NO_LABEL, [])


def with_a_test(tree: Tree) -> Tree:
    """The tree; a single leaf becomes two of the same below a test, because an ensemble has at least one."""
    if tree.column.size > 1:
        return tree
    column, left, right = (np.array([first, LEAF, LEAF], np.int32) for first in (0, 1, 2))
    no, zero, counts = np.zeros(3, bool), np.zeros(3), np.repeat(tree.counts, 3, axis=0)
    return Tree(column, zero, left, right, no, no[:, None], counts, zero, no)
