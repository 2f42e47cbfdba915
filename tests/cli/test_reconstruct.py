import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet


@pytest.fixture
def reports(sfumato, folder):
    folder.people("many.parquet", n=5000)
    assert sfumato("randomize plan.toml many.parquet -o reports.parquet --seed 1").code == 0
    return folder / "reports.parquet"


def test_every_blurred_attribute_is_shown_with_its_error(sfumato, reports):
    answer = sfumato("reconstruct plan.toml reports.parquet --intervals 10")
    assert answer.code == 0
    for word in ("age", "elevel", "district", "north", "±", "%"):
        assert word in answer.out
    assert "group" not in answer.out


def test_json_holds_distributions_that_sum_to_one(sfumato, reports):
    told = json.loads(sfumato("reconstruct plan.toml reports.parquet --intervals 12 --json").out)
    assert set(told) == {"age", "elevel", "district"}
    assert len(told["age"]["edges"]) == 13
    assert told["district"]["categories"] == ["1", "2", "north"]
    for one in told.values():
        assert sum(one["probabilities"]) == pytest.approx(1)
        assert len(one["stderr"]) == len(one["probabilities"])


def test_estimates_are_written_as_rows(sfumato, reports, folder):
    assert sfumato("reconstruct plan.toml reports.parquet -a age -a elevel --intervals 6 -o est.csv").code == 0
    table = csv.read_csv(folder / "est.csv").to_pandas()
    assert list(table.columns) == ["attribute", "low", "high", "category", "probability", "stderr"]
    assert table.groupby("attribute").size().to_dict() == {"age": 6, "elevel": 5}
    assert np.allclose(table.groupby("attribute")["probability"].sum(), 1)


@pytest.mark.parametrize("method", ["smooth", "em", "as00"])
def test_methods_can_be_chosen(sfumato, reports, method):
    told = json.loads(
        sfumato(f"reconstruct plan.toml reports.parquet -a age --intervals 6 --method {method} --json").out
    )
    assert sum(told["age"]["probabilities"][1:4]) > 0.7


@pytest.mark.parametrize(
    ("name", "start"), [("p.png", b"\x89PNG"), ("p.svg", b"<?xml"), ("p.html", b"<!doctype html>")]
)
def test_plots_are_drawn_by_extension(sfumato, reports, folder, name, start):
    assert sfumato(f"reconstruct plan.toml reports.parquet --intervals 6 --plot {name}").code == 0
    drawn = (folder / name).read_bytes()
    assert drawn.startswith(start)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("-a agee", "'agee' is not in the plan; it has age, elevel"),
        ("-a group", "'group' is sent in the clear"),
        ("--method magic", "--method magic is unknown; use one of smooth, em, as00, inverse"),
        ("--intervals 0", "--intervals"),
        ("--plot p.gif", "p.gif: unknown extension '.gif'; use .png or .svg or .html"),
        ("-o est.xls", "est.xls: unknown extension"),
        ("-o away/est.csv", "the folder away does not exist"),
    ],
)
def test_wishes_that_cannot_be_met_are_refused_before_any_work(refused, reports, line, words):
    assert words in refused(f"reconstruct plan.toml reports.parquet {line}")


def test_reports_that_do_not_fit_the_plan_are_refused(refused, folder):
    folder.people("text.csv", n=2, age=["old", "young"])
    folder.people("less.csv", n=2, age=None)
    folder.people("other.csv", n=2, district=["1", "south"])
    folder.write("empty.csv", "age,elevel,district,group\n")
    assert "'age'" in refused("reconstruct plan.toml text.csv")
    assert "column 'age' is missing" in refused("reconstruct plan.toml less.csv")
    assert "south" in refused("reconstruct plan.toml other.csv")
    assert "no rows" in refused("reconstruct plan.toml empty.csv")


def test_a_plan_without_any_channel_is_refused(refused, folder):
    folder.write("open.toml", 'name = "open"\n[attributes.age]\nlow = 0\nhigh = 9\nrole = "clear"\n')
    assert "channel" in refused("reconstruct open.toml people.csv")


def test_one_report_gives_an_estimate_that_admits_how_little_it_knows(sfumato, folder):
    folder.people("one.parquet", n=1)
    sfumato("randomize plan.toml one.parquet -o r.parquet")
    answer = sfumato("reconstruct plan.toml r.parquet -a age --intervals 4")
    assert answer.code == 0
    assert "too few" in answer.out


CHOICE = """
name = "levels"
[attributes.smokes]
categories = ["yes", "no"]
channel = "choice"
default = "open"
[attributes.smokes.levels]
open = {channel = "randomized-response", keep = 0.9}
shy = {channel = "randomized-response", keep = 0.6}
"""


