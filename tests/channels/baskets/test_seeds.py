"""Seeds show any K items exactly as independent coins would: complete enumeration, sizes, and steering."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from tests.statistics import assert_fits

from sfumato.channels.baskets import seeds as seeds_module
from sfumato.channels.baskets.gf2 import unpack_bits
from sfumato.channels.baskets.seeds import (
    SeedGenerator,
    bch_bits,
    dyadic,
    polynomial_bits,
    seed_generator,
    steer_with_numpy,
)

SMALL_CASES = [
    (7, 1, 1, 4, "bch"),
    (5, 3, 2, 3, "bch"),
    (5, 5, 3, 2, "bch"),
    (5, 3, 2, 3, "polynomial"),
    (8, 1, 1, 3, "polynomial"),
    (6, 5, 3, 2, "polynomial"),
    (4, 3, 4, 3, "polynomial"),
]


@pytest.mark.parametrize(("items", "threshold", "depth", "independence", "construction"), SMALL_CASES)
def test_every_subset_of_k_items_is_independent_over_all_seeds(
    items: int, threshold: int, depth: int, independence: int, construction: str
) -> None:
    generator = SeedGenerator(items, threshold, depth, independence, construction)
    seeds = np.arange(1 << generator.bits, dtype=np.uint64)[:, None]
    shown = unpack_bits(generator.expand(seeds), items)
    rho = threshold / 2**depth
    for subset in combinations(range(items), independence):
        for pattern in product([False, True], repeat=independence):
            expected = np.prod([rho if bit else 1 - rho for bit in pattern]) * len(seeds)
            assert (shown[:, subset] == pattern).all(axis=1).sum() == expected


@pytest.mark.parametrize("construction", ["bch", "polynomial"])
def test_steered_seeds_are_uniform_over_all_seeds_with_the_wanted_numbers(construction: str) -> None:
    generator = SeedGenerator(5, 3, 2, 3, construction)
    every = np.arange(1 << generator.bits, dtype=np.uint64)[:, None]
    items, numbers = np.array([[4, 1]]), np.array([[2, 3]])
    steered = generator.steer(every, np.repeat(items, len(every), 0), np.repeat(numbers, len(every), 0))
    values, counts = np.unique(steered, return_counts=True)
    assert values.size == 1 << (generator.bits - 4)
    assert np.unique(counts).size == 1
    assert np.array_equal(
        generator.steer(values[:, None], np.repeat(items, values.size, 0), np.repeat(numbers, values.size, 0)),
        values[:, None],
    )


def test_steering_with_and_without_a_compiler_shows_the_same_items() -> None:
    generator = seed_generator(1000, 5 / 8, 8)
    rng = np.random.default_rng(4)
    seeds = generator.trim(rng.integers(0, 1 << 64, size=(50, generator.words), dtype=np.uint64))
    items = np.array([rng.choice(1000, 5, replace=False) for _ in range(50)])
    numbers = rng.integers(0, 8, size=(50, 5))
    for steered in (generator.steer(seeds, items, numbers), steer_with_numpy(seeds, generator.columns, items, numbers)):
        shown = np.take_along_axis(unpack_bits(generator.expand(steered), 1000), items, axis=1)
        assert np.array_equal(shown, numbers < 5)


def test_expansion_with_and_without_a_compiler_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = seed_generator(130, 11 / 32, 6)
    seeds = generator.trim(np.random.default_rng(5).integers(0, 1 << 64, size=(3000, generator.words), dtype=np.uint64))
    compiled = generator.expand(seeds)
    monkeypatch.setattr(seeds_module, "_compiled", lambda: None)
    assert np.array_equal(generator.expand(seeds), compiled)


def test_seed_sizes_are_those_of_the_paper_or_smaller() -> None:
    assert [bch_bits(n, 3, 8) for n in (1000, 10_000)] == [144, 180]
    assert [bch_bits(n, 1, 8) for n in (1000, 10_000)] == [40, 56]
    assert [polynomial_bits(n, 3, 8) for n in (1000, 10_000)] == [80, 112]
    assert [seed_generator(n, 0.5, 8).bits for n in (1000, 10_000)] == [40, 56]
    assert [seed_generator(n, 0.625, 8).bits for n in (1000, 10_000)] == [80, 112]


def test_the_shorter_construction_is_chosen() -> None:
    assert seed_generator(1000, 0.5, 8).construction == "bch"
    assert seed_generator(1000, 0.25, 8).construction == "polynomial"


def test_uniform_seeds_show_items_with_chance_rho() -> None:
    generator = seed_generator(200, 3 / 16, 5)
    words = np.random.default_rng(6).integers(0, 1 << 64, size=(20_000, generator.words), dtype=np.uint64)
    shown = unpack_bits(generator.expand(generator.trim(words)), 200)[:, 77]
    assert_fits([(~shown).sum(), shown.sum()], [13 / 16, 3 / 16])


def test_a_rho_that_is_no_dyadic_number_is_refused_with_a_neighbour() -> None:
    assert dyadic(0.625) == (5, 3)
    with pytest.raises(ValueError, match=r"take a nearby one such as 0\.300781"):
        dyadic(0.3)
