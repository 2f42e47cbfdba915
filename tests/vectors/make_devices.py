"""Write devices.json: what a device in any language sends, remembers and says when it is asked.

Run as ``python -m tests.vectors.make_devices``; the parts are

    plans      name → the plan, and ``survey``, the document that a device reads (without the sentences for people)
    devices    name → secret (hexadecimal), the ledger before, and steps in order: each asks a plan with answers (and
               levels), or sets a limit, and has what comes of it: the report and its id, or the sentence of the
               refusal, null where a device words it in its own way; ``afresh``: columns that are drawn anew at every
               round. Then the ledger after, and for every collector the γ and the sentences of what it was told
    names      [a name, the name however it is written]
    numbers    [language, numerator, denominator, rounded up?, text]
    percents   [language, numerator, denominator, text]
    words      language → the sentences that the totals are made of
"""

from __future__ import annotations

import json
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import sfumato as sf
from sfumato.channels.baskets.law import SizeLaw
from sfumato.client import Ledger, LimitError, survey
from sfumato.client.ledger import same_name
from sfumato.guarantee.amplification import gamma_text
from sfumato.prose import LANGUAGES, Voice, plain, voice

FILE = Path(__file__).with_name("devices.json")
SECRET, TODAY = bytes(range(32)), date(2026, 5, 12)
SAID = ("number.", "and", "told.", "limit.")
TOWN, CITY = "https://town.example", "https://city.example"
COLOURS = {"categories": ["red", "green", "blue"]}
RESPONSE = {"channel": "randomized-response", "gamma": 19}
SHY = {**RESPONSE, "gamma": 3}
COLOUR = {**COLOURS, **RESPONSE, "question": "Which colour?"}
AGES = {"low": 20, "high": 80}
AGE = {**AGES, "channel": "square-wave", "gamma": 9, "step": 0.5}
CHILDREN = {"low": 0, "high": 9, "integer": True, "channel": "gaussian", "scale": 2, "outside": "clamp"}
NOISE = {"channel": "gaussian", "scale": 0.3, "step": 0.05}
LEVELS = {"low": 0, "high": 1, "channel": "two-phase", "noise": NOISE, "levels": {"normal": 10, "strong": 4}}
CHOICE = {**COLOURS, "channel": "choice", "levels": {"open": {**RESPONSE, "gamma": 99}, "shy": SHY}, "default": "shy"}
HABIT = {**COLOURS, "channel": "longitudinal", "permanent": RESPONSE, "instantaneous": SHY}
BOTH = {
    "columns": {name: {"low": 30, "high": 220, "integer": True} for name in ("height", "weight")},
    "channel": "correlated-gaussian", "covariance": [[100, 50], [50, 100]], "ratio": 1,
}  # fmt: skip
FOODS = ["apple", "bread", "cheese", "Ölive", "egg", "fig", "Gruyère"]


def baskets(items: int | list[str], rho: float = 0.5, *, empty: bool = False) -> dict[str, Any]:
    laws = [SizeLaw(2, rho, (0.3, 0.2, 0.5)), SizeLaw(3, rho, (0.2, 0.2, 0.2, 0.4))]
    laws += [SizeLaw(0, rho, (1.0,))] if empty else []
    return {"items": items, **sf.SelectASize(sf.Items(items), laws, up_to=1).to_spec()}


