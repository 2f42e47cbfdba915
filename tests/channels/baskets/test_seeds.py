"""Seeds show any K items exactly as independent coins would: complete enumeration, sizes, and steering; the fields and
linear systems behind them against galois and by substitution."""

from __future__ import annotations

import ast
from itertools import combinations, product
from pathlib import Path

import galois
import numpy as np
import pytest

from sfumato.channels.baskets import seeds as seeds_module
from sfumato.channels.baskets.reports import pack_bits, unpack_bits
from sfumato.channels.baskets.seeds import (
    PRIMITIVE_POLYNOMIALS,
    bch_bits,
    binary_field,
    lowest_bits,
    parity,
    polynomial_bits,
    seed_generator,
    solve,
)
from tests.statistics import assert_fits

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
    generator = seed_generator(items, threshold, depth, independence, construction)
    seeds = np.arange(1 << generator.bits, dtype=np.uint64)[:, None]
    shown = unpack_bits(generator.expand(seeds), items)
    rho = threshold / 2**depth
    for subset in combinations(range(items), independence):
        for pattern in product([False, True], repeat=independence):
            expected = np.prod([rho if bit else 1 - rho for bit in pattern]) * len(seeds)
            assert (shown[:, subset] == pattern).all(axis=1).sum() == expected


@pytest.mark.parametrize("construction", ["bch", "polynomial"])
def test_steered_seeds_are_uniform_over_all_seeds_with_the_wanted_numbers(construction: str) -> None:
    generator = seed_generator(5, 3, 2, 3, construction)
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


@pytest.mark.parametrize(
    ("items", "threshold", "depth", "independence", "construction"),
    [(1000, 5, 3, 8, "polynomial"), (1000, 5, 3, 8, "bch"), (300, 1, 1, 20, "bch"), (70, 333, 10, 6, "polynomial")],
)
def test_seeds_steered_with_and_without_a_compiler_are_the_same_and_show_the_wanted_items(
    monkeypatch: pytest.MonkeyPatch, items: int, threshold: int, depth: int, independence: int, construction: str
) -> None:
    generator = seed_generator(items, threshold, depth, independence, construction)
    rng = np.random.default_rng(4)
    seeds = generator.trim(rng.integers(0, 1 << 64, size=(50, generator.words), dtype=np.uint64))
    chosen = np.array([rng.choice(items, 5, replace=False) for _ in range(50)])
    numbers = rng.integers(0, 1 << depth, size=(50, 5))
    steered = generator.steer(seeds, chosen, numbers)
    shown = np.take_along_axis(unpack_bits(generator.expand(steered), items), chosen, axis=1)
    assert np.array_equal(shown, numbers < threshold)
    monkeypatch.setattr(seeds_module, "_compiled", lambda: None)
    assert np.array_equal(generator.steer(seeds, chosen, numbers), steered)


@pytest.mark.parametrize("compiled", [True, False])
def test_more_items_than_seeds_are_made_for_and_repeated_items_are_refused(
    monkeypatch: pytest.MonkeyPatch, compiled: bool
) -> None:
    if not compiled:
        monkeypatch.setattr(seeds_module, "_compiled", lambda: None)
    generator = seed_generator(9, 1, 1, 2, "bch")
    seeds = np.zeros((1, generator.words), dtype=np.uint64)
    for items in ([[1, 2, 3]], [[4, 4]]):
        with pytest.raises(ValueError, match="linearly dependent"):
            generator.steer(seeds, np.array(items), np.zeros_like(items))


def test_the_steering_kernels_branch_on_no_data() -> None:
    """Which operations run depends on the seed's layout only: loops over ranges, one branch on a bit's public place."""
    tree = ast.parse(Path(pytest.importorskip("sfumato.channels.baskets.kernels").__file__).read_text())
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for name in functions.keys() - {"expand", "_sum_planes"}:
        for node in ast.walk(functions[name]):
            assert not isinstance(node, (ast.While, ast.IfExp, ast.BoolOp, ast.Break, ast.Continue)), name
            if isinstance(node, ast.If):
                assert ast.unparse(node.test) == "bit + length > 64"


