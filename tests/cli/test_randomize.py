import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from sfumato.tables import read_table, write_table


def test_reports_keep_the_columns_and_the_order_and_hide_the_values(sfumato, folder):
    answer = sfumato("randomize plan.toml people.csv -o reports.parquet")
    assert answer.code == 0 and "400 reports" in answer.out and answer.err == ""
    reports, people = parquet.read_table(folder / "reports.parquet"), csv.read_csv(folder / "people.csv")
    assert reports.column_names == people.column_names
    assert reports["group"].to_pylist() == people["group"].to_pylist()
    assert np.mean(np.array(reports["age"]) == np.array(people["age"])) < 0.25


def test_the_same_seed_gives_the_same_reports_and_a_warning(sfumato, folder):
    for name in ("a.csv", "b.csv"):
        answer = sfumato(f"randomize plan.toml people.csv -o {name} --seed 3")
        assert answer.code == 0 and "simulation" in answer.err
    assert (folder / "a.csv").read_text() == (folder / "b.csv").read_text()


def test_without_a_seed_two_runs_differ(sfumato, folder):
    for name in ("a.csv", "b.csv"):
        sfumato(f"randomize plan.toml people.csv -o {name}")
    assert (folder / "a.csv").read_text() != (folder / "b.csv").read_text()


def test_csv_and_parquet_hold_the_same_reports(sfumato, folder):
    folder.people("people.parquet")
    sfumato("randomize plan.toml people.parquet -o reports.csv --seed 5")
    sfumato("randomize plan.toml people.csv -o reports.parquet --seed 5")
    text = csv.ConvertOptions(column_types={"district": pa.string()})
    a, b = csv.read_csv(folder / "reports.csv", convert_options=text), parquet.read_table(folder / "reports.parquet")
    assert a.drop_columns(["sfumato.plan"]).to_pydict() == b.to_pydict()


def test_missing_values_pass_through_as_missing(sfumato, folder):
    folder.write("gaps.csv", "age,elevel,district,group\n30,1,north,A\n,2,1,B\n40,,2,A\n50,3,,B\n")
    assert sfumato("randomize plan.toml gaps.csv -o reports.parquet").code == 0
    reports = parquet.read_table(folder / "reports.parquet").to_pandas()
    assert reports.isna().sum().to_dict() == {"age": 1, "elevel": 1, "district": 1, "group": 0}
    assert reports["age"].isna().tolist() == [False, True, False, False]


def test_one_person_is_enough(sfumato, folder):
    folder.people("one.parquet", n=1)
    assert "1 reports" in sfumato("randomize plan.toml one.parquet -o reports.csv").out


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"age": [30.0, float("inf")]}, ["age", "infinite"]),
        ({"age": [30.0, float("-inf")]}, ["age", "infinite"]),
        ({"age": [30, 81]}, ["row 2", "age", "outside"]),
        ({"age": [30.0, 40.5]}, ["row 2", "age", "whole"]),
        ({"age": ["thirty", "forty"]}, ["row 1", "age", "number"]),
        ({"elevel": [0, 7]}, ["row 2", "elevel", "0, 1, 2, 3, 4"]),
        ({"district": ["north", "south"]}, ["row 2", "district", "north"]),
        ({"age": None}, ["age", "missing", "elevel, district, group"]),
    ],
)
@pytest.mark.parametrize("extension", ["csv", "parquet"])
def test_bad_values_are_named_with_their_column(refused, folder, changed, words, extension):
    folder.people(f"bad.{extension}", n=2, **changed)
    line = refused(f"randomize plan.toml bad.{extension} -o reports.csv")
    for word in [f"bad.{extension}", *words]:
        assert word in line
    for secret in ("81", "40.5", "thirty", "7", "south"):
        assert secret not in line.replace("bad.csv", "")


def test_a_column_that_the_plan_does_not_know_is_refused_rather_than_sent(refused, folder):
    folder.people("more.csv", n=2, diagnosis=["flu", "none"])
    line = refused("randomize plan.toml more.csv -o reports.csv")
    assert "diagnosis" in line and "clear" in line


def test_an_empty_table_and_an_empty_file_are_refused(refused, folder):
    folder.write("header.csv", "age,elevel,district,group\n")
    folder.write("nothing.csv", "")
    folder.people("nobody.parquet", n=0)
    for name in ("header.csv", "nothing.csv", "nobody.parquet"):
        assert name in refused(f"randomize plan.toml {name} -o reports.csv")


