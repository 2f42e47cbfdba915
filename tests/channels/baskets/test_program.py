"""Drawing by mixture and by coins gives the law exactly."""

from __future__ import annotations

import numpy as np
from tests.statistics import assert_fits

from sfumato.channels.baskets.gf2 import unpack_bits
from sfumato.channels.baskets.law import SizeLaw, kept_by_noise, two_level
from sfumato.channels.baskets.program import PURE_NOISE, SizeSampler, below, coins, shuffled

ROWS = 40_000


def words(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1 << 64, size=shape, dtype=np.uint64)


def test_numbers_below_a_bound_are_the_high_part_of_the_product() -> None:
    drawn = words((1000,), 1)
    assert below(drawn, np.uint64(41)).tolist() == [(word * 41) >> 64 for word in drawn.tolist()]


def test_coins_come_up_with_chance_rho() -> None:
    for rho in (1 / 2, 3 / 8, 41 / 1024):
        depth = float(rho).as_integer_ratio()[1].bit_length() - 1
        shown = int(unpack_bits(coins(rho, words((ROWS, depth), 2)), 64).sum())
        assert_fits([64 * ROWS - shown, shown], [1 - rho, rho])


def test_shuffles_are_uniform() -> None:
    order = shuffled(np.tile([0, 1, 2, 3], (ROWS, 1)), words((ROWS, 4), 3))
    codes = order @ np.array([64, 16, 4, 1])
    assert_fits(np.unique(codes, return_counts=True)[1], np.full(24, 1 / 24))


def test_kept_counts_follow_the_law_of_the_mixture() -> None:
    law = two_level(4, 3 / 8, 19.0, 3)
    sampler = SizeSampler(law, 10)
    drawn = sampler.kept_counts(words((ROWS,), 4))
    share = float(law.lift.min())
    excess = np.array(law.kept) - share * kept_by_noise(4, law.rho)
    counts = np.bincount(drawn + 1, minlength=6)
    assert_fits(counts, np.concatenate([[share], np.maximum(excess, 0.0)]))
    assert (drawn != 0).all() and PURE_NOISE in drawn


def test_shown_own_items_follow_p_and_other_items_follow_rho() -> None:
    law = SizeLaw(3, 5 / 16, (0.1, 0.2, 0.3, 0.4))
    sampler = SizeSampler(law, 70)
    members = np.tile([5, 64, 69], (ROWS, 1))
    shown = unpack_bits(sampler.bitmaps(members, words((ROWS, sampler.words_per_bitmap), 5)), 128)
    assert_fits(np.bincount(shown[:, [5, 64, 69]].sum(axis=1), minlength=4), law.kept)
    assert_fits(np.bincount(shown[:, 7].astype(int), minlength=2), [1 - law.rho, law.rho])
    assert not shown[:, 70:].any()
