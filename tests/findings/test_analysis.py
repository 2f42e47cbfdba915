"""What the reports say: held against the people who were simulated."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.channels.baskets import BasketReports
from sfumato.findings import counts, estimates, joint
from sfumato.findings.bars import NINETY_PERCENT, reports_needed
from sfumato.findings.fakes import FAKES, most_likely, table_and_inverse, unusual_days
from sfumato.plan import Attribute
from tests.findings.survey_tables import STOPS, collected, people, town
from tests.laws.test_laws import EXAMPLES
from tests.statistics import critical_z

N = 6_000
SHARES = {"normal": 0.7, "cautious": 0.3}


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    return people(N, np.random.default_rng(7))


@pytest.fixture(scope="module")
def table(answers: dict[str, Any]) -> pa.Table:
    return collected(town(), answers, shares=SHARES)


@pytest.fixture(scope="module")
def found(table: pa.Table) -> dict[str, Any]:
    return estimates(table, town())


def near(bar: dict[str, Any], truth: float, slack: float = 0.0) -> bool:
    return bool(abs(bar["value"] - truth) <= critical_z() * bar["stderr"] + slack)


def one_question(**channel: Any) -> sf.Plan:
    return sf.Plan.from_dict({"attributes": {"q": {"categories": ["a", "b", "c"], **channel}}})


def test_reports_that_any_answer_explains_are_known_without_a_table() -> None:
    labels = sf.Categories(range(40))
    channels = [sf.RandomizedResponse(labels, gamma=9), sf.RandomizedResponse(labels, keep=0.01)]
    for channel in (*channels, sf.SubsetResponse(labels, gamma=3)):
        assert most_likely(channel) == pytest.approx(channel.matrix().max(axis=1), abs=1e-12)


def test_ten_thousand_categories_are_shown() -> None:
    plan = one_question(categories=list(range(10_000)), channel="subset-response", gamma=19)
    reports = plan.randomize({"q": np.repeat([3, 9_999], 1_000)}, 1)
    found = estimates(pa.table({"q.code": reports["q"]}), plan)["questions"]["q"]
    shares = {row["category"]: row["value"] for row in found["rows"]}
    assert len(shares) == 10_000 and min(shares[3], shares[9_999]) > 0.3


# --- counts and estimates ---------------------------------------------------------------------------------------------


def test_counts_are_those_of_the_table_by_class_and_by_level(table: pa.Table) -> None:
    told = counts(table, town())
    assert told["reports"] == N and list(told["questions"]) == [*town().columns]
    age = told["questions"]["age"]
    assert age["answered"] == N and age["missing"] == 0
    chosen = {row["label"]: row["answered"] for row in age["by_level"]}
    assert chosen == {level: table["age.level"].to_pylist().count(level) for level in SHARES}
    classes = {row["label"]: row["answered"] for row in age["by_class"]}
    assert classes == {"yes": table["bus.code"].to_pylist().count(0), "no": table["bus.code"].to_pylist().count(1)}
    assert told["questions"]["bus"]["by_class"] == []


def test_everything_is_strict_json(found: dict[str, Any], table: pa.Table) -> None:
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert json.dumps(joint(table, town(), "fare", "bus"), allow_nan=False)
    assert json.dumps(counts(table, town()), allow_nan=False)


def test_shares_and_means_are_those_of_the_people(found: dict[str, Any], answers: dict[str, Any]) -> None:
    questions = found["questions"]
    for name in ("fare", "district", "bus"):
        for row in questions[name]["rows"]:
            assert near(row, np.mean(np.asarray(answers[name]) == row["category"])), (name, row)
    for row in questions["stops"]["rows"]:
        assert near(row, np.mean([row["category"] in basket for basket in answers["stops"]])), row
    for name in ("age", "height", "weight", "years"):
        assert near(questions[name]["mean"], float(np.mean(answers[name]))), name
    assert [row["label"] for row in questions["stops"]["rows"]] == STOPS


def test_a_blurred_class_is_taken_off_so_that_groups_are_the_true_ones(
    found: dict[str, Any], answers: dict[str, Any]
) -> None:
    for name in ("age", "fare", "stops", "district"):
        for group in found["questions"][name]["by_class"]["groups"]:
            own = np.asarray(answers["bus"]) == group["label"]
            assert abs(group["share"] - own.mean()) < 0.05
            if name == "age":
                assert near(group["mean"], float(np.mean(answers["age"][own])))
            for row, whole in zip(group["rows"], found["questions"][name]["rows"], strict=True):
                if name == "fare":
                    assert near(row, float(np.mean(answers["fare"][own] == whole["category"])))
                if name == "stops":
                    held = [whole["category"] in basket for basket in answers["stops"]]
                    assert near(row, float(np.mean(np.asarray(held)[own])))
    (gap,) = found["questions"]["age"]["by_class"]["differences"]
    assert gap["label"] == "yes" and gap["against"] == "no" and gap["mean"]["value"] < -20
    assert not gap["mean"]["within_noise"]
    (same,) = found["questions"]["district"]["by_class"]["differences"]
    assert abs(same["rows"][0]["value"]) <= critical_z() * same["rows"][0]["stderr"]


def test_levels_are_compared_and_people_who_chose_them_are_alike(found: dict[str, Any]) -> None:
    levels = found["questions"]["age"]["by_level"]
    assert [group["label"] for group in levels["groups"]] == list(SHARES)
    (gap,) = levels["differences"]
    assert abs(gap["mean"]["value"]) <= critical_z() * gap["mean"]["stderr"]
    assert found["questions"]["fare"]["by_level"] is None


def test_of_several_classes_each_is_held_against_the_others() -> None:
    plan = sf.Plan.from_dict(
        {"attributes": {"q": {"categories": ["a", "b"], "channel": "randomized-response", "gamma": 19},
                        "group": {"categories": ["x", "y", "z", "nobody"], "role": "class"}}}
    )  # fmt: skip
    rng = np.random.default_rng(3)
    group = rng.choice(["x", "y", "z"], 9_000)
    table = collected(plan, {"q": np.where(rng.random(9_000) < (0.2 + 0.3 * (group == "x")), "a", "b"), "group": group})
    told = estimates(table, plan)["questions"]["q"]["by_class"]
    assert [group["label"] for group in told["groups"]] == ["x", "y", "z"]
    assert [gap["against"] for gap in told["differences"]] == [None] * 3
    assert near(told["differences"][0]["rows"][0], 0.3) and near(told["differences"][1]["rows"][0], -0.15)
    assert told["compared"] == 6 and told["stand_out"] == 6


def test_where_groups_do_not_differ_one_comparison_in_ten_stands_out() -> None:
    plan = sf.Plan.from_dict(
        {"attributes": {"q": {"categories": [*"abcd"], "channel": "randomized-response", "gamma": 9},
                        "group": {"categories": ["x", "y"], "role": "class"}}}
    )  # fmt: skip
    rng, out = np.random.default_rng(5), []
    for seed in range(150):
        answers = {"q": rng.choice([*"abcd"], 400, p=[0.4, 0.3, 0.2, 0.1]), "group": rng.choice(["x", "y"], 400)}
        told = estimates(collected(plan, answers, seed), plan)["questions"]["q"]["by_class"]
        out += [not row["within_noise"] for row in told["differences"][0]["rows"][:1]]
    spread = np.sqrt(0.1 * 0.9 / len(out))
    assert abs(np.mean(out) - 0.1) < critical_z() * spread


def test_bars_of_groups_hold_the_truth_nine_times_in_ten_where_the_class_is_blurred() -> None:
    """Over repeated surveys of a crowd whose shares are known; the bars must not miss more often than they say."""
    blurred = {"channel": "randomized-response", "gamma": 9}
    plan = sf.Plan.from_dict(
        {"attributes": {"q": {"categories": [*"abc"], **blurred},
                        "group": {"categories": ["x", "y"], "role": "class", **blurred}}}
    )  # fmt: skip
    rng, truth, held, gaps = np.random.default_rng(8), {"x": [0.5, 0.3, 0.2], "y": [0.2, 0.3, 0.5]}, [], []
    for seed in range(80):
        group = rng.choice(["x", "y"], 1_500, p=[0.3, 0.7])
        answers = np.array([*"abc"])[[rng.choice(3, p=truth[each]) for each in group]]
        told = estimates(collected(plan, {"q": answers, "group": group}, seed), plan)["questions"]["q"]["by_class"]
        for each in told["groups"]:
            pairs = zip(each["rows"], truth[each["label"]], strict=True)
            held += [row["from"] <= share <= row["to"] for row, share in pairs]
        (gap,) = told["differences"]
        gaps += [row["from"] <= d <= row["to"] for row, d in zip(gap["rows"], [0.3, 0.0, -0.3], strict=True)]
    for found in (held, gaps):
        least = 0.9 - critical_z() * np.sqrt(0.1 * 0.9 / (len(found) / 3))  # the shares of one survey hang together
        assert least < np.mean(found) < 0.97, np.mean(found)


def test_a_class_whose_blur_cannot_be_undone_is_not_compared() -> None:
    flat = {"channel": "randomized-response", "keep": 0.5}
    plan = sf.Plan.from_dict(
        {"attributes": {"q": {"categories": ["a", "b"], "channel": "randomized-response", "gamma": 19},
                        "group": {"categories": ["x", "y"], "role": "class", **flat}}}
    )  # fmt: skip
    told = estimates(collected(plan, {"q": ["a", "b"] * 50, "group": ["x", "y"] * 50}), plan)["questions"]
    assert told["q"]["by_class"] is None and told["q"]["rows"]


def test_numbers_are_shown_in_as_many_ranges_as_the_reports_decide(found: dict[str, Any]) -> None:
    assert len(found["questions"]["age"]["rows"]) == 10
    noisy = sf.Plan.from_dict(
        {"attributes": {"age": {"low": 18, "high": 90, "channel": "gaussian", "privacy": 1.0}}}
    )
    told = estimates(collected(noisy, {"age": np.random.default_rng(1).uniform(18, 90, 500)}), noisy)
    assert len(told["questions"]["age"]["rows"]) == 5


@pytest.mark.parametrize("kind", sorted(set(EXAMPLES) - {"select-a-size", "correlated-gaussian"}))
def test_reports_of_every_channel_are_read(kind: str) -> None:
    channel, rng = EXAMPLES[kind][0], np.random.default_rng(2)
    group = Attribute("group", sf.Categories(["x", "y"]), role="class")
    plan = sf.Plan("every", {"q": Attribute("q", channel.domain, channel), "group": group})
    ends = getattr(channel.domain, "labels", None) or [channel.domain.low, channel.domain.high]  # type: ignore[union-attr]
    values = rng.choice(ends, 60)
    shares = dict.fromkeys(map(str, channel.levels), 1.0) if channel.has_levels else None
    told = estimates(collected(plan, {"q": values, "group": rng.choice(["x", "y"], 60)}, shares=shares), plan)
    assert told["questions"]["q"]["reports"] == 60 and len(told["questions"]["q"]["by_class"]["groups"]) == 2
    assert json.dumps(told, allow_nan=False)


# --- few reports ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 10])
def test_few_reports_are_a_sentence_and_not_an_error(table: pa.Table, n: int) -> None:
    told = estimates(table.slice(0, n), town())
    for name, each in told["questions"].items():
        words = {0: "There are no reports yet.", 1: "1 answer is too few", 10: "10 answers are too few"}[n]
        assert any(said.startswith(words) for said in each["messages"]), name
        if n == 1:
            assert each["mean"] is None
            assert all(row["to"] - row["from"] > 0.05 or each["kind"] == "numbers" for row in each["rows"])
    assert counts(table.slice(0, n), town())["reports"] == n
    pair = joint(table.slice(0, n), town(), "age", "bus")
    assert pair["messages"] and json.dumps(pair, allow_nan=False)


def test_a_question_that_nobody_answered_says_so(table: pa.Table) -> None:
    columns = {name: table[name] for name in table.column_names}
    columns["fare.code"] = pa.array(np.full(N, -1, np.int32))
    columns["stops.size"] = pa.nulls(N, pa.uint16())
    columns["district"] = pa.nulls(N, pa.string())
    columns["years"] = pa.nulls(N, pa.float64())
    told = estimates(pa.table(columns), town())["questions"]
    for name in ("fare", "stops", "district", "years"):
        assert told[name]["rows"] == [] and told[name]["missing"] == N
        assert told[name]["messages"] == [f"Nobody has answered this question yet; {N:,} left it out."]
    assert told["age"]["rows"]
    assert joint(pa.table(columns), town(), "fare", "bus")["labels"] == []


def test_one_class_only_and_a_level_that_nobody_chose_are_left_out() -> None:
    plan = town()
    answers = {name: value for name, value in people(500, np.random.default_rng(1)).items()}
    table = collected(plan, answers)
    codes = pa.array(np.zeros(500, np.int32))
    table = table.set_column(table.column_names.index("bus.code"), "bus.code", codes)
    age = estimates(table, plan)["questions"]["age"]
    assert [group["label"] for group in age["by_level"]["groups"]] == ["normal"]
    assert age["by_level"]["differences"] == [] and age["by_level"]["smallest"] is None
    assert [group["label"] for group in age["by_class"]["groups"]] == ["yes"]


def test_people_without_a_class_count_in_the_whole_alone() -> None:
    plan = sf.Plan.from_dict(
        {"attributes": {"q": {"categories": ["a", "b"], "channel": "randomized-response", "gamma": 19},
                        "group": {"categories": ["x", "y"], "role": "class"}}}
    )  # fmt: skip
    table = collected(plan, {"q": ["a", "b", "a", "b"], "group": ["x", None, "y", None]})
    told = counts(table, plan)["questions"]
    assert told["q"]["answered"] == 4 and [row["answered"] for row in told["q"]["by_class"]] == [1, 1]
    assert told["group"]["missing"] == 2


def test_too_many_classes_are_not_compared() -> None:
    plan = sf.Plan.from_dict(
        {"attributes": {"q": {"categories": ["a", "b"], "channel": "randomized-response", "gamma": 19},
                        "group": {"categories": list(range(9)), "role": "class"}}}
    )  # fmt: skip
    table = collected(plan, {"q": ["a", "b"] * 45, "group": list(range(9)) * 10})
    told = estimates(table, plan)["questions"]["q"]
    assert told["by_class"] is None and told["messages"] == ["9 groups are too many to compare; up to 6 are."]


# --- what can be told -------------------------------------------------------------------------------------------------


def test_the_number_of_reports_that_is_said_to_be_needed_is_enough() -> None:
    plan = one_question(channel="randomized-response", gamma=5)
    rng = np.random.default_rng(2)
    few = estimates(collected(plan, {"q": rng.choice([*"abc"], 500, p=[0.5, 0.3, 0.2])}), plan)
    wanted = few["questions"]["q"]["precision"]["needed"]["2"]
    enough = estimates(collected(plan, {"q": rng.choice([*"abc"], wanted, p=[0.5, 0.3, 0.2])}), plan)
    assert enough["questions"]["q"]["precision"]["half_width"]["worst"] == pytest.approx(0.02, rel=0.06)
    before = estimates(collected(plan, {"q": ["a"]}).slice(0, 0), plan)["questions"]["q"]["precision"]
    assert before["needed"]["2"] == pytest.approx(wanted, rel=0.15) and before["half_width"] is None


def test_the_mean_of_numbers_sharpens_as_it_is_said_to() -> None:
    plan = sf.Plan.from_dict({"attributes": {"age": {"low": 20, "high": 80, "channel": "square-wave", "gamma": 19}}})
    rng = np.random.default_rng(2)
    few = estimates(collected(plan, {"age": rng.uniform(20, 50, 400)}), plan)["questions"]["age"]["precision"]
    assert few["rough"]
    wanted = few["mean"]["needed"]["1"]
    enough = estimates(collected(plan, {"age": rng.uniform(20, 50, wanted)}), plan)["questions"]["age"]["precision"]
    assert enough["mean"]["half_width"] == pytest.approx(0.01, rel=0.15)


def test_missing_answers_count_among_the_reports_that_are_needed() -> None:
    plan = one_question(channel="randomized-response", gamma=5)
    codes = np.array([0, 1, 2, -1] * 100, np.int32)
    told = estimates(pa.table({"q.code": codes}), plan)["questions"]["q"]["precision"]
    whole = estimates(pa.table({"q.code": codes[codes >= 0]}), plan)["questions"]["q"]["precision"]
    assert told["needed"]["1"] == pytest.approx(whole["needed"]["1"] * 4 / 3, rel=1e-3)


def test_a_share_is_within_noise_when_its_bar_reaches_zero(found: dict[str, Any]) -> None:
    rows = [row for each in found["questions"].values() for row in each["rows"]]
    assert any(row["within_noise"] for row in rows)
    for row in rows:
        assert row["within_noise"] == (row["value"] <= NINETY_PERCENT * row["stderr"])
        assert row["from"] == pytest.approx(np.clip(row["value"] - NINETY_PERCENT * row["stderr"], 0.0, 1.0))
    assert reports_needed(0.25)["1"] == int(np.ceil(NINETY_PERCENT**2 * 0.25 / 1e-4))


# --- fakes ------------------------------------------------------------------------------------------------------------


def moved(told: dict[str, Any], share: float) -> dict[str, float]:
    return next(each for each in told["fakes"]["moved"] if each["share"] == share)


def values(plan: sf.Plan, codes: Any) -> Any:
    told = estimates(pa.table({"q.code": codes}), plan)["questions"]["q"]
    return np.array([row["value"] for row in told["rows"]])


@pytest.mark.parametrize("share", FAKES)
def test_made_up_reports_of_categories_move_a_share_as_far_as_is_said(share: float) -> None:
    plan = one_question(channel="randomized-response", gamma=9)
    rng, n = np.random.default_rng(4), 40_000
    fakes = round(share * n)
    table = collected(plan, {"q": rng.choice([*"abc"], n, p=[0.5, 0.3, 0.2])})
    honest = estimates(table, plan)["questions"]["q"]
    shares = values(plan, table["q.code"].to_numpy())
    counted = plan.counts(table)["q"]
    _, undo = table_and_inverse(counted)  # type: ignore[misc]
    worst = int(np.abs(undo - shares[:, None]).max(axis=0).argmax())
    codes = table["q.code"].to_numpy().copy()
    codes[:fakes] = worst
    poisoned = values(plan, codes)
    slack = critical_z() * 2 * np.sqrt(fakes) / n * np.abs(undo).max()
    assert np.abs(poisoned - shares).max() == pytest.approx(moved(honest, share)["made_up"], abs=slack)
    lies = plan.attributes["q"].channel.randomize(np.full(fakes, "c"), rng)
    codes[:fakes] = np.searchsorted([*"abc"], lies)
    assert np.abs(values(plan, codes) - shares).max() == pytest.approx(moved(honest, share)["lies"], abs=slack)


@pytest.mark.parametrize(
    ("channel", "strength"),
    [("gaussian", {"privacy": 0.5}), ("square-wave", {"gamma": 9}), ("uniform", {"privacy": 1.0})],
)
def test_made_up_reports_of_numbers_move_the_mean_as_far_as_is_said(channel: str, strength: dict[str, float]) -> None:
    plan = sf.Plan.from_dict({"attributes": {"age": {"low": 20, "high": 80, "channel": channel, **strength}}})
    rng, n, share = np.random.default_rng(4), 20_000, 0.05
    table = collected(plan, {"age": rng.triangular(20, 30, 80, n)})
    honest = estimates(table, plan)["questions"]["age"]
    codes, fakes = table["age.code"].to_numpy().copy(), round(share * n)
    codes[:fakes] = plan.attributes["age"].channel.outputs.size - 1
    poisoned = estimates(pa.table({"age.code": codes}), plan)["questions"]["age"]["mean"]["value"]
    slack = critical_z() * honest["mean"]["stderr"] * np.sqrt(2 * share)
    assert poisoned - honest["mean"]["value"] == pytest.approx(moved(honest, share)["made_up"], abs=slack)
    lies = sf.Reports({"age": plan.attributes["age"].channel.randomize(np.full(fakes, 80.0), rng)}, plan)
    codes[:fakes] = lies.column("age").codes
    lied = estimates(pa.table({"age.code": codes}), plan)["questions"]["age"]["mean"]["value"]
    assert lied - honest["mean"]["value"] == pytest.approx(moved(honest, share)["lies"], abs=slack)


def test_made_up_baskets_move_an_item_as_far_as_is_said() -> None:
    channel = sf.SelectASize.design(sf.Items(STOPS), [2], 9, 1)
    plan = sf.Plan.from_dict({"attributes": {"stops": {"items": STOPS, **channel.to_spec()}}})
    n, fakes = 8_000, 400
    baskets = [["Market", STOPS[1 + place % 5]] for place in range(n)]
    table = collected(plan, {"stops": baskets})
    honest = estimates(table, plan)["questions"]["stops"]
    column = table.column_names[1]
    rows = table[column].to_pylist()
    whole = BasketReports.of_bytes(channel.items, table["stops.size"].to_numpy(), rows, column.endswith("seed"))
    shown = np.array(["School" in basket for basket in channel.expand(whole).to_lists()])
    rows[:fakes] = [rows[int(np.flatnonzero(shown)[0])]] * fakes
    poisoned = estimates(table.set_column(1, column, pa.array(rows, table[column].type)), plan)["questions"]["stops"]
    shift = poisoned["rows"][-1]["value"] - honest["rows"][-1]["value"]
    law = channel.laws[2]
    expected = 0.05 * (law.estimator(1)[1] - honest["rows"][-1]["value"])
    slack = critical_z() * honest["rows"][-1]["stderr"] * np.sqrt(2 * 0.05)
    assert shift == pytest.approx(expected, abs=slack) and expected <= moved(honest, 0.05)["made_up"] + 1e-12


def test_reports_that_the_channel_hardly_makes_show_as_a_misfit() -> None:
    plan = sf.Plan.from_dict({"attributes": {"age": {"low": 20, "high": 80, "channel": "gaussian", "privacy": 0.5}}})
    table = collected(plan, {"age": np.random.default_rng(4).uniform(20, 80, 5_000)})
    assert estimates(table, plan)["questions"]["age"]["fit"] > 1e-5
    codes = table["age.code"].to_numpy().copy()
    codes[:250] = plan.attributes["age"].channel.outputs.size - 1
    told = estimates(pa.table({"age.code": codes}), plan)["questions"]["age"]
    assert told["fit"] < 1e-5 and "do not look as if they came through this channel" in told["messages"][0]


@pytest.mark.parametrize("channel", ["gaussian", "uniform", "laplace"])
def test_a_heap_of_equal_reports_is_seen_and_sound_reports_make_none(channel: str) -> None:
    plan = sf.Plan.from_dict({"attributes": {"age": {"low": 20, "high": 80, "channel": channel, "privacy": 0.5}}})
    table = collected(plan, {"age": np.full(20_000, 50.0)})  # as heaped as people can be
    assert estimates(table, plan)["questions"]["age"]["heaps"] == []
    codes = table["age.code"].to_numpy().copy()
    codes[:200] = plan.attributes["age"].channel.outputs.size - 1
    (heap,) = estimates(pa.table({"age.code": codes}), plan)["questions"]["age"]["heaps"]
    assert heap["count"] in (200, 201) and heap["expected"] < 100
    assert heap["report"] == plan.attributes["age"].channel.outputs.value_of(codes[0])


def test_a_flood_is_an_unusual_day_and_ordinary_days_are_not() -> None:
    rng = np.random.default_rng(1)
    quiet = [(f"2026-05-{day + 1:02}", int(rng.poisson(300)), int(rng.poisson(3))) for day in range(28)]
    assert unusual_days(quiet) == []
    flooded = [*quiet[:10], ("2026-05-11", 900, 60), *quiet[11:]]
    assert [(day["day"], day["what"]) for day in unusual_days(flooded)] == [
        ("2026-05-11", "accepted"), ("2026-05-11", "withdrawn"),
    ]  # fmt: skip
    assert unusual_days(flooded[9:12]) == []


# --- two questions together ------------------------------------------------------------------------------------------


def test_two_questions_together_with_errors_where_both_are_categories(table: pa.Table, answers: dict[str, Any]) -> None:
    told = joint(table, town(), "fare", "bus")
    assert told["labels"] == [["yes", "no", "rather not say"], ["yes", "no"]] and told["reports"] == N
    for i, fare in enumerate(("yes", "no")):
        for j, bus in enumerate(("yes", "no")):
            truth = np.mean((answers["fare"] == fare) & (answers["bus"] == bus))
            assert abs(told["shares"][i][j] - truth) < critical_z() * told["stderr"][i][j]
    numbers = joint(table, town(), "age", "district")
    assert numbers["stderr"] is None and len(numbers["shares"]) == 5
    assert np.sum(numbers["shares"]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("pair", "words"),
    [(("age", "stops"), "'stops' cannot"), (("age", "age"), "given twice"), (("age", "x"), "'x' cannot")],
)
def test_what_cannot_be_seen_together_is_named(table: pa.Table, pair: tuple[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        joint(table, town(), *pair)


@pytest.mark.parametrize("table", [{}, {"somebody": [1, 2]}])
def test_a_table_without_the_plans_columns_is_refused_in_one_line(table: dict[str, Any]) -> None:
    question = {"low": 0, "high": 1, "channel": "gaussian", "privacy": 1}
    plan = sf.Plan.from_dict({"name": "p", "attributes": {"a": question}})
    with pytest.raises(ValueError, match=r"column 'a' is missing; the reports have (no columns|somebody): give those"):
        estimates(table, plan)
