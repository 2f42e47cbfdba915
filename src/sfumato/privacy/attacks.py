"""Attacks by an adversary who has the plan and the reports; each is measured beside a guess without the report.

The adversary's belief is reconstructed from everybody's reports. One answer is guessed from its own report or from
several; numbers also from all of a person's reports at once, because correlated people live near few directions and
independent noise does not; records are found, and unusual people pointed out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import SelectASize
from sfumato.domain import Codes, Floats
from sfumato.guarantee.statement import smallest_sets
from sfumato.privacy.population import (
    CONFIDENCE,
    Attacked,
    Population,
    posterior,
    posterior_of_several,
    true_covariance,
)
from sfumato.prose import counted, in_words, percent

NOTICEABLE = 0.1
"""The share below what is stated from which on a finding says so. By judgement: samples of a thousand people move a
width by a few percent, and smaller shares would be chance. It changes words only."""
FEW = 400
"""The people on whom fresh answers are averaged: each of ten rounds is drawn and read for everybody. By judgement: a
share of 400 people is known to ± 5 percentage points; more people cost time in proportion."""
SOUGHT = 300
"""The people whose records are looked for among all; the table of scores has a row for each. By judgement: a share of
300 people is known to ± 6 percentage points; more people cost time and memory in proportion."""
UNUSUAL = 0.02
"""The share of people who count as unusual, and whom the adversary points at: 20 of the default 1000. By judgement: a
larger share calls ordinary people unusual, a smaller one leaves too few to measure."""


@dataclass(frozen=True)
class Finding:
    """The result of one attack on one attribute.

    ``measure`` "width": the interval around the adversary's guess that holds 95 % of the true values; smaller is worse.
    "hits": the share of people for whom the adversary is right; larger is worse.
    """

    attack: str
    attribute: str
    measure: Literal["width", "hits"]
    without_report: float  # the measure for a guess that knows the crowd only
    recovered: float  # the measure for the attack
    stated: float | None = None  # the measure that the channel states; None: nothing is stated
    note: str = ""  # a further sentence

    @property
    def below_stated(self) -> float:
        """The share by which the attack gets below the stated privacy; 0 where it does not or nothing is stated.

            of a width  1 − recovered/stated;   of hits  (recovered − stated)/(1 − stated).
        """
        return self._below(self.recovered)

    def _below(self, number: float) -> float:
        """Return the share by which a number of this finding's measure is below the stated privacy, as a number."""
        if self.stated is None or not math.isfinite(self.stated) or self.stated <= 0:
            return 0.0
        if self.measure == "width":
            return max(1 - number / self.stated, 0.0)
        return max((number - self.stated) / (1 - self.stated), 0.0) if self.stated < 1 else 0.0

    @property
    def noticeable(self) -> bool:
        """Whether the attack gets more than a tenth below the privacy that the channel states."""
        return self.below_stated > NOTICEABLE

    def shown(self, number: float) -> str:
        """Write a number of this finding's measure as text: a width in the answer's unit, hits in percent of people."""
        return in_words(number) if self.measure == "width" else percent(number)

    def __str__(self) -> str:
        width = self.measure == "width"
        result = "places 95 % of answers within {}" if width else "is right for {} of the people"
        claim = "" if self.stated is None else f", {'' if width else 'at most '}{self.shown(self.stated)} stated"
        comparison = f"({self.shown(self.without_report)} without the report{claim})"
        crowd = self._below(self.without_report)
        of_it = f" ({percent(crowd, 0)} by knowing the crowd alone)" if crowd > 0 else ""
        below = f", {percent(self.below_stated, 0)} below what is stated{of_it}" if self.noticeable else ""
        text = f"{self.attribute}, {self.attack}: {result.format(self.shown(self.recovered))} {comparison}{below}."
        return f"{text} {self.note}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as a dict for JSON, with its sentence under "text"."""
        return {**vars(self), "below_stated": self.below_stated, "text": str(self)}


def width_of_errors(true: Floats, guess: Floats | float) -> float:
    """Return twice the distance from guesses within which 95 % of true values lie, as the width of an interval.

    ``guess``: one for each person, or one for all.
    """
    return 2 * float(np.quantile(np.abs(true - guess), CONFIDENCE))


# --- one answer ---------------------------------------------------------------------------------------------------


