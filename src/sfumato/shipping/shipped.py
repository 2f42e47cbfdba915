"""`Shipped`: a model read from a file, with the plan of the reports it was learned from.

Nothing in a file is executed, and the guarantee is computed from the plan in it. Every learner of the public list can
be shipped. A model reads people's true values by name, checked against the plan.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.domain import Interval
from sfumato.domain.checked import given, given_table
from sfumato.learners.estimator import learner_named
from sfumato.plan import Attribute, Plan
from sfumato.prose import suggest, voice
from sfumato.tables import column_names, is_table, read_columns, read_json

FORMAT = "sfumato-model"
"""The name of the format, which a model's file states."""

VERSION = 1
"""The version of the format; files of another are refused."""

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "joint": ("TreeClassifier", {"reconstruction": "joint"}),
    "byclass": ("TreeClassifier", {"reconstruction": "byclass"}),
    "local": ("TreeClassifier", {"reconstruction": "local"}),
    "global": ("TreeClassifier", {"reconstruction": "global"}),
    "none": ("TreeClassifier", {"reconstruction": "none"}),
    "likelihood": ("TreeClassifier", {"reconstruction": "likelihood"}),
    "additive": ("AdditiveClassifier", {}),
    "joint-model": ("JointModel", {}),
    "product-mixture": ("ProductMixtureClassifier", {}),
    "gaussian-mixture": ("GaussianMixtureClassifier", {}),
    "naive-bayes": ("NaiveBayesClassifier", {}),
    "face-value": ("FaceValueClassifier", {}),
    "chooser": ("Chooser", {}),
    "readable": ("Chooser", {"readable": True}),
}
"""By the names that `sfumato train --method` takes: a learner of the public list, and its options."""

KINDS = tuple(dict.fromkeys(kind for kind, _ in METHODS.values()))
"""The learners that can be shipped."""


@dataclass(frozen=True, eq=False)
class Shipped:
    """A model as a file holds it, ready to predict from true values.

    ``model``: the fitted learner. ``plan``: the plan of the reports it was learned from (None: not known).
    ``measured``: the accuracies measured when it was trained, as plain data.
    """

    model: Any
    plan: Plan | None = None
    measured: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def guarantee(self) -> Mapping[str, Any]:
        """The privacy guarantee of the plan as a dict, its sentences under "words".

        It is computed from the plan, not read from the model's file; empty without a plan.
        """
        return {} if self.plan is None else promise_of(self.plan)

    def predict(self, table: Any) -> Any:
        """Predict the class of each person from their true values; return an array of labels.

        ``table``: a table, a mapping of columns, or a mapping of one person's answers (which gives one class).
        """
        classes = self._apply(self.model.predict, table)
        return classes[0] if _is_one_person(table) else classes

    def predict_proba(self, table: Any) -> NDArray[np.float64]:
        """Return the probability of each class as an array: a row a person, a column a label of ``model.classes_``.

        ``table``: as in `predict`.
        """
        return np.asarray(self._apply(self.model.predict_proba, table), dtype=np.float64)

    def predictions(self, table: Any, probabilities: bool = False) -> dict[str, NDArray[Any]]:
        """Predict the class of each person; return a dict of columns, to be written as a table.

        The predicted labels stand under the name of the plan's class. ``table``: as in `predict`. ``probabilities``:
        add P(class) under ``<name>=<class>`` for every class.
        """
        name = (self.plan and self.plan.target) or "class"
        columns = {name: np.asarray(self.predict(table))}
        if probabilities:
            shares = self.predict_proba(table)
            columns |= {f"{name}={label}": shares[:, index] for index, label in enumerate(self.model.classes_)}
        return columns

    def rules(self, table: Any) -> list[list[str]] | None:
        """Return for each person a list of sentences: the conditions of the tree that decided, in the plan's language.

        ``table``: as in `predict`. None where the model is not a tree.
        """
        columns = people_of(table, self.model.attribute_names_, self.plan)
        deciding = self.model.deciding_tree()
        if deciding is None:
            return None
        from sfumato.learners.tree.model import compared
        from sfumato.learners.tree.text import reasons

        tree, features = deciding
        say = voice("en" if self.plan is None else self.plan.language)
        return reasons(tree, features, compared(features, list(columns.values())), say)

    def _apply(self, method: Callable[[Any], Any], table: Any) -> Any:
        """Call a learner's ``method`` (such as predict) with the columns that the model reads, and return the result.

        ``table``: of people; its columns are checked against the plan.
        """
        people = people_of(table, self.model.attribute_names_, self.plan)
        with warnings.catch_warnings():  # the columns are matched by name here, where scikit-learn cannot see it
            warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
            return method(people)


