import json

import numpy as np
import pytest
from pyarrow import csv, parquet


@pytest.fixture
def town(sfumato, folder):
    rng = np.random.default_rng(0)
    age = np.clip(rng.normal(50, 12, 3000).round(), 20, 80).astype(int)
    elevel = np.clip((age - 20) // 15 + rng.integers(-1, 2, 3000), 0, 4)
    folder.people("people.parquet", n=3000, age=age, elevel=elevel, group=np.where(age < 45, "A", "B"))
    assert sfumato("randomize plan.toml people.parquet -o reports.parquet --seed 1").code == 0
    return folder


def test_synthetic_records_look_like_the_people_and_the_report_says_how_much(sfumato, town):
    line = "synthesize plan.toml reports.parquet -n 2000 -o synthetic.parquet --report close.json"
    answer = sfumato(line)
    assert answer.code == 0 and answer.err == ""
    assert "6 pairs: median distance" in answer.out
    people, made = (parquet.read_table(town / name) for name in ("people.parquet", "synthetic.parquet"))
    assert made.column_names == people.column_names
    assert made.num_rows == 2000
    made, people = made.to_pandas(), people.to_pandas()
    assert made["age"].between(20, 80).all() and (made["age"] % 1 == 0).all()
    assert set(made["district"]) <= {"1", "2", "north"} and set(made["elevel"]) <= set(range(5))
    assert abs(made["age"].mean() - people["age"].mean()) < 3
    assert abs(made["group"].eq("A").mean() - people["group"].eq("A").mean()) < 0.05
    young = made["group"].eq("A")
    assert made["age"][young].mean() + 10 < made["age"][~young].mean()
    report = json.loads((town / "close.json").read_text())
    assert {row["attribute"] for row in report["attributes"]} == set(people.columns)
    by_pair = {tuple(row["pair"]): row for row in report["pairs"]}
    assert by_pair["age", "group"]["distance"] < by_pair["age", "group"]["if_independent"] / 2


def test_without_a_class_the_records_are_modelled_alone(sfumato, town):
    town.write("classless.toml", (town / "plan.toml").read_text().replace('role = "class"', 'role = "clear"'))
    answer = sfumato("synthesize classless.toml reports.parquet -n 300 -o synthetic.csv")
    assert answer.code == 2 and "reports.parquet: made by the plan 'town'" in answer.err
    assert sfumato("randomize classless.toml people.csv -o others.parquet").code == 0
    answer = sfumato("synthesize classless.toml others.parquet -n 300 -o synthetic.csv --report close.html --json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["records"] == 300
    assert set(csv.read_csv(town / "synthetic.csv").column_names) == {"age", "elevel", "district", "group"}
    page = (town / "close.html").read_text()
    assert "if drawn independently" in page and "http" not in page.split("<style>")[0]


def test_the_same_seed_gives_the_same_records(sfumato, town):
    for name in ("a.csv", "b.csv"):
        assert sfumato(f"synthesize plan.toml reports.parquet -n 50 -o {name} --seed 3").code == 0
    assert (town / "a.csv").read_text() == (town / "b.csv").read_text()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("synthesize plan.toml people.csv -n 0 -o s.csv", "-n"),
        ("synthesize plan.toml people.csv -o s.xlsx", "unknown extension '.xlsx'"),
        (
            "synthesize plan.toml people.csv -o s.csv --report r.txt",
            "r.txt: unknown extension '.txt'; use .html or .json",
        ),
        ("synthesize plan.toml nobody.csv -o s.csv", "nobody.csv: no such file"),
    ],
)
def test_what_cannot_be_synthesized_says_why(refused, line, words):
    assert words in refused(line)


def test_an_attribute_that_nobody_answered_is_named(refused, folder):
    folder.write("silent.csv", "age,elevel,district,group\n" + ",1,north,A\n,2,1,B\n" * 50)
    assert "attribute 'age': all 100 reports are missing" in refused("synthesize plan.toml silent.csv -o s.csv")
