"""Writing a model as JSON: the learner, the plan, and the form that devices evaluate.

Each learner states its own form for devices (`learners.device`); before it stands how each answer is checked.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.domain import Categories, Interval, domain_to_spec
from sfumato.plan import Plan
from sfumato.prose import json_text, voice
from sfumato.shipping.shipped import FORMAT, KINDS, VERSION
from sfumato.tables import write_text


def save(model: Any, path: str | Path, *, plan: Plan | None = None, measured: Mapping[str, Any] | None = None) -> None:
    """Write a fitted model to a .json file, whole or not at all.

    ``model``: a fitted learner of the public list. ``path``: the file. ``plan``: the plan of the reports it was learned
    from (None: not known). ``measured``: its measured accuracies, as a dict (None: none).
    """
    text = dumps(model, plan=plan, measured=measured)
    file = Path(path)
    if file.suffix.lower() != ".json":
        raise ValueError(f"{file}: models are saved as .json; name the file so")
    write_text(text, file)


def dumps(model: Any, *, plan: Plan | None = None, measured: Mapping[str, Any] | None = None) -> str:
    """Return a fitted model as the text of its JSON file, the text that `save` writes.

    ``model``: a fitted learner; ``plan``: the plan of the reports it was learned from; ``measured``: its accuracies.
    """
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
    """Return the part of a model's file that devices evaluate, a dict: what it reads of a person, and how it predicts.

    The rules of a tree are written in the language that the plan names for its respondents (English without a plan).
    """
    form = model.device_form(voice("en" if plan is None else plan.language))
    reads = [reading(name, plan, j in form.numbers) for j, name in enumerate(model.attribute_names_)]
    return {"reads": reads, **form.data}


def reading(name: str, plan: Plan | None, is_number: bool) -> dict[str, Any]:
    """Return a dict by which a device checks the answer to one attribute before a model reads it.

    Its keys are ``name``, the domain's ``labels`` or bounds, and ``missing`` and ``outside``, what the channel does
    with such answers. Without a plan a number must be finite, and any label is taken.
    """
    attribute = plan.attributes.get(name) if plan is not None else None
    if attribute is None or not isinstance(attribute.domain, Interval | Categories):
        return {"name": name, **({"low": -sys.float_info.max, "high": sys.float_info.max} if is_number else {})}
    space = attribute.space
    rules = {rule: getattr(space, rule) for rule in ("missing", "outside") if hasattr(space, rule)}
    if isinstance(attribute.domain, Categories):
        return {"name": name, "labels": list(attribute.domain.labels), **rules}
    return {"name": name, **domain_to_spec(attribute.domain), **rules}
