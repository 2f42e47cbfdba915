"""Numbers and values as they stand in a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any


def amount(number: float) -> str:
    """Four digits, without powers of ten where they can be spelt out: 0.1234, 56.78, 56,650, 1,296,000."""
    if not math.isfinite(number):
        return "unlimited"
    rounded = float(f"{number:.4g}")
    return f"{rounded:,.0f}" if 1000 <= abs(rounded) < 1e9 else f"{rounded:.4g}"


def shown(value: Any) -> str:
    """A value as it was reported."""
    plain = value.item() if hasattr(value, "item") else value
    if isinstance(plain, float):
        return f"{plain:,.0f}" if 1e5 <= abs(plain) < 1e12 and plain.is_integer() else f"{plain:.7g}"
    return repr(plain) if isinstance(plain, str) else str(plain)


def counted(number: int, noun: str) -> str:
    """1 target, 2 targets."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(names: Iterable[str]) -> str:
    """a, b and c."""
    *most, last = list(names)
    return f"{', '.join(most)} and {last}" if most else last
