"""A model as it is written: in a JSON file, which holds what learned it and, for devices, one of four forms that need
+, −, ·, /, √, exp, log and comparisons only:

    tree    tests down to a leaf: a number below a cut, or a label among some, goes left; the leaf counts classes
    sum     start_y + Σ terms_y(x), in order, each of one column or a product of factors; P(y | x) is their softmax
    joint   Σ over members of P(y, x) / Σ_y P(y, x): grids, mixtures of products or of normals, as the model states them
    pool    what several of these say, weighed: Σ weight · P(y | x), each P rounded to 2⁻³⁰

and before that, how each answer is checked. `client/static/model.js` reads these forms, and trees go to ONNX from here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import Categories, Floats, Interval, domain_to_spec
from sfumato.learners.additive import AdditiveClassifier
from sfumato.learners.additive.terms import Factor
from sfumato.learners.choose import Chooser
from sfumato.learners.discriminant import LinearDiscriminant
from sfumato.learners.face_value import FaceValueClassifier, PlainAnswers, plain_answers
from sfumato.learners.gaussian_mixture import GaussianMixtureClassifier
from sfumato.learners.joint import JointModel
from sfumato.learners.naive_bayes import CellDensity, Density, NaiveBayesClassifier
from sfumato.learners.tree import TreeClassifier
from sfumato.learners.tree.model import Feature, Tree, compared
from sfumato.learners.tree.splits import LEAF
from sfumato.learners.tree.text import answers_in_words, reasons
from sfumato.plan import Plan
from sfumato.prose import Voice, json_text, voice
from sfumato.shipping.shipped import FORMAT, KINDS, VERSION
from sfumato.tables import write_text


def save(model: Any, path: str | Path, *, plan: Plan | None = None, measured: Mapping[str, Any] | None = None) -> None:
    """Write a fitted model to a .json file, whole or not at all."""
    text = dumps(model, plan=plan, measured=measured)
    place = Path(path)
    if place.suffix.lower() != ".json":
        raise ValueError(f"{place}: models are saved as .json; name the file so")
    write_text(text, place)


def dumps(model: Any, *, plan: Plan | None = None, measured: Mapping[str, Any] | None = None) -> str:
    """A fitted model as the text of its file."""
    kind = type(model).__name__
    if kind not in KINDS:
        raise TypeError(f"a {kind} cannot be shipped; use one of {', '.join(KINDS)}")
    learned = model.to_dict()
    document = {
        "format": FORMAT, "version": VERSION, "kind": kind, "plan": None if plan is None else plan.to_dict(),
        "measured": dict(measured or {}), "device": device_part(model, plan), "model": learned,
    }
    return json_text(document) + "\n"


def device_part(model: Any, plan: Plan | None) -> dict[str, Any]:
    """What a device needs of a fitted model; the rules of a tree in the plan's language."""
    names, form = model.attribute_names_, form_of(model, voice("en" if plan is None else plan.language))
    numbers = {names[j] for j in number_columns(form, model)}
    return {"reads": [reading(name, plan, name in numbers) for name in names], **form}


def reading(name: str, plan: Plan | None, is_number: bool) -> dict[str, Any]:
    """How an answer is checked: by its domain and the channel's rules for those missing and outside; without a plan a
    number must be finite, and any label is taken."""
    attribute = plan.attributes.get(name) if plan is not None else None
    if attribute is None or not isinstance(attribute.domain, Interval | Categories):
        return {"name": name, **({"low": -sys.float_info.max, "high": sys.float_info.max} if is_number else {})}
    space = attribute.space
    rules = {rule: getattr(space, rule) for rule in ("missing", "outside") if hasattr(space, rule)}
    if isinstance(attribute.domain, Categories):
        return {"name": name, "labels": list(attribute.domain.labels), **rules}
    return {"name": name, **domain_to_spec(attribute.domain), **rules}


def form_of(model: Any, say: Voice) -> dict[str, Any]:
    chosen = chosen_of(model)
    if isinstance(chosen, Chooser):
        pairs = zip(chosen.weights_.values(), chosen.members_, strict=True)
        parts = [{"weight": weight, **form_of(member, say)} for weight, member in pairs]
        return {"form": "pool", "classes": classes_of(chosen), "parts": parts}
    if (found := tree_of(chosen)) is not None:
        return {"form": "tree", "classes": classes_of(chosen), **tree_form(*found, say)}
    if isinstance(chosen, JointModel | GaussianMixtureClassifier):
        return {"form": "joint", "classes": classes_of(chosen)}
    start, terms = sum_of(chosen)
    return {"form": "sum", "classes": classes_of(chosen), "start": start.tolist(), "terms": list(terms)}


