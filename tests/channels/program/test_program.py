"""Programs: plain data, exact laws and ratios, the same work for every outcome."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.channels.program import (
    HALF,
    WORD,
    Alias,
    Draw,
    Map,
    Program,
    Shift,
    Spread,
    Window,
    below,
    integer_weights,
    sum_runs,
    words_below,
)
from sfumato.guarantee import rounded_up

AGE = sf.Interval(20, 80)
COLOURS = sf.Categories(["red", "green", "blue"])


def exact_law(program: Program) -> np.ndarray:
    """The product of the steps' whole numbers, as fractions of their column sums."""
    table = np.array([[Fraction(int(a == b)) for b in range(program.size)] for a in range(program.size)])
    for step in program.steps:
        rows = np.array(step.exact(), dtype=object)
        table = (rows @ table) / Fraction(int(rows[:, 0].sum()))
    return table


def worst_ratio(table: np.ndarray) -> Fraction | None:
    rows = [(max(row), min(row)) for row in table.tolist() if max(row)]
    return None if any(low == 0 for _, low in rows) else max(high / low for high, low in rows)


def test_the_alias_table_holds_the_weights_exactly() -> None:
    weights = integer_weights(np.array([0.5, 0.25, 0.2, 0.05, 0.0]))
    assert Alias.of(weights).weights()[:5] == weights and sum(weights) == WORD


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=40))
def test_any_weights_survive_the_alias_table(shares: list[float]) -> None:
    weights = integer_weights(np.array(shares) / sum(shares))
    alias = Alias.of(weights)
    assert alias.weights()[: len(weights)] == weights
    assert Alias.from_list(alias.to_list()).weights() == alias.weights()


