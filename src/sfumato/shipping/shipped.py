"""Models as they arrive: nothing in their files is executed, and what they promise follows from the plan they hold.

Every learner of the public list can be shipped. It arrives with the plan of the reports it was learned from, and reads
people's true values by name, checked against the plan.
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

FORMAT, VERSION = "sfumato-model", 1
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
"""What `sfumato train --method` names: a learner of the public list and its options."""
KINDS = tuple(dict.fromkeys(kind for kind, _ in METHODS.values()))


@dataclass(frozen=True, eq=False)
class Shipped:
    """A model as it arrives: with the plan of the reports it was learned from, their guarantee, and its measured error.

    ``measured``: what was measured when it was trained, as plain data.
    """

    model: Any
    plan: Plan | None = None
    measured: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def guarantee(self) -> Mapping[str, Any]:
        """The plan's promise as plain data, its words under "words": computed from the plan; no file can state it."""
        return {} if self.plan is None else promise_of(self.plan)

    def predict(self, table: Any) -> Any:
        """The class of each person by their true values: a table or a mapping of columns, or one person's answers."""
        found = self._ask(self.model.predict, table)
        return found[0] if _is_one_person(table) else found

    def predict_proba(self, table: Any) -> NDArray[np.float64]:
        """The probability of each class in ``model.classes_``, one row a person."""
        return np.asarray(self._ask(self.model.predict_proba, table), dtype=np.float64)

    def predictions(self, table: Any, probabilities: bool = False) -> dict[str, NDArray[Any]]:
        """The predicted class under the class attribute's own name; with ``probabilities`` P(class) too, under
        ``<name>=<class>``."""
        name = (self.plan and self.plan.target) or "class"
        columns = {name: np.asarray(self.predict(table))}
        if probabilities:
            shares = self.predict_proba(table)
            columns |= {f"{name}={label}": shares[:, place] for place, label in enumerate(self.model.classes_)}
        return columns

    def rules(self, table: Any) -> list[list[str]] | None:
        """The conditions that decided about each person, in the plan's language; None where the model is no tree."""
        columns = people_of(table, self.model.attribute_names_, self.plan)
        found = self.model.deciding_tree()
        if found is None:
            return None
        from sfumato.learners.tree.model import compared
        from sfumato.learners.tree.text import reasons

        tree, features = found
        say = voice("en" if self.plan is None else self.plan.language)
        return reasons(tree, features, compared(features, list(columns.values())), say)

    def _ask(self, question: Callable[[Any], Any], table: Any) -> Any:
        people = people_of(table, self.model.attribute_names_, self.plan)
        with warnings.catch_warnings():  # the columns are matched by name here, where scikit-learn cannot see it
            warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
            return question(people)


def load(path: str | Path) -> Shipped:
    """Read a model that `save` wrote; a truncated or foreign file is refused with a line that says so."""
    place = Path(path)
    if not place.is_file():
        raise ValueError(f"{place}: {'is a folder; name a file' if place.is_dir() else 'no such file'}")
    try:
        return loads(place.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise ValueError(f"{place}: not a whole JSON file, nor any text in UTF-8; save or copy it again") from None
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from None


def loads(text: str) -> Shipped:
    """Read the text of a model's file."""
    document = read_json(text, "the file")
    _check_header(document)
    try:
        plan = None if given(document, "plan") is None else Plan.from_dict(document["plan"])
        model = learner_named(document["kind"]).from_dict(given_table(document, "model"))
        return Shipped(model, plan, given_table(document, "measured"))
    except (TypeError, ValueError) as error:
        raise ValueError(f"the model inside is damaged ({error}); save it again") from None


def _check_header(document: Any) -> None:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError("not a model of sfumato; make one with sfumato train or shipping.save")
    if document.get("version") != VERSION:
        version = document.get("version")
        raise ValueError(f"written in version {version!r} of the format, this sfumato reads {VERSION}; update it")
    if document.get("kind") not in KINDS:
        kind = document.get("kind")
        raise ValueError(f"holds a {kind!r}, which is unknown{suggest(str(kind), KINDS)}")


def promise_of(plan: Plan) -> dict[str, Any]:
    """What the plan guarantees, in words and numbers; a plan that blurs nothing promises nothing."""
    if all(attribute.channel is None for attribute in plan.attributes.values()):
        return {"words": "Nothing was blurred, so nothing is protected."}
    guarantee = plan.guarantee()
    return {"words": str(guarantee), **guarantee.to_dict()}


def people_of(table: Any, names: Sequence[str], plan: Plan | None) -> dict[str, NDArray[Any]]:
    """The columns that the model reads; others are left alone, a missing one or a value outside the plan is named."""
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
    """True values as the model was learned from them: in the domain, clamped where the channel clamps."""
    attribute.check_values(values)
    if isinstance(attribute.domain, Interval) and getattr(attribute.space, "outside", "") == "clamp":
        return attribute.domain.clean(values, clamp=True)
    return values


def _is_one_person(table: Any) -> bool:
    return isinstance(table, Mapping) and all(np.ndim(value) == 0 for value in table.values())
