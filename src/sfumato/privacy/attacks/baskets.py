"""Which items does somebody have? The belief in an item that the report shows, and in one that it hides.

For baskets of m of n items, before: s = m/n; shown: s·a/(s·a + (1−s)ρ) with a = E[j]/m.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.privacy.attacks.finding import Finding

if TYPE_CHECKING:
    from sfumato.channels.baskets import SelectASize


def item_guess(name: str, channel: SelectASize) -> list[Finding]:
    """One finding a designed size."""
    found = []
    for size, law in channel.laws.items():
        before = size / channel.items.size
        kept = float(np.arange(size + 1) @ np.asarray(law.kept)) / size
        after = before * kept / (before * kept + (1 - before) * law.rho)
        stated = law.gamma * before / (law.gamma * before + 1 - before)
        note = "The number of items is sent as it is."
        found.append(Finding(f"an item that a basket of {size} shows", name, "hits", before, after, stated, note))
    return found
