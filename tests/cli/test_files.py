"""What commands read and write: missing fields, inputs that survive, reports that know their plan, and no answers."""

import os

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

ANSWERS = """
name = "answers"
{empty}
[attributes.age]
low = 20
high = 80
channel = "gaussian"
privacy = 0.5
[attributes.word]
categories = ["NA", "null", "nan", "None", "yes"]
role = "clear"
"""


@pytest.fixture
def answers(folder):
    folder.write("answers.toml", ANSWERS.format(empty=""))
    return folder


def test_na_is_a_category_where_the_plan_declares_it(sfumato, answers):
    answers.write("people.csv", "age,word\n30,NA\n40,null\n,nan\n50,None\n60,\n")
    answer = sfumato("randomize answers.toml people.csv -o r.parquet")
    assert answer.code == 0, answer.err
    reports = parquet.read_table(answers / "r.parquet")
    assert reports["word"].to_pylist() == ["NA", "null", "nan", "None", None]
    assert [age is None for age in reports["age"].to_pylist()] == [False, False, True, False, False]


@pytest.mark.parametrize("field", ["NA", "nan", "NaN", "null", "-", "#N/A"])
def test_a_number_is_missing_only_where_the_field_is_empty(refused, answers, field):
    answers.write("people.csv", f"age,word\n30,yes\n{field},yes\n")
    told = refused("randomize answers.toml people.csv -o r.csv")
    assert "row 2, column 'age': the value is not a number; correct it, or leave the field empty" in told


def test_the_plan_says_which_texts_mean_missing(sfumato, answers):
    answers.write("answers.toml", ANSWERS.format(empty='empty = ["n/a", "-"]'))
    answers.write("people.csv", "age,word\n30,yes\n-,n/a\nn/a,NA\n")
    assert sfumato("randomize answers.toml people.csv -o r.parquet").code == 0
    reports = parquet.read_table(answers / "r.parquet")
    assert [age is None for age in reports["age"].to_pylist()] == [False, True, True]
    assert reports["word"].to_pylist() == ["yes", None, "NA"]


@pytest.mark.parametrize("last", ["secret", "33.5"])
def test_a_field_far_down_that_changes_what_a_column_is_is_read_or_named(sfumato, folder, last):
    rows = "".join(f"30,{i % 5},north,A\n" for i in range(120_000))
    folder.write("long.csv", f"age,elevel,district,group\n{rows}{last},1,north,A\n")
    answer = sfumato("randomize plan.toml long.csv -o r.parquet")
    assert answer.code == 2 and "row 120,001, column 'age'" in answer.err
    assert last not in answer.err and "1" not in answer.out
    folder.write("plan.toml", (folder / "plan.toml").read_text().replace("integer = true", ""))
    answer = sfumato("randomize plan.toml long.csv -o r.parquet")
    assert (answer.code == 0) is (last == "33.5"), answer.err


# --- errors -------------------------------------------------------------------------------------------------------


def test_answers_are_shown_to_their_owner_who_asks(sfumato, folder):
    folder.people("old.csv", n=2, age=[30, 93])
    hidden, shown = (sfumato(f"randomize plan.toml old.csv -o r.csv{more}").err for more in ("", " --show-values"))
    assert "row 2, column 'age': the value is outside" in hidden and "93" not in hidden
    assert "row 2, column 'age': value 93 is outside" in shown
    assert "93" not in sfumato("randomize plan.toml old.csv -o r.csv").err


@pytest.mark.parametrize("command", ["audit plan.toml --truth", "advise plan.toml -t 5%to50% --truth"])
def test_truth_is_not_shown_either(sfumato, folder, command):
    folder.people("odd.csv", n=50, district=["north"] * 49 + ["gotham"])
    hidden, shown = (sfumato(f"{command} odd.csv{more}") for more in ("", " --show-values"))
    assert hidden.code == shown.code == 2
    assert "gotham" not in hidden.err and "gotham" in shown.err


def test_baskets_are_not_shown_either(sfumato, folder):
    folder.write("items.txt", "tea\nmilk\nbread\nbeer\n")
    assert sfumato("itemsets design --items items.txt --sizes 2 --gamma 9 --up-to 2 -o baskets.json").code == 0
    folder.write("baskets.csv", "basket\ntea milk\nbeer gin\n")
    line = "itemsets randomize baskets.json baskets.csv -o r.csv"
    hidden, shown = sfumato(line), sfumato(f"{line} --show-values")
    assert hidden.code == 2 and "unknown item in basket 1" in hidden.err and "gin" not in hidden.err
    assert "unknown item 'gin' in basket 1" in shown.err


# --- inputs survive -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("link", [None, os.symlink, os.link])
@pytest.mark.parametrize(
    "line", ["randomize plan.toml people.csv -o {}", "reconstruct plan.toml people.csv -o {}",
             "synthesize plan.toml people.csv -o {}", "release people.csv --target group -o {}"],
)
def test_no_command_overwrites_what_it_reads(sfumato, folder, line, link):
    name = "people.csv" if link is None else "link.csv"
    if link is not None:
        link("people.csv" if link is os.symlink else folder / "people.csv", folder / name)
    before = (folder / "people.csv").read_bytes()
    answer = sfumato(line.format(name))
    assert answer.code == 2 and "is the same file as people.csv, which would be lost" in answer.err
    assert (folder / "people.csv").read_bytes() == before


@pytest.mark.parametrize(
    "line", ["train baskets.json people.csv -o baskets.json", "advise baskets.json -t 5%to50% -o baskets.json",
             "reconstruct plan.toml people.csv -o x.csv --plot x.html"],
)
def test_plans_survive_and_two_outputs_differ(sfumato, folder, line):
    from sfumato import Plan

    folder.write("baskets.json", Plan.load(folder / "plan.toml").to_json())
    answer = sfumato(line)
    assert ("is the same file as" in answer.err) is ("baskets" in line)


