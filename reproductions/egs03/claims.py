"""EGS03's statements, section by section, judged by what was computed and mined."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from reproductions import Claim, Rows, placed
from reproductions.egs03 import breaches, runs
from sfumato.prose import percent

EASY, QUICK_F1, FULL_F1 = "Quest-like, 10 habits", (0.9, 0.85, 0.8), (0.97, 0.95, 0.94)
WIDEST = 1.5
LOST = "ours: the numbers are lost in the text"


def judge_examples() -> list[Claim]:
    """Section 1: noise and sets that do not hide; the numbers are lost in the text, these are ours."""
    known, there = breaches.age_example(), breaches.items_example()
    return placed("Section 1", [
        Claim(
            "Noise that is wide on average may reveal: uniform on ±50, a reported age of 120 says 70 or older",
            known > 1 - 1e-12,
            f"{percent(known, 0)} of such people are",
            threshold=LOST,
        ),
        Claim(
            "Who sees three items of 1 % support in a report learns that they were there, though 80 % were replaced",
            there > 0.9,
            f"{percent(there)}: 10 of 10,000 items, each kept with 20 %",
            threshold=f"{LOST}; above 90 %",
        ),
    ])  # fmt: skip


def judge_breaches(example: Rows) -> list[Claim]:
    """Sections 3 and 4: Example 1 and Statement 1."""
    _, one, two, three = example
    growth, gamma = breaches.largest_odds_ratio(), three["gamma"]
    knowing, equal = breaches.largest_odds_ratio(background=True), breaches.odds_through_equality()
    return [
        Claim(
            "R1 reveals X = 0, R2 reveals X outside 200..800, R3 reveals neither",
            one["Q1"] > 0.7 and two["Q2"] > 1 - 1e-12 and three["Q1"] < 0.05,
            f"R1: Q1 1 % to {percent(one['Q1'], 2)}; R2: Q2 40.5 % to {percent(two['Q2'], 0)}; "
            f"R3: {percent(three['Q1'], 2)} and {percent(three['Q2'], 2)}",
            where="Section 3, Example 1",
            threshold="ours: above 70 %, all, below 5 %",
        ),
        Claim(
            "The odds of no property grow by more than γ, whatever the prior",
            growth <= gamma * (1 + 1e-9),
            f"largest growth {growth:.3f} over 300 random priors and properties, γ {gamma:.3f}",
            where="Section 4, Statement 1",
        ),
        Claim(
            "The condition is strict: no breach from 5 % to 50 % where γ is below 19",
            abs(equal - 0.5) < 1e-9,
            f"at γ = 19 itself a belief of 5 % grows to {percent(equal, 2)}",
            where="Section 4, Statement 1",
        ),
        Claim(
            "The condition holds for one who knows something of a person beforehand",
            knowing <= gamma * (1 + 1e-9),
            f"largest growth {knowing:.3f} where one of 20 parts of the values is known, γ {gamma:.3f}",
            where="Section 4, background knowledge",
        ),
    ]


def judge_information(information: Rows) -> list[Claim]:
    """Section 7: what mutual information does not see."""
    r1, r2 = information
    upward, downward = breaches.least_information_beyond_breaches()
    return [
        Claim(
            "Mutual information ranks the operator that sometimes reveals almost everything as the safer one",
            r2["mutual information"] < r1["mutual information"],
            f"{r2['mutual information']:.7f} against {r1['mutual information']:.5f} bits",
            where="Section 7, Table 2",
        ),
        Claim(
            "Worst-case information ranks them the other way round",
            all(r2[f"{kind}worst-case information"] > r1[f"{kind}worst-case information"] for kind in ("", "inverse ")),
            f"{r2['worst-case information']:.4f} against {r1['worst-case information']:.5f} bits, inverse "
            f"{r2['inverse worst-case information']:.3f} against {r1['inverse worst-case information']:.4f}; "
            f"a 5 % to 50 % breach needs {r1['a breach from 5 % to 50 % needs']:.3f}",
            where="Section 7, Table 2",
        ),
        Claim(
            "A report that causes an upward breach needs worst-case information of at least the breach's own",
            upward >= -1e-9,
            f"information beyond what the breach needs: {upward:.4f} bits at least, over 60 random operators and "
            "priors, every report and every property",
            where="Section 7, statement on upward breaches",
        ),
        Claim(
            "A downward breach needs as much inverse worst-case information",
            downward >= -1e-9,
            f"{downward:.4f} bits beyond it at least, over the same",
            where="Section 7, statement on downward breaches",
        ),
    ]


def judge_laws(by_size: Rows) -> list[Claim]:
    """Section 5: which law of kept items to take."""
    better = [row for row in by_size if _worst(row, "best") < 0.995 * _worst(row, "two-level")]
    again = "two-level" if runs.best_is_two_level(10, prevalence=0.1) else "another one"
    return [
        Claim(
            "Some two-level law maximises the mean of every non-decreasing function of the kept count",
            runs.two_level_maximises_increasing_functions(),
            "all corners of the polytope at three sizes, four ρ and 200 functions",
            where="Section 5, Statement 2",
        ),
        Claim(
            "The two-level form is a good choice for the smallest discoverable support",
            not better,
            f"lower by more than half a percent at {len(better)} of {len(by_size)} sizes{_example(better)}",
            where="Section 5",
            threshold="ours: half a percent of the support",
            cause=f"a support near 0 is told from 0 by the variance of people who have no part of the itemset, and "
            f"fewer false items serve it{_false_items(better)}; where 10 % have parts of it the best law for m = 10 is "
            f"{again}",
        ),
        Claim(
            "The matrix of partial supports may be singular",
            abs(runs.singular_law().signal(2)) < 1e-12,
            f"two-level, m = 5, j* = 2, ρ = 1/4: 2-itemsets leave a signal of {runs.singular_law().signal(2):.1g}; "
            "such a law is refused",
            where="Section 5",
        ),
    ]


def judge_supports(by_level: Rows, by_size: Rows, by_reports: Rows) -> list[Claim]:
    """Section 5: lowest discoverable supports."""
    slope = math.log(by_reports[-1]["two-level 3"] / by_reports[0]["two-level 3"]) / math.log(10)
    return [
        Claim(
            "Discoverable supports rise with the prior that is protected and with the size of the basket",
            _rising(by_level) and _rising(by_size),
            f"3-itemsets: {by_level[0]['two-level 3']:.3f} % at ρ₁ = 1 % to {by_level[-1]['two-level 3']:.3f} % at "
            f"20 %; {by_size[0]['two-level 3']:.3f} % at m = 3 to {by_size[-1]['two-level 3']:.3f} %",
            where="Section 5, Figures 1 and 2",
        ),
        Claim(
            "Discoverable supports are about inversely proportional to the root of the number of transactions",
            abs(slope + 0.5) < 0.01,
            f"slope {slope:.4f} on logarithmic axes",
            where="Section 5, Figure 3",
            threshold="ours: a slope within .01 of -.5",
        ),
    ]


def judge_seeds(compression: Rows) -> list[Claim]:
    """Section 4.3: compressed reports."""
    smaller = [row["times smaller"] for row in compression]
    amplified = runs.seed_amplification()
    listed, listed_laws = (", ".join(f"{one:.4f}" for one in some) for some in zip(*amplified, strict=True))
    return [
        Claim(
            "A seed shows any K items with the law of independent coins",
            runs.seeds_are_independent(),
            "complete enumeration of all seeds and all subsets in three small cases",
            where="Section 6, statement on seeds",
        ),
        Claim(
            "A seed amplifies by exactly the γ of select-a-size: the condition on the parameters is the same",
            all(abs(over_seeds / of_law - 1) < 1e-9 for over_seeds, of_law in amplified),
            f"γ over all seeds and pairs of baskets {listed}, of the law {listed_laws}, in three small cases",
            where="Section 6, statement on amplification",
        ),
        Claim(
            "Seeds make reports smaller by an order of magnitude",
            min(smaller) >= 10,
            f"{min(smaller):.1f} to {max(smaller):.0f} times smaller",
            where="Section 6, Section 8",
        ),
    ]


def judge_mining(rows: Rows, missing: str, quick: bool) -> Claim:
    easy = [row for row in rows if row["data"] == EASY]
    scores = [sum(row[f"F1 of {k}"] for row in easy) / len(easy) for k in (1, 2, 3)]
    return Claim(
        "Frequent itemsets can be mined from transactions randomized at γ = 19",
        all(score >= bar for score, bar in zip(scores, QUICK_F1 if quick else FULL_F1, strict=True)),
        f"F1 of 1-, 2-, 3-itemsets {scores[0]:.3f}, {scores[1]:.3f}, {scores[2]:.3f} among "
        f"{easy[0]['people']:,} people at {percent(easy[0]['minimum support'], 0)}{missing}",
        where="Section 5",
        threshold="ours: F1 of " + ", ".join(f"{bar:g}" for bar in (QUICK_F1 if quick else FULL_F1)),
    )


def judge_real(rows: Rows) -> list[Claim]:
    """Real baskets: errors as large as stated, whatever the data."""
    real = [row for row in rows if not row["data"].startswith("Quest") and row["spread of z"] is not None]
    told = "; ".join(
        f"{row['data']} ({row['people']:,}): F1 " + ", ".join(_score(row[f"F1 of {k}"]) for k in (1, 2, 3))
        + f", spread {row['spread of z']:.2f}" for row in real
    )
    return [
        Claim(
            "Supports in real baskets are found with the errors that are stated",
            all(row["spread of z"] < WIDEST for row in real) if real else None,
            told or "no carrier of real baskets is installed",
            where="Section 5",
            threshold=f"ours: estimates lie {WIDEST:g} stated errors or less from the truth, root mean square",
        )
    ]


def judge_operators(rows: Rows) -> Claim:
    """At one γ, what each operator can find; and the γ of bit flips as they were proposed."""
    worst = {row["operator"]: max(v for k, v in row.items() if k.startswith("discoverable")) for row in rows}
    same = {row["operator"]: worst[row["operator"]] for row in rows if row["gamma"] <= runs.GAMMA * (1 + 1e-9)}
    found = {row["operator"]: [_score(row[f"F1 of {k}"]) for k in (1, 2, 3)] for row in rows}
    told = "; ".join(
        f"{row['operator']}: γ {row['gamma']:.4g}, supports from {worst[row['operator']]:.3f} %, "
        f"F1 {', '.join(found[row['operator']])}" for row in rows
    )
    return Claim(
        "At one γ select-a-size finds rarer itemsets than cut-and-paste and bit flips",
        min(same, key=lambda name: same[name]) == "select-a-size",
        f"{told} ({rows[0]['people']:,} people, the same baskets)",
        where="ours; Section 1, Section 5",
        threshold="ours: the largest of the three lowest discoverable supports",
    )


def _score(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _worst(row: dict[str, Any], form: str) -> float:
    return max(float(row[f"{form} {k}"]) for k in (1, 2, 3) if f"{form} {k}" in row)


def _example(better: Rows) -> str:
    if not better:
        return ""
    best, two_level = _worst(better[-1], "best"), _worst(better[-1], "two-level")
    return f", e.g. {best:.3f} % against {two_level:.3f} % for m = {better[-1][runs.BASKET_SIZE]}"


def _false_items(better: Rows) -> str:
    return f": ρ = {better[-1]['best rho']:.3f} for {better[-1]['two-level rho']:.3f}" if better else ""


def _rising(rows: Rows) -> bool:
    return all(a["two-level 3"] < b["two-level 3"] for a, b in pairwise(rows))