def best_guess(target: Attacked) -> Finding:
    """Attack one attribute: guess each person's answer from its own report alone; return how well that works.

    Of categories, for people with shares s[x] and the guess g(y) that the belief makes likeliest,

        hits = Σ_y s[g(y)]·P[y | g(y)]  ≤  Σ_y max_x s[x]·P[y | x],

    what the stated chances of the reports y allow any guess: both are expectations, so that no luck of the draw sets
    one above the other. Of numbers the width is measured in which 95 % of the true values lie around the guesses.
    """
    attack = "best guess from its own report"
    if not target.numeric:
        law, guess = target.law, (target.law * target.belief).argmax(axis=1)
        joint = law * target.true_shares
        hits, most = math.fsum(joint[np.arange(len(law)), guess]), math.fsum(joint.max(axis=1))
        return Finding(attack, target.name, "hits", _hits_without_report(target), min(hits, most), min(most, 1.0))
    belief = posterior(target.law, target.belief, target.report_cells)
    widths = smallest_sets(belief, target.coarse.step, CONFIDENCE)
    usual, narrow = in_words(float(widths.mean())), in_words(float(np.quantile(widths, 0.01)))
    note = f"Credible intervals are {usual} wide on average; one report in a hundred gives {narrow}."
    return _width_finding(target, belief, attack, note)


def averaging(target: Attacked, times: int, rng: np.random.Generator) -> Finding:
    """Attack one attribute: guess answers from ``times`` reports of each person with fresh noise, which wears off.

    The error falls as 1/√times. A device with a key gives the same report again, and repeating the question teaches
    nothing. Of categories, hits are the mean chance, given a person's reports, that the guess is right, which is never
    above

        s·γ^times / (s·γ^times + 1 − s),   s the largest share, γ the largest factor of a report on the odds.
    """
    few = replace(target, true_codes=target.true_codes[:FEW])
    drawn = [few.coarse.report_cell[few.draw_reports(rng)] for _ in range(times)]
    belief = posterior_of_several(few.law, few.belief, drawn)
    attack = f"{times} fresh answers to the same question"
    if few.numeric:
        return _width_finding(few, belief, attack)
    right = posterior_of_several(few.law, few.true_shares, drawn)
    hits = float(right[np.arange(len(right)), belief.argmax(axis=1)].mean())
    share, odds = float(few.true_shares.max()), times * math.log(target.channel.gamma)
    most = 1.0 if share >= 1 else share / (share + (1 - share) * math.exp(-odds))
    return Finding(attack, target.name, "hits", _hits_without_report(few), min(hits, most), most)


def _hits_without_report(target: Attacked) -> float:
    """Return the share of people whose answer is the one that the adversary believes likeliest before any report."""
    return float(target.true_shares[target.belief.argmax()])


def _width_finding(target: Attacked, belief: Floats, attack: str, note: str = "") -> Finding:
    """Return the finding for numbers that are guessed by the mean of each person's belief.

    ``belief``: a row of probabilities a person, over the intervals of true values; ``attack``: its name.
    """
    true, values = target.true_numbers, target.coarse.values
    before, after = (width_of_errors(true, guess @ values) for guess in (target.belief, belief))
    return Finding(attack, target.name, "width", before, after, target.stated_width, note)


def item_guess(name: str, channel: SelectASize) -> list[Finding]:
    """Attack baskets: guess that a person has an item that their report shows; one finding for each basket size but 0.

    Of m among n items, before the report s = m/n; after it s·a/(s·a + (1−s)ρ), with a = E[j]/m the chance that an own
    item is shown and ρ that another one is. At most γ·s/(γ·s + 1 − s) is stated, γ the largest factor on the odds.
    ``name``: the question's.
    """
    findings = []
    for size, law in channel.laws.items():
        if size == 0:  # an empty basket has no item to be guessed
            continue
        before = size / channel.items.size
        kept = float(np.arange(size + 1) @ np.asarray(law.kept)) / size
        after = before * kept / (before * kept + (1 - before) * law.rho)
        stated = law.gamma * before / (law.gamma * before + 1 - before)
        note = "The number of items is sent as it is."
        findings.append(Finding(f"an item that a basket of {size} shows", name, "hits", before, after, stated, note))
    return findings


# --- all numbers of a person at once ------------------------------------------------------------------------------
# For reports y = x + e, one row a person, with the noise's covariance N known and the people's Σ = Cov(y) − N.


