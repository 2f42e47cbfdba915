import numpy as np
import pytest

import sfumato as sf
from sfumato.shipping.synthesis import closeness, closeness_page, pairs_in_words

PLAN = """
name = "town"
[attributes.age]
low = 20
high = 80
channel = "gaussian"
privacy = 0.25
[attributes.rooms]
low = 1
high = 9
integer = true
role = "clear"
[attributes.elevel]
categories = ["none", "some", "much"]
channel = "randomized-response"
gamma = 19
"""


def draw_people(n: int, seed: int) -> dict:
    rng = np.random.default_rng(seed)
    age = np.clip(rng.normal(50, 10, n), 20, 80)
    rooms = np.clip((age - 15) // 8, 1, 9).astype(int)
    return {"age": age, "rooms": rooms, "elevel": rng.choice(["none", "some", "much"], n, p=[0.2, 0.3, 0.5])}


@pytest.fixture(scope="module")
def found():
    plan = sf.Plan.loads(PLAN)
    reports = plan.randomize(draw_people(20_000, 0), np.random.default_rng(1))
    return plan, closeness(plan, reports, draw_people(20_000, 2))


def test_records_of_the_same_people_are_as_close_as_chance_allows(found):
    _, told = found
    for row in told["attributes"]:
        assert row["distance"] < 3 * row["by_chance"] + 0.005, row
    assert (told["records"], told["reports"], told["left_out_of_pairs"]) == (20_000, 20_000, [])


def test_pairs_that_depend_on_each_other_are_told_from_independent_ones(found):
    _, told = found
    by_pair = {tuple(row["pair"]): row for row in told["pairs"]}
    assert by_pair["age", "rooms"]["distance"] < by_pair["age", "rooms"]["if_independent"] / 3
    assert by_pair["age", "elevel"]["if_independent"] < 0.06


def test_other_people_are_seen_to_be_far(found):
    plan, _ = found
    reports = plan.randomize(draw_people(5000, 0), np.random.default_rng(1))
    others = draw_people(5000, 3)
    others["age"] = np.clip(others["age"] + 20, 20, 80)
    far = {row["attribute"]: row["distance"] for row in closeness(plan, reports, others)["attributes"]}
    assert far["age"] > 0.5 > 0.05 > far["elevel"]


def test_the_page_and_the_words_say_the_largest_distances(found):
    plan, told = found
    page = closeness_page(plan, told).html()
    for words in ("Synthetic records: town", "by chance alone", "if drawn independently", "age × rooms"):
        assert words in page
    assert pairs_in_words(told).startswith("3 pairs: median distance ")
    assert "Without zip, where people chose their level." in pairs_in_words(told | {"left_out_of_pairs": ["zip"]})