# --- reports know their plan --------------------------------------------------------------------------------------


@pytest.fixture(params=["csv", "parquet"])
def reports(request, sfumato, folder):
    folder.write("other.toml", (folder / "plan.toml").read_text().replace("gamma = 19", "gamma = 9"))
    assert sfumato(f"randomize plan.toml people.csv -o reports.{request.param}").code == 0
    return f"reports.{request.param}"


@pytest.mark.parametrize(
    "line",
    ["reconstruct other.toml {}", "train other.toml {} -o m.json", "audit other.toml --reports {}",
     "advise other.toml -t 5%to50% --reports {}", "synthesize other.toml {} -o s.csv"],
)
def test_another_plans_reports_are_refused_and_said_which(sfumato, folder, reports, line):
    from sfumato import Plan

    answer = sfumato(line.format(reports))
    made, read = (Plan.load(folder / name).identity[:16] for name in ("plan.toml", "other.toml"))
    assert answer.code == 2 and f"made by the plan 'town' ({made}), and this plan is 'town' ({read})" in answer.err


def test_their_own_plan_reads_them_however_it_is_spelt(sfumato, folder, reports):
    folder.write("same.toml", (folder / "plan.toml").read_text().replace("gamma = 19", "gamma = 19.0"))
    assert sfumato(f"reconstruct same.toml {reports}").code == 0
    assert sfumato(f"train same.toml {reports} -o model.json --method naive-bayes").code == 0


def test_reports_are_not_true_answers(sfumato, folder, reports):
    assert "says that these are reports" in sfumato(f"randomize plan.toml {reports} -o twice.csv").err
    assert "says that these are reports" in sfumato(f"audit plan.toml --truth {reports}").err


def test_reports_without_a_plan_are_read(sfumato, folder, reports):
    table = csv.read_csv(folder / reports) if reports.endswith("csv") else parquet.read_table(folder / reports)
    csv.write_csv(table.select(["age", "elevel", "district", "group"]), folder / "foreign.csv")
    assert sfumato("reconstruct other.toml foreign.csv").code == 0


def test_two_plans_in_one_file_are_told_apart_by_row(sfumato, folder):
    for plan in ("plan", "other"):
        folder.write("other.toml", (folder / "plan.toml").read_text().replace("gamma = 19", "gamma = 9"))
        sfumato(f"randomize {plan}.toml people.csv -o {plan}.csv")
    both = (folder / "plan.csv").read_text() + "".join((folder / "other.csv").open().readlines()[1:])
    folder.write("both.csv", both)
    assert "both.csv: row 401: made by the plan 'town'" in sfumato("reconstruct plan.toml both.csv").err


def test_baskets_of_another_plan_are_refused(sfumato, folder):
    for gamma in (9, 19):
        sfumato(f"itemsets design --items 6 --sizes 2 --gamma {gamma} --up-to 2 -o {gamma}.json")
    folder.write("baskets.csv", "basket\n0 1\n2 3\n")
    for name in ("r.csv", "r.parquet"):
        assert sfumato(f"itemsets randomize 9.json baskets.csv -o {name}").code == 0
        answer = sfumato(f"itemsets mine 19.json {name} --min-support 0.2")
        assert answer.code == 2 and "made by the plan 'baskets'" in answer.err
        assert sfumato(f"itemsets mine 9.json {name} --min-support 0.2").code == 0


def test_the_library_reads_files_of_reports_and_knows_their_plan(sfumato, folder):
    import sfumato as sf

    sfumato("randomize plan.toml people.csv -o reports.csv")
    frame = csv.read_csv(
        folder / "reports.csv", convert_options=csv.ConvertOptions(column_types={"district": pa.string()})
    ).to_pandas()
    plan = sf.Plan.load(folder / "plan.toml")
    other = sf.Plan.loads((folder / "plan.toml").read_text().replace("gamma = 19", "gamma = 9"))
    assert set(plan.reconstruct(frame, method="em")) == {"age", "elevel", "district"}
    for read in (other.reconstruct, other.counts, lambda table: sf.Reports(table, other)):
        with pytest.raises(ValueError, match="made by the plan 'town'"):
            read(frame)
    model = sf.NaiveBayesClassifier(plan.channels).fit(frame.drop(columns="group"), frame["group"])
    assert model.attribute_names_ == ["age", "elevel", "district"]
    assert np.isin(model.predict(frame[["age", "elevel", "district"]]), ["A", "B"]).all()


# --- reports that are none ----------------------------------------------------------------------------------------


def test_true_answers_given_as_reports_are_said_to_be_none(sfumato, folder):
    rng = np.random.default_rng(0)
    district = rng.choice(["1", "2"], 4000)
    folder.people("truth.csv", n=4000, age=rng.integers(20, 81, 4000), district=district)
    answer = sfumato("reconstruct plan.toml truth.csv -a district -a age --json")
    assert answer.out.count("do not look as if they came through this channel") == 2
    answer = sfumato("train plan.toml truth.csv -o model.json --method naive-bayes")
    assert answer.code == 0 and "district: the reports do not look as if" in answer.out
    assert sfumato("randomize plan.toml truth.csv -o reports.csv --seed 1").code == 0
    for line in ("reconstruct plan.toml reports.csv", "train plan.toml reports.csv -o model.json --method naive-bayes"):
        answer = sfumato(line)
        assert answer.code == 0 and "do not look as if" not in answer.out
