import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet


@pytest.fixture
def reports(sfumato, folder):
    """People whose visits follow their district and age, with weights."""
    n, rng = 4000, np.random.default_rng(3)
    district, age = rng.choice(["1", "2", "north"], n), rng.integers(20, 81, n)
    folder.people("many.parquet", n=n, district=district, age=age)
    assert sfumato("randomize plan.toml many.parquet -o bare.parquet --seed 1").code == 0
    table = parquet.read_table(folder / "bare.parquet")
    visits = 1 + 3 * (district == "1") + 0.05 * age + rng.normal(size=n)
    for name, column in {"visits": visits, "w": rng.gamma(3, 1, n), "years": age}.items():
        table = table.append_column(name, pa.array(column))
    parquet.write_table(table, folder / "reports.parquet")
    csv.write_csv(table, folder / "reports.csv")
    return folder / "reports.parquet"


@pytest.mark.parametrize("file", ["reports.parquet", "reports.csv"])
def test_a_line_is_told_as_a_table_and_as_json(sfumato, reports, file):
    line = f"regress plan.toml {file} --outcome visits --on district --on age --reference district=north"
    answer = sfumato(line)
    assert answer.code == 0, answer.err
    assert "visits: linear regression, 4,000 reports" in answer.out
    told = json.loads(sfumato(f"{line} --json").out)
    assert told["name"] == ["(constant)", "district = 1", "district = 2", "age"]
    for coefficient, error, truth in zip(told["coef"], told["stderr"], [1, 3, 0, 0.05], strict=True):
        assert abs(coefficient - truth) < 6 * error


def test_log_odds_with_weights_are_written(sfumato, reports, folder):
    line = "regress plan.toml reports.parquet --outcome district --on years --weights w -o coef.csv"
    answer = sfumato(line)
    assert answer.code == 0, answer.err
    assert "district against north: logistic regression, 4,000 reports (by their weights worth" in answer.out
    table = csv.read_csv(folder / "coef.csv")
    assert table.column_names == ["name", "coef", "stderr", "z", "p"]
    assert table["name"].to_pylist() == ["1: (constant)", "1: years", "2: (constant)", "2: years"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--outcome visit --on age", "column 'visit' is missing"),
        ("--outcome visits --on size", "column 'size' is missing"),
        ("--outcome visits --on age --weights v", "column 'v' is missing"),
        ("--outcome visits --on age --kind probit", "kind='probit' is unknown"),
        ("--outcome district --on age", "'age' is blurred"),
        ("--outcome visits --on district --reference district", "names no category"),
        ("--outcome visits --on district --reference district=south", "no category of 'district'"),
        ("--outcome visits", "--on"),
        ("--outcome visits --on visits", "asked for twice"),
        ("--outcome visits --on age -o est.xls", "unknown extension"),
        ("--outcome visits --on age --weights group", "column 'group'"),
    ],
)
def test_what_cannot_be_regressed_is_refused(refused, reports, line, words):
    assert words in refused(f"regress plan.toml reports.parquet {line}")