def spectral_filter(reports: Floats, noise: Floats) -> Floats:
    """Guess all true values by spectral filtering (Kargupta, Datta, Wang and Sivakumar 2003).

    ``reports``: a row a person, a column an attribute; ``noise``: the noise's covariance N. Returns guesses as rows.

    In units of the noise (z = C⁻¹(y − mean), N = CCᵀ) the covariance of n reports of d attributes that hold nothing but
    noise has its eigenvalues below (1 + √(d/n))² (Marchenko and Pastur). The reports are projected (Π) on the
    directions with larger ones:

        error covariance  C(Π + (I − Π)S(I − Π))Cᵀ,   S = C⁻¹ΣC⁻ᵀ.
    """
    center, factor = reports.mean(axis=0), np.linalg.cholesky(noise)
    whitened = np.linalg.solve(factor, (reports - center).T).T
    values, vectors = np.linalg.eigh(np.cov(whitened, rowvar=False))
    signal = vectors[:, values > (1 + math.sqrt(reports.shape[1] / reports.shape[0])) ** 2]
    return np.asarray(center + whitened @ signal @ signal.T @ factor.T)


def principal_components(reports: Floats, noise: Floats) -> Floats:
    """Guess all true values by principal components (Huang, Du and Chen 2005).

    ``reports``: a row a person, a column an attribute; ``noise``: the noise's covariance N. Returns guesses as rows.

    A principal direction v of Σ is kept if it holds more of the people than of the noise, vᵀΣv > vᵀNv:

        error covariance  ΠNΠ + (I − Π)Σ(I − Π);
        white noise σ², p of d directions kept:  σ²·p/d + Σ_{i>p} λ_i/d on average.
    """
    center = reports.mean(axis=0)
    values, vectors = np.linalg.eigh(true_covariance(reports, noise))
    signal = vectors[:, values > np.einsum("ij,ik,kj->j", vectors, noise, vectors)]
    return np.asarray(center + (reports - center) @ signal @ signal.T)


def bayes_estimate(reports: Floats, noise: Floats) -> Floats:
    """Guess all true values by the Bayes estimate (Huang, Du and Chen 2005).

        E[x|y] = μ + Σ(Σ + N)⁻¹(y − μ);  no linear guess has a smaller squared error, whatever the distribution of x.

    ``reports``: a row a person, a column an attribute; ``noise``: the noise's covariance N. Returns guesses as rows.
    """
    center = reports.mean(axis=0)
    return np.asarray(center + (reports - center) @ _bayes_weights(true_covariance(reports, noise), noise).T)


def bayes_error(covariance: Floats, noise: Floats) -> Floats:
    """Return the variance of each true number given all reports of the person, as an array.

    It is the diagonal of Σ − Σ(Σ + N)⁻¹Σ, Σ = ``covariance`` of the people, N = that of the ``noise``. With noise that
    follows the people, N = κΣ, it is κ/(1 + κ)·Σ_jj, which a value's own report alone gives: the other reports add
    nothing.
    """
    return np.asarray(np.diag(covariance - _bayes_weights(covariance, noise) @ covariance))


def alone_error(covariance: Floats, noise: Floats) -> Floats:
    """Return the variance of each true number given its own report only, as an array: σ²n/(σ² + n).

    σ²: the people's variance, n: the noise's, the diagonals of the two covariances.
    """
    own, spread = np.diag(covariance), np.diag(noise)
    return np.asarray(own * spread / (own + spread))


def _bayes_weights(covariance: Floats, noise: Floats) -> Floats:
    """Return the matrix Σ(Σ + N)⁻¹, the weights of reports in the Bayes estimate; Σ: ``covariance``, N: ``noise``."""
    return np.asarray(np.linalg.solve(covariance + noise, covariance).T)


ATTACKS = {
    "spectral filtering": spectral_filter,
    "principal components": principal_components,
    "Bayes estimate from all numbers": bayes_estimate,
}


def correlation_attacks(population: Population) -> list[Finding]:
    """Attack the numbers of a population: guess each from all numeric reports of a person, by every attack of ATTACKS.

    Returns a finding for each attack and number; empty where the covariance is not known.
    """
    if population.covariance is None:
        return []
    targets = population.numeric
    true = np.column_stack([target.true_numbers for target in targets])
    reports = np.column_stack([each.remove_bias(each.coarse.report_values[each.report_cells]) for each in targets])
    return attack_numbers(population.stated_widths, true, reports, population.noise)


