"""Counts from every maker, bit for bit those of the reports in memory."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.counts import Fold
from tests.engines.makers import MAKERS, same

AGE = sf.Gaussian(sf.Interval(20, 80), privacy=1.0)
COLOUR = sf.RandomizedResponse(sf.Categories(["red", "green", "blue"]), keep=0.7)
CHOICE = sf.Choice({"soft": sf.RandomizedResponse(COLOUR.domain, keep=0.9), "hard": COLOUR})
AGES = sf.Choice({"a": AGE, "b": sf.Gaussian(AGE.domain, privacy=0.5)})
WORD = sf.SubsetResponse(sf.Categories([f"word {i}" for i in range(300)]), gamma=19)
CHANNELS = {"age": AGE, "colour": COLOUR, "shade": CHOICE, "years": AGES, "word": WORD}
GROUP = sf.RandomizedResponse(sf.Categories(["x", "y", "z"]), keep=0.8)


def table(n: int = 1_000, seed: int = 3) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    age = AGE.randomize(rng.uniform(20, 80, n), rng=rng)
    colour = COLOUR.randomize(rng.choice(["red", "green", "blue"], n), rng=rng).astype(object)
    level, other = rng.choice(["hard", "soft"], n), rng.choice(["a", "b"], n).astype(object)
    shade = CHOICE.randomize(rng.choice(["red", "green", "blue"], n), rng=rng, level=level).astype(object)
    years = AGES.randomize(rng.uniform(20, 80, n), rng=rng, level=other)
    age[rng.random(n) < 0.1], colour[rng.random(n) < 0.1], shade[rng.random(n) < 0.1] = np.nan, None, None
    years[rng.random(n) < 0.1], other[rng.random(n) < 0.1] = np.nan, None
    word = WORD.randomize([f"word {i}" for i in rng.integers(0, 300, n)], rng=seed).astype(object)
    word[::11] = None
    income = np.round(rng.gamma(2.0, 1.5, n), 1)
    income[rng.random(n) < 0.05] = np.nan
    return {
        "age": age, "colour": colour, "shade": shade, "shade.level": level.astype(object), "years": years,
        "years.level": other, "town": rng.choice(["A", "B"], n).astype(object), "income": income,
        "children": rng.integers(0, 5, n), "group": rng.choice(["x", "y", "z"], n).astype(object),
        "weight": rng.gamma(3.0, 0.4, n), "number": rng.permutation(10 * n)[:n], "word": word,
    }  # fmt: skip


ASKED = [
    (["age"], {}),
    (["age", "colour"], {"by_class": False}),
    (["colour", "shade", "town"], {"fold": Fold(1, 3)}),
    (["shade", "children"], {"fold": ~Fold(range(0, 3), 10, salt=4)}),
    (["colour", "town"], {"by_fold": 4}),
    (["income", "colour"], {"squared": True, "missing": True}),
    (["years"], {"missing": True}),
    (["word", "town"], {}),
    ([], {}),
]


def both(make, target="group", **options):
    given = table()
    weights = options.pop("weights", None)
    apart = {"weight", "number"} - {weights, *options.values()}
    kept = {name: column for name, column in given.items() if name not in apart}
    memory = sf.Reports(kept, CHANNELS, target=target, weights=weights, **options)
    return make(kept, CHANNELS, target=target, weights=weights, **options), memory


@pytest.mark.parametrize("weights", [None, "weight"], ids=["people", "weighted"])
def test_every_question_has_the_same_answer(make, weights):
    held, memory = both(make, weights=weights, seed=11)
    assert (held.names, held.classes, len(held)) == (memory.names, memory.classes, len(memory))
    assert held.people == memory.people
    held.prepare([held.counting(names, **options) for names, options in ASKED])
    for names, options in ASKED:
        assert same(held.counts(names, **options), memory.counts(names, **options)), (names, options)
    for name in CHANNELS:
        one, other = held.of(name, by_class=True, fold=Fold(0, 2)), memory.of(name, by_class=True, fold=Fold(0, 2))
        assert one.to_dict() == other.to_dict()
    found, known = held.combinations(["age", "colour", "income"]), memory.combinations(["age", "colour", "income"])
    assert same(found.rows, known.rows)
    assert same(found.counts, known.counts)


def test_what_codes_mean_is_the_same(make):
    held, memory = both(make)
    for name in memory.names:
        one, other = held.column(name), memory.column(name)
        assert (one.size, one.labels, one.integer, one.has_missing) == (
            other.size, other.labels, other.integer, other.has_missing,
        )
        assert same(one.histogram, other.histogram)
        assert same(one.people, other.people)
        for part in ("edges", "values", "occurring"):
            assert np.array_equal(getattr(one, part), getattr(other, part)) or getattr(other, part) is None


def test_codes_are_counted_as_they_are(make):
    memory = sf.Reports(table(), CHANNELS, target="group")
    held = make({**memory.to_codes(), "group": table()["group"]}, CHANNELS, target="group")
    assert held.names == memory.names
    held.prepare([held.counting(names, **options) for names, options in ASKED])
    for names, options in ASKED:
        assert same(held.counts(names, **options), memory.counts(names, **options))


def test_classes_that_were_blurred(make):
    given = {name: table()[name] for name in ("age", "group")}
    held = make(given, {"age": AGE}, target="group", label_channel=GROUP)
    memory = sf.Reports(given, {"age": AGE}, target="group", label_channel=GROUP)
    assert held.classes == memory.classes == ("x", "y", "z")
    assert same(held.counts("age"), memory.counts("age"))


def test_places_may_come_from_a_column(make):
    held, memory = both(make, place="number", seed=5)
    assert same(held.counts("colour", fold=Fold(0, 3)), memory.counts("colour", fold=Fold(0, 3)))
    assert "number" not in held.names


def test_what_weighted_reports_are_worth(make):
    held, memory = both(make, weights="weight")
    for name in CHANNELS:
        one, other = held.of(name, by_class=True), memory.of(name, by_class=True)
        assert one.weighted
        for level, tally in other.levels.items():
            assert np.array_equal(one.levels[level].histogram, tally.histogram)
            for part in ("squares", "reports", "missing"):
                ours, theirs = (getattr(part_of.weight_sums, part) for part_of in (one.levels[level], tally))
                assert np.array_equal(ours, theirs), (name, part)


def test_a_fold_alone_keeps_its_places(make):
    held, memory = both(make)
    one, other = held.within(Fold(1, 4, salt=9)), memory.within(Fold(1, 4, salt=9))
    assert len(one) == len(other)
    assert same(one.counts("colour", fold=Fold(0, 2)), other.counts("colour", fold=Fold(0, 2)))


def test_a_sample_is_a_fold_in_memory(make):
    held, memory = both(make, weights="weight")
    one, other = held.sampled(300), memory.sampled(300)
    assert one.in_memory
    assert len(one) == len(other) < 500
    assert np.array_equal(one.places, other.places)
    for name in memory.names:
        assert np.array_equal(one.column(name).codes, other.column(name).codes), name
    assert same(one.counts(["colour", "income"], squared=True), other.counts(["colour", "income"], squared=True))


def test_reports_taken_as_true(make):
    held, memory = both(make)
    one, other = held.as_clear(), memory.as_clear()
    assert same(one.counts(["age", "colour"]), other.counts(["age", "colour"]))
    assert np.array_equal(one.column("age").values, other.column("age").values)


def test_everything_asked_together_is_one_pass(make):
    held, _ = both(make)
    len(held)
    before = held.passes
    held.prepare([held.counting("age"), held.counting(["colour", "town"])])
    held.counts("age"), held.counts(["colour", "town"])
    assert held.passes == before + 1


LOCAL = [name for name in MAKERS if name != "spark"]  # the limit of a cluster's workers is their own


@pytest.mark.parametrize("make", LOCAL, indirect=True)
def test_numbers_of_which_too_many_differ_are_read_on_a_grid(make, monkeypatch):
    from sfumato.counts import columns, surveys

    for module in (columns, surveys):
        monkeypatch.setattr(module, "MOST_VALUES", 64)
    held, memory = both(make)
    assert np.array_equal(held.column("income").values, memory.column("income").values)
    assert same(held.counts("income"), memory.counts("income"))
    assert same(held.value_counts(["income"])[0], memory.value_counts(["income"])[0])
