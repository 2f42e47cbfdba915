"""`sfumato device predict`: a model applied to one's own answers, on one's own machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.asking import AnswersFile, ask_answer, read_person, tell
from sfumato.cli.plans import AsJson, ShowValues
from sfumato.cli.terminal import emit_json, say
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
        given = read_person(answers, plan, names)
    elif plan is None or not set(names) <= set(plan.columns):
        raise ValueError(f"{model}: comes without its questions; give the answers to {', '.join(names)} with --answers")
    else:
        tell(speak("device.model.here"))
        given = {}
        for each in dict.fromkeys(plan.columns[name] for name in names):
            tell("", each.question or each.name)
            given |= ask_answer(each, speak.language)
    person = {name: given[name] for name in names if name in given}
    label, shares = shipped.predict(person), shipped.predict_proba(person)[0]
    found = dict(zip(map(str, shipped.model.classes_), shares.tolist(), strict=True))
    rule = shipped.rule(person)
    name = (plan and plan.target) or "class"
    if as_json:
        emit_json({name: label, "probabilities": found, "rule": rule})
        return
    say(speak("device.model.says", name=name, label=label, share=speak.percent(found[str(label)])))
    if rule:
        say(speak("device.model.rule") + ":")
        for condition in rule:
            say(f"  {condition}")
