"""The published JSON Schemas of plans and of drawing programs; that of plans lists the mechanisms that exist."""

from __future__ import annotations

from typing import Any

from sfumato.channels.mechanism import Mechanism
from sfumato.plan.attribute import ROLES
from sfumato.prose import LANGUAGES

_POSITIVE = {"type": "number", "exclusiveMinimum": 0}
_PARAMETERS: dict[str, dict[str, Any]] = {
    "scale": {**_POSITIVE, "description": "size of the noise: standard deviation (gaussian) or scale (laplace)"},
    "halfwidth": {**_POSITIVE, "description": "how far the noise or the likely window reaches to each side"},
    "width": {**_POSITIVE, "description": "width of each value class"},
    "edges": {"type": "array", "items": {"type": "number"}, "minItems": 2, "description": "bounds of value classes"},
    "privacy": {**_POSITIVE, "description": "interval width at the confidence, as a share of the range (1.0 = 100 %)"},
    "confidence": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "default": 0.95},
    "snr": {**_POSITIVE, "description": "variance of the answers divided by that of the noise"},
    "data_deviation": {**_POSITIVE, "description": "standard deviation of the answers, for snr; else range / √12"},
    "step": {**_POSITIVE, "description": "distance between neighbouring reports"},
    "keep": {"type": "number", "minimum": 0, "maximum": 1, "description": "probability that the true category is kept"},
    "gamma": {"type": "number", "exclusiveMinimum": 1, "description": "largest factor by which a report moves odds"},
    "places": {"type": "integer", "minimum": 2, "description": "places that a number is rounded to at random"},
    "epsilon": {**_POSITIVE, "description": "the natural logarithm of gamma, instead of it"},
    "table": {"type": "array", "items": {"type": "array", "items": {"type": "number", "minimum": 0}}},
    "reports": {"type": "array", "minItems": 1},
    "stages": {"type": "array", "items": {"type": "object"}, "minItems": 2, "maxItems": 2},
    "permanent": {"type": "object", "description": "the blur that is drawn once: a channel of its own"},
    "instantaneous": {"type": "object", "description": "the blur of that at every round: a channel of its own"},
    "designs": {"type": "array", "items": {"type": "object"}, "minItems": 1, "description": "a law per basket size"},
    "sizes": {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1,
              "description": "how many items a basket may have, where it is designed for gamma"},
    "up_to": {"type": "integer", "minimum": 1, "description": "largest itemset that is to be mined"},
    "noise": {"type": "object", "description": "the first phase: a numeric channel of its own"},
    "intervals": {"type": "integer", "minimum": 1, "description": "intervals of the second phase per range"},
    "levels": {"type": "object", "minProperties": 1, "description": "what people choose among, by name"},
    "covariance": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}, "minItems": 2},
    "ratio": {**_POSITIVE, "description": "how many times as strong as the covariance the noise is"},
    "default": {"type": "string", "description": "the level of people who do not choose"},
    "missing": {"enum": ["pass", "refuse"], "default": "pass"},
    "outside": {"enum": ["refuse", "clamp"], "default": "refuse"},
}
_DOMAIN: dict[str, dict[str, Any]] = {
    "low": {"type": "number", "description": "smallest value people may have"},
    "high": {"type": "number", "description": "largest value people may have"},
    "integer": {"type": "boolean", "default": False, "description": "only whole numbers occur"},
    "categories": {
        "description": "the possible answers, or how many that are their numbers", "type": ["integer", "array"],
        "minItems": 1, "uniqueItems": True, "minimum": 1,
    },
    "items": {"description": "number of items, or their labels", "type": ["integer", "array"]},
    "columns": {"type": "object", "minProperties": 2, "description": "low and high of numbers blurred together"},
}
_OWN: dict[str, dict[str, Any]] = {
    "role": {"enum": list(ROLES), "default": "attribute", "description": "class and clear are sent as they are"},
    "question": {"type": "string", "description": "how the question is put to people"},
    "weight": {**_POSITIVE, "description": "how much its estimate matters where a bound of the plan is shared out"},
}


