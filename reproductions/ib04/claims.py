"""What IB04 says, one claim at a time: the paper's own thresholds where it has figures, else ours, and marked so.

A count is judged by its median over the choices of cases; the evidence lists every choice, the paper's own cases first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from reproductions import Claim, Rows
from reproductions.ib04.choices import CASES, LEAVES, TREES, Choice
from reproductions.ib04.patterns import DRAWN, GADPS, LOOKED_AT, WHOLE, BostonTrees, Experiment, Range
from reproductions.ib04.utility import Moments
from sfumato.microdata.patterns.comparison import rules_of
from sfumato.prose import percent

OURS = "ours"
HOW = {DRAWN: "noise drawn once", LOOKED_AT: "the owner looks and draws again"}
COUNTS = (
    ("LINAPT", "almost", 12 / 15, "12 of 15 LINAPT trees are the same or almost the same"),
    ("LINAPT", "identical", 7 / 15, "7 of 15 LINAPT trees are identical"),
    ("LIAPT", "identical", 7 / 10, "7 of 10 LIAPT trees are identical"),
)
FIGURE_1 = (12, LEAVES, 7, 4)
FIRST_LEAF = {"clump_thickness", "cell_size", "nucleoli"}
LEAST_COVERED = 316 / 349
"""What the rules kept cover in the paper's worst LINAPT trees."""
HIGH = 0.7
FREE = 0.97
"""Of biases that are none, at least this share lies within its 99 % interval."""


# --- the tree of Figure 1 ---------------------------------------------------------------------------------------------


def judge_figure_1(choices: dict[str, list[Choice]]) -> list[Claim]:
    """Size, and the leaf that the text describes: three attributes tested, six cases, one of the minority."""
    claims = []
    for kind, (first, *_) in choices.items():
        nodes, names = first.nodes, first.data.attributes
        tested = {names[place] for place in nodes.feature[~nodes.is_leaf]}
        leaf = nodes.descend(first.data.X)
        classes = first.data.y[:, None] == np.unique(first.data.y)
        counts = [tuple(sorted(classes[leaf == one].sum(axis=0).tolist())) for one in np.flatnonzero(nodes.is_leaf)]
        sizes = len(counts) - 1, len(counts), len(tested), sum(least > 0 for least, _ in counts)
        words = "{} tests, {} leaves, {} attributes, {} mixed leaves"
        root, told = names[nodes.feature[0]], (1, 5) in counts
        evidence = f"{words.format(*sizes)}, {root} first, {'a' if told else 'no'} leaf of 5 and 1"
        text = f"Figure 1: {words.format(*FIGURE_1)}, cell size first, a leaf of 5 and 1; {kind}"
        kept = (sizes, root, told) == (FIGURE_1, "cell_size", True)
        cause = f"another criterion on the same records and with as many leaves ({LEAVES}); C4.5's gain ratio finds it"
        claims.append(Claim(text, kept, f"the first {CASES} of the 699 records: {evidence}", cause=cause))
    return [*claims, *(judge_leaves(several[0]) for kind, several in choices.items() if kind == "C4.5")]


def judge_leaves(choice: Choice) -> Claim:
    """The leaves that the text describes, 1 and 10: what their paths test, and the ranges left to it."""
    rules = [
        {name: (low, high) for name, low, high in rule.conditions}
        for rule in rules_of(choice.tree, choice.data.X, choice.data.attributes)
    ]
    first = [each for each in rules if set(each) == FIRST_LEAF and each["cell_size"][1] == 2]
    tenth = [each for each in rules if (each.get("cell_size"), each.get("cell_shape", (0, 0))[1]) == ((2, 4), 2)]
    return Claim(
        "Leaves 1, 2 test clump thickness, cell size (1 to 2) and nucleoli; leaf 10 has cell size 3 to 4, shape 1 to 2",
        len(first) == 2 and len(tenth) == 1,
        f"{len(first)} leaves test these three with cell size up to 2; {len(tenth)} has those ranges; C4.5",
    )


# --- the same tree again ----------------------------------------------------------------------------------------------


