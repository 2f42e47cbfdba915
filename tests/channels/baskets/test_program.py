"""The basket program: its exact law and γ, its interpreter's laws, and the same work for every outcome."""

from __future__ import annotations

import copy
import json
import sys
from fractions import Fraction
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.channels.baskets import program as program_module
from sfumato.channels.baskets import seeds as seeds_module
from sfumato.channels.baskets.design import Goal, design_law
from sfumato.channels.baskets.law import SizeLaw, dyadic
from sfumato.channels.baskets.program import SizeProgram, basket_program, coins, read_program, shuffled, within
from sfumato.channels.baskets.reports import unpack_bits
from sfumato.channels.program.random_words import SimulatedWords
from tests.channels.baskets.examples import two_level
from tests.statistics import assert_fits

ROWS = 40_000
WORD = 1 << 64


def words(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1 << 64, size=shape, dtype=np.uint64)


# --- the parts of a draw ----------------------------------------------------------------------------------------------


def test_coins_come_up_with_chance_rho() -> None:
    for rho in (1 / 2, 3 / 8, 41 / 1024):
        threshold, depth = dyadic(rho)
        shown = int(unpack_bits(coins(threshold, depth, words((ROWS, depth), 2)), 64).sum())
        assert_fits([64 * ROWS - shown, shown], [1 - rho, rho])


def test_of_all_patterns_of_planes_exactly_a_make_a_one() -> None:
    for threshold, depth in ((1, 1), (5, 3), (11, 4), (23, 5)):
        patterns = np.arange(1 << depth, dtype=np.uint64)[:, None]
        planes = (patterns >> np.arange(depth, dtype=np.uint64)) & np.uint64(1)
        assert int(coins(threshold, depth, planes).sum()) == threshold


def test_shuffles_are_uniform() -> None:
    order = shuffled(np.tile([0, 1, 2, 3], (ROWS, 1)), words((ROWS, 3), 3))
    codes = order @ np.array([64, 16, 4, 1])
    assert_fits(np.unique(codes, return_counts=True)[1], np.full(24, 1 / 24))


# --- law and γ, exactly -----------------------------------------------------------------------------------------------


def test_the_law_of_the_program_is_the_law_asked_for_to_the_last_float() -> None:
    for law in (two_level(4, 3 / 8, 19.0, 3), SizeLaw(3, 5 / 16, (0.1, 0.2, 0.3, 0.4)), two_level(1, 1 / 32, 9.0, 1)):
        drawn = SizeProgram.of_law(law, 10, 1)
        assert sum(drawn.kept) == 1
        np.testing.assert_allclose([float(p) for p in drawn.kept], law.kept, rtol=1e-14)


def test_gamma_is_the_largest_ratio_of_lifts_and_what_choosing_below_numbers_may_add() -> None:
    drawn = SizeProgram.of_law(two_level(4, 3 / 8, 19.0, 3), 10, 1)
    p0 = program_module.by_noise(4, Fraction(3, 8))
    lifts = [p / q for p, q in zip(drawn.kept, p0, strict=True)]
    plain = max(lifts) / min(lifts)
    assert plain < drawn.gamma < plain * (1 + Fraction(1, 1 << 56))


def chances_of_seeds(part: SizeProgram, basket: tuple[int, int], word: int) -> list[Fraction]:
    """P[seed | basket] by listing every draw from words below `word`, in exact fractions."""
    every = np.arange(1 << part.generator.bits, dtype=np.uint64)[:, None]
    one_each = np.ones((len(every), 1), dtype=np.int64)
    found = [Fraction(word - part.bounds[-1], word * len(every))] * len(every)
    for kept, order, first, second in product(range(3), permutations(basket), range(word), range(word)):
        inside, outside = part.threshold, (1 << part.depth) - part.threshold
        numbers = [
            number * inside // word if place < kept else inside + number * outside // word
            for place, number in enumerate((first, second))
        ]
        steered = np.unique(part.generator.steer(every, one_each * order, one_each * numbers)).tolist()
        for seed in steered:
            found[seed] += Fraction(part.excess[kept], 2 * word**3 * len(steered))
    assert sum(found) == 1
    return found


