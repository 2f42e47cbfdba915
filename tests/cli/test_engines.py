"""`--engine`: the same answers, whoever counts; and one line each for what cannot be read."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from sfumato.cli import plans

LOCAL = ("arrow", "duckdb", "polars")


@pytest.fixture
def town(sfumato, folder):
    """Reports of a town where the young are in group A, in one file, in three, as codes and as CSV."""
    rng = np.random.default_rng(0)
    age = rng.integers(20, 81, 2000)
    folder.people("people.parquet", n=2000, age=age, group=np.where(age < 45, "A", "B"))
    assert sfumato("randomize plan.toml people.parquet -o reports.parquet --seed 1").code == 0
    assert sfumato("randomize plan.toml people.parquet -o codes.parquet --seed 1 --codes").code == 0
    table = parquet.read_table(folder / "reports.parquet")
    for number, low in enumerate((0, 300, 1200)):
        high = (300, 1200, 2000)[number]
        parquet.write_table(table.slice(low, high - low), folder / f"part-{number}.parquet")
    csv.write_csv(table, folder / "reports.csv")
    return folder


def train(sfumato, town, what):
    answer = sfumato(f"train plan.toml {what} -o model.json --method naive-bayes --json")
    assert answer.code == 0, answer.err
    measured = json.loads(answer.out)
    return json.loads((town / "model.json").read_text()), measured


def test_a_model_is_the_same_whoever_counts(sfumato, town):
    known, measured = train(sfumato, town, "reports.parquet")
    for engine in LOCAL:
        assert train(sfumato, town, f"reports.parquet --engine {engine}") == (known, measured)
        assert train(sfumato, town, f"part-*.parquet --engine {engine}") == (known, measured)
    assert train(sfumato, town, "codes.parquet --engine duckdb") == (known, measured)
    assert train(sfumato, town, "reports.csv --engine arrow") == (known, measured)


def test_estimates_are_the_same_whoever_counts(sfumato, town):
    known = sfumato("reconstruct plan.toml reports.parquet --json").out
    for engine in LOCAL:
        assert sfumato(f"reconstruct plan.toml part-*.parquet --engine {engine} --json").out == known
    assert sfumato("reconstruct plan.toml reports.csv --engine arrow --json").out == known


def test_large_files_are_counted_part_by_part(sfumato, town, monkeypatch):
    known = sfumato("reconstruct plan.toml reports.parquet --json").out
    monkeypatch.setattr(plans, "LARGE", 1000)
    monkeypatch.setattr(plans, "read_answers", None)
    assert sfumato("reconstruct plan.toml reports.parquet --json").out == known


def test_synthetic_records_are_the_same_whoever_counts(sfumato, town):
    for engine in ("memory", "duckdb"):
        answer = sfumato(f"synthesize plan.toml reports.parquet -n 500 -o {engine}.parquet --engine {engine}")
        assert answer.code == 0, answer.err
    assert parquet.read_table(town / "duckdb.parquet").equals(parquet.read_table(town / "memory.parquet"))


def test_itemsets_are_the_same_whoever_counts(sfumato, folder):
    sfumato("itemsets design --items 40 --sizes 3 --gamma 19 -o baskets.json")
    rng = np.random.default_rng(1)
    baskets = [sorted({0, 1, int(rng.integers(2, 40))}) for _ in range(3000)]
    parquet.write_table(pa.table({"basket": baskets}), folder / "people.parquet")
    for form in ("", " --compress"):
        made = sfumato(f"itemsets randomize baskets.json people.parquet -o reports.parquet --seed 1{form}")
        assert made.code == 0, made.err
        mine = "itemsets mine baskets.json reports.parquet --min-support 0.2 --json"
        assert sfumato(f"{mine} --engine duckdb").out == sfumato(mine).out


def test_a_missing_column(sfumato, town):
    table = parquet.read_table(town / "reports.parquet").drop_columns(["age"])
    parquet.write_table(table, town / "short.parquet")
    for engine in LOCAL:
        answer = sfumato(f"train plan.toml short.parquet -o model.json --engine {engine}")
        assert answer.code == 2
        assert answer.err.startswith("sfumato: short.parquet: column 'age' is missing; the files have elevel")


def test_reports_of_another_plan(sfumato, town):
    text = (town / "plan.toml").read_text()
    (town / "other.toml").write_text(text.replace("privacy = 0.5", "privacy = 0.7"))
    for engine in LOCAL:
        answer = sfumato(f"reconstruct other.toml reports.parquet --engine {engine}")
        assert answer.code == 2
        assert "made by the plan 'town'" in answer.err and "use the plan that made them" in answer.err


def test_a_part_that_cannot_be_read(sfumato, town):
    (town / "part-1.parquet").write_bytes(b"PAR1 and nothing more")
    for engine in LOCAL:
        answer = sfumato(f"reconstruct plan.toml part-*.parquet --engine {engine}")
        assert answer.code == 2
        assert answer.err.count("\n") == 1
        assert "part-1.parquet: not a readable parquet file" in answer.err


def test_a_cluster_that_is_not_there(sfumato, town):
    answer = sfumato("reconstruct plan.toml reports.parquet --engine spark://127.0.0.1:1")
    assert answer.code == 2
    assert "no Spark cluster answers at spark://127.0.0.1:1" in answer.err


def test_an_engine_that_is_none(sfumato, town):
    answer = sfumato("reconstruct plan.toml reports.parquet --engine mysql")
    assert answer.code == 2
    assert "engine mysql is unknown; use memory, arrow, duckdb, polars, or a Spark cluster" in answer.err


def test_a_report_that_cannot_be(sfumato, town):
    table = parquet.read_table(town / "reports.parquet")
    strange = pa.array(["1"] * 1999 + ["south"])
    place = table.column_names.index("district")
    parquet.write_table(table.set_column(place, "district", strange), town / "strange.parquet")
    for engine in LOCAL:
        answer = sfumato(f"reconstruct plan.toml strange.parquet --engine {engine}")
        assert answer.code == 2
        assert "row 2,000, column 'district'" in answer.err, answer.err
