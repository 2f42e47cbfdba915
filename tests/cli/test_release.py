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


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--target colour", "people.csv: target 'colour' is not in the table"),
        ("--target group --method magic", "method='magic' is unknown"),
        ("--target group --keep colour", "column 'colour' is not an attribute"),
        ("--target group --report x.pdf", "unknown extension"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(refused, options, words):
    assert words in refused(f"release people.csv -o released.csv {options}")