def test_gamma_bounds_the_chances_of_all_seeds_when_words_are_coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """With words of 3 bits all draws can be listed, and the bias, 2^-64 in earnest, is plain to see."""
    monkeypatch.setattr(program_module, "WORD", 8)
    part = SizeProgram(4, 2, 3, 2, (0, 3, 3), seeds_module.seed_generator(4, 3, 2, 2, "polynomial"))
    chances = [chances_of_seeds(part, basket, 8) for basket in combinations(range(4), 2)]
    ratio = max(a / b for first, second in permutations(chances, 2) for a, b in zip(first, second, strict=True))
    lifts = [p / q for p, q in zip(part.kept, program_module.by_noise(2, Fraction(3, 4)), strict=True)]
    assert max(lifts) / min(lifts) < ratio <= part.gamma


@pytest.mark.parametrize("gamma", [19, 19.0, 2.5, 97 / 3, 1.0001, 5e6])
@pytest.mark.parametrize(
    ("size", "form"), [(1, "best"), (2, "two-level"), (3, "single-boost"), (5, "best"), (9, "two-level")]
)
def test_designs_keep_to_gamma_as_fractions(size: int, form: str, gamma: float) -> None:
    law = design_law(size, Goal(gamma, 1, 5e6), form=form, resolution=64)
    channel = sf.SelectASize(sf.Items(100), [within(law, Fraction(gamma))], up_to=1)
    assert channel.exact_gamma <= Fraction(gamma)
    assert float(gamma) * (1 - 1e-6) < channel.gamma <= gamma
    assert Fraction(channel.gamma) >= channel.exact_gamma


def test_a_law_above_gamma_is_moved_to_it() -> None:
    law = two_level(5, 131 / 256, 19.0 * (1 + 1e-12), 5)
    assert SizeProgram.of_law(law, 10, 1).gamma > 19
    moved = SizeProgram.of_law(within(law, Fraction(19)), 10, 1)
    assert 19 * (1 - Fraction(1, 10**11)) < moved.gamma <= 19


def test_a_law_without_noise_keeps_one_word_of_it() -> None:
    drawn = SizeProgram.of_law(SizeLaw(2, 0.5, (0.0, 0.0, 1.0)), 10, 1)
    assert drawn.bounds == (0, 0, WORD - 1)
    assert drawn.gamma > 1 << 64


# --- plain data -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def channel() -> sf.SelectASize:
    return sf.SelectASize.design(sf.Items(70), sizes=[1, 3, 4], gamma=19, up_to=2, resolution=32)


def test_a_program_is_whole_numbers_and_hex_text_that_json_carries_unharmed(channel: sf.SelectASize) -> None:
    program = channel.program()
    again = json.loads(json.dumps(program, allow_nan=False))
    assert again == program
    assert read_program(again) == read_program(program)

    def leaves(data: Any) -> list[Any]:
        parts = data.values() if isinstance(data, dict) else data if isinstance(data, list) else None
        return [data] if parts is None else [leaf for part in parts for leaf in leaves(part)]

    assert all(type(leaf) in (int, str) for leaf in leaves(program))
    assert all(leaf < 1 << 53 for leaf in leaves(program) if isinstance(leaf, int))
    program["sizes"].clear()
    assert channel.program() == again


