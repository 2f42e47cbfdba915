"""The one voice: numbers rounded towards less privacy, sentences, lists."""

from __future__ import annotations

import difflib
from typing import Any


def suggest(word: str, known: Any) -> str:
    """'; did you mean …?' or the list of what is known."""
    close = difflib.get_close_matches(word, [str(name) for name in known], n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(sorted(str(name) for name in known))}"


def in_words(number: float, digits: int = 4) -> str:
    """A number for prose: few digits, thousands set off, no powers of ten unless it is tiny or huge."""
    rounded = float(f"{number:.{digits}g}")
    return f"{rounded:,.0f}" if 1000 <= abs(rounded) < 1e15 and rounded.is_integer() else f"{rounded:.{digits}g}"
