"""Models as JSON files: nothing in them is executed, and a person can read what they promise."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.plan import Plan
from sfumato.shipping.people import people_of
from sfumato.shipping.whole import write_whole

FORMAT, VERSION = "sfumato-model", 1
KINDS = {
    "TreeClassifier": "sfumato.mining.tree",
    "JointModel": "sfumato.mining.joint",
    "NaiveBayes": "sfumato.mining.naive_bayes",
}


@dataclass(frozen=True, eq=False)
class Shipped:
    """A model as it arrives: with the plan of the reports it was learned from, their guarantee, and its measured error.

    ``guarantee``: the plan's promise as plain data, with its words under "words".
    ``measured``: what was measured when it was trained, as plain data.
    """

    model: Any
    plan: Plan | None = None
    guarantee: Mapping[str, Any] = field(default_factory=dict)
    measured: Mapping[str, Any] = field(default_factory=dict)

    def predict(self, table: Any) -> Any:
        """The class of each person by their true values: a table or a mapping of columns, or one person's answers."""
        found = self._ask(self.model.predict, table)
        return found[0] if _is_one_person(table) else found

    def predict_proba(self, table: Any) -> NDArray[np.float64]:
        """The probability of each class in ``model.classes_``, one row a person."""
        return np.asarray(self._ask(self.model.predict_proba, table), dtype=np.float64)

    def _ask(self, question: Callable[[Any], Any], table: Any) -> Any:
        people = people_of(table, self.model.attribute_names_, self.plan)
        with warnings.catch_warnings():  # the columns are matched by name here, where scikit-learn cannot see it
            warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
            return question(people)


def save(model: Any, path: str | Path, *, plan: Plan | None = None, measured: Mapping[str, Any] | None = None) -> None:
    """Write a fitted model to a .json file, whole or not at all."""
    kind = type(model).__name__
    if kind not in KINDS:
        raise TypeError(f"a {kind} cannot be shipped; use one of {', '.join(KINDS)}")
    place = Path(path)
    if place.suffix.lower() != ".json":
        raise ValueError(f"{place}: models are saved as .json; name the file so")
    document = {
        "format": FORMAT,
        "version": VERSION,
        "kind": kind,
        "plan": None if plan is None else plan.to_dict(),
        "guarantee": {} if plan is None else promise_of(plan),
        "measured": dict(measured or {}),
        "model": model.to_dict(),
    }
    text = json.dumps(plain(document), ensure_ascii=False, allow_nan=False) + "\n"
    write_whole(place, lambda part: part.write_text(text, encoding="utf-8"))


def load(path: str | Path) -> Shipped:
    """Read a model that `save` wrote; a truncated or foreign file is refused with a line that says so."""
    place = Path(path)
    if not place.is_file():
        raise ValueError(f"{place}: no such file")
    try:
        document = json.loads(place.read_text(encoding="utf-8"))
    except ValueError:
        raise ValueError(f"{place}: not a whole JSON file; save or copy the model again") from None
    _check_header(place, document)
    try:
        kind = getattr(import_module(KINDS[document["kind"]]), document["kind"])
        plan = None if document["plan"] is None else Plan.from_dict(document["plan"])
        return Shipped(kind.from_dict(document["model"]), plan, document["guarantee"], document["measured"])
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{place}: the model inside is damaged ({error}); save it again") from None


def _check_header(place: Path, document: Any) -> None:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"{place}: not a model of sfumato; make one with sfumato train or shipping.save")
    if document.get("version") != VERSION:
        version = document.get("version")
        raise ValueError(
            f"{place}: written in version {version!r} of the format, this sfumato reads {VERSION}; update it"
        )
    if document.get("kind") not in KINDS:
        raise ValueError(f"{place}: holds a {document.get('kind')!r}, which is unknown; expected {', '.join(KINDS)}")


def promise_of(plan: Plan) -> dict[str, Any]:
    """What the plan guarantees, in words and numbers; a plan that blurs nothing promises nothing."""
    if all(attribute.channel is None for attribute in plan.attributes.values()):
        return {"words": "Nothing was blurred, so nothing is protected."}
    guarantee = plan.guarantee()
    return {"words": str(guarantee), **guarantee.to_dict()}


def plain(value: Any) -> Any:
    """The value as strict JSON holds it: arrays as lists, keys as text, infinite numbers as text, NaN as null."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("infinity" if value > 0 else "-infinity")
    return value


def _is_one_person(table: Any) -> bool:
    return isinstance(table, Mapping) and all(np.ndim(value) == 0 for value in table.values())
