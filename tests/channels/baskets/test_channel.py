"""The channel as people use it: designs, reports, seeds, guarantees and refusals."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.channels.base import channel_from_spec
from sfumato.channels.baskets.channel import SelectASize
from sfumato.channels.baskets.law import SizeLaw
from sfumato.channels.baskets.reports import BasketReports, Baskets, unpack_bits
from sfumato.channels.program.random_words import RecordWords
from tests.channels.baskets.examples import two_level
from tests.statistics import assert_fits, assert_mean, assert_probability


@pytest.fixture(scope="module")
def channel() -> SelectASize:
    return sf.SelectASize.design(sf.Items(50), sizes=[3, 4], gamma=19, up_to=2)


def test_the_default_design_discovers_what_the_paper_says() -> None:
    found = sf.SelectASize.design(sf.Items(1000), sizes=[5], gamma=19, up_to=3)
    supports = found.lowest_discoverable_support(n=5_000_000)
    assert {k: round(100 * s, 3) for k, s in supports.items()} == {1: 0.473, 2: 0.484, 3: 0.496}


def test_five_to_fifty_percent_is_gamma_nineteen() -> None:
    by_rho = sf.SelectASize.design(sf.Items(100), sizes=[3], breach=(0.05, 0.5))
    assert by_rho.gamma == pytest.approx(19.0)
    assert by_rho == sf.SelectASize.design(sf.Items(100), sizes=[3], gamma=19)


def test_reports_keep_order_and_size(channel: SelectASize) -> None:
    baskets = [[1, 2, 3], [4, 5, 6, 7], [7, 8, 9]] * 10
    for compress in (False, True):
        reports = channel.randomize(baskets, rng=1, compress=compress)
        assert len(reports) == 30
        assert reports.sizes.tolist() == [3, 4, 3] * 10
        assert reports.compressed == compress


@pytest.mark.parametrize("compress", [False, True])
def test_own_items_show_more_often_by_lambda_one(channel: SelectASize, compress: bool) -> None:
    reports = channel.expand(channel.randomize([[7, 20, 49]] * 40_000, rng=2, compress=compress))
    shown = unpack_bits(reports.words, 50)
    law = channel.laws[3]
    assert_mean(shown[:, 49], law.rho + law.signal(1))
    assert_mean(shown[:, 48], law.rho)


def test_secure_reports_differ_and_keyed_reports_repeat(channel: SelectASize) -> None:
    baskets = [[1, 2, 3], [1, 2, 4, 5]]
    draws = [channel.randomize(baskets).words for _ in range(2)]
    assert not np.array_equal(*draws)
    key = b"a device secret."
    for compress in (False, True):
        keyed = [channel.randomize(baskets, key=key, question="food", compress=compress).words for _ in range(2)]
        assert np.array_equal(*keyed)
    other = channel.randomize(baskets, key=key, question="music").words
    assert not np.array_equal(channel.randomize(baskets, key=key, question="food").words, other)


def test_a_keyed_bitmap_is_the_one_that_the_keyed_seed_stands_for() -> None:
    """Two draws would be two reports, and one draw under different noise would tell more than both."""
    law = SizeLaw(3, 0.5, (0.2, 0.2, 0.2, 0.4))
    channel = SelectASize(sf.Items(70), [law], up_to=1)
    for question in range(50):
        asked = {"key": b"a device secret.", "question": f"question {question}"}
        seeds, bitmaps = (channel.randomize([[7, 20, 69]], **asked, compress=compress) for compress in (True, False))
        assert not bitmaps.compressed and np.array_equal(channel.expand(seeds).words, bitmaps.words)


def test_keyed_bitmaps_of_many_devices_follow_the_law() -> None:
    law = SizeLaw(3, 0.5, (0.2, 0.2, 0.2, 0.4))
    channel = SelectASize(sf.Items(70), [law], up_to=1)
    shown = np.array([
        unpack_bits(channel.randomize([[7, 20, 69]], key=i.to_bytes(16, "big"), question="q").words, 70)[0]
        for i in range(2000)
    ])  # fmt: skip
    kept = np.bincount(shown[:, [7, 20, 69]].sum(axis=1), minlength=4)
    assert_fits(kept, law.kept)
    assert_probability(shown[:, 33].sum(), 2000, 0.5)


@settings(max_examples=60, deadline=None)
@given(
    members=st.lists(st.integers(0, 129), min_size=1, max_size=5, unique=True),
    seed=st.integers(0, 2**32),
    compress=st.booleans(),
    source=st.sampled_from(["simulated", "keyed", "records"]),
    rho=st.sampled_from([0.5, 5 / 16, 41 / 1024]),
)
def test_a_basket_alone_is_drawn_as_among_others(
    members: list[int], seed: int, compress: bool, source: str, rho: float
) -> None:
    channel = five_sizes(rho)
    secret = seed.to_bytes(16, "big")
    drawn = {
        "simulated": {"rng": seed},
        "keyed": {"key": secret, "question": "food"},
        "records": {"key": RecordWords(secret, [7, 8]), "question": "food"},
    }[source]
    alone = channel.randomize([members], compress=compress, **drawn)
    among = channel.randomize(Baskets.read([members], channel.items), compress=compress, **drawn)
    assert np.array_equal(alone.words, among.words) and alone.words.dtype == among.words.dtype
    assert alone.sizes.tolist() == among.sizes.tolist() == [len(members)] and alone.compressed == compress


@cache
def five_sizes(rho: float) -> SelectASize:
    """Designs where all, none and some items are kept often, and pure noise is frequent."""
    kept = [np.arange(1.0, size + 2) for size in range(1, 6)]
    return SelectASize(sf.Items(130), [SizeLaw(p.size - 1, rho, tuple(p / p.sum())) for p in kept], up_to=1)


def test_labels_of_a_basket_alone_are_those_of_many() -> None:
    items = sf.Items(["tea", "milk", "rice", "gin"])
    channel = SelectASize(items, [SizeLaw(2, 0.5, (0.2, 0.3, 0.5))], up_to=1)
    for basket in (["tea", "gin"], ("gin", "milk"), {"rice", "tea"}):
        alone, among = channel.randomize([basket], rng=3), channel.randomize(Baskets.read([basket], items), rng=3)
        assert np.array_equal(alone.words, among.words)


def test_several_baskets_compose_and_the_size_is_stated(channel: SelectASize) -> None:
    guarantee = channel.guarantee()
    assert guarantee.gamma == pytest.approx(19.0) and guarantee.gamma <= 19.0
    assert "the collector sees how many items you have" in str(guarantee)
    assert guarantee.repeated(2).gamma == pytest.approx(361.0)
    assert not guarantee.breach(0.04, 0.5).possible


def test_seed_level_gamma_is_that_of_the_table() -> None:
    """Over every seed: P[seed | basket] has the ratio gamma between two baskets."""
    law = two_level(2, 0.5, 5.0, 2)
    tiny = SelectASize(sf.Items(5), [law], up_to=1)
    generator = tiny.generators[2]
    seeds = np.arange(1 << generator.bits, dtype=np.uint64)[:, None]
    shown = unpack_bits(generator.expand(seeds), 5)
    chances = [law.lift[shown[:, [a, b]].sum(axis=1)] / len(seeds) for a in range(5) for b in range(a)]
    assert all(chance.sum() == pytest.approx(1.0) for chance in chances)
    ratios = np.max(chances, axis=0) / np.min(chances, axis=0)
    assert ratios.max() == pytest.approx(5.0)


def test_a_specification_gives_the_channel_back(channel: SelectASize) -> None:
    again = channel_from_spec(channel.domain, channel.to_spec())
    assert again == channel
    assert isinstance(again, SelectASize) and again.laws == channel.laws


def test_smaller_supports_need_more_reports(channel: SelectASize) -> None:
    needed = channel.reports_needed(0.01, 2)
    assert channel.lowest_discoverable_support(n=needed)[2] == pytest.approx(0.01, rel=1e-4)


@pytest.mark.parametrize(
    ("baskets", "message"),
    [
        ([[1, 2, 3], []], "basket 1 is empty but the designed sizes are 3, 4; add 0 to sizes="),
        ([[1, 2, 3, 4, 5]], r"basket 0 has 5 items but the designed sizes are 3, 4; add 5 to sizes="),
        ([[1, 2, 99]], "unknown item in basket 0"),
        ([[1, 2, 2]], "an item is twice"),
    ],
)
def test_bad_baskets_are_refused(channel: SelectASize, baskets: list[list[int]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        channel.randomize(baskets)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gamma": 1.0}, "γ = 1.0"),
        ({}, "give either gamma="),
        ({"gamma": 19, "breach": (0.05, 0.5)}, "give either gamma="),
        ({"breach": (0.5, 0.05)}, "are no breach"),
        ({"gamma": 19, "resolution": 1000}, "power of two"),
        ({"gamma": 19, "sizes": [60]}, "cannot be drawn from 50 items"),
        ({"gamma": 19, "sizes": []}, "one design for each size"),
    ],
)
def test_impossible_designs_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sf.SelectASize.design(sf.Items(50), **{"sizes": [3], **arguments})  # type: ignore[arg-type]


def test_a_blind_design_is_refused_with_the_reason() -> None:
    with pytest.raises(ValueError, match=r"λ_2 vanishes at ρ = 0\.25; change ρ"):
        SelectASize(sf.Items(50), [two_level(5, 0.25, 19.0, 2)])


def test_a_table_of_many_items_is_refused(channel: SelectASize) -> None:
    with pytest.raises(ValueError, match="too large"):
        channel.matrix()


def test_a_tiny_channel_has_a_table_and_names_a_breach() -> None:
    tiny = sf.SelectASize.design(sf.Items(["tea", "milk", "rice"]), sizes=[2], gamma=19, up_to=2)
    assert tiny.inputs.labels == (frozenset({"tea", "milk"}), frozenset({"tea", "rice"}), frozenset({"milk", "rice"}))
    assert np.array_equal(tiny.matrix(), tiny.law()) and tiny.matrix().shape == (8, 3)
    believed = tiny.guarantee(prior={frozenset({"tea", "milk"}): 0.04, frozenset({"tea", "rice"}): 0.96})
    assert "frozenset" in str(believed.breach(0.04, 0.1))


def test_baskets_are_no_steps_of_a_chain() -> None:
    tiny = sf.SelectASize.design(sf.Items(3), sizes=[2], gamma=19, up_to=2)
    with pytest.raises(TypeError, match="SelectASize >> RandomizedResponse: reports of baskets are sets of items"):
        (tiny >> sf.RandomizedResponse(tiny.outputs, keep=0.5)).program()


@pytest.mark.parametrize("compress", [False, True], ids=["bitmaps", "seeds"])
def test_some_items_alone_are_expanded(compress: bool) -> None:
    channel = sf.SelectASize.design(sf.Items(71), sizes=[2, 3], gamma=19, up_to=2)
    reports = channel.randomize([[1, 2], [3, 4, 5]] * 50, rng=1, compress=compress)
    shown = unpack_bits(channel.expand(reports).words, 71)
    chosen = np.array([0, 5, 69, 70])
    part = channel.expand(reports, chosen)
    assert part.items.labels == (0, 5, 69, 70) and np.array_equal(unpack_bits(part.words, 4), shown[:, chosen])


def test_seeds_that_are_too_short_are_refused() -> None:
    channel = sf.SelectASize.design(sf.Items(1000), sizes=[6], gamma=19, up_to=3)
    assert channel.seed_bits[6] > 64
    with pytest.raises(ValueError, match="a seed of 8 bytes is too short"):
        channel.expand(BasketReports.of_bytes(channel.items, [6], [bytes(8)], compressed=True))


def test_reports_that_a_channel_cannot_have_made_are_refused(channel: SelectASize) -> None:
    with pytest.raises(ValueError, match="size 9 have no design"):
        channel.expand(BasketReports.of_lists(sf.Items(50), [[1, 2]], [9]))
    with pytest.raises(ValueError, match="over 20 items for a channel of 50"):
        channel.expand(BasketReports.of_lists(sf.Items(20), [[1, 2]], [3]))


# --- in plans -----------------------------------------------------------------------------------------------------


def basket_plan(**keys: object) -> sf.Plan:
    return sf.Plan.from_dict({"attributes": {"food": {"items": 8, "channel": "select-a-size", **keys}}})


@pytest.mark.parametrize("bound", [{"gamma": 19}, {"epsilon": 1.5}])
def test_a_plan_designs_the_operator_from_sizes_and_a_bound(bound: dict[str, float]) -> None:
    plan = basket_plan(sizes=[0, 1, 2], up_to=2, **bound)
    assert plan.attributes["food"].channel == SelectASize.design(sf.Items(8), [0, 1, 2], up_to=2, **bound)
    again = sf.Plan.loads(plan.to_json(), "json")
    assert again.identity == plan.identity and again.to_json() == plan.to_json()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({}, r"^attributes.food: sizes is missing; write how many items a basket may have"),
        ({"gamma": 19}, "sizes is missing"),
        ({"sizes": [1, 2]}, "give either gamma= or epsilon="),
        ({"sizes": [1], "gamma": 3, "epsilon": 1}, "give either gamma= or epsilon="),
        ({"sizes": 3, "gamma": 19}, "sizes is not a list"),
        ({"sizes": [1, 9], "gamma": 19}, "baskets of 9 cannot be drawn from 8 items"),
        ({"sizes": [1], "gamma": 19, "up_to": "two"}, "up_to is not a whole number"),
        ({"designs": [{"size": 1, "rho": 0.5, "kept": [0.2, 0.8]}], "gamma": 19}, "designs and gamma are both given"),
    ],
)
def test_a_plan_says_what_a_basket_needs(keys: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        basket_plan(**keys)


def test_designed_baskets_take_no_share_of_a_plans_bound() -> None:
    colour, designs = {"categories": ["red", "blue"]}, basket_plan(sizes=[1], gamma=3).to_dict()["attributes"]["food"]
    for food in (designs, {"items": 8, "channel": "select-a-size", "sizes": [1], "gamma": 3}):
        plan = sf.Plan.from_dict({"gamma": 19, "attributes": {"food": food, "colour": colour}})
        assert plan.attributes["food"].channel.gamma <= 3 and plan.guarantee().gamma <= 19
    with pytest.raises(ValueError, match="give this one a gamma of its own"):
        sf.Plan.from_dict({"gamma": 19, "attributes": {"food": {"items": 8, "channel": "select-a-size", "sizes": [1]}}})
