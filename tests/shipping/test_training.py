import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import Reports
from sfumato.learners import learner_named
from sfumato.shipping import METHODS
from sfumato.shipping.training import check_learnable, classes, estimator, held_out, measured_in_words, stream, train

PLAN = """
name = "town"
[attributes.age]
low = 20
high = 80
channel = "gaussian"
privacy = 0.25
[attributes.salary]
low = 0
high = 100
channel = "uniform"
privacy = 0.5
[attributes.group]
categories = ["A", "B"]
role = "class"
"""
BLURRED = PLAN.replace('role = "class"', 'role = "class"\nchannel = "randomized-response"\nkeep = 0.9')


@pytest.fixture(scope="module")
def plan():
    return sf.Plan.loads(PLAN)


def draw_people(n: int, seed: int) -> dict:
    rng = np.random.default_rng(seed)
    age = rng.uniform(20, 80, n)
    return {"age": age, "salary": rng.uniform(0, 100, n), "group": np.where(age < 45, "A", "B")}


def split(n: int, share: float, seed: int) -> np.ndarray:
    return Reports({"x": np.zeros(n)}, seed=seed).chosen(held_out(share))


@pytest.mark.parametrize("seed", range(8))
def test_the_split_is_independent_of_data_simulated_with_the_same_seed(seed):
    n = 4000
    held = split(n, 0.2, seed)
    assert abs(held.mean() - 0.2) < 5 * np.sqrt(0.2 * 0.8 / n)
    for drawn in (np.random.default_rng(seed).random(n), np.random.default_rng(seed).normal(size=n)):
        assert abs(np.corrcoef(held, drawn)[0, 1]) < 5 / np.sqrt(n)  # false alarm 6e-7; .69 where streams are shared


def test_the_same_seed_gives_the_same_split_and_each_purpose_its_own_stream():
    assert (split(100, 0.5, 3) == split(100, 0.5, 3)).all()
    assert (split(100, 0.5, 3) != split(100, 0.5, 4)).any()
    assert stream(3, "fit").random() != stream(3, "hold-out").random()


def test_a_model_is_trained_and_measured_on_any_kind_of_table(plan):
    people, fresh = draw_people(3000, 0), draw_people(1000, 1)
    reports = plan.randomize(people, np.random.default_rng(2))
    trained = train(plan, reports, "byclass", holdout=0.5, people=fresh)
    assert trained.measured["trained_on"] + trained.measured["held_out"]["records"] == 3000
    assert trained.measured["test"]["accuracy"] > 0.9
    assert trained.measured["test"]["records"] == 1000
    again = train(plan, reports, "byclass", holdout=0.5)
    assert again.measured["held_out"] == trained.measured["held_out"]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_names_a_public_learner_that_takes_the_plan_s_channels(plan, method):
    model = estimator(method, plan, seed=1)
    kind, options = METHODS[method]
    assert type(model) is getattr(sf, kind) is learner_named(kind)
    assert kind in sf.__all__
    assert model.get_params()["channels"] == plan.channels
    assert {key: model.get_params()[key] for key in options} == options


def test_every_public_learner_can_be_trained_by_name():
    learners = {name for name in sf.__all__ if hasattr(getattr(sf, name), "fit")}
    assert {kind for kind, _ in METHODS.values()} == learners


def test_learners_that_need_clear_classes_refuse_blurred_ones():
    plan = sf.Plan.loads(BLURRED)
    assert estimator("joint", plan, 0).label_channel is plan.attributes["group"].channel
    words = "method face-value takes classes as they are, but theirs are blurred; use joint"
    with pytest.raises(ValueError, match=words):
        estimator("face-value", plan, 0)
    with pytest.raises(ValueError, match="method forest is unknown; use one of joint, byclass"):
        estimator("forest", plan, 0)


def test_classes_are_known_or_named_by_their_row(plan):
    import pyarrow as pa

    assert classes(plan, pa.table({"group": ["A", "B"]})).tolist() == ["A", "B"]
    with pytest.raises(ValueError, match="row 3, column 'group': unknown category;"):
        classes(plan, pa.table({"group": ["A", "B", "C"]}))
    with pytest.raises(ValueError, match="row 2 has no class in 'group'; drop rows without a class"):
        classes(plan, pa.table({"group": ["A", None]}))


def test_a_plan_that_nothing_can_be_learned_from_is_refused():
    with pytest.raises(ValueError, match="no attribute is the class"):
        check_learnable(sf.Plan.loads(PLAN.replace('"class"', '"clear"')), with_class=True)


def test_what_was_measured_is_told_without_promising_more():
    assert "Nothing was measured" in measured_in_words({})[0]
    told = measured_in_words({"test": {"records": 1000, "accuracy": 0.9, "stderr": 0.0095}})
    assert told == ["Accuracy on 1,000 people whose true values are known: 90.0 % ± 0.9."]
    held = {"records": 400, "largest_class": 0.5, "accuracy_on_reports": 0.52, "accuracy": None}
    assert "does not show that it has learned anything" in measured_in_words({"held_out": held})[0]
    assert "it has learned something" in measured_in_words({"held_out": held | {"accuracy_on_reports": 0.6}})[0]
    judged = measured_in_words({"held_out": held | {"accuracy": 0.8312, "stderr": 0.0123}})[0]
    assert judged.startswith("Estimated accuracy on true values: 83.1 % ± 1.2, from held-out reports alone")
