"""Drawing programs: what a device executes to blur an answer, as plain data in whole numbers.

A program takes the code of a true value through a few steps. Each step turns a code into another one with the help of
uniform 64-bit words, and has a law of its own:

    shift    code + noise, noise from one table; beyond the ends the end codes          1 word
    window   a code of the window that begins at the code, or any code outside it       2 words
    table    a draw from the code's own table                                           1 word
    map      another code, always the same one                                          no word
    spread   any code of the run of neighbours that holds the code                      1 word

The interpreter reads whole numbers only, works on single codes and on arrays alike, and does the same work whatever the
code, the words and the outcome are. The law and γ are read off the same whole numbers. ``docs/programs.md`` describes
programs for other languages.
"""

from sfumato.channels.program.alias import (
    HALF,
    MOST_ENTRIES,
    WORD,
    Alias,
    Numbers,
    Words,
    below,
    choose,
    hex_word,
    integer_weights,
    word_of,
    words_below,
)
from sfumato.channels.program.program import Program
from sfumato.channels.program.ratios import largest_of, largest_ratio, sum_runs
from sfumato.channels.program.steps import Draw, Map, Shift, Spread, Step, Window

__all__ = [
    "Words", "Numbers", "WORD", "HALF", "MOST_ENTRIES", "below", "words_below", "choose", "hex_word", "word_of",
    "Alias", "integer_weights",
    "Step", "Shift", "Window", "Draw", "Map", "Spread", "sum_runs",
    "Program", "largest_of", "largest_ratio",
]  # fmt: skip
