"""Fields of characteristic two and linear systems in bits, against galois and by substitution."""

from __future__ import annotations

import galois
import numpy as np
import pytest

from sfumato.channels.baskets.gf2 import (
    PRIMITIVE_POLYNOMIALS,
    binary_field,
    lowest_bits,
    pack_bits,
    parity,
    primitive_polynomial,
    solve,
    unpack_bits,
)


@pytest.mark.parametrize("degree", [d for d in PRIMITIVE_POLYNOMIALS if d <= 16])
def test_powers_of_the_primitive_element_visit_every_nonzero_element(degree: int) -> None:
    field = binary_field(primitive_polynomial(degree))
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
    assert np.array_equal(ours.power(a, 5), np.asarray(theirs(a) ** 5))


def test_bits_survive_packing() -> None:
    bits = np.random.default_rng(2).random((7, 131)) < 0.4
    assert np.array_equal(unpack_bits(pack_bits(bits), 131), bits)


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
        primitive_polynomial(60)
