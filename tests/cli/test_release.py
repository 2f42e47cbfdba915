"""`sfumato release`: a table in, a table and a report out."""

import json

import pytest
from pyarrow import csv


def test_a_release_has_the_same_shape_and_a_report_that_opens_alone(sfumato, folder):
    answer = sfumato("release people.csv --target group -o released.csv --report report.html --seed 1")
    assert answer.code == 0, answer.err
    assert "400 records written to released.csv, the report to report.html" in answer.out
    assert "simulation" in answer.err
    before, after = csv.read_csv(folder / "people.csv"), csv.read_csv(folder / "released.csv")
    assert after.schema == before.schema
    assert after.num_rows == before.num_rows
    assert not after.equals(before)
    assert (folder / "report.html").read_text().startswith("<!doctype html>")


def test_the_public_report_as_json_and_columns_that_stay(sfumato, folder):
    answer = sfumato(
        "release people.csv --target group -o out.parquet --method gadp --keep age --json --public --report r.json"
    )
    assert answer.code == 0, answer.err
    assert "amount" not in json.loads(answer.out)
    assert json.loads((folder / "r.json").read_text())["records"] == 400


def test_lost_patterns_are_said_and_the_exit_code_is_three(sfumato, folder):
    rows = [f"{i},{i + i % 7},{'low' if i < 200 else 'high'}" for i in range(400)]
    (folder / "steps.csv").write_text("\n".join(["first,second,half", *rows]))
    options = "--method sadp --amount 3 --preserve both --report lost.json --seed 1"
    answer = sfumato(f"release steps.csv --target half -o lost.csv {options}")
    assert answer.code == 3, answer.err
    assert "Asked to preserve rules and correlations: not reached." in answer.err
    assert (folder / "lost.csv").exists()
    assert json.loads((folder / "lost.json").read_text())["patterns"]["preserved"]["reached"] is False


def test_without_a_target_all_columns_are_released(sfumato, folder):
    answer = sfumato("release people.csv -o alike.csv --seed 1")
    assert answer.code == 0, answer.err
    assert csv.read_csv(folder / "alike.csv").num_rows == 400


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--target colour", "people.csv: target 'colour' is not in the table"),
        ("--target group --method magic", "method='magic' is unknown"),
        ("--target group --keep colour", "column 'colour' is not an attribute"),
        ("--target group --report x.pdf", "unknown extension"),
        ("--target group --preserve all", "preserve='all' is unknown"),
        ("--target group --rule age", "rule 'age' is not understood"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(refused, options, words):
    assert words in refused(f"release people.csv -o released.csv {options}")
