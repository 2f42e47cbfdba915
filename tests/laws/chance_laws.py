"""What must hold of every plan and table, whatever chance has drawn: each law is a script's last lines.

Their arguments are names that a case's script defines: the true ``table``, its ``plan``, the ``reports``, ``weights``,
and ``learner``, which makes an unfitted learner.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from shutil import rmtree
from typing import Any
from weakref import finalize

import numpy as np

import sfumato as sf
from tests.laws.chance import Case
from tests.laws.chance_cases import is_mixed
from tests.statistics import assert_fits

# --- plans ----------------------------------------------------------------------------------------------------------


def a_plan_is_read_back_as_it_was(plan: sf.Plan) -> None:
    again = sf.Plan.loads(plan.to_json(), "json")
    assert again.identity == plan.identity and again.to_dict() == plan.to_dict()


def a_plan_states_what_it_reveals(plan: sf.Plan) -> None:
    said = str(plan.guarantee())
    assert len(said) > 80 and "nan" not in said.split()
    json.dumps(plan.guarantee().to_dict(), allow_nan=False)
    assert "<html" in str(plan.page().html())


# --- reports --------------------------------------------------------------------------------------------------------


def reports_are_drawn_by_the_stated_law(plan: sf.Plan, truth: Any) -> None:
    channels = [(name, one) for name, each in plan.channels.items() for one in (each.levels.values() if each else ())]
    for name, one in channels:
        codes = one.encode(truth[name])
        code = np.bincount(codes[codes >= 0], minlength=1).argmax()
        many = one.randomize(np.repeat(one.inputs.decode(np.array([code])), 4000), rng=5)
        assert_fits(np.bincount(one.encode_reports(many), minlength=one.outputs.size), one.law()[:, code])


def every_frame_has_the_same_reports(plan: sf.Plan, columns: Any, reports: Any) -> None:
    told, other = plan.counts(columns), plan.counts(reports)
    for name, counts in told.items():
        assert counts.to_dict() == other[name].to_dict()


def counts_of_parts_add_up(plan: sf.Plan, columns: Any) -> None:
    whole, half = plan.counts(columns), -(-len(columns[next(iter(columns))]) // 2)
    parts = [{name: each[part] for name, each in columns.items()} for part in (slice(half), slice(half, None))]
    one, other = map(plan.counts, parts)
    assert all((one[name] + other[name]).to_dict() == counts.to_dict() for name, counts in whole.items())


def counts_are_read_back_as_they_were(plan: sf.Plan, columns: Any) -> None:
    for name, counts in plan.counts(columns).items():
        written = json.dumps(counts.to_dict(), allow_nan=False)
        assert sf.Counts.from_dict(json.loads(written), plan.attributes[name].channel).to_dict() == counts.to_dict()


# --- estimates ------------------------------------------------------------------------------------------------------


def an_estimate_is_a_distribution(plan: sf.Plan, reports: Any, weights: Any) -> None:
    for estimate in plan.reconstruct(reports, weights=weights).values():
        low, high = estimate.interval()
        assert (estimate.probabilities >= 0).all() and abs(estimate.probabilities.sum() - 1) < 1e-9
        assert np.isfinite(estimate.stderr).all() and (estimate.stderr >= 0).all() and (low <= high).all()


def an_estimate_answers_every_question(plan: sf.Plan, reports: Any) -> None:
    for estimate in plan.reconstruct(reports).values():
        said = [str(estimate), repr(estimate), estimate._repr_html_(), json.dumps(estimate.to_dict(), allow_nan=False)]
        assert all("nan" not in each.lower().split() for each in said)
        assert len(estimate.rows()) == len(estimate.labels()) == len(estimate.probabilities)
        assert len(estimate.to_pandas()) == len(estimate.to_polars()) == len(estimate.probabilities)
        assert 0 <= estimate.information_loss() < np.inf and len(estimate.sample(7, rng=1)) == 7
        together = estimate.interval(simultaneous=True)
        assert np.isfinite(together).all()
        if estimate.categories is None:
            assert np.isfinite([estimate.mean(), estimate.quantile(0.5), estimate.share(high=estimate.edges[1])]).all()
        else:
            assert 0 <= estimate.share(estimate.categories[:1]) <= 1


def an_estimate_is_drawn(plan: sf.Plan, reports: Any) -> None:
    import matplotlib.pyplot as plt

    for estimate in plan.reconstruct(reports).values():
        estimate.plot().figure.canvas.draw()
        plt.close("all")


def every_method_estimates(plan: sf.Plan, columns: Any) -> None:
    for method in ("em", "as00", "inverse"):
        for name, channel in plan.channels.items():
            if channel is not None and (method != "inverse" or "low" not in plan.attributes[name].to_dict()):
                level = columns[name + ".level"] if channel.has_levels else None
                estimate = sf.reconstruct(columns[name], channel, method=method, level=level)
                assert abs(estimate.probabilities.sum() - 1) < 1e-6


def rows_in_another_order_give_the_same_estimate(plan: sf.Plan, columns: Any) -> None:
    first = plan.reconstruct(columns)
    other = plan.reconstruct({name: column[::-1] for name, column in columns.items()})
    assert all((first[name].probabilities == other[name].probabilities).all() for name in first)


def groups_are_estimated_apart(plan: sf.Plan, reports: Any, target: str) -> None:
    if plan.attributes[target].channel is None:
        for by_class in plan.reconstruct(reports, by=target).values():
            groups = list(by_class.values())
            assert all(abs(each.probabilities.sum() - 1) < 1e-9 for each in groups)
            if len(groups) > 1:
                str(sf.difference(groups[0], groups[1]))
                sf.combine(by_class, {name: 1 / len(groups) for name in by_class})


def pairs_are_estimated(plan: sf.Plan, reports: Any) -> None:
    names = [name for name, channel in plan.channels.items() if channel is not None][:2]
    if len(names) == 2:
        joint = sf.reconstruct_joint(sf.Reports(reports, plan, target=False), columns=names)
        assert abs(joint.probabilities.sum() - 1) < 1e-6 and (joint.probabilities >= 0).all()
        str(joint), str(joint.marginal(names[0]))


# --- learners -------------------------------------------------------------------------------------------------------


def a_learner_gives_probabilities(plan: sf.Plan, truth: Any, reports: Any, learner: Any, weights: Any) -> None:
    model = learner().fit(sf.Reports(reports, plan), sample_weight=weights)
    people = {name: truth[name] for name in model.attribute_names_}
    chances = model.predict_proba(people)
    assert np.isfinite(chances).all() and (chances >= 0).all() and np.allclose(chances.sum(axis=1), 1)
    assert set(model.predict(people).tolist()) <= set(plan.attributes[plan.target].domain.labels)


def a_learner_learns_the_same_twice(plan: sf.Plan, truth: Any, columns: Any, learner: Any) -> None:
    one, other = (learner().fit(sf.Reports(columns, plan)) for _ in range(2))
    people = {name: truth[name] for name in one.attribute_names_}
    np.testing.assert_array_equal(one.predict_proba(people), other.predict_proba(people))


def a_learner_is_read_back_as_it_was(plan: sf.Plan, truth: Any, columns: Any, learner: Any) -> None:
    model = learner().fit(sf.Reports(columns, plan))
    people = {name: truth[name] for name in model.attribute_names_}
    again = type(model).from_dict(json.loads(json.dumps(model.to_dict(), allow_nan=False)))
    np.testing.assert_allclose(again.predict_proba(people), model.predict_proba(people), rtol=0, atol=1e-12)
    assert again.predict(people).tolist() == model.predict(people).tolist()


def a_constant_column_teaches_nothing(plan: sf.Plan, truth: Any, columns: Any, learner: Any) -> None:
    spec, c = plan.to_dict(), np.full(len(columns[plan.target]), 0.1)
    spec["attributes"]["c"] = {"low": 0, "high": 1, "role": "clear"}
    wider = sf.Plan.from_dict(spec)
    one, other = learner().fit(sf.Reports(columns, plan)), learner().fit(sf.Reports({**columns, "c": c}, wider))
    people = {name: {**truth, "c": c}[name] for name in other.attribute_names_}
    known = {name: people[name] for name in one.attribute_names_}
    moved = np.abs(one.predict_proba(known) - other.predict_proba(people)).mean()
    assert moved < 0.05 + 1 / np.sqrt(len(c))  # the column makes other folds: as much as another random_state


def every_frame_teaches_the_same(plan: sf.Plan, truth: Any, columns: Any, reports: Any, learner: Any) -> None:
    one, other = (learner().fit(sf.Reports(each, plan)) for each in (columns, reports))
    people = {name: truth[name] for name in one.attribute_names_}
    np.testing.assert_array_equal(one.predict_proba(people), other.predict_proba(people))


def a_model_travels(plan: sf.Plan, truth: Any, columns: Any, learner: Any) -> None:
    from sfumato.shipping import dumps, loads

    model = learner().fit(sf.Reports(columns, plan))
    people = {name: truth[name] for name in model.attribute_names_}
    there = loads(dumps(model, plan=plan))
    np.testing.assert_allclose(there.predict_proba(people), model.predict_proba(people), rtol=0, atol=1e-9)


# --- other systems --------------------------------------------------------------------------------------------------


def a_release_is_reported_on(table: Any, target: Any) -> None:
    done = sf.release(table, target, rng=np.random.default_rng(1))
    said = str(done.report)
    assert "nan" not in said.split()
    json.dumps(done.report.to_dict(), allow_nan=False)
    assert "<html" in done.report.to_html()


def a_regression_has_errors(plan: sf.Plan, reports: Any, weights: Any) -> None:
    outcome, *on = [name for name, each in plan.attributes.items() if each.role != "class"]
    if on:
        found = sf.regress(reports, plan, outcome, on[:3], weights=weights)
        assert "nan" not in str(found).split()


def an_audit_finds_nothing(plan: sf.Plan) -> None:
    found = sf.audit(plan, samples=2000, people=200)
    assert found.passed and "nan" not in str(found).split()


def the_command_line_answers(plan: sf.Plan, truth: Any) -> None:
    for line, code, error in commands(plan, truth):
        assert code in (0, 3) or (code == 2 and len(error.splitlines()) == 1), (line, error)


def every_engine_counts_the_same(plan: sf.Plan, columns: Any) -> None:
    here = {name: counts.to_dict() for name, counts in sf.Reports(columns, plan).tallied().items()}
    for there in elsewhere(columns):
        assert {name: counts.to_dict() for name, counts in sf.Reports(there, plan).tallied().items()} == here


def every_engine_teaches_the_same(plan: sf.Plan, truth: Any, columns: Any, learner: Any) -> None:
    here = learner().fit(sf.Reports(columns, plan))
    people = {name: truth[name] for name in here.attribute_names_}
    for there in elsewhere(columns):
        other = learner().fit(sf.Reports(there, plan))
        np.testing.assert_allclose(other.predict_proba(people), here.predict_proba(people), rtol=0, atol=1e-9)


def baskets_are_drawn_by_the_stated_law(design: sf.SelectASize) -> None:
    for each in design.laws.values():
        reports = design.randomize([list(range(each.size))] * 3000, rng=1).to_lists()
        shown = [len(set(report) & set(range(each.size))) for report in reports]
        assert_fits(np.bincount(shown, minlength=each.size + 1), each.kept)


def itemsets_of_baskets_have_errors(design: sf.SelectASize) -> None:
    sizes = [each.size for each in design.laws.values()]
    draw = np.random.default_rng(1).choice
    baskets = [draw(design.domain.size, sizes[i % len(sizes)], replace=False).tolist() for i in range(300)]
    found = sf.frequent_itemsets(design.randomize(baskets, rng=1), design, 0.99, max_len=1)
    assert np.isfinite(found["support"]).all() and (np.asarray(found["stderr"]) > 0).all()


def commands(plan: sf.Plan, truth: Any) -> list[tuple[str, int, str]]:
    """What the commands of a survey end with, one after the other: (the line, its exit code, what stood on stderr)."""
    from pyarrow import csv, parquet, table

    from sfumato.cli import run

    answers = []
    with tempfile.TemporaryDirectory() as place, chdir(place):
        Path("plan.json").write_text(plan.to_json())
        parquet.write_table(table(truth), "people.parquet")
        csv.write_csv(table(truth), "people.csv")
        for line in (
            "check plan.json",
            "randomize plan.json people.parquet -o reports.parquet --seed 1",
            "randomize plan.json people.csv -o reports.csv --seed 1",
            "reconstruct plan.json reports.parquet",
            "reconstruct plan.json reports.csv --json",
            "train plan.json reports.parquet -o model.json --method naive-bayes",
            "predict model.json people.csv -o told.csv",
            "release people.csv -o released.csv --seed 1",
        ):
            said, error = StringIO(), StringIO()
            with redirect_stdout(said), redirect_stderr(error):
                code = run(line.split())
            answers.append((line, code, error.getvalue()))
    return answers


def elsewhere(columns: Any) -> list[Any]:
    """The same reports, held by other systems: DuckDB, Polars, and Spark where a session is open."""
    import duckdb
    import polars
    from pyspark.sql import SparkSession

    from tests.engines.makers import arrow, distributed

    held = arrow(columns)
    found = [duckdb.connect().from_arrow(held), polars.from_arrow(held).lazy()]
    if SparkSession.getActiveSession() is None:
        return found
    folder = Path(tempfile.mkdtemp())
    frame = distributed(held, folder)
    finalize(frame, rmtree, folder)
    return [*found, frame]


CHEAP: list[Callable[..., None]] = [
    a_plan_is_read_back_as_it_was,
    a_plan_states_what_it_reveals,
    reports_are_drawn_by_the_stated_law,
    every_frame_has_the_same_reports,
    counts_of_parts_add_up,
    counts_are_read_back_as_they_were,
]
"""Laws of the plan and its reports, asked of every case."""

ESTIMATES: list[Callable[..., None]] = [
    an_estimate_is_a_distribution,
    an_estimate_answers_every_question,
    an_estimate_is_drawn,
    every_method_estimates,
    rows_in_another_order_give_the_same_estimate,
    groups_are_estimated_apart,
    pairs_are_estimated,
]
LEARNING: list[Callable[..., None]] = [
    a_learner_gives_probabilities,
    a_learner_learns_the_same_twice,
    a_learner_is_read_back_as_it_was,
    a_constant_column_teaches_nothing,
    every_frame_teaches_the_same,
    a_model_travels,
    every_engine_teaches_the_same,
]
OTHERS: list[Callable[..., None]] = [
    a_release_is_reported_on,
    a_regression_has_errors,
    an_audit_finds_nothing,
    the_command_line_answers,
    every_engine_counts_the_same,
    baskets_are_drawn_by_the_stated_law,
    itemsets_of_baskets_have_errors,
]
FITS: dict[Callable[..., None], int] = {
    a_learner_learns_the_same_twice: 2,
    a_constant_column_teaches_nothing: 2,
    every_frame_teaches_the_same: 2,
    every_engine_teaches_the_same: 4,
}
"""How many models a law fits, where it is more than one."""

IN_ARROW = [the_command_line_answers, every_engine_counts_the_same, every_engine_teaches_the_same]
"""Laws whose tables are Arrow's, which hold no labels of several kinds."""


def laws_for(case: Case, rng: np.random.Generator) -> list[Callable[..., None]]:
    """The laws that a case is asked: those of plans, and one of each of the dearer kinds that fits its columns."""
    unfit = [] if case.target is not None else [groups_are_estimated_apart]
    unfit += IN_ARROW if any(is_mixed(each.attribute) for each in case.columns.values()) else []
    kinds = [ESTIMATES, OTHERS, *([LEARNING] if case.target is not None and len(case.columns) > 1 else [])]
    fitting = [[law for law in kind if law not in unfit] for kind in kinds]
    return [*CHEAP, *(kind[int(rng.integers(len(kind)))] for kind in fitting)]