PLANS: dict[str, dict[str, Any]] = {
    "town": {"colour": COLOUR, "age": AGE, "children": CHILDREN},
    "renamed": {"colour": COLOUR, "age": AGE, "children": CHILDREN},
    "respelt": {" Colour": {**COLOUR, "gamma": 5}, "ａge": {**AGE, "gamma": 19, "step": 0.75}},
    "levels": {"x": LEVELS, "colour": CHOICE},
    "clear": {"group": {"categories": ["A", "B"], "role": "class"},
              "year": {"low": 1900, "high": 2020, "role": "clear"}, "colour": {**COLOUR, "missing": "refuse"}},
    "habit": {"colour": HABIT, "age": AGE},
    "numbered": {"food": baskets(70)},
    "denser": {"food": baskets(70, 0.25)},
    "labelled": {"food": baskets(FOODS)},
    "rows": {"body": BOTH},
    "twins": {"age": AGE, "Age": AGE, "AGE": {**AGE, "gamma": 5}},
    "classes": {"age": {**AGES, "channel": "chain", "stages": [
        {**AGES, "channel": "discretize", "width": 10}, {**AGES, "channel": "square-wave", "gamma": 9, "step": 5}]}},
    "mixed": {"n": {"categories": [1, 2.5, "three", False], "channel": "tabulated",
                    "table": [[0.5, 0.2, 0.2, 0.1], [0.5, 0.8, 0.8, 0.9]], "reports": ["low", 7]}},
    "many": {f"q{i}": {**COLOURS, **RESPONSE, "gamma": 99} for i in range(9)},
    "deutsch": {"Farbe": COLOUR, "Größe": {"low": 1, "high": 2.2, "channel": "gaussian", "scale": 0.2, "step": 0.01}},
    "français": {"couleur": COLOUR, "âge": AGE},
    "drawn": {"colour": CHOICE, "age": AGE, "children": CHILDREN, "body": BOTH, "food": baskets(70),
              "group": {"categories": ["A", "B"], "role": "class"}},
    "redrawn": {"colour": COLOUR, "age": AGE, "x": LEVELS},
    "empty": {"food": baskets(70, empty=True)},
    "open": {"colour": {**COLOURS, "channel": "choice", "levels": {"shy": SHY, "open": {"channel": "clear"}}},
             "age": {**AGES, "channel": "choice", "levels": {"open": {"channel": "clear", "step": 0.5}}}},
}  # fmt: skip
LANGUAGE = {"deutsch": "de", "français": "fr"}
DRAWN = {"drawn": 2, "redrawn": 1}
"""So many questions the device draws."""
ANSWERS = {"colour": "red", "age": 47.25, "children": 2}
ALL = {**ANSWERS, "height": 170, "weight": 70, "food": [1, 20, 69], "group": "B"}


def ask(plan: str, answers: dict[str, Any], collector: str = TOWN, **more: Any) -> dict[str, Any]:
    return {"plan": plan, "collector": collector, "answers": answers, **more}


