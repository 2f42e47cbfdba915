"""Attacks on one answer: the adversary's belief, updated by the report of it or by several.

The belief is reconstructed from everybody's reports. Numbers are guessed by the posterior mean, categories by the
likeliest one; without the report the adversary guesses from the belief alone.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.channels import SelectASize
from sfumato.domain import Floats
from sfumato.guarantee.statement import shortest_widths
from sfumato.privacy.attacks.finding import Finding, width_of_errors
from sfumato.privacy.belief import posterior, posterior_of_several
from sfumato.privacy.population import CONFIDENCE, Attacked
from sfumato.prose import in_words

FEW = 400


def best_guess(target: Attacked) -> Finding:
    """The attack by the answer's own report alone."""
    belief = posterior(target.law, target.belief, target.reports)
    note = ""
    if target.numeric:
        widths = shortest_widths(belief, target.coarse.step, CONFIDENCE)
        usual, narrow = in_words(float(widths.mean())), in_words(float(np.quantile(widths, 0.01)))
        note = f"Credible intervals are {usual} wide on average; one report in a hundred gives {narrow}."
    return _judge(target, belief, "best guess from its own report", note)


def averaging(target: Attacked, times: int, rng: np.random.Generator) -> Finding:
    """The attack on people who answered ``times`` times: fresh noise on the same answer wears off, as 1/√times.

    A device that is keyed gives the same report again, and repeating the question teaches nothing.
    """
    few = replace(target, true_codes=target.true_codes[:FEW], report_codes=target.report_codes[:FEW])
    drawn = np.column_stack([few.draw(rng) for _ in range(times)])
    belief = posterior_of_several(few.law, few.belief, few.coarse.report_cell[drawn])
    return _judge(few, belief, f"{times} fresh answers to the same question")


def _judge(target: Attacked, belief: Floats, attack: str, note: str = "") -> Finding:
    """What guessing from these beliefs (one row a person) gets.

    Of categories at most Σ_y max_x P[y, x]·prior[x] of the guesses can be right: what the stated law itself allows.
    """
    if target.numeric:
        true, values = target.true_numbers, target.coarse.values
        before, after = (width_of_errors(true, guess @ values) for guess in (target.belief, belief))
        return Finding(attack, target.name, "width", before, after, target.stated_width, note)
    before = float((target.true == int(np.argmax(target.belief))).mean())
    after = float((belief.argmax(axis=1) == target.true).mean())
    stated = float((target.law * target.belief).max(axis=1).sum())
    return Finding(attack, target.name, "hits", before, after, stated, note)


def item_guess(name: str, channel: SelectASize) -> list[Finding]:
    """Does somebody have an item that their report shows? One finding a designed size.

    For baskets of m of n items, before: s = m/n; shown: s·a/(s·a + (1−s)ρ) with a = E[j]/m.
    """
    found = []
    for size, law in channel.laws.items():
        before = size / channel.items.size
        kept = float(np.arange(size + 1) @ np.asarray(law.kept)) / size
        after = before * kept / (before * kept + (1 - before) * law.rho)
        stated = law.gamma * before / (law.gamma * before + 1 - before)
        note = "The number of items is sent as it is."
        found.append(Finding(f"an item that a basket of {size} shows", name, "hits", before, after, stated, note))
    return found