def test_people_at_different_levels_are_counted_through_their_own_tables(sfumato, folder):
    rng = np.random.default_rng(2)
    folder.write("plan.toml", CHOICE)
    answers, levels = rng.choice(["yes", "no"], 20_000, p=[0.3, 0.7]), rng.choice(["open", "shy"], 20_000)
    csv.write_csv(pa.table({"smokes": answers, "smokes.level": levels}), folder / "people.csv")
    assert "'shy': Before it leaves" in sfumato("check plan.toml").out
    assert sfumato("randomize plan.toml people.csv -o reports.csv --seed 1").code == 0
    told = json.loads(sfumato("reconstruct plan.toml reports.csv --json").out)
    share, error = told["smokes"]["probabilities"][0], told["smokes"]["stderr"][0]
    assert abs(share - 0.3) < 5 * error < 0.1


def test_reports_without_their_level_are_refused(refused, folder):
    folder.write("plan.toml", CHOICE)
    folder.write("bare.csv", "smokes\nyes\nno\n")
    assert "column 'smokes.level' is missing" in refused("reconstruct plan.toml bare.csv")


def test_more_intervals_than_one_attribute_has_values_do_not_fail_the_others(sfumato, folder):
    plan = (folder / "plan.toml").read_text()
    rooms = '[attributes.rooms]\nlow = 1\nhigh = 10\ninteger = true\nchannel = "laplace"\nprivacy = 0.3\n\n'
    folder.write("rooms.toml", plan.replace("[attributes.elevel]", f"{rooms}[attributes.elevel]"))
    folder.people("roomy.parquet", n=2000, rooms=np.arange(2000) % 10 + 1)
    assert sfumato("randomize rooms.toml roomy.parquet -o reports.parquet --seed 1").code == 0
    answer = sfumato("reconstruct rooms.toml reports.parquet --intervals 12 --json")
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    assert len(told["age"]["probabilities"]) == 12
    assert len(told["rooms"]["probabilities"]) == 10
    assert any("12 intervals" in message for message in told["rooms"]["diagnostics"]["messages"])


SMOKES = """
[attributes.smokes]
categories = ["yes", "no"]
channel = "randomized-response"
gamma = 3
"""


# --- classes and weights ---------------------------------------------------------------------------------------------


@pytest.fixture
def weighed(sfumato, folder):
    """Five thousand people in two groups, those of A ten years older, with weights; blurred."""
    n, rng = 5000, np.random.default_rng(8)
    group = rng.choice(["A", "B"], n)
    age = np.clip(rng.normal(np.where(group == "A", 55, 40), 6).round(), 20, 80).astype(int)
    folder.people("many.parquet", n=n, age=age, group=group)
    assert sfumato("randomize plan.toml many.parquet -o bare.parquet --seed 1").code == 0
    table = parquet.read_table(folder / "bare.parquet")
    beside = {"w": rng.lognormal(0, 1, n), "same": np.full(n, 2500.0), "region": rng.choice(["n", "s", "w"], n)}
    for name, column in beside.items():
        table = table.append_column(name, pa.array(column))
    parquet.write_table(table, folder / "reports.parquet")
    csv.write_csv(table, folder / "reports.csv")
    return folder / "reports.parquet"


@pytest.mark.parametrize("file", ["reports.parquet", "reports.csv", "reports.parquet --engine duckdb"])
def test_weights_widen_errors_and_constant_ones_do_not(sfumato, weighed, file):
    def told(line):
        answer = sfumato(f"reconstruct plan.toml {file} -a district {line} --json")
        assert answer.code == 0, answer.err
        return json.loads(answer.out)["district"]

    plain, same, heavy = told(""), told("--weights same"), told("--weights w")
    assert same["stderr"] == plain["stderr"]
    assert heavy["stderr"][0] > 1.3 * plain["stderr"][0]
    assert heavy["diagnostics"]["worth"] < 0.6 * heavy["diagnostics"]["reports"] == 0.6 * 5000


def test_classes_are_shown_apart_and_held_against_each_other(sfumato, weighed):
    answer = sfumato("reconstruct plan.toml reports.parquet -a age --intervals 4 --by group --weights w")
    assert answer.code == 0, answer.err
    for words in ("age, group A: ", "age, group B: ", "by their weights worth", "age, group A less B", "beyond chance"):
        assert words in answer.out


def test_json_holds_classes_and_their_differences(sfumato, weighed):
    told = json.loads(sfumato("reconstruct plan.toml reports.parquet -a age --intervals 4 --by group --json").out)
    assert told["age"]["by"] == "group"
    assert set(told["age"]["classes"]) == {"A", "B"}
    (held,) = told["age"]["differences"]
    assert (held["first"], held["second"]) == ("A", "B")
    assert held["p_together"] < 1e-6
    expected = np.subtract(*(told["age"]["classes"][name]["probabilities"] for name in ("A", "B")))
    assert np.allclose(held["differences"], expected)
    three = json.loads(sfumato("reconstruct plan.toml reports.parquet -a district --by region --json").out)
    assert len(three["district"]["differences"]) == 3