DEVICES: dict[str, list[dict[str, Any]]] = {
    "asked again, renamed, respelt": [
        ask("town", ANSWERS), ask("town", ANSWERS), ask("renamed", ANSWERS), ask("town", ANSWERS, f" {TOWN} "),
        ask("respelt", {" Colour": "red", "ａge": 47.25}), ask("classes", {"age": 47.25}),
    ],
    "two collectors": [ask("town", ANSWERS), ask("town", ANSWERS, CITY), ask("town", ANSWERS)],
    "a changed value": [
        ask("town", ANSWERS), ask("town", {**ANSWERS, "colour": "blue"}), {"limit": {"reports": 2}},
        ask("town", {**ANSWERS, "colour": "blue", "age": 48}), ask("town", ANSWERS),
        ask("town", {**ANSWERS, "colour": "blue", "age": 48}), ask("town", {**ANSWERS, "colour": "green"}),
    ],
    "levels": [
        ask("levels", {"x": 0.31, "colour": "red"}, levels={"colour": "open", "x": "strong"}),
        ask("levels", {"x": 0.31, "colour": "red", "x.level": "normal"}, levels={"colour": "shy"}),
        ask("levels", {"x": None, "colour": "red", "x.level": "normal"}, CITY),
        ask("levels", {"x": 0.31, "colour": "red"}, "third", levels={"x": "none such"}),
        ask("levels", {"x": None, "colour": "red"}, "third", levels={"x": "none such"}),
        ask("town", ANSWERS),
    ],
    "clear and missing answers": [
        *(ask("clear", {"group": "B", "year": 1984, "colour": "green"}) for _ in range(2)),
        ask("clear", {"group": None, "year": None, "colour": "green"}, CITY),
        ask("clear", {"group": "A", "year": 1950, "colour": None}, CITY),
        ask("town", {"colour": None, "age": None, "children": None}, "third"), ask("town", ANSWERS, "third"),
        ask("town", {**ANSWERS, "children": 12}, "fourth"), ask("town", {**ANSWERS, "age": 12}, "fifth"),
        ask("town", {**ANSWERS, "colour": "pink"}, "fifth"), ask("mixed", {"n": 2.5}), ask("mixed", {"n": False}, CITY),
    ],
    "rounds": [*(ask("habit", {"colour": "red", "age": 33}, afresh=["colour"]) for _ in range(3)),
               ask("habit", {"colour": None, "age": 33}, CITY), ask("habit", {"colour": None, "age": 33}, CITY)],
    "baskets": [
        ask("numbered", {"food": [69, 1, 20]}), ask("numbered", {"food": [1, 20, 69]}),
        ask("numbered", {"food": [3, 4]}, CITY), ask("denser", {"food": [1, 20, 69]}),
        ask("labelled", {"food": ["Gruyère", "Ölive"]}, "third"), ask("numbered", {"food": [1, 2, 3, 4]}, "fourth"),
        ask("numbered", {"food": [1, 1]}, "fourth"), ask("numbered", {"food": None}, "fifth"),
    ],
    "a remembered bitmap": [ask("numbered", {"food": [1, 20, 69]}), ask("denser", {"food": [1, 20, 69]})],
    "rows": [ask("rows", {"height": 170, "weight": 70}), ask("rows", {"height": 170, "weight": 70}),
             ask("rows", {"height": 170, "weight": None}, CITY)],
    "one plan that asks twice": [
        ask("twins", {"age": 33, "Age": 33, "AGE": 33}), ask("twins", {"age": 33, "Age": 34, "AGE": 33}, CITY),
    ],
    "limits": [
        {"limit": {"belief": [0.05, 0.5]}}, ask("town", ANSWERS), ask("many", {f"q{i}": "red" for i in range(9)}),
        {"limit": {"gamma": 1000.5, "reports": 3}}, ask("twins", {"age": 20, "Age": 20, "AGE": 20}),
        ask("français", {"couleur": "red", "âge": 30}), ask("deutsch", {"Farbe": "red", "Größe": 1.75}),
        {"limit": {"belief": [0.01, 0.2], "reports": 1}}, ask("twins", {"age": 21, "Age": 21, "AGE": 21}),
        {"limit": {}}, ask("many", {f"q{i}": "red" for i in range(9)}), ask("town", ANSWERS),
    ],
    "deutsch": [ask("deutsch", {"Farbe": "red", "Größe": 1.75}), ask("deutsch", {"Farbe": "blue", "Größe": 1.75}),
                {"limit": {"gamma": 100}}, ask("français", {"couleur": "red", "âge": 30})],
    "français": [ask("français", {"couleur": "red", "âge": 30}), {"limit": {"gamma": 12345678, "reports": 2}},
                 ask("français", {"couleur": "blue", "âge": 31}), ask("français", {"couleur": "green", "âge": 31})],
    "questions that are drawn": [
        *(ask("drawn", ALL, whom) for whom in (TOWN, TOWN, CITY, "third", f" {TOWN} ")),
        ask("drawn", {**ALL, "age": 12, "children": 12}), ask("drawn", {**ALL, "hair": "red"}),
        *(ask("redrawn", {"colour": "red", "age": 47.25, "x": 0.31}, whom, levels={"x": "strong"})
          for whom in (TOWN, CITY, "third", "fourth")),
    ],
    "an empty basket": [
        ask("empty", {"food": []}), ask("empty", {"food": []}), ask("empty", {"food": [1, 2]}, CITY),
        ask("empty", {"food": []}, CITY),
        ask("numbered", {"food": []}, "third"), ask("empty", {"food": [3]}, "third"),
    ],
    "an open level": [
        *(ask("open", {"colour": "red", "age": 47.2}, levels={"colour": level}) for level in ("open", "shy", "open")),
        ask("open", {"colour": "red", "age": None}, CITY, levels={"colour": "shy"}),
        {"limit": {"gamma": 100}}, ask("open", {"colour": "red", "age": 47.2}, "third"),
    ],
    "questions that are drawn, within a limit": [
        {"limit": {"gamma": 100}}, ask("drawn", ALL), ask("drawn", ALL, CITY), ask("drawn", ALL, "third"),
        {"limit": {"reports": 2}}, ask("drawn", ALL), ask("drawn", {**ALL, "age": 48, "colour": "blue"}),
        ask("town", ANSWERS), ask("drawn", dict.fromkeys(ALL), CITY),
    ],
}  # fmt: skip
NAMES = ["Age", " Ａge \t of  ", "STRASSE", "Straße", "ΟΔΟΣ", "İ", "ﬁn\u00a0d", "a\u3000b", "a\ufeffb", "ﬃ²", "e\u0301"]
GAMMAS = [
    "1", "19", "57/2", "19/3", "9.9995", "999.951", "1000.05", "1234.5", "1235.5", "1234567", "999999999999999", "1e15",
    "123456789e12", "1.000000001", "9999.9", "9999.49", "123456789/343", str(19**300),
]  # fmt: skip
SHARES = ["1/2", "19/20", "1/3", "1/20", "0.07", "0.999999"]


def plan_of(name: str) -> sf.Plan:
    how = {"language": LANGUAGE.get(name, "en"), "questions_each": DRAWN.get(name)}
    return sf.Plan.from_dict({"name": name, **how, "attributes": PLANS[name]})


