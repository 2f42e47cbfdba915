"""The page of a survey: what it shows, and that nothing in a plan or a report can do more than be shown."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato import shipping
from sfumato.counts import as_codes
from sfumato.demo import credit
from sfumato.findings import Standing, estimates, page_of
from sfumato.pages.page import LIVE_POLICY, POLICY
from tests.findings.survey_tables import collected, people, town
from tests.pages.test_page import Reader
from tests.test_imports import loaded_by

NASTY = "<script>alert(1)</script> & \"'"
DAYS = [(date(2026, 5, 1) + timedelta(day), 300, 2) for day in range(9)]
ITEMSETS = {
    "itemsets": [
        {"support": 0.4, "stderr": 0.01, "itemsets": ["tea", NASTY], "certainty": 1.0},
        {"support": 0.11, "stderr": 0.01, "itemsets": ["tea"], "certainty": 0.6},
    ],
    "rules": [
        {"antecedents": ["tea"], "consequents": ["milk"], "confidence": 0.8, "confidence stderr": 0.02, "lift": 1.5}
    ],
}


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return collected(town(), people(3_000, np.random.default_rng(7)), shares={"normal": 0.7, "cautious": 0.3})


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    columns = {"age": rng.integers(18, 90, 2000), "fare": rng.choice(["yes", "no"], 2000)}
    young = (columns["age"] < 50) & (columns["fare"] == "yes")
    learned = sf.TreeClassifier(reconstruction="none").fit(columns, np.where(young, "yes", "no"))
    path = tmp_path_factory.mktemp("model") / "model.json"
    shipping.save(learned, path, plan=town())
    return json.loads(path.read_text())  # type: ignore[no-any-return]


def standing(**changes: Any) -> Standing:
    whole = {"name": "The town", "days": DAYS, "rejections": {"another plan": 3}, **changes}
    return Standing(**{"invitations": (4_000, 3_000), **whole})



def words(page: str) -> str:
    """All that a page says, its title and style left out."""
    return " ".join(" ".join(Reader("<html>" + page.partition("</head>")[2]).text).split())


def test_it_shows_every_part_of_a_survey(table: pa.Table, model: dict[str, Any]) -> None:
    jobs = [{"id": "1", "kind": "train", "state": "running", "said": "half way"}]
    whole = standing(model=model, itemsets=ITEMSETS, jobs=jobs)
    said = words(page_of(table, town(), whole, together=("fare", "bus")).html())
    for part in (
        "3,000 reports; the survey is open", "How old are you?", "within noise", "What the reports can and cannot tell",
        "Compared by bus", "Compared by privacy level", "cautious", "Two questions together", "The model",
        "age is below", "fare is yes", "tea → milk", "1 % made-up reports", "another plan",
        "75 % of 4,000 invitations used", "half way", "18 withdrawn", "That you take part at all is visible",
    ):  # fmt: skip
        assert part in said, part
    assert "nan" not in said and "None" not in said and "Infinity" not in said


def test_a_number_within_noise_is_grey_and_others_are_not() -> None:
    plan = sf.Plan.from_dict(
        {"attributes": {"q": {"categories": ["a", "b"], "channel": "randomized-response", "gamma": 19}}}
    )
    table = collected(plan, {"q": ["a"] * 500})
    page = page_of(table, plan, Standing("one")).html().partition("<h2>What the reports can")[0]
    bars = page.partition('<dl class="shares">')[2]
    assert bars.count('<rect class="seen"') == 1 and bars.count('<rect class="unseen"') == 1
    assert bars.index('class="seen"') < bars.index('class="unseen"') and bars.count("within noise") == 1


@pytest.mark.parametrize("n", [0, 1, 10])
def test_few_reports_make_a_page_too(table: pa.Table, n: int) -> None:
    some = table.slice(0, n)
    whole = standing(days=[], rejections={}, invitations=(0, 0))
    said = words(page_of(some, town(), whole, together=("age", "bus")).html())
    assert ("There are no reports yet." in said) == (n == 0) and ("too few" in said) == (n > 0)
    assert "No report was turned away." in said and "cannot be told before there are 5" in said


def test_a_plan_without_channels_and_without_classes_makes_a_page() -> None:
    plan = sf.Plan.from_dict({"attributes": {"q": {"categories": ["a", "b"], "role": "clear"}}})
    said = words(page_of(pa.table({"q": ["a", "b"]}), plan, Standing("clear", "closed")).html())
    assert "Nothing was blurred" in said and "new reports are refused" in said


def test_a_heap_of_equal_reports_is_named() -> None:
    plan = sf.Plan.from_dict({"attributes": {"age": {"low": 20, "high": 80, "channel": "gaussian", "privacy": 0.5}}})
    table = collected(plan, {"age": np.random.default_rng(1).uniform(20, 80, 500)})
    codes = table["age.code"].to_numpy().copy()
    codes[:20] = 0
    said = words(page_of(pa.table({"age.code": codes}), plan, Standing("one")).html())
    assert "came 20 times, where whatever people answer" in said and "All reports look as if" not in said


def test_a_model_without_rules_says_so(table: pa.Table) -> None:
    naive = {
        "kind": "NaiveBayesClassifier",
        "plan": None,
        "measured": {},
        "device": {"form": "sum", "classes": ["yes", "no"]},
    }
    said = words(page_of(table.slice(0, 40), town(), standing(model=naive)).html())
    assert "It is a NaiveBayesClassifier, which has no rules to read." in said


def test_the_promise_is_in_the_plans_language_and_marked_so(table: pa.Table) -> None:
    german = town(language="de")
    page = page_of(table, german, standing()).html()
    assert '<div lang="de"><blockquote>' in page and '<html lang="en">' in page


def test_labels_are_shown_and_never_obeyed(model: dict[str, Any]) -> None:
    attribute = {"categories": [NASTY, "b"], "channel": "randomized-response", "gamma": 19, "question": NASTY}
    group = {"categories": [f"x{NASTY}", "y"], "role": "class"}
    plan = sf.Plan.from_dict({"name": NASTY, "attributes": {NASTY: attribute, "group": group}})
    rng = np.random.default_rng(0)
    answers = {NASTY: rng.choice([NASTY, "b"], 500), "group": rng.choice([f"x{NASTY}", "y"], 500)}
    table = collected(plan, answers)
    hostile = json.loads(json.dumps(model).replace("fare is yes", "<script>alert(2)</script>"))
    told = Standing(NASTY, NASTY, [(NASTY, 1, 1)] * 6, {NASTY: 1}, (1, 1), hostile, ITEMSETS, [
        {"id": NASTY, "kind": NASTY, "state": NASTY, "said": NASTY}
    ])  # fmt: skip
    page = page_of(table, plan, told, together=(NASTY, "group")).html()
    read = Reader(page)
    assert read.all("script") == [{"src": "/static/dashboard.js", "type": "module"}]
    assert not any(key.startswith("on") or key == "style" for _, attributes in read.met for key in attributes)


def test_the_policy_allows_its_own_script_and_style_and_nothing_else(table: pa.Table) -> None:
    page = page_of(table.slice(0, 0), town(), standing())
    assert page.policy == LIVE_POLICY and "unsafe" not in LIVE_POLICY + POLICY
    assert "script-src 'self'" in LIVE_POLICY and "script-src" not in POLICY
    assert (Path(sf.__file__).parent / "collector" / "http" / "static" / "dashboard.js").is_file()


def test_the_digest_changes_with_the_numbers_and_only_then(table: pa.Table) -> None:
    some = table.slice(0, 50)
    first, again = (page_of(some, town(), standing()) for _ in range(2))
    assert first.digest == again.digest and f'<main data-digest="{first.digest}">' in first.html()
    assert page_of(some, town(), standing(rejections={})).digest != first.digest


def test_pictures_are_described_and_every_number_is_in_a_table(table: pa.Table) -> None:
    read = Reader(page_of(table, town(), standing()).html())
    pictures = [svg for svg in read.all("svg") if svg.get("aria-hidden") != "true"]
    assert pictures and all(svg["role"] == "img" and svg["aria-label"] for svg in pictures)
    assert len(read.all("details")) > 2 * len(town().columns)


# --- offline ----------------------------------------------------------------------------------------------------------

CREDIT = credit.plan()


@pytest.fixture(scope="module")
def reports() -> pa.Table:
    return CREDIT.randomize(pa.table(credit.people(1_000, np.random.default_rng(2))), rng=3)


def test_offline_a_page_has_no_script_and_no_form(table: pa.Table) -> None:
    page = page_of(table, town(), together=("fare", "bus"))
    read = Reader(page.html())
    assert page.policy == POLICY and read.all("script") == read.all("form") == [] and read.all("table")
    said = words(page.html())
    assert "3,000 reports. People blurred" in said and "fare ↓ bus →" in said and "Coming in" not in said


@pytest.mark.parametrize("kind", ["arrow", "pandas", "mapping", "codes"])
def test_any_table_of_reports_makes_the_same_page(reports: pa.Table, kind: str) -> None:
    given = {
        "arrow": lambda: reports,
        "pandas": reports.to_pandas,
        "mapping": lambda: {name: reports[name].to_numpy(zero_copy_only=False) for name in reports.column_names},
        "codes": lambda: as_codes(reports, CREDIT),
    }[kind]()
    assert estimates(given, CREDIT, "elevel") == estimates(as_codes(reports, CREDIT), CREDIT, "elevel")
    assert page_of(given, CREDIT, figures=estimates(given, CREDIT, "elevel")).title == "credit"


def test_counts_make_a_page_as_their_reports_do(reports: pa.Table) -> None:
    whole = estimates(reports, CREDIT)["questions"]
    counted = estimates(CREDIT.counts(reports, by="group"), CREDIT, class_name="group")
    assert counted["class"] == "group" and list(counted["questions"]) == [name for name in whole if name != "group"]
    assert all(each == whole[name] for name, each in counted["questions"].items())


def test_known_shares_put_the_classes_together(reports: pa.Table) -> None:
    counts, shares = CREDIT.counts(reports, by="group"), {"A": 0.9, "B": 0.1}
    each = estimates(counts, CREDIT, "age", 6, class_name="group", shares=shares)["questions"]["age"]
    first, second = each["by_class"]["groups"]
    for row, a, b in zip(each["rows"], first["rows"], second["rows"], strict=True):
        assert row["value"] == pytest.approx(0.9 * a["value"] + 0.1 * b["value"])
    assert each["mean"]["value"] == pytest.approx(0.9 * first["mean"]["value"] + 0.1 * second["mean"]["value"])
    assert each["by_class"]["verdict"].startswith(("chance alone", "they differ"))


def test_weights_widen_the_bars_and_constant_ones_do_not(reports: pa.Table) -> None:
    rng = np.random.default_rng(0)
    weights = None, np.full(1_000, 7.0), rng.lognormal(0, 1, 1_000)
    bare, same, heavy = (
        estimates(CREDIT.counts(reports, weights=some), CREDIT, "age", 6)["questions"]["age"] for some in weights
    )
    assert same["mean"]["stderr"] == pytest.approx(bare["mean"]["stderr"], rel=1e-6)
    assert heavy["mean"]["stderr"] > 1.3 * bare["mean"]["stderr"] and heavy["heaps"] == []


def test_reports_of_another_plan_and_unknown_questions_are_refused(reports: pa.Table) -> None:
    foreign = reports.append_column("sfumato.plan", pa.array(["0123456789abcdef other"] * 1_000))
    with pytest.raises(ValueError, match="use the plan that made them"):
        page_of(foreign, CREDIT)
    with pytest.raises(ValueError, match="the plan has no question 'size'; it asks age"):
        page_of({"size": CREDIT.counts(reports)["age"]}, CREDIT)
    without = collected(town(), people(5, np.random.default_rng(1))).drop_columns(["stops.size", "stops.seed"])
    with pytest.raises(ValueError, match=r"column 'stops\.seed' or 'stops\.bitmap' is missing"):
        page_of(without, town())


def test_people_who_were_not_asked_are_told_from_those_who_left_a_question_out() -> None:
    blurred = {"categories": ["a", "b"], "channel": "randomized-response", "gamma": 9}
    plan = sf.Plan.from_dict({"questions_each": 1, "attributes": {"p": blurred, "q": blurred}})
    reports = plan.randomize({"p": ["a", "b"] * 300, "q": ["b", "b"] * 300}, rng=1)
    assert "each person was asked 1 of 2 questions" in words(page_of(reports, plan).html()).lower()


def test_a_page_needs_no_learner_and_no_plotting_library() -> None:
    assert not {"sklearn", "numba", "matplotlib"} & loaded_by("import sfumato.findings")