def test_more_items_than_the_fields_have_elements_leave_bitmaps_only() -> None:
    program = basket_program([two_level(2, 0.5, 9.0, 2)], 1 << 23, 2)
    assert program["sizes"][0]["seed"] is None and program["sizes"][0]["words"]["seed"] is None
    with pytest.raises(ValueError, match="too many for seeds; send bitmaps"):
        read_program(program)[2].seeds(np.array([[1, 2]]), words((1, 5), 1))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("program",), 2, "is no basket program; give one of version 1"),
        (("kind",), "gaussian", "is no basket program"),
        (("sizes", 1, "rho"), [4, 5], "contradicts itself"),
        (("sizes", 1, "rho"), [1, 17], "contradicts itself|cannot show"),
        (("sizes", 1, "kept", 0), "ffffffffffffffff", "contradicts itself"),
        (("sizes", 1, "kept", 0), "ff", "contradicts itself"),
        (("sizes", 1, "kept"), ["00" * 8], "contradicts itself"),
        (("sizes", 1, "words", "bitmap"), 3, "contradicts itself"),
        (("sizes", 1, "seed", "bits"), 3, "contradicts itself"),
        (("sizes", 1, "seed", "independence"), 2, "cannot show baskets of 3"),
        (("sizes", 1, "seed", "polynomial"), 0x11, "cannot show baskets of 3"),
        (("sizes", 1, "seed", "polynomial"), 0x7, "cannot show baskets of 3"),
    ],
)
def test_programs_that_cannot_be_drawn_are_refused(
    channel: sf.SelectASize, path: tuple[Any, ...], value: Any, message: str
) -> None:
    program = channel.program()
    part: Any = program
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    with pytest.raises(ValueError, match=message):
        read_program(program)


@pytest.mark.parametrize(
    ("members", "shape", "message"),
    [
        ([[1, 2, 3]], (1, 2), "a basket here is 3 codes and"),
        ([[1, 2]], None, "a basket here is 3 codes and"),
        ([[3, 2, 1]], None, "no increasing row of codes below 70"),
        ([[1, 2, 70]], None, "no increasing row of codes below 70"),
        ([[-1, 2, 3]], None, "no increasing row of codes below 70"),
    ],
)
def test_baskets_that_do_not_fit_are_refused(
    channel: sf.SelectASize, members: list[list[int]], shape: tuple[int, int] | None, message: str
) -> None:
    program = channel.program()
    count = program["sizes"][1]["words"]["bitmap"]
    with pytest.raises(ValueError, match=message):
        read_program(program)[3].bitmaps(np.array(members), words(shape or (1, count), 1))


# --- drawing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["bitmap", "seed"])
def test_shown_own_items_follow_p_and_other_items_follow_rho(form: str) -> None:
    law = SizeLaw(3, 5 / 16, (0.1, 0.2, 0.3, 0.4))
    part = read_program(basket_program([law], 70, 2))[3]
    members = np.tile([5, 64, 69], (ROWS, 1))
    if form == "seed":
        reports = part.generator.expand(part.seeds(members, words((ROWS, part.seed_words), 5)))
    else:
        reports = part.bitmaps(members, words((ROWS, part.bitmap_words), 5))
    shown = unpack_bits(reports, 128)
    own = shown[:, [5, 64, 69]]
    assert_fits(np.bincount(own.sum(axis=1), minlength=4), law.kept)
    assert_fits(own[own.sum(axis=1) == 1].sum(axis=0), np.full(3, 1 / 3))
    assert_fits(np.bincount(shown[:, 7].astype(int), minlength=2), [1 - law.rho, law.rho])
    assert not shown[:, 70:].any()


def test_randomize_draws_what_the_program_draws(channel: sf.SelectASize) -> None:
    members = np.array([[1, 2, 3], [7, 20, 69]])
    part = read_program(channel.program())[3]
    for compress, draw, count in ((False, part.bitmaps, part.bitmap_words), (True, part.seeds, part.seed_words)):
        reports = channel.randomize(members.tolist(), rng=np.random.default_rng(3), compress=compress)
        drawn = draw(members, SimulatedWords(np.random.default_rng(3)).rows(np.zeros(2), count))
        assert np.array_equal(reports.words[:, : drawn.shape[1]], drawn)


class Traced(np.ndarray):
    """An array that writes down every operation on it, with shapes."""

    log: list[tuple[Any, ...]] = []  # noqa: RUF012

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **keywords: Any) -> Any:
        Traced.log.append((ufunc.__name__, method, *(np.shape(value) for value in inputs)))
        plain = [value.view(np.ndarray) if isinstance(value, Traced) else value for value in inputs]
        targets = {} if out is None else {"out": tuple(np.asarray(value) for value in out)}
        return np.asarray(getattr(ufunc, method)(*plain, **targets, **keywords)).view(Traced)

    def __getitem__(self, place: Any) -> Any:
        Traced.log.append(("getitem",))
        return super().__getitem__(place)


