"""`sfumato release`: a table in, a table and a report out."""

import csv as standard_csv
import json
import re
from dataclasses import fields

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from sfumato.cli.release import EXAMPLES
from sfumato.microdata import METHODS, Treatment
from sfumato.tables import read_table, write_table


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
        "release people.csv --target group -o out.parquet --method gadp --set fresh=0.9 --keep age --json --public "
        "--report r.json"
    )
    assert answer.code == 0, answer.err
    assert "amount" not in json.loads(answer.out)
    assert json.loads((folder / "r.json").read_text())["records"] == 400


def test_the_help_names_the_options_of_every_method():
    said = " ".join(EXAMPLES.split()).partition("Options of a method: ")[2].partition(".")[0].replace(" has ", " ")
    options = {name: ", ".join(sorted(one.name for one in fields(method))) for name, method in METHODS.items()}
    options["every method"] = ", ".join(sorted(one.name for one in fields(Treatment)))
    assert said == "; ".join(f"{name} {names}" for name, names in options.items())


def test_lost_patterns_are_said_and_the_exit_code_is_three(sfumato, folder):
    rows = [f"{i},{i + i % 7},{'low' if i < 200 else 'high'}" for i in range(400)]
    (folder / "steps.csv").write_text("\n".join(["first,second,half", *rows]))
    options = "--method swap --set window=1 --preserve both --report lost.json --seed 1"
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
        ("--target group --method magic", "method='magic' is unknown; choose donors, ib04, gadp, swap"),
        ("--target group --set amount=3", "method donors has no option 'amount'; donors has attempts, fewest, labels"),
        ("--target group --set amount=3", "every method has outliers, gaps, order"),
        ("--target group --set gaps", "setting 'gaps' is not NAME=VALUE; write such as labels=ppt"),
        ("--target group --set labels=magic", "labels='magic' is unknown; choose rpt, ppt, alpt, none"),
        ("--target group --set fewest.colour=3", "column 'colour' is not an attribute"),
        ("--target group --keep colour", "column 'colour' is not an attribute"),
        ("--target group --report x.pdf", "unknown extension"),
        ("--target group --preserve all", "preserve='all' is unknown"),
        ("--target group --preserve rules=most", "--preserve 'rules=most' is unknown; write both, rules=0.8 or"),
        ("--target group --preserve rules=2", "preserve={'rules': 2} is not between 0 and 1"),
        ("--target group --rule age", "rule 'age' is not understood"),
        ("--target group --frontier --public", "leave out --public"),
        ("--frontier", "name a --target"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(refused, options, words):
    assert words in refused(f"release people.csv -o released.csv {options}")


PEOPLE = 200
FIELDS = {
    "zip": lambda rng, i: f"{rng.integers(12) * 1000 + 520:05d}",
    "agrees": lambda rng, i: str(rng.random() < 0.4),
    "price": lambda rng, i: f"{rng.integers(900) / 10:.2f}",
    "weight": lambda rng, i: f"{rng.integers(700) / 10:g}",
    "day": lambda rng, i: f"2024-{rng.integers(1, 13):02d}-{rng.integers(1, 28):02d}",
    "born": lambda rng, i: f"{rng.integers(1, 28):02d}.{rng.integers(1, 13):02d}.1980",
    "at": lambda rng, i: f"{rng.integers(24):02d}:{rng.integers(60):02d}",
    "count": lambda rng, i: "" if rng.random() < 0.1 else str(rng.integers(13)),
    "name": lambda rng, i: f"p, {i}",
    "remark": lambda rng, i: 'said "no", left' if rng.random() < 0.5 else "none",
    "group": lambda rng, i: "AB"[i % 2],
}


def texts(folder):
    rng = np.random.default_rng(0)
    rows = [[write(rng, i) for write in FIELDS.values()] for i in range(PEOPLE)]
    with (folder / "texts.csv").open("w", newline="") as file:
        writer = standard_csv.writer(file)
        writer.writerow(FIELDS)
        writer.writerows(rows)
    return {name: [row[place] for row in rows] for place, name in enumerate(FIELDS)}


def read(path):
    with path.open(newline="") as file:
        header, *rows = standard_csv.reader(file)
    return {name: [row[place] for row in rows] for place, name in enumerate(header)}


def test_csv_is_read_as_text_and_every_value_comes_back_in_its_form(sfumato, folder):
    before = texts(folder)
    answer = sfumato("release texts.csv --target group -o released.csv --seed 1")
    assert answer.code == 0, answer.err
    after = read(folder / "released.csv")
    assert list(after) == [name for name in before if name != "name"]
    assert "name is left out of the release" in answer.out
    for name in ("zip", "agrees", "group", "remark"):
        assert set(after[name]) <= set(before[name])
    assert all(re.fullmatch(r"\d+\.\d\d", text) for text in after["price"])
    assert all(re.fullmatch(r"\d+(\.\d)?", text) for text in after["weight"])
    assert all(re.fullmatch(r"2024-\d\d-\d\d", text) for text in after["day"])
    assert all(re.fullmatch(r"\d\d\.\d\d\.1980", text) for text in after["born"])
    assert all(re.fullmatch(r"\d\d:\d\d", text) for text in after["at"])
    assert after["count"].count("") == before["count"].count("")
    assert all(re.fullmatch(r"\d*", text) for text in after["count"])


def test_without_noise_nothing_but_the_order_changes(sfumato, folder):
    before = texts(folder)
    options = "law=additive", "amount=0", "labels=none", "attempts=0", "gaps=keep", "outliers=keep", "order=keep"
    stay = f"--method ib04 {' '.join(f'--set {option}' for option in options)} --role name=free"
    assert sfumato(f"release texts.csv --target group -o released.csv {stay}").code == 0
    assert read(folder / "released.csv") == before


def test_roles_domains_categories_and_tree_options_are_given(sfumato, folder):
    texts(folder)
    folder.write("roles.toml", '[roles]\nprice = "sensitive"\nday = "identifier"\n')
    options = "--role roles.toml --role born=identifier --role zip=free --role name=quasi-identifier"
    tree = "--set leaves.min_samples_leaf=10 --set leaves.max_leaf_nodes=4 --set leaves.max_depth=3 --set attempts=2"
    domains = "--domain weight=0:100 --domain agrees=True|False|Unsure --domain count=labels"
    limits = "--preserve rules=0 --preserve correlations"
    answer = sfumato(f"release texts.csv --target group -o released.csv --json {limits} {options} {tree} {domains}")
    assert answer.code == 0, answer.err
    shown = json.loads(answer.out)
    assert shown["roles"]["price"] == "sensitive"
    assert "guessing price" in {one["name"] for one in shown["risk"]["intruders"]}
    after = read(folder / "released.csv")
    assert not {"day", "born"} & set(after)
    assert "name" in after
    assert len(shown["kept_rules"]) + len(shown["lost_rules"]) <= 4


def test_parquet_keeps_its_types(sfumato, folder):
    texts(folder)
    limits = "--preserve rules=0 --preserve correlations"
    assert sfumato(f"release texts.csv --target group -o typed.parquet {limits}").code == 0
    typed = parquet.read_table(folder / "typed.parquet")
    assert str(typed.schema.field("day").type) == "date32[day]"
    options = f"--domain count=labels {limits}"
    assert sfumato(f"release typed.parquet --target group -o again.parquet {options}").code == 0
    assert parquet.read_table(folder / "again.parquet").schema.types == typed.schema.types


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--domain age", "--domain 'age' is not COLUMN=VALUES"),
        ("--domain age=9:1", "low=9.0 is not below high=1.0"),
        ("--domain colour=0:1", "domains names 'colour'"),
        ("--domain colour=labels", "--domain names 'colour'"),
        ("--role colour=free", "roles names 'colour'"),
        ("--role colour", "--role 'colour' is not COLUMN=ROLE"),
        ("--role group=identifier", "cannot be an identifier"),
        ("--role none.toml", "none.toml: no such file"),
        ("--set gaps=magic", "gaps='magic' is unknown; choose deal or keep"),
        ("--set outliers=magic", "outliers='magic' is unknown"),
        ("--set order=magic", "order='magic' is unknown"),
    ],
)
def test_wrong_options_are_one_line_and_nothing_is_written(refused, options, words):
    assert words in refused(f"release people.csv --target group -o released.csv {options}")