def test_known_shares_put_classes_together(sfumato, weighed):
    line = "reconstruct plan.toml reports.parquet -a age --intervals 4 --by group --shares A=0.9,B=0.1 --json"
    told = json.loads(sfumato(line).out)["age"]
    a, b = (np.array(told["classes"][name]["probabilities"]) for name in ("A", "B"))
    assert np.allclose(told["together"]["probabilities"], 0.9 * a + 0.1 * b)
    assert "age, together: " in sfumato(line.removesuffix(" --json")).out


def test_classes_with_commas_and_blanks_in_their_names_have_shares_too(sfumato, weighed, folder):
    table = parquet.read_table(folder / "reports.parquet").drop_columns(["group"])
    names = pa.array(np.random.default_rng(9).choice(['far, "north"', " south"], table.num_rows))
    parquet.write_table(table.append_column("group", names), folder / "named.parquet")
    line = ["reconstruct", "plan.toml", "named.parquet", "-a", "district", "--by", "group", "--json"]
    told = sfumato([*line, "--shares", '"far, ""north"""=0.25, " south" =0.75'])
    assert told.code == 0, told.err
    classes = json.loads(told.out)["district"]
    expected = 0.25 * np.array(classes["classes"]['far, "north"']["probabilities"])
    expected += 0.75 * np.array(classes["classes"][" south"]["probabilities"])
    assert np.allclose(classes["together"]["probabilities"], expected)


def test_a_class_without_an_answer_is_noted_and_others_go_on(sfumato, folder):
    folder.write("plan.toml", SMOKES)
    folder.write("reports.csv", "smokes,region\nyes,n\nno,n\n,west\nyes,s\n")
    told = sfumato("reconstruct plan.toml reports.csv --by region")
    assert told.code == 0 and "class 'west' left out: nobody there gave an answer" in told.out


@pytest.mark.parametrize("column", ["nobody", ""])
def test_classes_in_an_unknown_column_are_refused(refused, folder, column):
    folder.write("plan.toml", SMOKES)
    folder.write("reports.csv", "smokes,region\nyes,n\nno,s\n")
    told = refused(["reconstruct", "plan.toml", "reports.csv", "--by", column])
    assert f"column {column!r} is" in told and "smokes, region" in told


@pytest.mark.parametrize("command", ["reconstruct {}", "regress {} --outcome a --on smokes"])
def test_a_weight_that_is_no_number_is_named_by_its_row(refused, folder, command):
    folder.write("plan.toml", SMOKES)
    folder.write("bad.csv", "smokes,a,w\nyes,1,1\nno,2,2\nyes,3,oops\n")
    assert "in row 3 is not a number" in refused(command.format("plan.toml bad.csv --weights w"))


@pytest.mark.parametrize(("name", "start"), [("p.png", b"\x89PNG"), ("p.html", b"<!doctype html>")])
def test_classes_are_drawn_side_by_side(sfumato, weighed, folder, name, start):
    line = f"reconstruct plan.toml reports.parquet -a age --intervals 4 --by group --plot {name} -o est.csv"
    assert sfumato(line).code == 0
    drawn = (folder / name).read_bytes()
    assert drawn.startswith(start)
    if name.endswith("html"):
        assert b"Compared by group" in drawn and b"All together: they differ beyond chance" in drawn
    table = csv.read_csv(folder / "est.csv").to_pandas()
    assert list(table.columns) == ["attribute", "class", "low", "high", "category", "probability", "stderr"]
    assert table.groupby("class").size().to_dict() == {"A": 4, "B": 4}


@pytest.mark.parametrize(
    "line",
    ["--method as00", "--by group --shares A=0.9,B=0.1 --weights w", "--by region --weights w --engine duckdb"],
)
def test_a_page_keeps_to_the_wishes_of_the_command(sfumato, weighed, folder, line):
    assert sfumato(f"reconstruct plan.toml reports.parquet -a age --intervals 4 --plot p.html {line}").code == 0
    page = (folder / "p.html").read_text()
    assert "shares of 4 ranges" in page and "elevel" not in page.partition("What is promised")[0]
    assert ("Compared by region" in page) == ("region" in line)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--by size", "'size' is "),
        ("--weights size", "'size' is "),
        ("--by district", "column 'district' is blurred"),
        ("--weights age", "column 'age' is blurred"),
        ("--weights region", "column 'region'"),
        ("--shares A=1", "name their column with --by"),
        ("--by group --shares A=0.5", "--shares: shares has none for stratum 'B'"),
        ("--by group --shares A=0.5,B=x", "'B=x' is no share"),
        ("--by group --shares A=0.5,A=0.5", "'A' is named twice"),
        ("--by group --shares A=0.5,together=0.5", "is what the total is called"),
        ("--by group --shares A=0.5,B=-1", "the share of 'B' is -1.0"),
        ("--by group --shares A=0.5,B=0.5,C=1", "'C', which is no stratum here"),
    ],
)
@pytest.mark.parametrize("engine", ["", "--engine arrow"])
def test_columns_that_cannot_serve_are_refused(refused, weighed, line, words, engine):
    assert words in refused(f"reconstruct plan.toml reports.parquet -a district {line} {engine}")