def operations(part: SizeProgram, form: str, members: list[int], first: int, seed: int) -> list[tuple[Any, ...]]:
    """What is executed for one basket whose first word is `first`."""
    count = part.bitmap_words if form == "bitmap" else part.seed_words
    row = words((1, count), seed)
    row[0, 0] = first
    Traced.log = []
    (part.bitmaps if form == "bitmap" else part.seeds)(np.array([members]).view(Traced), row.view(Traced))
    return copy.copy(Traced.log)


@pytest.mark.parametrize("construction", ["bch", "polynomial"])
@pytest.mark.parametrize("form", ["bitmap", "seed"])
def test_the_same_operations_run_for_every_basket_and_outcome(
    monkeypatch: pytest.MonkeyPatch, form: str, construction: Any
) -> None:
    monkeypatch.setattr(seeds_module, "_compiled", lambda: None)
    drawn = SizeProgram.of_law(SizeLaw(3, 5 / 16, (0.1, 0.2, 0.3, 0.4)), 70, 2)
    seed = seeds_module.seed_generator(70, 5, 4, 5, construction)
    part = SizeProgram(70, 3, 5, 4, drawn.bounds, seed)
    expected = operations(part, form, [0, 1, 2], 0, 1)
    assert len(expected) > 20
    outcomes = [0, *(bound - 1 for bound in part.bounds if bound), WORD - 1]
    for first, members in product(outcomes, ([0, 1, 2], [5, 64, 69], [66, 67, 68])):
        assert operations(part, form, members, first, 2) == expected


def lines_run(part: SizeProgram, form: str, members: list[int], first: int) -> list[int]:
    """The lines of the interpreter that are executed for one basket alone."""
    row, lines = words((1, part.bitmap_words if form == "bitmap" else part.seed_words), 2)[0], []
    row[0] = first

    def trace(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code.co_filename == program_module.__file__:
            lines.append(frame.f_lineno)
        return trace

    sys.settrace(trace)
    try:
        (part.bitmap if form == "bitmap" else part.seed_of)(members, row)
    finally:
        sys.settrace(None)
    return lines


@pytest.mark.parametrize("form", ["bitmap", "seed"])
def test_the_same_lines_run_for_every_basket_alone_and_every_outcome(form: str) -> None:
    part = SizeProgram.of_law(SizeLaw(3, 5 / 16, (0.1, 0.2, 0.3, 0.4)), 70, 2)
    expected = lines_run(part, form, [0, 1, 2], 0)
    assert len(expected) > 20
    outcomes = [0, *(bound - 1 for bound in part.bounds if bound), WORD - 1]
    for first, members in product(outcomes, ([0, 1, 2], [5, 64, 69], [66, 67, 68])):
        assert lines_run(part, form, members, first) == expected


@pytest.mark.parametrize("compiled", [True, False])
def test_all_rows_are_steered_whatever_their_outcome(monkeypatch: pytest.MonkeyPatch, compiled: bool) -> None:
    if not compiled:
        monkeypatch.setattr(seeds_module, "_compiled", lambda: None)
    part = SizeProgram.of_law(two_level(3, 5 / 16, 19.0, 2), 70, 2)
    steered: list[int] = []
    steer = type(part.generator).steer

    def spy(generator: Any, seeds: Any, items: Any, numbers: Any) -> Any:
        steered.append(len(seeds))
        return steer(generator, seeds, items, numbers)

    monkeypatch.setattr(type(part.generator), "steer", spy)
    drawn = words((30, part.seed_words), 6)
    for first in (0, WORD - 1):
        drawn[:, 0] = first
        part.seeds(np.tile([3, 5, 69], (30, 1)), drawn)
    assert steered == [30, 30]
