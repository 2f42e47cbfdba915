"""The device in JavaScript: what it cannot read or do it refuses in one sentence, and nothing is lost."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.client import Ledger, Limit, survey
from tests.browser.chromium import ROOT, STATIC, in_node

SCRIPT = Path(__file__).with_name("device_cases.js")
PLAN = sf.Plan.from_dict(
    {
        "name": "town",
        "attributes": {
            "colour": {"categories": ["red", "green"], "channel": "randomized-response", "gamma": 19},
            "age": {"low": 20, "high": 80, "channel": "square-wave", "gamma": 9, "step": 5},
            "group": {"categories": ["A", "B"], "role": "class"},
        },
    }
)
ANSWERS = {"colour": "red", "age": 40, "group": "A"}
SURVEY = survey(PLAN)
SENTENCE = re.compile(r".+; .+\.", re.DOTALL)  # what is wrong; what to do.


def asked(command: str, questions: list[Any]) -> list[dict[str, Any]]:
    return list(in_node(SCRIPT, command, given=questions))


def changed(change: Callable[[Any], object]) -> dict[str, Any]:
    document = copy.deepcopy(SURVEY)
    change(document)
    return document


def set_in(*places: Any, to: Any) -> dict[str, Any]:
    def change(document: Any) -> None:
        for place in places[:-1]:
            document = document[place]
        document[places[-1]] = to

    return changed(change)


COLOUR = ("questions", 0)
DAMAGED = [
    set_in("plan", to="0" * 64), set_in("name", to="city"), set_in(*COLOUR, "question", to="Do you lie?"),
    set_in(*COLOUR, "program", "steps", 0, "inside", to="7fffffffffffffff"), set_in(*COLOUR, "mechanism", to=None),
    set_in(*COLOUR, "program", to=None), set_in(*COLOUR, "levels", to={}),
    *(set_in(*COLOUR, "levels", "", "gamma", to=gamma) for gamma in (19, "1/0", "1/2")),
    set_in("questions", 2, "program", to={}), set_in(*COLOUR, "levels", "", "words", to=None),
    set_in(*COLOUR, "columns", to=["a", "b"]), set_in(*COLOUR, "domain", "categories", to=["red"]),
    set_in(*COLOUR, "default", to="shy"), set_in("words", "and", to=3), set_in("questions", to=[]),
    set_in("questions", to=None), set_in("questions", 0, to=None), set_in("words", to=None), set_in("survey", to="1"),
    set_in("together", to=None), set_in(*COLOUR, "missing", to="refuse"), set_in("survey", to=2),
    {}, [], None, "survey", 7,
]  # fmt: skip


def test_a_whole_survey_is_read() -> None:
    for command in ("survey", "checked"):
        assert asked(command, [json.dumps(SURVEY)]) == [{"read": "town"}]


def test_a_gamma_that_is_not_the_programs_is_read_and_found_by_the_check() -> None:
    wrong = [(0, "3"), (0, "19000001/1000000"), (1, "8"), (2, "19")]
    texts = [json.dumps(set_in("questions", place, "levels", "", "gamma", to=gamma)) for place, gamma in wrong]
    assert asked("survey", texts) == [{"read": "town"}] * len(texts)
    for found in asked("checked", texts):
        assert SENTENCE.fullmatch(found.get("refused", "")) and "another γ" in found["refused"], found
    assert asked("checked", [json.dumps(set_in(*COLOUR, "levels", "", "gamma", to=None))]) == [{"read": "town"}]


def test_a_damaged_survey_is_refused_in_one_sentence() -> None:
    for document, found in zip(DAMAGED, asked("survey", [json.dumps(each) for each in DAMAGED]), strict=True):
        assert SENTENCE.fullmatch(found.get("refused", "")), (document, found)
        assert "damaged" in found["refused"] or "version" in found["refused"], found


def test_a_newer_survey_or_program_says_that_the_device_is_old() -> None:
    newer = [set_in("survey", to=3), set_in(*COLOUR, "program", "program", to=2)]
    for version, found in zip((3, 2), asked("survey", [json.dumps(each) for each in newer]), strict=True):
        assert f"version {version}" in found["refused"] and "update" in found["refused"]


def damages(text: str, count: int, seed: int) -> list[str]:
    rng, found = random.Random(seed), []
    for _ in range(count):
        letters = list(text)
        for _ in range(rng.choice([1, 3])):
            letters[rng.randrange(len(letters))] = chr(rng.randrange(32, 127))
        found.append("".join(letters[: rng.randrange(len(letters))] if rng.random() < 0.1 else letters))
    return found


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def test_any_damage_to_what_is_executed_is_found() -> None:
    damaged = [text for text in damages(json.dumps(SURVEY["questions"]), 4000, 1) if is_json(text)]
    documents = [{**SURVEY, "questions": json.loads(text)} for text in damaged]
    for document, found in zip(documents, asked("checked", [json.dumps(each) for each in documents]), strict=True):
        if "read" in found:
            for mine, read in zip(SURVEY["questions"], document["questions"], strict=True):
                assert {**read, "levels": None} == {**mine, "levels": None}
                for level, told in mine["levels"].items():
                    stated, true = read["levels"][level]["gamma"], told["gamma"]
                    assert stated in (true, None) or abs(Fraction(stated) / Fraction(true) - 1) < 1e-9
        else:
            assert SENTENCE.fullmatch(found["refused"]), found


def test_a_damaged_ledger_is_refused_in_one_sentence() -> None:
    ledger = Ledger()
    sf.Device(b"k" * 16, ledger).reply(PLAN, ANSWERS, collector="town")
    parts = [{"told": {}}, {"limit": 3}, {"limit": {"gamma": None, "reports": 0}}, {"receipts": [3]}]
    whole = ledger.dumps()
    hand = [
        "", "[]", "null", "{}", "7", *(json.dumps({**json.loads(whole), **part}) for part in parts),
        whole.replace('"gamma": "', '"gamma": "x', 1), whole.replace('"domain": {', '"nomain": {'),
    ]  # fmt: skip
    for text, found in zip(hand, asked("ledger", hand), strict=True):
        assert SENTENCE.fullmatch(found.get("refused", "")), (text, found)
    (newer,) = asked("ledger", [whole.replace('"ledger": 1', '"ledger": 2')])
    assert "version 2" in newer["refused"]
    for found in asked("ledger", [whole, *damages(whole, 2000, 2)]):
        assert found == {"read": 3} or SENTENCE.fullmatch(found["refused"]), found


@pytest.mark.parametrize("secret", ["text", [1, 2, 3], None, 7], ids=str)
def test_a_wrong_secret_is_refused(secret: Any) -> None:
    (found,) = asked("secret", [{"survey": SURVEY, "answers": ANSWERS, "secret": secret}])
    assert "16 bytes or more" in found["refused"] and found["name"] == "Error"


def test_an_answer_that_makes_no_sense_is_refused_by_name_and_without_its_value() -> None:
    wrong = [{**ANSWERS, **part} for part in ({"age": 3125}, {"colour": "pink"}, {"age": "31x25"}, {"hair": "red"})]
    refusals = asked("once", [{"survey": SURVEY, "answers": each} for each in wrong])
    for answers, found in zip(wrong, refusals, strict=True):
        assert SENTENCE.fullmatch(found["refused"]), found
        assert not re.search("3125|pink|31x25", found["refused"]), (answers, found)
    (nobody,) = asked("once", [{"survey": SURVEY, "answers": ANSWERS, "collector": " "}])
    assert nobody["refused"].startswith("The collector is empty")


def test_what_is_left_out_is_missing() -> None:
    (found,) = asked("once", [{"survey": SURVEY, "answers": {"colour": "red"}}])
    assert found["report"]["age"] is None and found["report"]["group"] is None and found["report"]["colour"]


def test_a_report_that_cannot_be_saved_is_not_given_and_not_remembered() -> None:
    (found,) = asked("unsaved", [{"survey": SURVEY, "answers": ANSWERS}])
    assert found["outcome"]["refused"] == "The storage is full." and found["told"] == found["receipts"] == []


def test_two_answers_at_once_are_one() -> None:
    (found,) = asked("together", [{"survey": SURVEY, "answers": ANSWERS}])
    assert found == {"same": True, "told": 3, "receipts": 1}


def test_limits_are_those_of_python() -> None:
    beliefs = [{"belief": [0.05, 0.5], "reports": 3}, {"belief": [0.07, 0.123]}]
    given = [{"gamma": 19}, {"gamma": 1.1}, *beliefs, {}, {"epsilon": 0}]
    for limit, found in zip(given, asked("limit", given), strict=True):
        mine = Limit.of(**limit)
        assert found == {"gamma": None if mine.gamma is None else str(mine.gamma), "reports": mine.reports}
    (close,) = asked("limit", [{"epsilon": 2.9}])
    top, bottom = close["gamma"].split("/")
    assert int(top) / int(bottom) == pytest.approx(float(Limit.of(epsilon=2.9).gamma or 0), rel=1e-15)
    wrong = [{"gamma": 0.5}, {"gamma": 3, "epsilon": 1}, {"belief": [0.5, 0.1]}, {"belief": [0, 0.5]},
             {"reports": 0}, {"reports": 1.5}, {"belief": [0.5, 1]}, {"epsilon": -1}, {"epsilon": 800}]  # fmt: skip
    for limit, found in zip(wrong, asked("limit", wrong), strict=True):
        assert SENTENCE.fullmatch(found.get("refused", "")), (limit, found)


def test_what_is_exported_is_what_has_types() -> None:
    """`make lint` compares the types of each name; here are the names themselves."""
    for code, types in (("sfumato.js", "sfumato.d.ts"), ("check/gamma.js", "check/gamma.d.ts")):
        written, stated = ((ROOT / STATIC / name).read_text(encoding="utf-8") for name in (code, types))
        exported = re.findall(r"^export (?:async )?function (\w+)", written, re.M)
        for names in re.findall(r"^export \{([^}]*)\}", written, re.M):
            exported += [name.strip() for name in names.split(",")]
        declared = re.findall(r"^export (?:function|class) (\w+)", stated, re.M)
        assert sorted(exported) == sorted(declared) and exported, code


# --- questions that are drawn -------------------------------------------------------------------------------------

YES = {"categories": ["yes", "no"], "channel": "randomized-response", "gamma": 3}


def drawing(each: int, count: int) -> sf.Plan:
    attributes = {f"q{i}": YES for i in range(count)} | {"town": {"categories": ["A", "B"], "role": "clear"}}
    return sf.Plan.from_dict({"name": "drawn", "questions_each": each, "attributes": attributes})


@pytest.mark.parametrize(("each", "count"), [(1, 2), (2, 5), (4, 9), (8, 9)])
def test_the_same_questions_are_drawn_as_in_python(each: int, count: int) -> None:
    plan, secrets = drawing(each, count), [random.Random(each).randbytes(16 + i) for i in range(60)]
    cases = [{"survey": survey(plan), "secret": list(secret), "collector": f" town {each}"} for secret in secrets]
    for secret, found in zip(secrets, asked("asks", cases), strict=True):
        mine = sf.Device(secret, Ledger()).asks(plan, collector=f"town {each}")
        assert tuple(found) == mine and len(mine) == each + 1 and "town" in mine


def test_all_questions_are_asked_where_none_are_drawn() -> None:
    (found,) = asked("asks", [{"survey": SURVEY, "secret": [7] * 16, "collector": "town"}])
    assert found == list(PLAN.attributes)


def test_what_is_not_asked_is_neither_read_nor_remembered() -> None:
    plan = drawing(2, 5)
    answers = dict.fromkeys(plan.columns, "yes") | {"town": "A"}
    (found,) = asked("once", [{"survey": survey(plan), "answers": answers}])
    sent = [name for name, value in found["report"].items() if value is not None]
    assert list(found["report"]) == list(plan.columns) and len(sent) == 3 and sent[-1] == "town"
    assert [each["attribute"] for each in found["told"]] == sent
    nonsense = {name: answers[name] if name in sent else "neither" for name in answers}
    (same,) = asked("once", [{"survey": survey(plan), "answers": nonsense}])
    assert same == found


def test_categories_that_are_only_numbered_are_refused() -> None:
    numbered = sf.Plan.from_dict({"attributes": {"q": {**YES, "categories": 12}}})
    (found,) = asked("survey", [json.dumps(survey(numbered))])
    assert found["refused"] == "q: The program is damaged; load it again."


@pytest.mark.parametrize("each", [0, 5, 6, 1.5, "2", None, True, [2]], ids=str)
def test_a_survey_that_draws_nonsense_is_damaged(each: Any) -> None:
    document = {**survey(drawing(2, 5)), "questions_each": each}
    (found, first) = asked("survey", [json.dumps(document), json.dumps({**document, "survey": 1})])
    assert found["refused"] == first["refused"] == "The survey is damaged; load it again."