def plan_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of plan files.

    It describes keys and types; conditions on numbers are checked when a plan is read.

    >>> plan_schema()["required"]
    ['attributes']
    """
    kinds = sorted(Mechanism.registry)
    used = {name: _PARAMETERS.get(name, {}) for kind in kinds for name in Mechanism.registry[kind].parameter_names()}
    attribute = {
        "type": "object",
        "properties": {**_DOMAIN, **_OWN, "channel": {"enum": kinds}, **used},
        "additionalProperties": False,
        "oneOf": [{"required": ["low", "high"]}, *({"required": [key]} for key in ("categories", "items", "columns"))],
        "allOf": [_only_own_parameters(kind, used) for kind in kinds],
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "sfumato plan",
        "description": "What is asked and how each answer is blurred.",
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "description": {"type": "string"},
            "language": {"enum": list(LANGUAGES), "default": "en", "description": "what people are told it in"},
            "questions_each": {"type": "integer", "minimum": 1, "description": "so many each person answers, drawn"},
            "empty": {"type": "array", "items": {"type": "string"}, "description": "texts in files that mean missing"},
            "gamma": {**_PARAMETERS["gamma"], "description": "bound of all answers of one person together"},
            "epsilon": {**_PARAMETERS["epsilon"], "description": "the same as a natural logarithm"},
            "attributes": {"type": "object", "minProperties": 1, "additionalProperties": attribute},
        },
        "required": ["attributes"],
        "anyOf": [
            {"required": ["gamma"]},
            {"required": ["epsilon"]},
            {"properties": {"attributes": {"additionalProperties": {"anyOf": [
                {"required": ["channel"]},
                {"required": ["role"], "properties": {"role": {"enum": ["class", "clear"]}}},
            ]}}}},
        ],
        "additionalProperties": False,
    }  # fmt: skip


def _only_own_parameters(kind: str, used: dict[str, Any]) -> dict[str, Any]:
    """Return a condition of the JSON Schema of plans: a channel of one kind takes no parameters of other channels.

    ``kind``: the channel's name. ``used``: all parameters, by name.
    """
    foreign = sorted(set(used) - set(Mechanism.registry[kind].parameter_names()))
    return {
        "if": {"required": ["channel"], "properties": {"channel": {"const": kind}}},
        "then": {"properties": dict.fromkeys(foreign, False)},
    }


_COUNT = {"type": "integer", "minimum": 0}
_WORD = {"type": "string", "pattern": "^[0-9a-f]{16}$"}
_WORDS = {"type": "array", "items": _WORD, "minItems": 2}
_SIZE = {"type": "integer", "minimum": 1}
_GRID = {"first": {"type": "integer"}, "stride": _SIZE, "per": _SIZE}
_STEPS: dict[str, dict[str, Any]] = {
    "shift": {"noise": _WORDS, "offset": _COUNT, "outputs": _COUNT},
    "window": {"inside": _WORD, "window": _COUNT, "others": _COUNT},
    "table": {"tables": {"type": "array", "items": _WORDS}, "outputs": _COUNT},
    "map": {"codes": {"type": "array", "items": _COUNT}, "outputs": _COUNT},
    "slices": {"inside": _WORD, "prime": _SIZE, "digits": _SIZE, "width": _SIZE},
    "spread": {"starts": {"type": "array", "items": _COUNT}, "outputs": _COUNT},
}


def program_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of drawing programs, by which devices blur answers, as plain data.

    ``docs/programs.md`` says what their parts mean.
    """
    size = {"size": {"type": "integer", "minimum": 1}}
    space = {
        "anyOf": [
            object_of(size),
            object_of({**size, **_GRID}),
            object_of({**size, "edges": {"type": "array", "items": {"type": "integer"}}, "per": _GRID["per"]}),
            object_of({**size, "labels": {"type": "array", "minItems": 1}}),
        ]
    }
    steps = [object_of({"step": {"const": name}, **fields}) for name, fields in _STEPS.items()]
    column = object_of({**size, **_GRID, "noise": _WORDS, "offset": _COUNT, "weights": {"type": "array"}})
    head = {"program": {"const": 1}, "words": _COUNT}
    single = object_of({**head, "read": space, "steps": {"type": "array", "items": {"oneOf": steps}}, "write": space})
    once = {"permanent": {**_COUNT, "description": "steps that take a device's own words"}, "remembered": space}
    single |= {"properties": single["properties"] | once, "dependentRequired": {"permanent": ["remembered"]}}
    level = {"anyOf": [{"$ref": "#/$defs/single"}, {"$ref": "#/$defs/baskets"}]}
    levels = {"type": "object", "additionalProperties": level, "minProperties": 1}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "sfumato drawing program",
        "description": "What a device executes to blur an answer.",
        "oneOf": [
            {"$ref": "#/$defs/single"},
            object_of({"program": {"const": 1}, "levels": levels, "default": {"type": "string"}}),
            object_of({**head, "columns": {"type": "array", "items": column, "minItems": 2}}),
            {"$ref": "#/$defs/baskets"},
        ],
        "$defs": {"single": single, "baskets": _baskets()},
    }


def _baskets() -> dict[str, Any]:
    """Return the JSON Schema of the program by which a device blurs a basket (a set of items).

    ``docs/programs-baskets.md`` says what its parts mean.
    """
    positive = {"type": "integer", "minimum": 1}
    seed = {
        "construction": {"enum": ["bch", "polynomial"]},
        "bits": positive,
        "degree": {"type": "integer", "minimum": 2, "maximum": 22, "description": "q: the field is GF(2^q)"},
        "independence": {**positive, "description": "K: any K items show independently"},
        "polynomial": {**positive, "description": "primitive; bit e is the coefficient of x^e"},
    }
    ends = [{**positive, "maximum": 65535}, {**positive, "maximum": 16}]
    size = {
        "size": {**_COUNT, "description": "m: how many items the basket has"},
        "rho": {"type": "array", "prefixItems": ends, "minItems": 2, "items": False, "description": "a, b: ρ = a/2^b"},
        "kept": {**_WORDS, "minItems": 1, "description": "m + 1 bounds; as many as a word reaches are kept"},
        "seed": {"anyOf": [object_of(seed), {"type": "null"}]},
        "words": object_of({"bitmap": positive, "seed": {"type": ["integer", "null"], "minimum": 1}}),
    }
    sizes = {"type": "array", "items": object_of(size), "minItems": 1}
    return object_of({"program": {"const": 1}, "kind": {"const": "select-a-size"}, "items": positive, "sizes": sizes})


def object_of(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of an object with exactly these fields. ``fields``: the schema of each, by name."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
