"""`sfumato device predict`: apply a model to one's own answers, on one's own machine."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli import emit_json, say
from sfumato.cli.device.asking import AnswersFile, ask_answer, read_person, tell
from sfumato.cli.plans import AsJson, ShowValues
from sfumato.plan import Attribute
from sfumato.prose import voice

EXAMPLES = """Examples:

  sfumato device predict model.json

  sfumato device predict model.json --answers me.json --json"""

ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model that was sent home: .json.", show_default=False)
]


def predict(
    model: ModelFile, answers: AnswersFile = None, as_json: AsJson = False, show_values: ShowValues = False
) -> None:
    """Apply a model to your own true answers, here: nothing leaves this machine and nothing is kept."""
    from sfumato import shipping

    shipped = shipping.load(model)
    plan, names = shipped.plan, shipped.model.attribute_names_
    speak = voice("en" if plan is None else plan.language)
    if answers is not None:
        true_answers = read_person(answers, plan, names)
    elif plan is None or not set(names) <= set(plan.columns):
        raise ValueError(f"{model}: comes without its questions; give the answers to {', '.join(names)} with --answers")
    else:
        tell(speak("device.model.here"))
        true_answers = _ask([plan.columns[name] for name in names], plan.language)
    person = {name: true_answers[name] for name in names if name in true_answers}
    label, shares = shipped.predict(person), shipped.predict_proba(person)[0].tolist()
    probabilities = dict(zip(map(str, shipped.model.classes_), shares, strict=True))
    rule = next(iter(shipped.rules(person) or []), None)
    name = (plan and plan.target) or "class"
    if as_json:
        emit_json({name: label, "probabilities": probabilities, "rule": rule})
        return
    say(f"{name}: {label} ({speak.percent(probabilities[str(label)])})")
    if rule:
        say("\n  ".join([speak("device.model.rule") + ":", *rule]))


def _ask(questions: Iterable[Attribute], language: str) -> dict[str, Any]:
    """Ask a person each of these questions once; return a dict of the answers by column."""
    answers: dict[str, Any] = {}
    for question in dict.fromkeys(questions):
        tell("", question.question or question.name)
        answers |= ask_answer(question, language)
    return answers
