import json

import pytest


def test_a_proposed_plan_is_written_and_meets_its_target(sfumato, folder):
    answer = sfumato("advise plan.toml --target age:5%to50% --people 1000 -o better.json")
    assert answer.code == 0, answer.err
    assert "becomes square-wave (gamma = 18.99)" in answer.out and "[met]" in answer.out and "costs" in answer.out
    again = sfumato("advise better.json --target age:5%to50%")
    assert "Nothing has to change" in again.out
    told = json.loads(sfumato("check better.json --json").out)
    assert told["attributes"]["age"]["guarantee"]["gamma"] < 19


def test_json_holds_the_changes_the_costs_and_the_plan(sfumato):
    told = json.loads(sfumato("advise plan.toml -t age:30at95% --people 500 --json").out)
    assert told["met"] is True and list(told["changes"]) == ["age"]
    assert told["changes"]["age"]["after"]["channel"] == "gaussian"
    assert told["costs"][0]["after"] > 0 and told["plan"]["name"] == "town"


def test_a_mean_alone_gets_its_own_channel(sfumato):
    answer = sfumato("advise plan.toml --target age:5%to50% --mean age")
    assert answer.code == 0 and "becomes piecewise (gamma = 18.99)" in answer.out and "the mean's error" in answer.out


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("advise plan.toml --target 5%to50% --mean height", "means names 'height', which has no channel"),
        ("advise plan.toml --target 5%to50% --mean elevel", "means names 'elevel', which is no number"),
        ("advise plan.toml", "--target"),
        ("advise plan.toml --target age:61at95%", "cannot be met"),
        ("advise plan.toml --target height:20at95%", "'height', which has no channel"),
        ("advise plan.toml --target elevel:2at95%", "which is no number"),
        ("advise plan.toml --target 5%to50% -o plan.yaml", "use .json"),
    ],
)
def test_bad_input_is_one_line(refused, line, words):
    assert words in refused(line)
