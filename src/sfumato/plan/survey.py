"""The survey document: what a device reads to ask a plan's questions, blur the answers and say what they reveal.

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
from sfumato.plan.schema import object_of, plan_schema, program_schema
from sfumato.prose import LANGUAGES, Voice, voice

VERSION = 1
"""The version of the survey document's format (docs/survey.md)."""

DRAWING_VERSION = 2
"""The version where the device draws which questions it asks (docs/survey.md): a device that cannot do so refuses
it."""

WORDS = ("number.", "and", "or", "quoted", "told.", "limit.", "device.", "page.")
"""The sentences of a language's catalogue that a device needs: those whose names begin with one of these."""


def survey(
    plan: Plan, *, collector: str | None = None, submit: str | None = None, model: str | None = None
) -> dict[str, Any]:
    """Return the survey document of a plan, which devices read, as plain data for JSON.

    ``plan``: the plan. ``collector``: who receives the reports, the origin of ``submit`` (None: not stated).
    ``submit``: the address that reports are sent to (None: the person keeps them as a file). ``model``: the address of
    the model that devices fetch (None: there is none).

    >>> import sfumato as sf
    >>> plan = sf.Plan.from_dict({"attributes": {"smokes": {
    ...     "categories": ["yes", "no"], "channel": "randomized-response", "gamma": 19}}})
    >>> [question["name"] for question in survey(plan)["questions"]]
    ['smokes']
    """
    addresses = {"collector": collector, "submit": submit, "model": model}
    for name, address in addresses.items():
        if not (address is None or (isinstance(address, str) and address.strip())):
            raise ValueError(f"{name} is neither an address nor None; give it as text")
    say = voice(plan.language)
    version = {"survey": VERSION} if plan.questions_each is None else {"survey": DRAWING_VERSION}
    head = {**version, "plan": plan.identity, "name": plan.name, "description": plan.description}
    return {
        **head, "language": plan.language, **addresses,
        **({} if plan.questions_each is None else {"questions_each": plan.questions_each}),
        "questions": [_question(attribute, say) for attribute in plan.attributes.values()],
        "together": _together(plan, say),
        "words": {name: text for name, text in say.sentences.items() if name.startswith(WORDS)},
    }  # fmt: skip


def _question(attribute: Attribute, say: Voice) -> dict[str, Any]:
    """Return one question of the survey document as plain data for JSON, all that a device needs to ask and blur it.

    Its texts, the answers allowed, the program (steps by which a device draws a report), and for each level, a strength
    of blurring that people may choose, γ and what it reveals. ``say``: the catalogue of sentences in a language.
    """
    question: dict[str, Any] = {"name": attribute.name, "question": attribute.question, "role": attribute.role}
    question["columns"] = list(attribute.columns)
    rules = {rule: getattr(attribute.channel, rule, None) for rule in ("missing", "outside")}
    drawn = {
        "mechanism": attribute.channel.identity if attribute.channel else None,
        "program": attribute.channel.program() if attribute.channel else None,
    }
    names: list[str | None] = list(attribute.channel.levels) if attribute.channel and attribute.has_levels else [None]
    levels = {name or "": _level(attribute, name, say) for name in names}
    default = attribute.channel.default if attribute.channel else None
    domain = domain_to_spec(attribute.domain)
    return {**question, "domain": domain, **rules, **drawn, "levels": levels, "default": default}


def _level(attribute: Attribute, name: str | None, say: Voice) -> dict[str, Any]:
    """Return what a report reveals at one level (a strength of blurring that people may choose), as plain data.

    Under "gamma" the largest factor on the odds, under "words" the sentences about it. ``name``: the level's; None: the
    only one.
    """
    if attribute.channel is None:
        words = {"sent": say("sent.clear"), "worst": say("worst.clear"), "usual": "", "visible": say("visible.clear")}
        return {"gamma": None, "words": words}
    chosen = {} if name is None else {"level": name}
    stated: Guarantee | CombinedGuarantee = attribute.channel.guarantee(**chosen, language=say.language)
    over_time = stated.changes(0) if isinstance(stated, OverTime) else stated
    words = {"sent": stated.sent, "worst": over_time.worst, "usual": getattr(stated, "usual", "")}
    gamma = gamma_text(remembered_gamma(attribute.channel, name))
    return {"gamma": gamma, "words": {**words, "visible": stated.besides}}


def remembered_gamma(mechanism: Mechanism, level: str | None) -> Fraction | None:
    """Return the exact γ (largest factor on the odds) of what a device remembers of its reports.

    None where it is infinite, or where several numbers are blurred at once. ``level``: the name of the strength that
    the person chose; None: the default. A device remembers the report, or its permanent part where every round of a
    survey blurs that part anew.
    """
    if not mechanism.levels:
        return None
    channel = mechanism.level(level)
    return getattr(channel, "permanent", channel).exact_gamma


def _together(plan: Plan, say: Voice) -> list[str]:
    """Return a list of the sentences about what all answers of a person reveal together."""
    if any(plan.attributes[name].channel for name in plan.attributes):
        return str(plan.guarantee()).splitlines()
    return [say("total.clear", names=say.listed(plan.attributes)), say("total.participation")]


# --- its schema -------------------------------------------------------------------------------------------------


def survey_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the survey document."""
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
    whole = object_of(fields)
    whole["properties"] = {**fields, "questions_each": drawn}
    return {
        "$schema": plan_schema()["$schema"],
        "title": "sfumato survey",
        "description": "What a device reads to ask, to blur and to say what that reveals.",
        **whole,
        "$defs": {"program": {"$id": "program.schema.json", **program}},
    }


def _question_schema(text: dict[str, Any], identity: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of one question of the survey document.

    ``text`` and ``identity``: the schemas of texts and of identities (hashes), which it uses.
    """
    gamma = {"type": ["string", "null"], "pattern": "^[0-9]+(/[0-9]+)?$", "description": "a fraction; null: no bound"}
    words = object_of(dict.fromkeys(("sent", "worst", "usual", "visible"), text))
    return object_of(
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
                "type": "object", "additionalProperties": object_of({"gamma": gamma, "words": words}),
                "minProperties": 1, "description": 'by name; "" where there is nothing to choose',
            },
            "default": {"type": ["string", "null"], "description": "the level of people who do not choose"},
        }
    )  # fmt: skip