def test_a_truncated_file_is_refused(refused, folder):
    whole = folder.people("whole.parquet").read_bytes()
    (folder / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    assert "cut.parquet: not a readable parquet file" in refused("randomize plan.toml cut.parquet -o reports.csv")
    text = (folder / "people.csv").read_text()
    folder.write("cut.csv", text[: text.rindex(",", 0, len(text) // 2)])
    assert "cut.csv: not a readable csv file" in refused("randomize plan.toml cut.csv -o reports.csv")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("randomize plan.toml nobody.csv -o r.csv", "nobody.csv: no such file"),
        ("randomize plan.toml people.xlsx -o r.csv", "unknown extension '.xlsx'; use .csv or .parquet"),
        ("randomize plan.toml people.csv -o r.txt", "r.txt: unknown extension"),
        ("randomize plan.toml people.csv -o away/r.csv", "the folder away does not exist"),
        ("randomize plan.toml people.csv", "--output"),
        ("randomize plan.toml people.csv -o r.csv --seed -1", "--seed"),
        ("randomize plan.toml people.csv -o r.csv --seeed 1", "--seeed"),
        ("randomise plan.toml", "randomise"),
    ],
)
def test_a_command_that_cannot_work_says_why(refused, line, words):
    assert words in refused(line)


def test_a_column_named_twice_is_refused(refused, folder):
    folder.write("twice.csv", "age,age\n30,40\n")
    assert "'age' appears twice" in refused("randomize plan.toml twice.csv -o r.csv")


def test_an_existing_file_survives_a_failed_run(sfumato, folder):
    folder.write("reports.csv", "precious")
    folder.people("bad.csv", n=2, age=[1, 2])
    assert sfumato("randomize plan.toml bad.csv -o reports.csv").code == 2
    assert (folder / "reports.csv").read_text() == "precious"


def test_a_bad_value_far_down_is_named_with_its_row(refused, folder):
    ages = np.full(400, 30)
    ages[[256, 300]] = 112
    folder.people("old.csv", age=ages)
    told = refused("randomize plan.toml old.csv -o r.csv")
    assert "old.csv: row 257, column 'age': the value is outside integers from 20 to 80" in told
    folder.people("odd.parquet", district=["north"] * 399 + ["south"])
    told = refused("randomize plan.toml odd.parquet -o r.csv")
    assert "odd.parquet: row 400, column 'district': unknown category; the declared categories are '1'," in told


def test_text_among_numbers_is_named_with_its_row(refused, folder):
    folder.write("typo.csv", "age,elevel,district,group\n30,1,north,A\n4o,2,1,B\n,2,1,B\n")
    told = refused("randomize plan.toml typo.csv -o r.csv")
    assert "typo.csv: row 2, column 'age': the value is not a number; correct it" in told and "4o" not in told


def test_noise_from_a_seed_is_independent_of_people_drawn_with_that_seed(sfumato, folder):
    truth = np.random.default_rng(1).random(4000) < 0.3
    folder.people("people.parquet", n=4000, district=np.where(truth, "north", "1"))
    assert sfumato("randomize plan.toml people.parquet -o r.parquet --seed 1").code == 0
    reports = np.array(parquet.read_table(folder / "r.parquet")["district"]) == "north"
    kept, spread = np.mean(reports[truth]), np.sqrt(0.7 * 0.3 / truth.sum())
    assert abs(kept - 0.7) < 5 * spread  # false alarm 6e-7
    assert abs(np.mean(reports[~truth]) - 0.15) < 5 * np.sqrt(0.15 * 0.85 / (~truth).sum())


@pytest.mark.parametrize("name", ["coded.parquet", "coded.csv"])
def test_reports_travel_as_codes_and_every_command_reads_them_back(sfumato, folder, name):
    sfumato("randomize plan.toml people.csv -o plain.parquet --seed 4")
    assert sfumato(f"randomize plan.toml people.csv -o {name} --seed 4 --codes").code == 0
    text = (folder / name).read_bytes()
    assert b"age.code" in text and b"north" not in text
    estimates = [sfumato(f"reconstruct plan.toml {file} --json").out for file in ("plain.parquet", name)]
    assert estimates[0].replace("plain.parquet", name) == estimates[1]
    assert sfumato(f"train plan.toml {name} -o model.json --method naive-bayes").code == 0
    folder.write("bad.csv", "age.code,elevel.code,district.code,group\n9999,1,0,A\n")
    answer = sfumato("reconstruct plan.toml bad.csv")
    assert answer.code == 2 and "age.code" in answer.err and "9999" in answer.err


def test_numbers_blurred_together_are_columns_of_their_own(sfumato, folder):
    body = "low = 40\nhigh = 160\n[attributes.body.columns.height]\nlow = 140\nhigh = 210\n"
    noise = '[attributes.body]\nchannel = "correlated-gaussian"\nratio = 1\ncovariance = [[100, 60], [60, 80]]\n'
    folder.write("body.toml", f"{noise}[attributes.body.columns.weight]\n{body}")
    folder.write("bodies.csv", "weight,height\n70,170\n80,180\n")
    assert sfumato("randomize body.toml bodies.csv -o reports.csv --codes").code == 0
    assert csv.read_csv(folder / "reports.csv").column_names == ["weight", "height", "sfumato.plan"]
    folder.write("short.csv", "weight\n70\n")
    answer = sfumato("randomize body.toml short.csv -o reports.csv")
    assert answer.code == 2 and "column 'height' is missing" in answer.err


# --- the same perturbation on every request ---------------------------------------------------------------------------


def reports_by_person(folder, name: str) -> list[tuple]:
    return list(zip(*parquet.read_table(folder / name).to_pydict().values(), strict=True))


def test_with_a_key_file_a_second_request_gives_the_same_reports_in_whatever_order(sfumato, folder):
    folder.people("people.parquet", id=np.arange(400))
    people = parquet.read_table(folder / "people.parquet")
    parquet.write_table(people.take(list(range(399, -1, -1))), folder / "turned.parquet")
    (folder / "key").write_bytes(bytes(range(32)))
    (folder / "other").write_bytes(bytes(range(1, 33)))
    for given, key, output in (
        ("people.parquet", "key", "a.parquet"),
        ("turned.parquet", "key", "b.parquet"),
        ("people.parquet", "other", "c.parquet"),
    ):
        assert sfumato(f"randomize plan.toml {given} -o {output} --key-file {key} --person id").code == 0
    a, b, c = (reports_by_person(folder, f"{name}.parquet") for name in "abc")
    assert a == b[::-1]
    assert a != c
    assert parquet.read_table(folder / "a.parquet").column_names == ["age", "elevel", "district", "group"]


def test_equal_answers_of_two_people_have_noise_of_their_own(sfumato, folder):
    same = {"age": np.full(200, 40), "elevel": np.zeros(200, int), "district": ["1"] * 200}
    folder.people("people.parquet", n=200, id=np.arange(200), **same)
    (folder / "key").write_bytes(bytes(32))
    sfumato("randomize plan.toml people.parquet -o a.parquet --key-file key --person id")
    assert len(set(reports_by_person(folder, "a.parquet"))) > 50


def test_a_key_that_cannot_serve_is_refused(refused, folder):
    folder.people("people.parquet", id=np.zeros(400, int))
    (folder / "key").write_bytes(bytes(32))
    (folder / "short").write_bytes(b"abc")
    command = "randomize plan.toml people.parquet -o a.parquet"
    assert "go together" in refused(f"{command} --key-file key")
    assert "go together" in refused(f"{command} --person id")
    assert "leave out --seed" in refused(f"{command} --key-file key --person id --seed 1")
    assert "short: key is not a secret of 16 bytes or more" in refused(f"{command} --key-file short --person id")
    assert "names somebody twice" in refused(f"{command} --key-file key --person id")
    assert "column 'who' is missing" in refused(f"{command} --key-file key --person who")
    assert not (folder / "a.parquet").exists()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_labels_of_several_kinds_go_through_every_command_as_their_texts(sfumato, folder, kind):
    plan = {"categories": [True, "yes", 2], "channel": "randomized-response", "gamma": 19}
    group = {"categories": [True, "no"], "role": "class"}
    (folder / "mixed.json").write_text(json.dumps({"attributes": {"answer": plan, "group": group}}))
    rows = [f"{answer},{group}" for answer, group in [("True", "no"), ("yes", "True"), ("2", "no")] * 20]
    (folder / "people.csv").write_text("\n".join(["answer,group", *rows]))
    write_table(read_table(folder / "people.csv"), folder / f"people.{kind}")
    commands = [
        f"randomize mixed.json people.{kind} -o reports.{kind} --seed 1",
        f"reconstruct mixed.json reports.{kind} --by group",
        f"regress mixed.json reports.{kind} --outcome answer --on group",
    ]
    for command in commands:
        answer = sfumato(command)
        assert answer.code == 0, answer.err
    assert set(read_table(folder / f"reports.{kind}").column("answer").to_pylist()) == {"True", "yes", "2"}


def test_labels_that_are_the_same_text_are_refused_in_one_line(sfumato, folder):
    plan = {"answer": {"categories": [1, "1"], "channel": "randomized-response", "gamma": 19}}
    (folder / "mixed.json").write_text(json.dumps({"attributes": plan}))
    (folder / "people.csv").write_text("answer\n1\n1\n")
    answer = sfumato("randomize mixed.json people.csv -o reports.csv")
    assert answer.code == 2 and len(answer.err.splitlines()) == 1
    assert "labels 1 and '1' are the same text" in answer.err
