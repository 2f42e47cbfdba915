"""The survey document: all that a device reads to ask a plan's questions, to blur the answers and to say what they
reveal.

Only Python turns channels into drawing programs, so it writes them here beside the questions and the sentences.
``docs/survey.md`` says what the parts mean. A device computes the identities from the programs, and refuses a document
in which they do not agree; so it can with γ.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sfumato.channels.mechanism import Mechanism
from sfumato.domain import domain_to_spec
from sfumato.guarantee import CombinedGuarantee, Guarantee
from sfumato.guarantee.amplification import gamma_text
from sfumato.guarantee.overtime import OverTime
from sfumato.plan.attribute import ROLES, Attribute
from sfumato.plan.document import Plan
from sfumato.plan.schema import plan_schema, program_schema
from sfumato.prose import LANGUAGES, Voice, voice

VERSION = 1
DRAWING_VERSION = 2
"""Of plans whose devices draw which questions are asked: a device that cannot says so."""
WORDS = ("number.", "and", "or", "quoted", "told.", "limit.", "device.", "page.")
"""The sentences of a catalogue that a device uses: by name, or all whose names begin so."""


def survey(
    plan: Plan, *, collector: str | None = None, submit: str | None = None, model: str | None = None
) -> dict[str, Any]:
    """What a device reads of a plan, as plain data.

    ``collector``: who receives the reports, the origin of ``submit`` (None: not said). ``submit``: where they are
    sent (None: nowhere, the person keeps them as a file). ``model``: where the model is that comes home.

    >>> import sfumato as sf
    >>> plan = sf.Plan.from_dict({"attributes": {"smokes": {
    ...     "categories": ["yes", "no"], "channel": "randomized-response", "gamma": 19}}})
    >>> [question["name"] for question in survey(plan)["questions"]]
    ['smokes']
    """
    places = {"collector": collector, "submit": submit, "model": model}
    for name, place in places.items():
        if not (place is None or (isinstance(place, str) and place.strip())):
            raise ValueError(f"{name} is neither an address nor None; give it as text")
    say = voice(plan.language)
    version = {"survey": VERSION} if plan.questions_each is None else {"survey": DRAWING_VERSION}
    head = {**version, "plan": plan.identity, "name": plan.name, "description": plan.description}
    return {
        **head, "language": plan.language, **places,
        **({} if plan.questions_each is None else {"questions_each": plan.questions_each}),
        "questions": [_question(each, say) for each in plan.attributes.values()],
        "together": _together(plan, say),
        "words": {name: text for name, text in say.sentences.items() if name.startswith(WORDS)},
    }  # fmt: skip


def _question(each: Attribute, say: Voice) -> dict[str, Any]:
    asked = {"name": each.name, "question": each.question, "role": each.role, "columns": list(each.columns)}
    rules = {rule: getattr(each.channel, rule, None) for rule in ("missing", "outside")}
    drawn = {
        "mechanism": each.channel.identity if each.channel else None,
        "program": each.channel.program() if each.channel else None,
    }
    names: list[str | None] = list(each.channel.levels) if each.channel and each.has_levels else [None]
    levels = {name or "": _level(each, name, say) for name in names}
    default = each.channel.default if each.channel else None
    return {**asked, "domain": domain_to_spec(each.domain), **rules, **drawn, "levels": levels, "default": default}


def _level(each: Attribute, name: str | None, say: Voice) -> dict[str, Any]:
    """γ of the report that a device remembers, and what is said of it."""
    if each.channel is None:
        told = {"sent": say("sent.clear"), "worst": say("worst.clear"), "usual": "", "visible": say("visible.clear")}
        return {"gamma": None, "words": told}
    chosen = {} if name is None else {"level": name}
    stated: Guarantee | CombinedGuarantee = each.channel.guarantee(**chosen, language=say.language)
    over_time = stated.changes(0) if isinstance(stated, OverTime) else stated
    told = {"sent": stated.sent, "worst": over_time.worst, "usual": getattr(stated, "usual", "")}
    return {"gamma": gamma_text(remembered_gamma(each.channel, name)), "words": {**told, "visible": stated.besides}}


def remembered_gamma(mechanism: Mechanism, level: str | None) -> Fraction | None:
    """The exact γ of what a device remembers: the report, or its permanent part where each round blurs that afresh."""
    if not mechanism.levels:
        return None
    channel = mechanism.level(level)
    return getattr(channel, "permanent", channel).exact_gamma


def _together(plan: Plan, say: Voice) -> list[str]:
    if any(plan.attributes[name].channel for name in plan.attributes):
        return str(plan.guarantee()).splitlines()
    return [say("total.clear", names=say.listed(plan.attributes)), say("total.participation")]


# --- the form ---------------------------------------------------------------------------------------------------


def survey_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of the survey document."""
    text, address = {"type": "string"}, {"type": ["string", "null"], "minLength": 1}
    identity = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
    fields = {
        "survey": {"enum": [VERSION, DRAWING_VERSION]},
        "plan": {**identity, "description": "the plan's identity"},
        "name": text,
        "description": text,
        "language": {"enum": list(LANGUAGES)},
        "collector": {**address, "description": "who receives reports: the origin of submit"},
        "submit": {**address, "description": "where reports are sent; null: nowhere"},
        "model": {**address, "description": "where the model is that comes home"},
        "questions": {"type": "array", "items": _question_schema(text, identity), "minItems": 1},
        "together": {"type": "array", "items": text, "description": "what all answers reveal together"},
        "words": {"type": "object", "additionalProperties": text, "description": "sentences with {parts}"},
    }
    program = {key: part for key, part in program_schema().items() if key != "$schema"}
    drawn = {"type": "integer", "minimum": 1, "description": "of version 2: so many questions the device draws"}
    whole = _object(fields)
    whole["properties"] = {**fields, "questions_each": drawn}
    return {
        "$schema": plan_schema()["$schema"],
        "title": "sfumato survey",
        "description": "What a device reads to ask, to blur and to say what that reveals.",
        **whole,
        "$defs": {"program": {"$id": "program.schema.json", **program}},
    }


def _question_schema(text: dict[str, Any], identity: dict[str, Any]) -> dict[str, Any]:
    gamma = {"type": ["string", "null"], "pattern": "^[0-9]+(/[0-9]+)?$", "description": "a fraction; null: no bound"}
    words = _object(dict.fromkeys(("sent", "worst", "usual", "visible"), text))
    return _object(
        {
            "name": text,
            "question": text,
            "role": {"enum": list(ROLES)},
            "columns": {"type": "array", "items": text, "minItems": 1, "description": "the report's names"},
            "domain": {"type": "object", "description": "low and high (and integer), categories, items or columns"},
            "missing": {"enum": ["pass", "refuse", None]},
            "outside": {"enum": ["refuse", "clamp", None]},
            "mechanism": {"anyOf": [{**identity, "description": "null: sent as it is"}, {"type": "null"}]},
            "program": {"anyOf": [{"$ref": "#/$defs/program"}, {"type": "null"}]},
            "levels": {
                "type": "object", "additionalProperties": _object({"gamma": gamma, "words": words}),
                "minProperties": 1, "description": 'by name; "" where there is nothing to choose',
            },
            "default": {"type": ["string", "null"], "description": "the level of people who do not choose"},
        }
    )  # fmt: skip


def _object(fields: dict[str, Any]) -> dict[str, Any]:
    """An object with exactly these fields."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
