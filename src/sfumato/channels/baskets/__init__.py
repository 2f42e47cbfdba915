"""Baskets: sets of items blurred by select-a-size, as bitmaps or as seeds of a few bits (EGS03)."""

from sfumato.channels.baskets.channel import SelectASize
from sfumato.channels.baskets.design import Goal, corners, design_law
from sfumato.channels.baskets.gf2 import Words, pack_bits, unpack_bits
from sfumato.channels.baskets.law import SIGNIFICANCE, SizeLaw, kept_by_noise
from sfumato.channels.baskets.reports import BasketReports, Baskets, bitmap_width, bitmaps_of
from sfumato.channels.baskets.seeds import SeedGenerator, bch_bits, polynomial_bits

__all__ = [
    "Baskets",
    "SelectASize",
    "SizeLaw",
    "Goal",
    "design_law",
    "corners",
    "kept_by_noise",
    "SIGNIFICANCE",
    "BasketReports",
    "bitmaps_of",
    "bitmap_width",
    "SeedGenerator",
    "bch_bits",
    "polynomial_bits",
    "Words",
    "pack_bits",
    "unpack_bits",
]