def test_expansion_with_and_without_a_compiler_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = seed_generator(130, 11, 5, 6)
    seeds = generator.trim(np.random.default_rng(5).integers(0, 1 << 64, size=(3000, generator.words), dtype=np.uint64))
    compiled = generator.expand(seeds)
    monkeypatch.setattr(seeds_module, "_compiled", lambda: None)
    assert np.array_equal(generator.expand(seeds), compiled)


def test_seed_sizes_are_those_of_the_paper_or_smaller() -> None:
    assert [bch_bits(n, 3, 8) for n in (1000, 10_000)] == [144, 180]
    assert [bch_bits(n, 1, 8) for n in (1000, 10_000)] == [40, 56]
    assert [polynomial_bits(n, 3, 8) for n in (1000, 10_000)] == [80, 112]
    assert [seed_generator(n, 1, 1, 8).bits for n in (1000, 10_000)] == [40, 56]
    assert [seed_generator(n, 5, 3, 8).bits for n in (1000, 10_000)] == [80, 112]


def test_the_shorter_construction_is_chosen() -> None:
    assert seed_generator(1000, 1, 1, 8).construction == "bch"
    assert seed_generator(1000, 1, 2, 8).construction == "polynomial"


def test_uniform_seeds_show_items_with_chance_rho() -> None:
    generator = seed_generator(200, 3, 4, 5)
    words = np.random.default_rng(6).integers(0, 1 << 64, size=(20_000, generator.words), dtype=np.uint64)
    shown = unpack_bits(generator.expand(generator.trim(words)), 200)[:, 77]
    assert_fits([(~shown).sum(), shown.sum()], [13 / 16, 3 / 16])


# --- fields and linear systems ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", [d for d in PRIMITIVE_POLYNOMIALS if d <= 16])
def test_powers_of_the_primitive_element_visit_every_nonzero_element(degree: int) -> None:
    field = binary_field(PRIMITIVE_POLYNOMIALS[degree])
    assert np.array_equal(np.sort(field.powers[: field.order]), np.arange(1, 1 << degree))
    assert np.array_equal(field.powers[: field.order], field.powers[field.order :])


@pytest.mark.parametrize("degree", [3, 8, 10])
def test_products_equal_those_of_galois(degree: int) -> None:
    ours = binary_field(PRIMITIVE_POLYNOMIALS[degree])
    theirs = galois.GF(2**degree, irreducible_poly=galois.Poly.Int(PRIMITIVE_POLYNOMIALS[degree]))
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 1 << degree, size=(2, 500))
    assert np.array_equal(ours.multiply(a, b), np.asarray(theirs(a) * theirs(b)))
    assert np.array_equal(ours.divide(a, np.maximum(b, 1)), np.asarray(theirs(a) / theirs(np.maximum(b, 1))))


def test_solutions_satisfy_their_equations() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        rows = galois.GF2(rng.integers(0, 2, size=(30, 90)))
        if np.linalg.matrix_rank(rows) < 30:
            continue
        equations = pack_bits(np.asarray(rows).astype(bool))[None]
        wanted = rng.integers(0, 2, size=(1, 30)).astype(np.uint64)
        x = solve(equations, wanted)
        assert np.array_equal(parity(equations & x[:, None, :]), wanted)


def test_the_lowest_bit_of_a_row_is_found_in_any_word() -> None:
    rows = np.array([[0b1100, 5, 0], [0, 1 << 63, 7], [0, 0, 0]], dtype=np.uint64)
    assert lowest_bits(rows).tolist() == [[0b100, 0, 0], [0, 1 << 63, 0], [0, 0, 0]]


def test_dependent_equations_are_refused() -> None:
    rows = pack_bits(np.array([[1, 0, 1], [1, 0, 1]], dtype=bool))[None]
    with pytest.raises(ValueError, match="linearly dependent"):
        solve(rows, np.array([[0, 1]], dtype=np.uint64))


def test_an_untabulated_field_is_refused() -> None:
    with pytest.raises(ValueError, match=r"GF\(2\^60\) is not tabulated"):
        seed_generator(10, 1, 60, 3, "polynomial")
