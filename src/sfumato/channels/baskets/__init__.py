"""Baskets: sets of items blurred by select-a-size, as bitmaps or as seeds of a few bits (EGS03)."""

from sfumato.channels.baskets.channel import SelectASize
from sfumato.channels.baskets.design import Goal, corners, design_law
from sfumato.channels.baskets.gf2 import Words, bitmap_width, pack_bits, unpack_bits
from sfumato.channels.baskets.law import SIGNIFICANCE, SizeLaw, kept_by_noise
from sfumato.channels.baskets.program import draw_bitmaps, draw_seeds
from sfumato.channels.baskets.reports import BasketReports, Baskets, bitmaps_of
from sfumato.channels.baskets.seeds import bch_bits, polynomial_bits, seed_generator

__all__ = [
    "Baskets",
    "SelectASize",
    "draw_bitmaps",
    "draw_seeds",
    "SizeLaw",
    "Goal",
    "design_law",
    "corners",
    "kept_by_noise",
    "SIGNIFICANCE",
    "BasketReports",
    "bitmaps_of",
    "bitmap_width",
    "seed_generator",
    "bch_bits",
    "polynomial_bits",
    "Words",
    "pack_bits",
    "unpack_bits",
]