def judge_patterns(found: list[Experiment], noise: Rows, sizes: Rows, ties: Rows) -> list[Claim]:
    """Each count four times: through C4.5 and CART, as the paper draws and as ``sf.release`` works."""
    claims = []
    for name, what, least, text in COUNTS:
        for kind in TREES:
            for how in (DRAWN, LOOKED_AT):
                those = select(found, name, kind, how)
                share = [getattr(one, what) / one.runs for one in those]
                counts = ", ".join(str(getattr(one, what)) for one in those)
                kept = bool(np.median(share) >= least)
                cause = _cause(those) + _why(name, kind, how, noise, sizes, ties)
                told = f"{counts} of {those[0].runs}"
                claims.append(Claim(f"{text}; {kind}, {HOW[how]}", kept, told, cause=cause))
    for kind in TREES:
        claims += [_whole(found, kind, how) for how in (DRAWN, LOOKED_AT)]
        claims += [*_other_trees(found, kind), *_mixed_leaves(found, kind), *_labels(found, kind), _random(found, kind)]
        claims += _gadp(found, kind)
    return claims


def select(found: list[Experiment], name: str, kind: str, how: str = DRAWN) -> list[Experiment]:
    return [one for one in found if (one.name, one.tree, one.how) == (name, kind, how)]


def _cause(those: Sequence[Experiment | BostonTrees]) -> str:
    """What changed first on the ways down, over all runs."""
    changes: Counter[str] = sum((one.changes for one in those), Counter())
    parts = [f"{kind} {percent(count / changes.total(), 0)}" for kind, count in changes.most_common()]
    return f"first changes: {', '.join(parts)}" if parts else "no change"


def _why(name: str, kind: str, how: str, noise: Rows, sizes: Rows, ties: Rows) -> str:
    """Near-ties in the trees; for LINAPT, how much less noise and how much smaller trees would give its counts."""
    if (kind, how) != ("C4.5", DRAWN):
        return ""
    near = ", ".join(f"{row['near-ties']} of {row['tests']}" for row in ties)
    close = f"; in {near} tests another attribute has nine tenths of the best gain ratio or more"
    if name != "LINAPT":
        return close
    share = [row["identical"] / row["runs"] for row in noise]
    needed = float(np.interp(7 / 15, share, [row["deviation"] for row in noise]))
    harder = [row for row in sizes if row["confidence"] < 0.25 and row["min_cases"] > 2]
    leaves, counts = (", ".join(str(row[key]) for row in harder) for key in ("leaves", "LINAPT identical"))
    return close + (
        f"; on the paper's own cases 7 of 15 need noise of {percent(needed)} of the range, not 27.6 %; trees pruned to "
        f"{leaves} leaves are identical in {counts} of {harder[0]['runs'] if harder else 0}"
    )


def _whole(found: list[Experiment], kind: str, how: str) -> Claim:
    those = select(found, WHOLE, kind, how)
    covered = [one.covered for one in those]
    evidence, most = f"kept rules cover {_shares(covered)} of the records", f"{OURS}: kept rules cover 90 %"
    text = f"the three steps together preserve patterns very well; {kind}, {HOW[how]}"
    return Claim(text, bool(np.median(covered) >= 0.9), evidence, threshold=most, cause=_cause(those))


def _other_trees(found: list[Experiment], kind: str) -> list[Claim]:
    """What is said of the trees that differ: half of the rules, 316 cases, 6 of 7 attributes; many rules of LIAPT's."""
    linapt = [(one, run) for one in select(found, "LINAPT", kind) for run in one.others]
    liapt = [(e, r) for e in select(found, "LIAPT", kind) for r in range(e.runs) if not e.comparisons[r].identical]
    rules, covered = ([getattr(e.comparisons[r], what) for e, r in linapt] for what in ("share_kept", "share_covered"))
    attributes, many = [e.attributes_kept[r] for e, r in linapt], [e.comparisons[r].share_kept for e, r in liapt]
    cause = _cause(select(found, "LINAPT", kind))
    return [
        Claim(f"of the other LINAPT trees each has about half of the rules; {kind}",
              _mean(rules, 0.4), f"{_average(rules)} of the rules", threshold=f"{OURS}: 40 % on average", cause=cause),
        Claim(f"and these cover 316 of 349 cases; {kind}", _mean(covered, LEAST_COVERED),
              f"{_average(covered)} of the cases", cause=cause),
        Claim(f"all of them test at least 6 of the 7 attributes; {kind}",
              _mean([share >= 6 / 7 - 1e-9 for share in attributes], 1),
              f"{_average(attributes)} of the attributes on average, least {percent(min(attributes, default=1), 0)}; "
              f"{sum(share >= 6 / 7 - 1e-9 for share in attributes)} of {len(attributes)} trees do", cause=cause),
        Claim(f"the other LIAPT trees still preserve many rules; {kind}",
              _mean(many, 0.5), f"{_average(many)} of the rules", threshold=f"{OURS}: half on average",
              cause=_cause(select(found, "LIAPT", kind))),
    ]  # fmt: skip


