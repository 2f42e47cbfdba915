"""A driver as docs/how-to/audit-a-plan.md describes it, around sfumato's own plan; with a word, one that has a fault.

    python driver.py plan.json [fault]
"""

import json
import sys
import time
from typing import Any

import numpy as np

import sfumato as sf
from sfumato.channels import CorrelatedNoise, SelectASize

PLAN = sf.Plan.load(sys.argv[1])
FAULT = sys.argv[2] if len(sys.argv) > 2 else ""


def answered(request: dict[str, Any]) -> dict[str, Any]:
    if "survey" in request:
        assert request["survey"]["plan"] == PLAN.identity
        little = {"audit": 1, "asks": list(PLAN.attributes)[:1]}
        return little if FAULT == "little" else {"audit": 1, "keys": True, "people": True}
    key = {"key": bytes.fromhex(request["key"])} if "key" in request else {}
    if "people" in request:
        return {"reports": people(request["people"], key)}
    more = {name: request[name] for name in ("question", "level") if name in request}
    return {"reports": one(request["ask"], request["true"], {**key, **more})}


def one(name: str, true: Any, more: dict[str, Any]) -> Any:
    channel = PLAN.attributes[name].channel
    if FAULT == "one stream":
        more = {"rng": RNG}
    if isinstance(channel, SelectASize):
        reports = channel.randomize(true, **more)
        sizes = reports.sizes.tolist()
        return [{"size": m, "bitmap": row.hex()} for m, row in zip(sizes, reports.to_bytes(), strict=True)]
    if isinstance(channel, CorrelatedNoise):
        reports = channel.randomize(np.column_stack(list(true.values())), **more)
        return dict(zip(true, np.transpose(reports).tolist(), strict=True))
    return np.asarray(channel.randomize(np.array(true), **more)).tolist()


def people(table: dict[str, Any], key: dict[str, bytes]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, each in PLAN.attributes.items():
        more = {"level": np.array(table[f"{name}.level"])} if each.has_levels else {}
        own = {column: table[column] for column in each.columns}
        several = len(own) > 1
        if each.channel is not None:
            reports = one(name, own if several else own[name], {**key, **more, "question": name})
            found |= reports if several else {name: reports}
    return found


RNG = np.random.default_rng(7)
FAULTS = {
    "dies": lambda answer: sys.exit("out of noise"),
    "hangs": lambda answer: time.sleep(600),
    "nonsense": lambda answer: "<html>\x1b[2J",
    "a list": lambda answer: [1, 2],
    "refuses": lambda answer: {"error": "no such attribute"},
    "short": lambda answer: {"reports": answer["reports"][1:]},
    "no list": lambda answer: {"reports": 5},
    "nothing": lambda answer: {"reports": [None] * len(answer["reports"])},
    "text": lambda answer: {"reports": ["5"] * len(answer["reports"])},
    "no reports": lambda answer: {},
}

for line in sys.stdin:
    answer = answered(json.loads(line))
    spoilt = FAULTS.get(FAULT, lambda answer: answer)(answer) if "audit" not in answer else answer
    print(spoilt if isinstance(spoilt, str) else json.dumps(spoilt), flush=True)
