"""How to release: what the owner asked for, checked against the table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.domain import Floats
from sfumato.microdata.fields import Mask, Microdata
from sfumato.microdata.gadp import BASELINES
from sfumato.microdata.noise import LAWS, STEPS

Amount = float | Mapping[str, float]
METHODS = ("leafwise", "gadp", *BASELINES)
ROLES = ("all", "tested", "untested", "none")
DEFAULT_AMOUNT = {"leafwise": 1.0, "gadp": 1.0, "sadp": 0.5, "correlated": 0.5, "gadp-table": 0.75, "swap": 0.15}
ADDITIVE_AMOUNT = 0.276
"""IB04's share of the range. Rank noise may be larger, because it moves values only where the leaf has them."""
LARGEST_AMOUNT = {"gadp": 1.0, "gadp-table": 1.0, "swap": 1.0}
LOOKS, FEWEST_LOOKS, MOST_LOOKS = 4_000_000, 1, 60
"""How many values a tree may be grown on again, over all attempts; large tables get one attempt, small ones sixty."""


@dataclass(frozen=True)
class Terms:
    """How to release, checked against the table: amounts and kept columns in the order of its fields."""

    method: str
    noise: str
    labels: str
    perturb: str
    attempts: int
    amount: Floats
    kept: Mask


def agree(
    data: Microdata, method: str, amount: Amount | None = None, noise: str = "rank", labels: str = "rpt",
    perturb: str = "all", attempts: int | None = None, keep: Iterable[str] = (),
) -> Terms:
    """Check what was asked for; what is unknown or out of range is refused by name."""
    named = (
        ("method", method, METHODS),
        ("noise", noise, LAWS),
        ("labels", labels, STEPS),
        ("perturb", perturb, ROLES),
    )
    for key, value, allowed in named:
        if value not in allowed:
            raise ValueError(f"{key}={value!r} is unknown; choose {', '.join(allowed)}")
    kept = np.isin(data.names, [data.names[data.index(name)] for name in keep])
    if kept.all():
        raise ValueError("keep names every attribute; leave out at least one to release")
    usual = int(np.clip(LOOKS // data.X.size, FEWEST_LOOKS, MOST_LOOKS)) if method == "leafwise" else 0
    tries = usual if attempts is None else attempts
    return Terms(method, noise, labels, perturb, tries, _amounts(data, method, amount, noise), kept)


def _amounts(data: Microdata, method: str, amount: Amount | None, noise: str) -> Floats:
    usual = ADDITIVE_AMOUNT if (method, noise) == ("leafwise", "additive") else DEFAULT_AMOUNT[method]
    if isinstance(amount, Mapping):
        if "gadp" in method:
            raise ValueError(f"method {method!r} takes one amount for all attributes; pass a number")
        wanted = {data.index(name): value for name, value in amount.items()}
        amounts = np.array([wanted.get(place, usual) for place in range(len(data.fields))], dtype=float)
    else:
        amounts = np.full(len(data.fields), usual if amount is None else amount, dtype=float)
    most = LARGEST_AMOUNT.get(method, np.inf)
    wrong = ~((amounts >= 0) & (amounts <= most))
    if wrong.any():
        raise ValueError(f"amount={amounts[wrong][0]:g} is not between 0 and {most:g}; see the method's unit of noise")
    return amounts