def attack_numbers(stated: Mapping[str, float | None], true: Floats, reports: Floats, noise: Floats) -> list[Finding]:
    """Guess every number of each person from all the person's reports, by every attack of ATTACKS; return the findings.

    ``stated``: the stated width at 95 % by attribute, None where there is none; ``true`` and ``reports``: a row a
    person, a column an attribute in the order of ``stated``; ``noise``: the noise's covariance.
    """
    unit = np.sqrt(np.diag(noise))  # in units of its noise no attribute dwarfs another
    findings = []
    for attack, guess_from in ATTACKS.items():
        guess = guess_from(reports / unit, noise / np.outer(unit, unit)) * unit
        for (name, width), values, guesses in zip(stated.items(), true.T, guess.T, strict=True):
            before, after = width_of_errors(values, values.mean()), width_of_errors(values, guesses)
            findings.append(Finding(attack, name, "width", before, after, width))
    return findings


# --- the record as a whole ----------------------------------------------------------------------------------------


def linkage(population: Population) -> list[Finding]:
    """Attack whole records: find people's records by clear attributes and true values; measure how often it works.

    Attributes in the clear narrow the search to the records that share them: a chance of 1/size of the group, and
    certainty for people who are alone in theirs. Somebody who also knows the true values behind the blurred answers
    picks, within the group, the record whose reports are likeliest: Σ_j log P_j[report, true]; ties are shared.
    """
    targets = list(population.targets.values())
    if not targets:
        return []
    people = targets[0].true_codes.size
    group = _number_groups(population.clear, people)
    sizes = np.bincount(group)[group]
    sought = np.arange(min(SOUGHT, people))
    score = np.zeros((sought.size, people))
    with np.errstate(divide="ignore"):
        for target in targets:
            score += np.log(target.law)[np.ix_(target.report_cells, target.true_cells[sought])].T
    score[group[sought][:, None] != group[None, :]] = -np.inf
    tied = score >= score.max(axis=1, keepdims=True) - 1e-12
    by_chance, right = float((1 / sizes[sought]).mean()), float((tied[sought, sought] / tied.sum(axis=1)).mean())
    knowledge, note = "all true values", ""
    if population.clear:
        knowledge = f"{counted(len(population.clear), 'attribute')} in the clear and {knowledge}"
        alone = percent(float((sizes == 1).mean()))
        note = f"{alone} of {people:,} people are the only ones with their attributes in the clear."
    return [Finding(f"finding a record by {knowledge}", "all answers", "hits", by_chance, right, None, note)]


def _number_groups(clear: dict[str, NDArray[np.generic]], people: int) -> Codes:
    """Return an array with a group number for each person; people have the same if all their clear columns are equal.

    ``clear``: the columns that are sent as they are; ``people``: how many there are.
    """
    group = np.zeros(people, dtype=np.int64)
    for values in clear.values():
        codes = np.unique(values.astype(str), return_inverse=True)[1]
        group = np.unique(group * (codes.max() + 1) + codes, return_inverse=True)[1]
    return group


def outliers(population: Population) -> list[Finding]:
    """Attack unusual people: point at those whose reports are the most unusual, and measure how many of them truly are.

    Unusual are the UNUSUAL share with the largest Mahalanobis distance. Empty with fewer than two numeric attributes.
    """
    targets = population.numeric
    if len(targets) < 2:
        return []
    true = np.column_stack([target.true_numbers for target in targets])
    reports = np.column_stack([target.coarse.report_values[target.report_cells] for target in targets])
    count = max(int(UNUSUAL * len(true)), 1)
    wanted, pointed = (np.argsort(-distances(rows), kind="stable")[:count] for rows in (true, reports))
    hits = float(np.isin(pointed, wanted).mean())
    note = f"Meant are the {percent(UNUSUAL, 0)} of people whose {len(targets)} numbers are the most unusual together."
    return [Finding("pointing out unusual people", "all numbers", "hits", UNUSUAL, hits, None, note)]


def distances(rows: Floats) -> Floats:
    """Return Mahalanobis' D² = (y − μ)ᵀ Cov(y)⁻¹ (y − μ) of every row y, as an array: how unusual each row is."""
    centered = rows - rows.mean(axis=0)
    return np.asarray((centered @ np.linalg.pinv(np.cov(rows, rowvar=False)) * centered).sum(axis=1))