def number_columns(form: Mapping[str, Any], model: Any) -> list[int]:
    """The columns that are compared or computed with."""
    if form["form"] == "pool":
        parts = zip(form["parts"], model.members_, strict=True)
        return [j for part, member in parts for j in number_columns(part, member)]
    if form["form"] == "joint":
        return list(chosen_of(model).number_columns)
    if form["form"] == "tree":
        return [j for j, each in enumerate(form["columns"]) if "labels" not in each]
    single = [factor for term in form["terms"] for factor in term.get("factors", [term])]
    return [factor["column"] for factor in single if "labels" not in factor]


def classes_of(model: Any) -> list[Any] | None:
    """The classes that the model may name; None where it was fitted without any."""
    chosen = chosen_of(model)
    if not hasattr(chosen, "classes_"):
        return None
    known = chosen.classes_[chosen.estimator_.classes_] if isinstance(chosen, FaceValueClassifier) else chosen.classes_
    return list(known.tolist())


def chosen_of(model: Any) -> Any:
    """The model that answers: what a chooser chose alone, or the model itself."""
    return model.estimator_ if isinstance(model, Chooser) and len(model.members_) == 1 else model


# --- trees ----------------------------------------------------------------------------------------------------------


def tree_of(model: Any) -> tuple[Tree, list[Feature]] | None:
    """The tree that decides, and the columns as it sees them; None where the model is no tree."""
    chosen = chosen_of(model)
    if isinstance(chosen, TreeClassifier):
        return chosen.tree_, chosen.features_
    if isinstance(chosen, FaceValueClassifier) and (plain := plain_of(chosen)).form == "tree":
        return direct_tree(chosen, plain.data)
    return None


def tree_form(tree: Tree, features: list[Feature], say: Voice) -> dict[str, Any]:
    """The labels of each column, and the nodes, the root first and children after their parents.

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
    return {"columns": columns, "nodes": nodes}


def rules_of(model: Any, columns: list[NDArray[Any]], language: str) -> list[list[str]] | None:
    """The conditions that decided about each record of true values; None where the model is no tree."""
    found = tree_of(model)
    if found is None:
        return None
    tree, features = found
    return reasons(tree, features, compared(features, columns), voice(language))


def plain_of(model: FaceValueClassifier) -> PlainAnswers:
    """The estimator as numbers."""
    found = model.estimator_
    if isinstance(found, PlainAnswers):
        return found
    return PlainAnswers(plain_answers(found), sum(1 for _ in indicators(model)), len(model.classes_))


def indicators(model: FaceValueClassifier) -> Iterator[tuple[int, int | None]]:
    """The column and, for one of its labels, the place of the label behind each number that the estimator reads."""
    for j, labels in enumerate(model.labels_):
        yield from ((j, None if labels is None else code) for code in range(1 if labels is None else len(labels)))


def direct_tree(model: FaceValueClassifier, nodes: Mapping[str, NDArray[Any]]) -> tuple[Tree, list[Feature]]:
    """scikit-learn's tree with our tests: numbers are compared as they are, and labels are among those that go left."""
    features = [
        Feature(name, np.array([0.0, 1.0]) if labels is None else None, labels)
        for name, labels in zip(model.attribute_names_, model.labels_, strict=True)
    ]
    size, widest = nodes["left"].size, max(len(labels or ()) for labels in model.labels_) + 1
    column, cut = np.full(size, LEAF, np.int32), np.full(size, np.nan)
    missing_left, bins = np.zeros(size, bool), np.zeros((size, widest), bool)
    encoded = list(indicators(model))
    for node in np.flatnonzero(nodes["left"] >= 0).tolist():
        j, code = encoded[nodes["column"][node]]
        column[node] = j
        if code is None:
            cut[node] = first_above(nodes["cut"][node])
            missing_left[node] = model.fill_[j] < cut[node]
        else:
            missing_left[node] = nodes["cut"][node] >= 0
            bins[node, : len(model.labels_[j] or ())] = missing_left[node]
            bins[node, code] = nodes["cut"][node] >= 1
    left, right = nodes["left"].astype(np.int32), nodes["right"].astype(np.int32)
    no = np.zeros(size, bool)
    return Tree(column, cut, left, right, missing_left, bins, nodes["shares"], np.zeros(size), no), features


