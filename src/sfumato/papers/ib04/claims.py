"""IB04's claims, one by one, against our experiments."""

from __future__ import annotations

from sfumato.papers.claims import Claim, Rows
from sfumato.papers.ib04.runs import BostonTrees, Experiment, Moments
from sfumato.prose import percent

COUNTS = (
    ("LINAPT", "almost", 12 / 15, "12 of 15 LINAPT trees are the same or almost the same"),
    ("LINAPT", "identical", 7 / 15, "7 of 15 LINAPT trees are identical"),
    ("LIAPT", "identical", 7 / 10, "7 of 10 LIAPT trees are identical"),
)


def patterns(found: list[Experiment]) -> list[Claim]:
    """Each of the paper's counts twice: with noise drawn once, as in the paper, and as ``sf.release`` works."""
    claims = []
    for looked_at, how in ((False, "noise drawn once"), (True, "the owner looks and draws again")):
        by = {one.name: one for one in found if one.looked_at == looked_at}
        for name, what, least, text in COUNTS:
            count, runs = getattr(by[name], what), len(by[name].comparisons)
            claims.append(Claim(f"{text}; {how}", count / runs >= least, f"{count} of {runs}"))
        covered = by["whole framework"].covered
        text = f"rules kept by the whole framework cover 90 % of the records; {how}"
        claims.append(Claim(text, covered >= 0.9, percent(covered)))
    return claims


def boston(found: BostonTrees, how: str) -> Claim:
    evidence = f"{len(found.in_every_tree)} of {len(found.original)}: {', '.join(sorted(found.in_every_tree))}"
    return Claim(f"three of four attributes are in every RPT tree; {how}", len(found.in_every_tree) >= 3, evidence)


def utility(accuracy: Rows, moments: list[Moments], equal: Rows, *, full: bool) -> list[Claim]:
    trees = [row for row in accuracy if row["classifier"] == "tree"]
    lost = ", ".join(f"{row['data']} {row['points lost']:+.1f} ± {row['±']:.1f}" for row in trees)
    gadp, sadp = moments
    kept, whole = gadp.overall[0] / gadp.overall[1], gadp.in_leaves[0] / max(gadp.in_leaves[1], 1)
    wins = {method: sum(row["wins"] for row in equal if row["method"] == method) for method in ("leafwise", "gadp")}
    return [
        Claim(
            "a tree trained on the release loses at most one point", all(r["points lost"] <= 1 for r in trees), lost
        ),
        Claim(
            "GADP in leaves keeps variances and correlations (99 % intervals)",
            kept >= 0.97 and whole >= 0.97,
            f"{percent(kept)} of the table's and {percent(whole)} of the leaves' within; "
            f"SADP {percent(sadp.overall[0] / sadp.overall[1])}",
        ),
        Claim(
            "at equal linkage risk no whole-table method is more accurate, on three of four data sets",
            max(wins.values()) >= 3 if full else None,
            f"GADP in leaves {wins['gadp']} of {len(equal) // 2}, leaf-wise noise {wins['leafwise']}",
        ),
    ]