def _mixed_leaves(found: list[Experiment], kind: str) -> list[Claim]:
    those = select(found, "LIAPT in mixed leaves", kind)
    share = [one.almost / one.runs for one in those]
    others = [(one, run) for one in those for run in one.others]
    held = [one.same_root[run] and one.comparisons[run].share_kept > 0 for one, run in others]
    roots = sum(one.same_root[run] for one, run in others)
    return [
        Claim(f"LIAPT in mixed leaves only: 8 of 10 trees are very similar; {kind}, noise drawn once",
              bool(np.median(share) >= 0.8),
              f"{', '.join(str(one.almost) for one in those)} of {those[0].runs}", cause=_cause(those)),
        Claim(f"the others hold the same root and some rules; {kind}", _mean(held, 1),
              f"{sum(held)} of {len(held)} do, {roots} hold the root", cause=_cause(those)),
    ]  # fmt: skip


def _labels(found: list[Experiment], kind: str) -> list[Claim]:
    """RPT against PPT and ALPT, as they are read here."""
    covered = {name: [one.covered for one in select(found, name, kind)] for name in ("RPT", "PPT", "ALPT")}
    means = {name: float(np.mean(values)) for name, values in covered.items()}
    words = ", ".join(f"{name} {percent(mean)}" for name, mean in means.items())
    return [
        Claim(f"RPT is the best of the three class steps; {kind}", max(means, key=lambda name: means[name]) == "RPT",
              f"records under kept rules: {words}"),
    ]  # fmt: skip


def _random(found: list[Experiment], kind: str) -> Claim:
    random, linapt = (select(found, name, kind) for name in ("random noise", "LINAPT"))
    lost, kept = (float(np.mean([one.covered for one in those])) for those in (random, linapt))
    leaves = float(np.mean([np.mean(one.leaves) for one in random]))
    text = f"noise added at random changes nodes and rules much; {kind}"
    evidence = f"kept rules cover {percent(lost)} (LINAPT {percent(kept)}), {leaves:.1f} leaves"
    return Claim(text, lost < kept / 2, evidence, threshold=f"{OURS}: half of what LINAPT covers")


def _gadp(found: list[Experiment], kind: str) -> list[Claim]:
    inside, whole = (float(np.mean([one.covered for one in select(found, name, kind)])) for name in GADPS)
    cause = _cause(select(found, "GADP in leaves", kind))
    both = f"kept rules cover {percent(inside)} in leaves, {percent(whole)} on the table"
    return [
        Claim(f"GADP on the whole table has bias DM: it loses patterns; {kind}", whole < 0.5, both,
              threshold=f"{OURS}: half of the records"),
        Claim(f"GADP in leaves is free of bias DM; {kind}", inside >= 0.9,
              f"{both}; labels and values drawn once", threshold=f"{OURS}: kept rules cover 90 %", cause=cause),
    ]  # fmt: skip


# --- Boston, noise, risk, networks ------------------------------------------------------------------------------------


def judge_boston(found: list[BostonTrees]) -> list[Claim]:
    claims = []
    for kind in TREES:
        for how in (DRAWN, LOOKED_AT):
            those = [one for one in found if (one.tree, one.how) == (kind, how)]
            share = [len(one.in_every_tree) / len(one.original) for one in those]
            counts = ", ".join(f"{len(one.in_every_tree)} of {len(one.original)}" for one in those)
            lost = Counter(name for one in those for name in one.original - one.in_every_tree)
            most = ", ".join(f"{name} (in {times} of {len(those)} choices)" for name, times in lost.most_common(3))
            text = f"RPT on Boston: three of four attributes are tested in every tree; {kind}, {HOW[how]}"
            cause = f"{_cause(those)}; lost most often: {most}"
            claims.append(Claim(text, bool(np.median(share) >= 3 / 4), counts, cause=cause))
            covered = [one.covered for one in those]
            text = f"and the rules are similar; {kind}, {HOW[how]}"
            half = f"{OURS}: kept rules cover half of the records"
            similar = bool(np.median(covered) >= 0.5)
            claims.append(Claim(text, similar, _shares(covered), threshold=half, cause=_cause(those)))
    return claims