def first_above(cut: float) -> float:
    """The smallest number that scikit-learn's trees, which compare in single precision, find above the cut."""
    below = np.float32(cut)
    below = below if below <= cut else np.nextafter(below, np.float32(-np.inf))
    half = (float(below) + float(np.nextafter(below, np.float32(np.inf)))) / 2
    return half if np.float32(half) > below else float(np.nextafter(half, np.inf))


# --- sums -----------------------------------------------------------------------------------------------------------

Term = dict[str, Any]


def sum_of(model: Any) -> tuple[Floats, Iterator[Term]]:
    """Where the scores start, and what each term adds for every class:

    ``scores`` of its label or cell, or peak − curve · (x − mean)² + slope · x, but no less than ``least``; ``missing``
    where the value is missing or the label unknown. Or slope · Π ``factors``, each such a term of a single class.
    """
    if isinstance(model, AdditiveClassifier):
        return model.intercept_, (product_term(*each) for each in model.products())
    if isinstance(model, NaiveBayesClassifier):
        nothing = np.zeros(len(model.classes_))
        return model.log_prior_, (density_term(j, each, nothing) for j, each in enumerate(model.densities_))
    if isinstance(model, LinearDiscriminant):
        terms = zip(model.labels_, model.terms, strict=True)
        return model.intercept_, (linear_term(j, labels, *each) for j, (labels, each) in enumerate(terms))
    plain = plain_of(model)
    start = plain.data["log_prior" if plain.form == "normal" else "intercept"]
    return start, (direct_term(model, plain, *place) for place in enumerate(indicators(model)))


def density_term(j: int, density: Density, missing: Floats) -> Term:
    stated = {"column": j, "missing": missing.tolist()}
    if isinstance(density, CellDensity):
        where = {key: part for key, part in density.cells.to_dict().items() if key in ("labels", "edges")}
        return {**stated, **where, "scores": density.logs.T.tolist()}
    shape = {"peak": density.peak, "curve": density.curve, "mean": density.mean, "slope": np.zeros_like(missing)}
    return {**stated, **{name: part.tolist() for name, part in shape.items()}}


def linear_term(j: int, labels: Sequence[Any] | None, rows: Floats, missing: Floats) -> Term:
    """A slope for a number, or a row for each label."""
    if labels is not None:
        return {"column": j, "missing": missing.tolist(), "labels": list(labels), "scores": rows.tolist()}
    flat = dict.fromkeys(("peak", "curve", "mean"), [0.0] * rows.size)
    return {"column": j, "missing": missing.tolist(), **flat, "slope": rows.tolist()}


def product_term(factors: Sequence[Factor], slope: Floats) -> Term:
    return {"factors": [factor_term(factor) for factor in factors], "slope": slope.tolist()}


def factor_term(factor: Factor) -> Term:
    stated = {"column": factor.column, "missing": [factor.fill]}
    if factor.labels is not None:
        scores = [[float(code == factor.label)] for code in range(len(factor.labels))]
        return {**stated, "labels": list(factor.labels), "scores": scores}
    line = {"peak": [factor.start], "curve": [0.0], "mean": [0.0], "slope": [factor.pace]}
    return {**stated, **line, **({"least": 0.0} if factor.hinge else {})}


def direct_term(model: FaceValueClassifier, plain: PlainAnswers, place: int, source: tuple[int, int | None]) -> Term:
    """What one number of the estimator adds; an indicator is 1 for its label and 0 for all else."""
    j, code = source
    missing = model.fill_[j] if code is None else 0.0
    if plain.form == "linear" and code is None:
        slope = plain.data["coef"][:, place]
        return linear_term(j, None, slope, missing * slope)
    if code is None:
        density = plain.densities[place]
        return density_term(j, density, density.log_density(np.array([missing]))[0])
    rows = plain.densities[place].log_density(np.array([0.0, 1.0])) if plain.form == "normal" else np.outer(
        [0.0, 1.0], plain.data["coef"][:, place]
    )
    label = model.labels_[j][code]  # type: ignore[index]
    return {"column": j, "labels": [label], "scores": [rows[1].tolist()], "missing": rows[0].tolist()}