def load(path: str | Path) -> Shipped:
    """Read a model from a file that `save` wrote; any other file raises ValueError.

    ``path``: the .json file.
    """
    file = Path(path)
    if not file.is_file():
        raise ValueError(f"{file}: {'is a folder; name a file' if file.is_dir() else 'no such file'}")
    try:
        return loads(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise ValueError(f"{file}: not a whole JSON file, nor any text in UTF-8; save or copy it again") from None
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def loads(text: str) -> Shipped:
    """Read a model from the text of its JSON file. ValueError: it is damaged, or no model of this format."""
    document = read_json(text, "the file")
    _check_header(document)
    try:
        plan = None if given(document, "plan") is None else Plan.from_dict(document["plan"])
        model = learner_named(document["kind"]).from_dict(given_table(document, "model"))
        return Shipped(model, plan, given_table(document, "measured"))
    except (TypeError, ValueError) as error:
        raise ValueError(f"the model inside is damaged ({error}); save it again") from None


def _check_header(document: Any) -> None:
    """Raise ValueError unless a model file states our format, version, and a kind of learner that can be shipped."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError("not a model of sfumato; make one with sfumato train or shipping.save")
    if document.get("version") != VERSION:
        version = document.get("version")
        raise ValueError(f"written in version {version!r} of the format, this sfumato reads {VERSION}; update it")
    if document.get("kind") not in KINDS:
        kind = document.get("kind")
        raise ValueError(f"holds a {kind!r}, which is unknown{suggest(str(kind), KINDS)}")


def promise_of(plan: Plan) -> dict[str, Any]:
    """Return the privacy guarantee of a ``plan`` as a dict, with its sentences under "words"."""
    if all(attribute.channel is None for attribute in plan.attributes.values()):
        return {"words": "Nothing was blurred, so nothing is protected."}
    guarantee = plan.guarantee()
    return {"words": str(guarantee), **guarantee.to_dict()}


def people_of(table: Any, names: Sequence[str], plan: Plan | None) -> dict[str, NDArray[Any]]:
    """Return the columns ``names`` of a table of people as a dict of arrays, checked against the plan.

    Other columns are ignored; a missing column and a value that the plan does not allow raise an error that names it.
    ``plan``: None checks nothing.
    """
    if not is_table(table):
        raise TypeError(f"{type(table).__name__} has no named columns; pass a table or a mapping from name to values")
    given = column_names(table)
    for name in names:
        if name not in given:
            raise ValueError(f"column {name!r} is missing; the model reads {', '.join(names)}")
    columns = read_columns(table, names)
    if plan is None:
        return columns
    return {
        name: checked(plan.attributes[name], values) if name in plan.attributes else values
        for name, values in columns.items()
    }


def checked(attribute: Attribute, values: NDArray[Any]) -> NDArray[Any]:
    """Return an attribute's true values, numbers moved into its domain where its channel clamps.

    ValueError: a value lies outside otherwise.
    """
    attribute.check_values(values)
    if isinstance(attribute.domain, Interval) and getattr(attribute.space, "outside", "") == "clamp":
        return attribute.domain.clean(values, clamp=True)
    return values


def _is_one_person(table: Any) -> bool:
    """Return whether a table is a mapping from columns to single values, the answers of one person."""
    return isinstance(table, Mapping) and all(np.ndim(value) == 0 for value in table.values())
