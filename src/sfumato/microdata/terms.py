"""How to release: what the owner asked for, checked against the table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.domain import Floats
from sfumato.microdata.methods.gadp import BASELINES
from sfumato.microdata.methods.laws import Law, law_of
from sfumato.microdata.methods.noise import LAWS, STEPS
from sfumato.microdata.methods.sequence import FEWEST_DONORS
from sfumato.microdata.table.fields import Mask, Microdata

Amount = float | Mapping[str, float]
METHODS = ("leafwise", "gadp", *BASELINES)
ROLES = ("all", "tested", "untested", "untested-mixed", "none")
PRESERVE = ("rules", "correlations", "both")
DEFAULT_AMOUNT = {"gadp": 1.0, "sadp": 0.5, "correlated": 0.5, "gadp-table": 0.75, "swap": 0.15, "random": 0.276}
LAW_AMOUNT = {"donors": float(FEWEST_DONORS), "rank": 1.0, "additive": 0.276, "paper": 1.0}
"""The least number of donors; a standard deviation as a share of the leaf's ranks; IB04's share of the range. Rank
noise may be larger than the latter, because it moves values only where the leaf has them."""
LARGEST_AMOUNT = {"gadp": 1.0, "gadp-table": 1.0, "swap": 1.0}
LOOKS, FEWEST_LOOKS, MOST_LOOKS = 4_000_000, 4, 60
"""How many values a tree may be grown on again, over all attempts; large tables get four attempts, small ones sixty."""
LEAST_RULES, MOST_CHANGE = 0.8, 0.1
"""What counts as preserved: the share of records under rules that are kept, the largest change of an association."""


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
    preserve: str
    deals: bool  # what the release is made of is ours to choose, not the owner's own law of noise
    rules: tuple[str, ...]
    least_rules: float
    most_change: float
    law: Law | None = None  # of the owner's own, or IB04's to the letter: drawn once

    @property
    def guards_rules(self) -> bool:
        return self.preserve in ("rules", "both")


def agree(
    data: Microdata, method: str, amount: Amount | None = None, noise: Any = None, labels: str = "rpt",
    perturb: str = "all", attempts: int | None = None, keep: Iterable[str] = (), preserve: str | None = None,
    rules: Iterable[str] = (), least_rules: float = LEAST_RULES, most_change: float = MOST_CHANGE,
) -> Terms:
    """Check what was asked for; what is unknown or out of range is refused by name."""
    own = None if noise is None else law_of(noise)
    noise = "paper" if own else noise
    whole = noise in (None, "donors") and perturb == "all"
    wanted = _usually(data, method, whole) if preserve is None else preserve
    law = ("donors" if whole and wanted != "rules" else "rank") if noise is None else noise
    _check_names(method, preserve, law, labels, perturb)
    _check_shares(least_rules=least_rules, most_change=most_change)
    if data.target is None and wanted in ("rules", "both"):
        raise ValueError(f"preserve={wanted!r} needs a target whose rules are to survive; name one, or leave it out")
    looks = method == "leafwise" and wanted in ("rules", "both")
    tries = int(np.clip(LOOKS // data.X.size, FEWEST_LOOKS, MOST_LOOKS)) if looks else 0
    return Terms(
        method=method,
        noise=law,
        labels=labels,
        perturb=perturb,
        attempts=tries if attempts is None else attempts,
        amount=_amounts(data, method, amount, law),
        kept=_kept(data, keep),
        preserve=wanted,
        deals=whole,
        rules=(rules,) if isinstance(rules, str) else tuple(rules),
        least_rules=least_rules,
        most_change=most_change,
        law=own if method == "leafwise" else None,
    )


def _check_names(method: str, preserve: str | None, noise: str, labels: str, perturb: str) -> None:
    """Refuse what is not one of the names; None: nothing was asked for."""
    named = (
        ("method", method, METHODS),
        ("preserve", preserve, (*PRESERVE, None)),
        ("noise", noise, LAWS),
        ("labels", labels, STEPS),
        ("perturb", perturb, ROLES),
    )
    for key, value, allowed in named:
        if value not in allowed:
            raise ValueError(f"{key}={value!r} is unknown; choose {', '.join(filter(None, allowed))}")


def _check_shares(**shares: float) -> None:
    for key, share in shares.items():
        if not 0 <= share <= 1:
            raise ValueError(f"{key}={share:g} is not between 0 and 1; it is a share")


def _kept(data: Microdata, keep: Iterable[str]) -> Mask:
    """Which fields stay as they are; not all."""
    kept = np.isin(data.names, [data.names[data.index(name)] for name in keep])
    if kept.all():
        raise ValueError("keep names every attribute; leave out at least one to release")
    return np.asarray(kept)


def _usually(data: Microdata, method: str, whole: bool) -> str:
    """What a release is to preserve if nobody says: of the methods to compare with, nothing."""
    if method != "leafwise":
        return "nothing"
    return "correlations" if data.target is None else "both" if whole else "rules"


def _amounts(data: Microdata, method: str, amount: Amount | None, law: str) -> Floats:
    usual = LAW_AMOUNT[law] if method == "leafwise" else DEFAULT_AMOUNT[method]
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