def judge_noise(found: Range, linked: Rows) -> list[Claim]:
    """What the text says of the noise itself, and of what it protects."""
    narrow, wide = min(found.deviation), max(found.deviation)
    means = {name: float(np.mean([row[name] for row in linked])) for name in ("tested only", "untested only", "all")}
    words = ", ".join(f"{name} {percent(share)}" for name, share in means.items())
    deviations = ", ".join(f"{width}: {percent(share)}" for width, share in found.deviation.items())
    return [
        Claim("perturbed values stay within the range that the leaf's conditions define", found.outside == 0,
              f"{found.outside} outside"),
        Claim("σ falls as the domain shrinks, because of rounding", found.deviation[narrow] < found.deviation[wide],
              f"realised deviation by width of the range: {deviations}; nearly all of the fall is at width 1"),
        Claim("noise on all attributes makes it harder to identify a record", means["all"] < means["tested only"],
              f"records found by one who knows all attributes, noise on: {words}"),
        Claim("an intruder has tight bounds on LINAs and none on LIAs", found.open < 0.5,
              f"a path leaves {percent(found.open)} of the domain to an attribute that it tests, all of it to others",
              threshold=f"{OURS}: half of the domain"),
    ]  # fmt: skip


def judge_networks(rows: Rows) -> Claim:
    from scipy.stats import spearmanr

    covered, network = ([row[name] for row in rows] for name in ("records under kept rules", "network"))
    rank = float(spearmanr(covered, network).statistic)
    text = "kept rules and the accuracy of neural networks are highly correlated"
    span = f"{percent(min(network))} to {percent(max(network))}"
    none = [score for share, score in zip(covered, network, strict=True) if share == 0]
    evidence = f"{rank:.2f} over {len(rows)} releases; networks score {span} on records not released"
    cause = f"a network does not need the rules: {percent(float(np.mean(none or [np.nan])))} where none is kept"
    return Claim(text, rank >= HIGH, evidence, threshold=f"{OURS}: rank correlation {HIGH}", cause=cause)


def judge_moments(found: list[Moments]) -> list[Claim]:
    """Biases of the methods that the paper builds on, on normal records."""
    by = {one.method: one for one in found}
    leaves = by["gadp"].in_leaves[0] / max(by["gadp"].in_leaves[1], 1)
    kept = by["gadp"].share("ABCD") >= FREE and leaves >= FREE
    says = {name: ", ".join(f"{kind} {percent(one.share(kind), 0)}" for kind in "ABCD") for name, one in by.items()}
    sadp, correlated = by["sadp"], by["correlated"]
    biased = max(sadp.share(kind) for kind in "ABC") < FREE
    return [
        Claim("additive noise (Kim) has biases A, B and C", biased, f"within 99 % intervals: {says['sadp']}"),
        Claim("correlated noise (Tendick and Matloff) is free of A and B", correlated.share("AB") >= FREE,
              f"within: {says['correlated']}"),
        Claim("GADP is free of A, B, C and D on normal records", by["gadp-table"].share("ABCD") >= FREE,
              f"within: {says['gadp-table']}"),
        Claim("GADP in leaves is free of them too, in the leaves and in the whole", kept,
              f"within: {says['gadp']}; of the leaves' A and B {percent(leaves)}"),
    ]  # fmt: skip


def judge_utility(accuracy: Rows, equal: Rows) -> list[Claim]:
    """Not the paper's, which looks at trees only: ours about the release."""
    trees = [row for row in accuracy if row["classifier"] == "tree"]
    lost = ", ".join(f"{row['data']} {row['points lost']:+.1f} ± {row['±']:.1f}" for row in trees)
    sets, named = len({row["data"] for row in equal}), {"gadp": "GADP in leaves"}
    there = [method for method in named if any(row["method"] == method for row in equal)]
    wins = {named[m]: sum(row["wins"] for row in equal if row["method"] == m) for m in there}
    kept = all(row["points lost"] <= 1 for row in trees)
    return [
        Claim("ours: a tree trained on the release loses at most one point", kept, lost, threshold=OURS),
        Claim("ours: at equal linkage risk no whole-table method is more accurate, on three of four data sets",
              max(wins.values()) >= 3, ", ".join(f"{name} {count} of {sets}" for name, count in wins.items()),
              threshold=OURS),
    ]  # fmt: skip


def _shares(values: Sequence[float]) -> str:
    return ", ".join(percent(value, 0) for value in values)


def _mean(values: Sequence[float], least: float) -> bool | None:
    return bool(np.mean(values) >= least) if values else None


def _average(values: Sequence[float]) -> str:
    return percent(float(np.mean(values)), 0) if values else "no such tree"
