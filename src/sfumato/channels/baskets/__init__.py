"""The channel for baskets (sets of items), select-a-size; reports are bitmaps, or seeds of a few bits (EGS03)."""

from sfumato.channels.baskets.channel import SelectASize
from sfumato.channels.baskets.design import Goal, corners, design_law
from sfumato.channels.baskets.law import (
    SIGNIFICANCE,
    SizeLaw,
    bit_flips,
    cut_and_paste,
    kept_by_noise,
    significant_support,
)
from sfumato.channels.baskets.program import read_program
from sfumato.channels.baskets.reports import (
    BasketReports,
    Baskets,
    bitmap_width,
    bitmaps_of,
    pack_bits,
    rows_by_size,
    unpack_bits,
)
from sfumato.channels.baskets.seeds import bch_bits, polynomial_bits, seed_generator
from sfumato.channels.program import Words

__all__ = [
    "Baskets", "SelectASize", "read_program", "SizeLaw", "Goal", "design_law", "corners", "kept_by_noise",
    "cut_and_paste", "bit_flips", "SIGNIFICANCE", "significant_support", "BasketReports", "bitmaps_of", "rows_by_size",
    "bitmap_width", "seed_generator", "bch_bits", "polynomial_bits", "Words", "pack_bits", "unpack_bits",
]
