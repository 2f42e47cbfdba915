"""What every command reads: several files, patterns, gzip, JSON Lines, standard input; errors that name them."""

import gzip
import io

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from sfumato.cli import plans
from sfumato.tables import inputs

HEAD = "age,elevel,district,group"


class Typed:
    def __init__(self, content):
        self.buffer = io.BytesIO(content)


@pytest.fixture
def survey(sfumato, folder):
    """The same 400 reports in one file, and as three parts of each form."""
    assert sfumato("randomize plan.toml people.csv -o reports.csv --seed 1").code == 0
    text = csv.ConvertOptions(column_types={"district": pa.string()})
    table = csv.read_csv(folder / "reports.csv", convert_options=text)
    for part, (start, size) in enumerate(((0, 100), (100, 1), (101, 299))):
        some = table.slice(start, size)
        csv.write_csv(some, folder / f"part-{part}.csv")
        (folder / f"part-{part}.csv.gz").write_bytes(gzip.compress((folder / f"part-{part}.csv").read_bytes()))
        folder.write(f"part-{part}.jsonl", some.to_pandas().to_json(orient="records", lines=True))
        parquet.write_table(some, folder / f"part-{part}.parquet")
    return folder


COMMANDS = {
    "reconstruct": "reconstruct plan.toml {} --method em --json",
    "train": "train plan.toml {} -o model.json --method naive-bayes --json",
    "synthesize": "synthesize plan.toml {} -n 100 -o synthetic.csv --json",
    "audit": "audit plan.toml --reports {} --samples 1000 --json",
}


@pytest.mark.parametrize("line", COMMANDS.values(), ids=COMMANDS)
def test_parts_of_every_form_are_read_as_the_whole(sfumato, survey, line):
    whole = sfumato(line.format("reports.csv"))
    assert whole.code == 0, whole.err
    forms = ("csv", "jsonl") if "synthesize" in line or "audit" in line else ("csv", "csv.gz", "jsonl", "parquet")
    for form in forms:
        found = sfumato(line.format(f"part-?.{form}"))
        assert found.code == 0, found.err
        if "audit" not in line:
            assert found.out == whole.out


def test_parts_may_be_named_one_by_one_before_the_options_and_after(sfumato, survey):
    whole = sfumato("reconstruct plan.toml reports.csv --json").out
    for line in ("reconstruct plan.toml part-0.csv part-1.jsonl part-2.parquet --json",
                 "reconstruct --json plan.toml part-0.csv part-1.csv.gz part-2.csv",
                 "reconstruct plan.toml --json part-?.csv"):
        assert sfumato(line).out == whole
    two = sfumato("audit plan.toml --reports part-0.csv --reports part-2.csv --samples 1000 --json")
    assert two.code == 0, two.err


@pytest.mark.parametrize("form", ["csv", "csv.gz", "jsonl", "parquet"])
def test_standard_input_is_read(sfumato, survey, monkeypatch, form):
    line = "reconstruct plan.toml {} --json"
    monkeypatch.setattr("sys.stdin", Typed((survey / f"part-0.{form}").read_bytes()))
    piped = sfumato(line.format("-"))
    assert piped.code == 0 and piped.out == sfumato(line.format(f"part-0.{form}")).out


def test_true_answers_come_in_every_form_too(sfumato, folder, monkeypatch):
    people = (folder / "people.csv").read_text()
    folder.write("people.jsonl", csv.read_csv(folder / "people.csv").to_pandas().to_json(orient="records", lines=True))
    (folder / "people.csv.gz").write_bytes(gzip.compress(people.encode()))
    folder.people("part-1.parquet", n=100)
    folder.people("part-2.parquet", n=300)
    monkeypatch.setattr("sys.stdin", Typed(people.encode()))
    for name in ("people.jsonl", "people.csv.gz", "people.csv people.csv.gz", "part-?.parquet", "-"):
        answer = sfumato(f"randomize plan.toml {name} -o r.parquet")
        assert answer.code == 0 and ("800" if " " in name else "400") in answer.out, answer.err
    released = sfumato("release people.csv people.csv.gz --target group -o released.csv --seed 1")
    assert released.code == 0 and "800 records" in released.out, released.err


def test_baskets_come_in_every_form_too(sfumato, folder):
    assert sfumato("itemsets design --items 6 --sizes 2 --gamma 9 --up-to 2 -o baskets.json").code == 0
    for name in ("a.csv", "c.csv"):
        folder.write(name, "basket\n0 1\n2 3\n")
    folder.write("b.jsonl", '{"basket": [0, 1]}\n{"basket": [4, 5]}\n')
    for name, number in (("a.csv c.csv", 4), ("b.jsonl", 2)):
        answer = sfumato(f"itemsets randomize baskets.json {name} -o r-{number}.parquet --seed 1")
        assert answer.code == 0 and f"{number} reports" in answer.out, answer.err
    mined = sfumato("itemsets mine baskets.json r-?.parquet --min-support 0.2 --json")
    assert mined.code == 0, mined.err