def document_of(plan: sf.Plan) -> dict[str, Any]:
    """The survey with no more of its sentences than a device fills in by itself."""
    found = survey(plan)
    for question in found["questions"]:
        for level in question["levels"].values():
            level["words"] = dict.fromkeys(level["words"], "")
    return {**found, "together": [], "words": said_by(voice(plan.language))}


def said_by(say: Voice) -> dict[str, str]:
    return {name: text for name, text in say.sentences.items() if name.startswith(SAID)}


def ledger_before(name: str) -> Ledger:
    """Empty but where something is remembered in an older form."""
    if name != "a remembered bitmap":
        return Ledger()
    told = json.loads(_asked_once().dumps())
    told["told"][0]["report"] = {"size": 3, "bitmap": "0f000000000000002000000000000000"}
    return Ledger.loads(json.dumps(told))


def _asked_once() -> Ledger:
    device = device_of(Ledger())
    device.answer(plan_of("numbered"), {"food": [1, 20, 69]}, collector=TOWN)
    return device.ledger


def device_of(ledger: Ledger, secret: bytes = SECRET) -> sf.Device:
    return sf.Device(secret, ledger, today=lambda: TODAY)


def outcome(device: sf.Device, step: dict[str, Any]) -> dict[str, Any]:
    """What comes of a step; a refusal leaves the ledger as it was."""
    if "limit" in step:
        device.ledger.set_limit(**step["limit"])
        return {}
    plan = plan_of(step["plan"])
    device.ledger.language = plan.language
    try:
        reply = device.reply(plan, step["answers"], collector=step["collector"], levels=step.get("levels"))
    except LimitError as error:
        return {"refused": str(error)}
    except ValueError:
        return {"refused": None}
    report = {name: None if name in step.get("afresh", ()) else value for name, value in reply.report.items()}
    return {"id": reply.id, "report": plain(report)}


def after(ledger: Ledger, steps: list[dict[str, Any]]) -> dict[str, Any]:
    """The ledger, but for the digests of reports that are drawn afresh, and what it says in every language."""
    written, fresh = json.loads(ledger.dumps()), any("afresh" in step for step in steps)
    for receipt in written.get("receipts", []) if fresh else []:
        receipt["digest"] = None
    totals: dict[str, Any] = {}
    for language in LANGUAGES:
        ledger.language = language
        told = dict.fromkeys(each.collector for each in ledger.entries)
        totals[language] = {whom or "": str(ledger.total(whom)).splitlines() for whom in [None, *told]}
    gammas = {whom or "": gamma_text(ledger.total(whom).gamma) for whom in [None, *told]}
    return {"ledger": written, "totals": totals, "gammas": gammas}


def scenario(name: str, steps: list[dict[str, Any]], secret: bytes = SECRET) -> dict[str, Any]:
    before = ledger_before(name)
    found: dict[str, Any] = {"secret": secret.hex(), "before": before.dumps()}
    device = device_of(before, secret)
    found["steps"] = [{**step, **outcome(device, step)} for step in steps]
    return {**found, **after(device.ledger, steps)}


def make() -> dict[str, Any]:
    says = [(language, voice(language)) for language in LANGUAGES]
    return {
        "plans": {name: {"plan": plan_of(name).to_dict(), "survey": document_of(plan_of(name))} for name in PLANS},
        "devices": {name: scenario(name, steps) for name, steps in DEVICES.items()},
        "names": [[name, same_name(name)] for name in NAMES],
        "numbers": [
            [language, str(gamma.numerator), str(gamma.denominator), up, say.number(gamma, up=up)]
            for language, say in says for gamma in map(Fraction, GAMMAS) for up in (False, True)
        ],
        "percents": [
            [language, str(share.numerator), str(share.denominator), say.percent(share, up=True)]
            for language, say in says for share in map(Fraction, SHARES)
        ],
        "words": {language: said_by(say) for language, say in says},
    }  # fmt: skip


def text(cases: dict[str, Any]) -> str:
    """One case a line."""
    blocks = []
    for name, part in cases.items():
        opening, closing = "{}" if isinstance(part, dict) else "[]"
        lines = [f"{_json(key)}: {_json(each)}" for key, each in part.items()] if opening == "{" else map(_json, part)
        blocks.append(f"{_json(name)}: {opening}\n" + ",\n".join(lines) + f"\n{closing}")
    return "{\n" + ",\n".join(blocks) + "\n}\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    FILE.write_text(text(make()), encoding="utf-8")
