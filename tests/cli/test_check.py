import json

import pytest

import sfumato as sf


def test_a_sound_plan_is_told_in_words_attribute_by_attribute_and_in_total(sfumato):
    answer = sfumato("check plan.toml")
    assert answer.code == 0
    for words in ("town", "age", "elevel", "district", "group", "without protection", "All answers of one person"):
        assert words in answer.out


def test_json_is_strict_and_holds_every_guarantee(sfumato):
    def refuse(constant):
        raise AssertionError(constant)

    told = json.loads(sfumato("check plan.toml --json").out, parse_constant=refuse)
    assert list(told["attributes"]) == ["age", "elevel", "district", "group"]
    assert told["attributes"]["elevel"]["guarantee"]["gamma"] == pytest.approx(19)
    assert told["attributes"]["age"]["guarantee"]["bounded"] is False
    assert told["attributes"]["group"]["guarantee"] is None
    assert told["total"]["bounded"] is False


def test_a_plan_in_json_is_read_too(sfumato, folder):
    plan = {
        "name": "q",
        "attributes": {"smokes": {"categories": ["yes", "no"], "channel": "randomized-response", "keep": 0.75}},
    }
    folder.write("plan.json", json.dumps(plan))
    assert json.loads(sfumato("check plan.json --json").out)["total"]["gamma"] == pytest.approx(3)


@pytest.mark.parametrize(
    ("wrong", "right", "hint"),
    [
        ("privacy", "privcy", "privacy"),
        ("channel", "chanel", "channel"),
        ('"gaussian"', '"gausian"', "gaussian"),
        ("categories", "catgories", "categories"),
    ],
)
def test_a_typo_is_answered_with_the_right_word(refused, folder, wrong, right, hint):
    folder.write("typo.toml", (folder / "plan.toml").read_text().replace(wrong, right, 1))
    line = refused("check typo.toml")
    assert right.strip('"') in line
    assert hint in line.replace(right.strip('"'), "")


def test_reversed_bounds_are_named(refused, folder):
    folder.write("bad.toml", (folder / "plan.toml").read_text().replace("low = 20", "low = 90"))
    line = refused("check bad.toml")
    assert "90" in line and "80" in line and "age" in line


def test_a_plan_cut_short_is_refused_with_its_name(refused, folder):
    text = (folder / "plan.toml").read_text()
    folder.write("short.toml", text[: text.index("gaussian") + 3])
    assert "short.toml" in refused("check short.toml")


def test_an_empty_plan_is_refused(refused, folder):
    folder.write("empty.toml", "")
    assert "empty.toml" in refused("check empty.toml")


def test_a_missing_plan_is_refused(refused):
    assert "nowhere.toml: no such file" in refused("check nowhere.toml")


def test_a_folder_is_no_plan(refused):
    assert "is a folder" in refused("check .")


def test_a_plan_in_an_unknown_format_is_refused(refused, folder):
    folder.write("plan.yaml", "name: town")
    line = refused("check plan.yaml")
    assert "plan.yaml" in line and ".toml" in line


def test_bytes_that_are_not_text_are_refused(refused, folder):
    (folder / "binary.toml").write_bytes(b"\xff\xfe\x00name")
    assert "binary.toml" in refused("check binary.toml")


def test_a_budget_is_told_with_the_number_of_questions_that_serves_best(sfumato, folder):
    questions = {f"q{i}": {"categories": ["yes", "no"]} for i in range(4)}
    folder.write("all.json", json.dumps({"gamma": 9, "attributes": questions}))
    folder.write("one.json", json.dumps({"gamma": 9, "questions_each": 1, "attributes": questions}))
    told = sfumato("check all.json")
    assert "Each person answers all questions; with questions_each = 1 estimates have 44.9 %" in told.out
    told = sfumato("check one.json")
    assert "Each person answers 1 of the 4 questions; no other number gives estimates less variance" in told.out
    ways = json.loads(sfumato("check all.json --json").out)["budget"]["variance_by_questions_each"]
    assert ways["4"] == 1 and ways["1"] == min(ways.values()) == pytest.approx(0.4487, abs=1e-4)


def test_a_budget_beside_baskets_is_told(sfumato, folder):
    baskets = {"items": 10, **sf.SelectASize.design(sf.Items(10), sizes=[1, 2], gamma=3).to_spec()}
    folder.write("plan.json", json.dumps({"gamma": 40, "attributes": {"bought": baskets, "a": {"low": 0, "high": 9}}}))
    told = sfumato("check plan.json")
    assert told.code == 0 and "their shares of ln γ" in told.out and "Each person answers" not in told.out
    assert json.loads(sfumato("check plan.json --json").out)["budget"]["variance_by_questions_each"] == {}
