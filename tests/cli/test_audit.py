import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

import sfumato as sf

QUICK = "--samples 20000"


def test_a_sound_plan_passes_and_is_told_in_words(sfumato):
    answer = sfumato(f"audit plan.toml {QUICK}")
    assert answer.code == 0, answer.err
    titles = "What a report can prove", "Attacks", "One person's reports together", "This run finds, 99 times in 100"
    for words in ("town: passed", *titles, "Sent as it is, without protection: group."):
        assert words in answer.out


def test_reports_and_targets_are_read_and_a_missed_target_is_exit_code_one(sfumato, folder):
    sfumato("randomize plan.toml people.csv -o reports.parquet --seed 1")
    answer = sfumato("audit plan.toml --reports reports.parquet --target age:5%to50% -t elevel:1%to50% --json " + QUICK)
    told = json.loads(answer.out)
    assert answer.code == 1 and told["passed"] is False
    assert [target["met"] for target in told["targets"]] == [False, True]
    assert "reconstructed from 400 reports" in told["assumptions"][0]


def test_both_pages_are_written(sfumato, folder):
    answer = sfumato("audit plan.toml --truth people.csv --html review.html --respondent statement.html " + QUICK)
    assert answer.code == 0, answer.err
    assert "Privacy audit of town" in (folder / "review.html").read_text()
    assert "What happens to your answers" in (folder / "statement.html").read_text()


def test_reports_of_another_program_are_audited(sfumato, folder):
    coin = sf.RandomizedResponse(sf.Categories([0, 1, 2, 3, 4]), gamma=19)
    true = np.repeat(np.arange(5), 3000)
    for name, reported in (("sound.csv", coin.randomize(true)), ("honest.csv", true)):
        columns = {"attribute": ["elevel"] * true.size, "true": true, "reported": reported}
        csv.write_csv(pa.table(columns), folder / name)
    answer = sfumato("audit plan.toml --program sound.csv " + QUICK)
    assert answer.code == 0
    for words in ("Not audited", "age and district: another program", "elevel: reports of 5 of 5 true values"):
        assert words in answer.out
    answer = sfumato("audit plan.toml --program honest.csv " + QUICK)
    assert answer.code == 1 and "[BROKEN] elevel, law" in answer.out


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("audit nowhere.toml", "no such file"),
        ("audit plan.toml --samples 10", "greater than or equal to 1000"),
        ("audit plan.toml --reports people.csv --truth people.csv", "both given"),
        ("audit plan.toml --html page.txt", "use .html"),
        ("audit plan.toml --target soon", "target 'soon' is not understood"),
        ("audit plan.toml --target group:5%to50%", "'group', which has no channel"),
        ("audit plan.toml --program people.csv", "column 'attribute' is missing"),
        ("audit plan.toml --program nowhere.csv", "program 'nowhere.csv' cannot be started: No such file"),
        ("audit plan.toml --program false", "program 'false' ended without an answer to the survey (exit code 1)"),
    ],
)
def test_bad_input_is_one_line(refused, line, words):
    assert words in refused(line)


def test_a_table_without_a_column_is_named(refused, folder):
    folder.people("short.csv", elevel=None)
    assert "column 'elevel' is missing" in refused("audit plan.toml --truth short.csv")
