"""The best guess per record: the belief reconstructed from everybody's reports, updated by the one report.

Numbers: the posterior mean. Categories: the likeliest one. Without the report the adversary guesses from the belief.
"""

from __future__ import annotations

import numpy as np

from sfumato.domain import Floats
from sfumato.privacy.attacks.finding import CONFIDENCE, Finding, width_of_errors
from sfumato.privacy.population import Attacked
from sfumato.privacy.posterior import posterior, shortest_widths
from sfumato.privacy.words import amount


def best_guess(target: Attacked) -> Finding:
    """The attack on one attribute, by its own report alone."""
    belief = posterior(target.law, target.belief, target.reports)
    return judge(target, belief, "best guess from its own report", _interval_note(target, belief))


def judge(target: Attacked, belief: Floats, attack: str, note: str = "") -> Finding:
    """What guessing from these beliefs (one row a person) gets."""
    if target.numeric:
        true = target.true_numbers
        before, after = (width_of_errors(true, guess @ target.table.values) for guess in (target.belief, belief))
        return Finding(attack, target.name, "width", before, after, stated_width(target), note)
    before = float((target.true == int(np.argmax(target.belief))).mean())
    after = float((belief.argmax(axis=1) == target.true).mean())
    return Finding(attack, target.name, "hits", before, after, stated_hits(target), note)


def stated_width(target: Attacked) -> float | None:
    """The interval width at 95 % that the channel's guarantee states."""
    return target.channel.guarantee().interval(CONFIDENCE)


def stated_hits(target: Attacked) -> float | None:
    """At most Σ_y max_x P[y, x]·prior[x] of the guesses can be right: what the stated table itself allows."""
    return float((target.law * target.belief).max(axis=1).sum())


def _interval_note(target: Attacked, belief: Floats) -> str:
    if not target.numeric:
        return ""
    widths = shortest_widths(belief, target.table.step, CONFIDENCE)
    usual, narrow = amount(float(widths.mean())), amount(float(np.quantile(widths, 0.01)))
    return f"Credible intervals are {usual} wide on average; one report in a hundred gives {narrow}."