@given(st.integers(1, 1 << 31), st.integers(0, WORD - 1))
def test_below_is_the_floor_of_the_exact_product(bound: int, word: int) -> None:
    place = word * bound // WORD
    assert below(word, bound) == place == int(below(np.array([word], dtype=np.uint64), bound)[0])
    assert words_below(place, bound) in (WORD // bound, WORD // bound + 1)


def test_the_places_share_all_words() -> None:
    for bound in (1, 3, 7, 640):
        assert sum(words_below(place, bound) for place in range(bound)) == WORD


STEPS = {
    "shift": Shift(Alias.of(integer_weights(np.array([0.1, 0.2, 0.4, 0.2, 0.1]))), 1, 3, 5),
    "wide shift": Shift(Alias.of(integer_weights(np.array([0.1, 0.15, 0.2, 0.25, 0.2, 0.1]))), 2, 2, 4),
    "window": Window.of_gamma(7.3, 3, 4),
    "response": Window.of_gamma(19, 1, 4),
    "lie": Window(HALF // 10, 1, 4),
    "table": Draw.of([integer_weights(np.array(c)) for c in ([0.5, 0.3, 0.2], [0.25, 0.25, 0.5])]),
    "map": Map(np.array([2, 0, 0, 1]), 3),
    "spread": Spread(np.array([0, 2, 3]), 7),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_steps_law_and_ratio_are_those_of_its_whole_numbers(name: str) -> None:
    program = Program(STEPS[name].inputs, (STEPS[name],))
    exact = exact_law(program)
    np.testing.assert_allclose(program.law(), exact.astype(float), rtol=1e-14, atol=1e-18)
    assert [sum(column) for column in exact.T] == [1] * program.size
    worst = worst_ratio(exact)
    assert program.gamma == worst or (worst and worst < program.gamma <= worst * Fraction(1 + 1e-17))
    first = np.array([0, 1, program.outputs - 1])
    np.testing.assert_allclose(program.law(first), np.add.reduceat(program.law(), first, axis=0), atol=1e-15)


@pytest.mark.parametrize("name", STEPS)
def test_words_lead_where_the_law_says(name: str) -> None:
    """Words on an even grid reach every report as often as its probability says, to the grid's fineness."""
    step, fineness = STEPS[name], 64
    ticks = [(2 * i + 1) * (WORD // fineness // 2) for i in range(fineness)]
    law = step.law()
    for code in range(step.inputs):
        rows = list(product(ticks, repeat=step.words))
        reports = [step.draw(code, row) for row in rows]
        columns = [np.array([row[i] for row in rows], dtype=np.uint64) for i in range(step.words)]
        np.testing.assert_array_equal(step.draw(np.full(len(rows), code), columns), reports)
        share = np.bincount(reports, minlength=step.outputs) / len(reports)
        np.testing.assert_allclose(share, law[:, code], atol=2 * 8 / fineness)


@pytest.mark.parametrize("gamma", [1.0001, np.e, 3, 19, 1e6])
@pytest.mark.parametrize(("window", "others"), [(1, 1), (1, 999), (7, 10), (641, 1200)])
def test_a_window_never_exceeds_the_ratio_asked_for(gamma: float, window: int, others: int) -> None:
    found = Window.of_gamma(gamma, window, others).gamma()
    assert Fraction(gamma) * Fraction(1 - 1e-12) <= found <= Fraction(gamma)


@pytest.mark.parametrize(
    "chain",
    [
        sf.RandomizedResponse(COLOURS, gamma=9) >> sf.RandomizedResponse(COLOURS, gamma=4),
        sf.TwoPhase(sf.Laplace(sf.Interval(0, 9, integer=True), scale=3), {"a": 3}).level("a"),
        sf.SquareWave(sf.Interval(0, 1), gamma=5, step=0.1) >> sf.Discretize(sf.Interval(-1, 2), width=0.5),
    ],
    ids=["responses", "two-phase", "wave and classes"],
)
def test_the_ratio_of_a_chain_is_exact(chain: sf.Channel) -> None:
    assert chain.exact_gamma == worst_ratio(exact_law(chain.drawing))
    assert chain.gamma == pytest.approx(float(worst_ratio(chain.law()) or np.inf), rel=1e-9)


def test_the_ratio_of_a_long_chain_is_never_understated() -> None:
    level = sf.TwoPhase(sf.SquareWave(AGE, gamma=9), {"a": 40}).level("a")
    law = level.law()
    assert (law.max(axis=1) / law.min(axis=1)).max() <= level.gamma <= 9


def test_rounding_up_never_understates() -> None:
    third = Fraction(1, 3)
    assert Fraction(rounded_up(third)) >= third > Fraction(np.nextafter(rounded_up(third), 0))
    assert rounded_up(None) == np.inf and rounded_up(Fraction(19)) == 19.0


def same(*channels: sf.Channel) -> bool:
    return len({channel.identity for channel in channels}) == 1 == len(set(channels))


def test_a_channels_identity_is_not_its_spelling() -> None:
    response = sf.RandomizedResponse
    assert same(response(COLOURS, gamma=19), response(COLOURS, gamma=19.0), response(COLOURS, gamma=np.int64(19)))
    floats = sf.Interval(20.0, np.float32(80))
    assert same(sf.Gaussian(AGE, privacy=1), sf.Gaussian(floats, privacy=1.0, confidence=0.95))
    spelt = sf.Gaussian(AGE, scale=sf.Gaussian(AGE, privacy=1.0).scale)
    assert same(sf.Gaussian(AGE, privacy=1.0), spelt, sf.Gaussian(AGE, privacy=1.0, step=0.05, missing="pass"))
    levels = {"a": 20, "b": 10}
    noise = sf.SquareWave(AGE, 9)
    assert same(sf.TwoPhase(noise, levels), sf.TwoPhase(noise, levels, default="a"))
    assert same(sf.Tabulated(COLOURS, np.eye(3)), sf.Tabulated(COLOURS, [[1, 0, 0], [0, 1, 0], [0, 0, 1]]))


def test_another_law_or_domain_is_another_identity() -> None:
    others = [
        sf.Gaussian(AGE, scale=5),
        sf.Gaussian(AGE, scale=5.1),
        sf.Gaussian(sf.Interval(20, 81), scale=5),
        sf.RandomizedResponse(COLOURS, gamma=19),
        sf.RandomizedResponse(sf.Categories(["red", "blue", "green"]), gamma=19),
        sf.RandomizedResponse(sf.Categories([1, 2]), gamma=19),
        sf.RandomizedResponse(sf.Categories(["1", "2"]), gamma=19),
        sf.TwoPhase(sf.Gaussian(AGE, scale=5), {"a": 20}),
        sf.TwoPhase(sf.Gaussian(AGE, scale=5), {"b": 20}),
    ]
    assert len({channel.identity for channel in others}) == len(others)


def test_keyed_noise_does_not_change_with_the_spelling() -> None:
    spellings = [sf.RandomizedResponse(sf.Categories(range(500)), gamma=g) for g in (19, 19.0, np.float64(19))]
    reports = {channel.randomize(7, key=b"k" * 16, question="q") for channel in spellings}
    assert len(reports) == 1


def test_a_foreign_program_is_refused() -> None:
    written = sf.Gaussian(AGE, privacy=1.0).program()
    with pytest.raises(ValueError, match="not version 1"):
        Program.from_dict({**written, "program": 2})
    with pytest.raises(ValueError, match="step 'dance' is unknown"):
        Program.from_dict({**written, "steps": [{"step": "dance"}]})
    with pytest.raises(ValueError, match="takes 5 codes and gets 3"):
        Program(3, (Window.of_gamma(3, 1, 4),))


@settings(max_examples=30)
@given(
    st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda x: round(x, 4)),
    st.floats(1e-3, 1e6).map(lambda x: round(x, 3)),
    st.floats(0.01, 5),
)
def test_programs_of_any_domain_survive_json(low: float, width: float, privacy: float) -> None:
    channel = sf.Gaussian(sf.Interval(low, low + width), privacy=privacy)
    again = Program.from_dict(json.loads(json.dumps(channel.program())))
    words = [np.random.default_rng(1).integers(0, WORD, 50, dtype=np.uint64)]
    codes = np.linspace(0, channel.inputs.size - 1, 50).astype(int)
    np.testing.assert_array_equal(again.draw(codes, words), channel.drawing.draw(codes, words))
    first, stride, per = channel.inputs.whole
    assert (first + stride * codes[7]) / per == channel.inputs.values[codes[7]]


def test_runs_of_rare_reports_have_their_chance_to_the_last_digits() -> None:
    """A difference of two sums near 1 would leave five digits of a tail of 1e-11, and γ is a ratio to that tail."""
    (shift,) = sf.Laplace(sf.Interval(0, 1), gamma=1e10, step=0.05).steps()
    first = np.array([0, 1, 1, 20, shift.outputs - 3, shift.outputs - 1])
    exact = np.array(shift.exact(), dtype=object)
    ends = [*first[1:].tolist(), shift.outputs]
    runs = np.array([exact[a:b].sum(axis=0) if a < b else exact[0] * 0 for a, b in zip(first, ends, strict=True)])
    expected = (runs / WORD).astype(float)
    np.testing.assert_allclose(shift.law(first), expected, rtol=1e-13)
    np.testing.assert_allclose(sum_runs(shift.law(), first), expected, rtol=1e-12)


def test_all_of_a_noise_in_one_run_is_certain() -> None:
    whole = Shift(Alias.of([0, 1 << 64, 0, 0]), 1, 3, 3)
    np.testing.assert_array_equal(whole.law(np.array([0, 1])), [[1, 0, 0], [0, 1, 1]])
    np.testing.assert_array_equal(whole.law(np.array([0])), np.ones((1, 3)))