def test_the_frontier_is_drawn_in_the_owners_report_and_printed(sfumato, folder, monkeypatch):
    from sfumato.microdata import METHODS

    for method in METHODS.values():
        monkeypatch.setattr(method, "varied", lambda self: (self,))
    options = "--frontier --set attempts=0 --seed 1"
    answer = sfumato(f"release people.csv --target group -o f.csv --report f.html {options}")
    assert "Risk against utility" in answer.out and "swap        amount 0.15" in answer.out
    assert "Risk against utility" in (folder / "f.html").read_text()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_table_in_which_little_is_known_is_released_with_its_report(sfumato, folder, kind):
    half = np.arange(60.0)
    table = pa.table({
        "nothing": pa.nulls(60), "two": pa.array([1.0, 2.0] + [None] * 58), "old": half > 30,
        "first": pa.array(np.where(half < 30, half, np.nan), from_pandas=True),
        "second": pa.array(np.where(half < 30, np.nan, half), from_pandas=True), "group": ["a", "b"] * 30,
    })  # fmt: skip
    write_table(table, folder / f"little.{kind}")
    answer = sfumato(f"release little.{kind} --target group -o out.{kind} --report report.html --seed 1")
    assert answer.code == 0, answer.err
    assert "Warning" not in answer.err and "fewer than 3 records have both of" in (folder / "report.html").read_text()
    released = read_table(folder / f"out.{kind}")
    assert released.column("nothing").null_count == 60 and str(released.schema.field("old").type) == "bool"


def test_a_table_without_any_value_is_refused_in_one_line(sfumato, folder):
    (folder / "none.csv").write_text("number,group\n" + ",a\n,b\n" * 9)
    answer = sfumato("release none.csv --target group -o out.csv")
    assert answer.code == 2 and len(answer.err.splitlines()) == 1
    assert "no column with values beside the target 'group'" in answer.err


def test_bytes_that_are_no_text_are_refused_in_one_line(refused, folder):
    (folder / "bytes.csv").write_bytes(b"\x8f\xfa,a\n\xd0\x01,2\n")
    said = refused("release bytes.csv -o released.csv")
    assert "bytes.csv: not a readable csv file (its text is not UTF-8); save it as UTF-8" in said
