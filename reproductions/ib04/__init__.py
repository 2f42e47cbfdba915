"""IB04, "A framework for privacy preserving classification in data mining": its experiments, and ours beside them.

`patterns` repeats LINAPT, LIAPT, RPT and the whole framework on several `choices` of cases, through C4.5 and CART
trees, and `changes` says what came first; `utility` measures what is kept beyond the tree; `claims` says of each of the
paper's statements whether it was kept.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from reproductions import Claim, Paper, Rows, Say, Scale, at, opened, placed, write_paper
from reproductions.datasets import load
from reproductions.ib04 import changes, choices, claims, patterns, utility
from reproductions.ib04.places import PLACES
from sfumato.microdata import Frontier

Part = tuple[list[Claim], dict[str, Rows]]


def reproduce(folder: Path | str, scale: Scale = "full", say: Say = print) -> list[Claim]:
    """Everything into ``folder``: CSV tables, pictures, `statements.md` and `index.html`."""
    place, quick = opened(folder), at(scale, True, False, False)
    say("patterns on breast cancer and Boston housing, five random choices of cases beside the first ones")
    cases = {kind: choices.breast_cancer(kind, 1 if quick else 5) for kind in choices.TREES}
    found, tables = _patterns(cases, quick)
    say("accuracy on four data sets, moments under GADP, utility at equal risk, rotation and projection")
    frontiers = utility.frontiers(("wbc",), 1) if quick else utility.frontiers()
    judged, more = _utility(frontiers, quick)
    protected, linked = _noise(cases["C4.5"], quick)
    statements = [
        *placed("Section 3, Figure 1", claims.judge_figure_1(cases)),
        *_counted([*found, *judged], quick),
        *protected,
        *placed("Section 2", claims.judge_moments(moments := utility.moment_checks(2 if quick else 10))),
    ]
    shown = tables | linked | more | {"moments": [one.row() for one in moments]}
    write_paper(place, described(place, shown, frontiers), statements, scale)
    return statements


def _counted(found: list[Claim], quick: bool) -> list[Claim]:
    """A quick run counts too few trees to judge a count."""
    return [replace(one, kept=None) for one in found] if quick else found


def _patterns(cases: dict[str, list[choices.Choice]], quick: bool) -> Part:
    """The same trees again? Through C4.5 and CART, as drawn and looked at."""
    own, looks = cases["C4.5"], 10 if quick else patterns.LOOKS
    houses = {kind: choices.boston(kind, 1 if quick else 5) for kind in choices.TREES}
    found = patterns.pattern_experiments(cases, runs=2 if quick else None, looks=looks)
    boston = patterns.boston_experiment(houses, runs=2 if quick else 5, looks=looks)
    noise = patterns.noise_rows(own[0], 3 if quick else 60)
    ties = [dict(zip(("near-ties", "tests"), changes.near_ties(choice), strict=True)) for choice in own]
    sizes = patterns.size_rows(1 if quick else 5, 3 if quick else 15)
    networks = patterns.network_rows(own[:1] if quick else own, load("wbc"))
    judged = [
        *placed("Section 4", claims.judge_patterns(found, noise, sizes, ties)),
        *placed("Section 3, Boston", claims.judge_boston(boston)),
        *placed("Section 2", [claims.judge_networks(networks)]),
    ]
    return judged, {
        "patterns": [one.row() for one in found], "first_changes": changes.change_rows(found),
        "boston": [one.row() for one in boston], "noise_needed": noise, "tree_sizes": sizes, "networks": networks,
    }  # fmt: skip


def _noise(own: list[choices.Choice], quick: bool) -> Part:
    """The noise itself, and what it protects."""
    linked = patterns.linkage_rows(own, 1 if quick else 5)
    judged = claims.judge_noise(patterns.range_of_noise(own[0], 3 if quick else 15), linked)
    return placed("Section 3", judged), {"linkage": linked}


def _utility(frontiers: dict[str, Frontier], quick: bool) -> Part:
    """What a release is worth beyond its tree."""
    accuracy = utility.accuracy_rows(("wbc", "boston"), 2) if quick else utility.accuracy_rows()
    equal = utility.equal_risk_rows(frontiers)
    linear = utility.linear_rows(("wbc",), 1) if quick else utility.linear_rows()
    return placed("ours", claims.judge_utility(accuracy, equal)), {
        "accuracy": accuracy, "rotation_and_projection": linear, "equal_risk": equal,
        "frontier": utility.frontier_rows(frontiers),
    }  # fmt: skip


def described(place: Path, tables: dict[str, Rows], found: dict[str, Frontier]) -> Paper:
    """The page's words, tables and pictures; the pictures are drawn here."""
    for name, frontier in found.items():
        (place / f"frontier_{name}.svg").write_text(frontier.to_svg(), encoding="utf-8")
    return Paper(
        "IB04",
        "Islam & Brankovic 2004, A framework for privacy preserving classification in data mining",
        "Releases of breast cancer (349 cases) and Boston housing (300), over several choices of cases, through C4.5 "
        "and CART trees, with noise drawn once and with the owner's look; accuracy and risk on four data sets.",
        [
            "The text does not state which 300 cases of Boston it takes, nor the classes of its prices.",
            "C5 itself was not available: C4.5 is our own, CART scikit-learn's with as many leaves.",
            "PPT and ALPT are only named in the text; how they are read stands in the mathematics.",
        ],
        PLACES,
        tables,
        {f"frontier_{name}.svg": f"Risk against accuracy: {name}" for name in found},
    )