def test_predictions_are_made_for_people_in_several_files(sfumato, survey):
    assert sfumato("train plan.toml reports.csv -o model.json --method naive-bayes --test people.csv").code == 0
    survey.people("more.parquet", n=30)
    answer = sfumato("predict model.json people.csv more.parquet -o predictions.csv")
    assert answer.code == 0 and "430 predictions" in answer.out


# --- what is wrong is named in its own file -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (f"{HEAD}\n30,1,north,A\n30,1,gotham,A\n", "row 2, column 'district'"),
        (f"{HEAD}\n30,1,north,A\n3o,1,1,A\n", "row 2, column 'age': the value is not a number"),
        (f"{HEAD}\n", None),
        ("", "the file is empty"),
        ("age,elevel,group\n30,1,A\n", "column 'district' is missing; the file has age, elevel, group"),
        (f"{HEAD},more\n30,1,1,A,1\n", "has a column 'more', which people.csv has not"),
        ('{"age": 30, "elevel": 1, "district": "1", "group": "A"}\n{"age":', "row 2: not a JSON object"),
        ('{"age": 93, "elevel": 1, "district": "1", "group": "A"}\n', "row 1, column 'age': the value is outside"),
        (f"{HEAD},sfumato.plan\n30,1,1,A,x y\n", "'sfumato.plan' says that these are reports"),
    ],
)
def test_a_part_that_is_wrong_is_named(sfumato, folder, content, words):
    name = "b.jsonl" if content.startswith("{") else "b.csv"
    folder.write(name, content)
    answer = sfumato(f"randomize plan.toml people.csv {name} -o r.csv")
    if words is None:
        assert answer.code == 0, answer.err
    else:
        assert answer.code == 2 and f"{name}: {words}" in answer.err and len(answer.err.splitlines()) == 1, answer.err
        assert not (folder / "r.csv").exists()
    for secret in ("gotham", "3o", "93"):
        assert secret not in answer.err


def test_a_report_of_another_plan_or_none_at_all_is_named_in_its_part(sfumato, survey):
    broken = (survey / "part-2.csv").read_text().replace("north", "south", 1)
    survey.write("part-2.csv", broken)
    row = next(i for i, line in enumerate(broken.splitlines()) if "south" in line)
    told = sfumato("train plan.toml part-?.csv -o model.json --method naive-bayes")
    assert told.code == 2 and f"part-2.csv: row {row}, column 'district'" in told.err
    survey.write("other.toml", (survey / "plan.toml").read_text().replace("gamma = 19", "gamma = 9"))
    assert "part-0.csv: row 1: made by the plan 'town'" in sfumato("reconstruct other.toml part-?.csv").err


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("reconstruct plan.toml absent-*.csv", "absent-*.csv: no file fits the pattern"),
        ("reconstruct plan.toml people.csv nobody.csv", "nobody.csv: no such file"),
        ("reconstruct plan.toml people.csv people.csv", "people.csv: is named twice"),
        ("reconstruct plan.toml - people.csv", "standard input (-) is read alone"),
        ("reconstruct plan.toml people.csv.zip", "unknown extension '.zip'; use .csv or .parquet or .jsonl"),
        ("reconstruct plan.toml", "REPORTS"),
        ("randomize plan.toml people.csv p.csv -o p.csv", "is the same file as p.csv"),
    ],
)
def test_files_that_are_not_there_are_named(refused, folder, line, words):
    folder.write("p.csv", (folder / "people.csv").read_text())
    assert words in refused(line)


# --- block by block -----------------------------------------------------------------------------------------------


@pytest.fixture
def in_blocks(monkeypatch):
    monkeypatch.setattr(plans, "LARGE", 100)
    monkeypatch.setattr(inputs, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(inputs, "BLOCK_ROWS", 50)


def test_large_files_are_blurred_block_by_block(sfumato, folder, in_blocks):
    folder.people("part-1.parquet", n=300)
    for name, number in (("people.csv", 400), ("part-1.parquet", 300)):
        for line in ("-o r.parquet", "-o r.parquet --codes", "-o r.csv --seed 1"):
            answer = sfumato(f"randomize plan.toml {name} {line}")
            assert answer.code == 0 and f"{number} reports" in answer.out, answer.err
            assert ("simulation" in answer.err) is ("seed" in line)
            assert sfumato(f"reconstruct plan.toml {line.split()[1]} --method em").code == 0


@pytest.mark.parametrize("extension", ["csv", "parquet"])
def test_errors_in_blocks_name_the_row_in_the_file_and_no_answer(refused, folder, in_blocks, extension):
    ages = np.full(400, 30)
    ages[[257, 300]] = 93
    folder.people(f"old.{extension}", age=ages)
    told = refused(f"randomize plan.toml old.{extension} -o r.csv")
    assert f"old.{extension}: row 258, column 'age': the value is outside integers from 20 to 80" in told
    if extension == "csv":
        text = (folder / "people.csv").read_text().splitlines()
        text[300] = "4o" + text[300][2:]
        folder.write("typo.csv", "\n".join(text))
        told = refused("randomize plan.toml typo.csv -o r.csv")
        assert "typo.csv: row 300, column 'age': the value is not a number" in told and "4o" not in told
