"""IB04, "A framework for privacy preserving classification in data mining": its experiments, and ours beside them."""

from __future__ import annotations

import csv
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from sfumato.papers.ib04_patterns import LOOKS, BostonTrees, Experiment, boston_experiment, pattern_experiments
from sfumato.papers.ib04_utility import accuracy_rows, equal_risk_rows, frontiers, moment_checks
from sfumato.papers.statement import Statement, as_markdown

Rows = list[dict[str, Any]]


def reproduce(folder: Path | str, quick: bool = False, say: Callable[[str], None] = print) -> list[Statement]:
    """Everything into ``folder``: CSV tables, pictures, `statements.md` and `index.html`."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    say("patterns on breast cancer and Boston housing")
    patterns = pattern_experiments(runs=(3, 2, 2) if quick else (15, 10, 10))
    boston = [
        _boston(boston_experiment(runs=2 if quick else 5, looks=looks), how)
        for looks, how in ((0, "labels drawn once"), (LOOKS, "the owner looks and draws again"))
    ]
    say("accuracy on four data sets")
    accuracy = accuracy_rows(("wbc", "boston") if quick else ("wbc", "boston", "pima", "adult"), 2 if quick else 20)
    say("moments under GADP, and utility at equal risk")
    moments = moment_checks(2 if quick else 10)
    found = frontiers(("wbc",), 1) if quick else frontiers()
    equal = equal_risk_rows(found)
    statements = [*_patterns(patterns), *boston, *_utility(accuracy, moments, equal, full=not quick)]
    tables = {"patterns": [one.row() for one in patterns], "accuracy": accuracy, "equal_risk": equal}
    tables["frontier"] = [{"data": name, **_point(point)} for name, one in found.items() for point in one.points]
    for name, rows in tables.items():
        _write_csv(rows, place / f"{name}.csv")
    for name, frontier in found.items():
        (place / f"frontier_{name}.svg").write_text(frontier.to_svg(), encoding="utf-8")
    (place / "statements.md").write_text(f"# Statements of IB04\n\n{as_markdown(statements)}\n", encoding="utf-8")
    pictures = {name: frontier.to_svg() for name, frontier in found.items()}
    (place / "index.html").write_text(_page(statements, tables, pictures), encoding="utf-8")
    return statements


def _patterns(found: list[Experiment]) -> list[Statement]:
    """Each of the paper's counts twice: with noise drawn once, as in the paper, and as ``sf.release`` works."""
    claims = (
        ("LINAPT", "almost", 12 / 15, "12 of 15 LINAPT trees are the same or almost the same"),
        ("LINAPT", "identical", 7 / 15, "7 of 15 LINAPT trees are identical"),
        ("LIAPT", "identical", 7 / 10, "7 of 10 LIAPT trees are identical"),
    )
    statements = []
    for looked_at, how in ((False, "noise drawn once"), (True, "the owner looks and draws again")):
        by = {one.name: one for one in found if one.looked_at == looked_at}
        for name, what, least, text in claims:
            count, runs = getattr(by[name], what), len(by[name].comparisons)
            statements.append(Statement(f"{text}; {how}", count / runs >= least, f"{count} of {runs}"))
        covered = by["whole framework"].covered
        text = f"rules kept by the whole framework cover 90 % of the records; {how}"
        statements.append(Statement(text, covered >= 0.9, f"{covered:.1%}"))
    return statements


def _boston(found: BostonTrees, how: str) -> Statement:
    evidence = f"{len(found.in_every_tree)} of {len(found.original)}: {', '.join(sorted(found.in_every_tree))}"
    return Statement(f"three of four attributes are in every RPT tree; {how}", len(found.in_every_tree) >= 3, evidence)


def _utility(accuracy: Rows, moments: Any, equal: Rows, *, full: bool) -> list[Statement]:
    trees = [row for row in accuracy if row["classifier"] == "tree"]
    lost = ", ".join(f"{row['data']} {row['points lost']:+.1f} ± {row['±']:.1f}" for row in trees)
    gadp, sadp = moments
    kept, whole = gadp.overall[0] / gadp.overall[1], gadp.in_leaves[0] / max(gadp.in_leaves[1], 1)
    wins = {method: sum(row["wins"] for row in equal if row["method"] == method) for method in ("leafwise", "gadp")}
    return [
        Statement(
            "a tree trained on the release loses at most one point", all(r["points lost"] <= 1 for r in trees), lost
        ),
        Statement(
            "GADP in leaves keeps variances and correlations (99 % intervals)",
            kept >= 0.97 and whole >= 0.97,
            f"{kept:.1%} of the table's and {whole:.1%} of the leaves' within; SADP "
            f"{sadp.overall[0] / sadp.overall[1]:.1%}",
        ),
        Statement(
            "at equal linkage risk no whole-table method is more accurate, on three of four data sets",
            max(wins.values()) >= 3 if full else None,
            f"GADP in leaves {wins['gadp']} of {len(equal) // 2}, leaf-wise noise {wins['leafwise']}",
        ),
    ]


def _point(point: Any) -> dict[str, Any]:
    own = {"method": point.method, "amount": point.amount, "risk": round(point.risk, 4)}
    return {**own, **{name: round(score, 4) for name, score in point.by_classifier.items()}}


def _write_csv(rows: Rows, path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _page(statements: list[Statement], tables: dict[str, Rows], pictures: dict[str, str]) -> str:
    said = "".join(
        f"<li><b>{escape(one.verdict)}</b>: {escape(one.text)} ({escape(one.evidence)})</li>" for one in statements
    )
    parts = [f"<h1>IB04 again</h1><ul>{said}</ul>"]
    for title, rows in tables.items():
        head = "".join(f"<th>{escape(key)}</th>" for key in rows[0])
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row.values()) + "</tr>" for row in rows
        )
        parts.append(f"<h2>{escape(title.replace('_', ' '))}</h2><table><tr>{head}</tr>{body}</table>")
    parts += [f"<h2>risk against accuracy: {escape(name)}</h2>{svg}" for name, svg in pictures.items()]
    style = "body{max-width:60rem;margin:2rem auto;font:16px/1.5 sans-serif}td,th{padding:.2rem .8rem;text-align:right}"
    head = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>IB04</title><style>{style}</style></head>'
    )
    return f"{head}<body>{''.join(parts)}</body></html>"
