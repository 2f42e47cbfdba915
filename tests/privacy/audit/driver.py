"""A driver as docs/how-to/audit-a-plan.md describes it, around sfumato's own plan; with a word, one that has a fault.

    python driver.py plan.json [fault]
"""

import json
import sys
import time
from typing import Any

import numpy as np

import sfumato as sf
from sfumato.channels import SelectASize

PLAN = sf.Plan.load(sys.argv[1])
FAULT = sys.argv[2] if len(sys.argv) > 2 else ""


def answered(request: dict[str, Any]) -> dict[str, Any]:
    if "survey" in request:
        assert request["survey"]["plan"] == PLAN.identity
        little = {"audit": 1, "asks": list(PLAN.attributes)[:1]}
        return little if FAULT == "little" else {"audit": 1, "keys": True, "people": True}
    if "people" in request:
        return {"reports": people(request["people"], request.get("keys"))}
    return {"reports": drawn(request["ask"], request["true"], request.get("level"), **keyed(request))}


def keyed(request: dict[str, Any]) -> dict[str, Any]:
    return {name: request[name] for name in ("keys", "questions") if name in request}


def people(table: dict[str, Any], keys: list[str] | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, each in PLAN.attributes.items():
        if each.channel is not None:
            own = {column: table[column] for column in each.columns}
            more = {"keys": keys, "questions": [name] * len(keys)} if keys else {}
            reports = drawn(name, own if len(own) > 1 else own[name], table.get(f"{name}.level"), **more)
            found |= reports if len(own) > 1 else {name: reports}
    return found


def drawn(name: str, true: Any, level: Any, keys: Any = (), questions: Any = ()) -> Any:
    """Reports of one attribute: with keys person by person, else all at once."""
    names = list(true) if isinstance(true, dict) else None
    values = true if names is None else np.column_stack(list(true.values()))
    how = [{"key": bytes.fromhex(key), "question": question} for key, question in zip(keys, questions, strict=True)]
    found: list[Any] = []
    for place, more in enumerate(how or [{}]):
        at = slice(place, place + 1) if how else slice(None)
        found += blurred(name, values[at], level[at] if isinstance(level, list) else level, more)
    return found if names is None else {column: [row[j] for row in found] for j, column in enumerate(names)}


def blurred(name: str, values: Any, level: Any, more: dict[str, Any]) -> list[Any]:
    channel = PLAN.attributes[name].channel
    if FAULT == "one stream":
        more = {"rng": RNG}
    if isinstance(channel, SelectASize):
        reports = channel.randomize(values, **more)
        sizes = reports.sizes.tolist()
        return [{"size": m, "bitmap": row.hex()} for m, row in zip(sizes, reports.to_bytes(), strict=True)]
    chosen = {} if level is None else {"level": level}
    return np.asarray(channel.randomize(np.array(values), **chosen, **more)).tolist()


RNG = np.random.default_rng(7)
FAULTS = {
    "dies": lambda answer: sys.exit("out of noise"),
    "hangs": lambda answer: time.sleep(600),
    "nonsense": lambda answer: "<html>\x1b[2J",
    "a list": lambda answer: [1, 2],
    "refuses": lambda answer: {"error": "no such attribute"},
    "short": lambda answer: {"reports": answer["reports"][1:]},
    "no list": lambda answer: {"reports": 5},
    "text": lambda answer: {"reports": ["5"] * len(answer["reports"])},
    "no reports": lambda answer: {},
}

for line in sys.stdin:
    answer = answered(json.loads(line))
    spoilt = FAULTS.get(FAULT, lambda answer: answer)(answer) if "audit" not in answer else answer
    print(spoilt if isinstance(spoilt, str) else json.dumps(spoilt), flush=True)
