"""IB04, "A framework for privacy preserving classification in data mining": its experiments, and ours beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.pages import Page
from sfumato.papers.claims import Claim, Rows, Say, opened, write_claims, write_rows
from sfumato.papers.ib04 import claims, runs


def reproduce(folder: Path | str, quick: bool = False, say: Say = print) -> list[Claim]:
    """Everything into ``folder``: CSV tables, pictures, `statements.md` and `index.html`."""
    place = opened(folder)
    say("patterns on breast cancer and Boston housing")
    patterns = runs.pattern_experiments(runs=(3, 2, 2) if quick else (15, 10, 10))
    boston = [
        claims.boston(runs.boston_experiment(runs=2 if quick else 5, looks=looks), how)
        for looks, how in ((0, "labels drawn once"), (runs.LOOKS, "the owner looks and draws again"))
    ]
    say("accuracy on four data sets")
    accuracy = runs.accuracy_rows(("wbc", "boston"), 2) if quick else runs.accuracy_rows()
    say("moments under GADP, and utility at equal risk")
    moments = runs.moment_checks(2 if quick else 10)
    found = runs.frontiers(("wbc",), 1) if quick else runs.frontiers()
    equal = runs.equal_risk_rows(found)
    judged = [*claims.patterns(patterns), *boston, *claims.utility(accuracy, moments, equal, full=not quick)]
    points = [{"data": name, **_point(point)} for name, one in found.items() for point in one.points]
    kept = [one.row() for one in patterns]
    tables = {"patterns": kept, "accuracy": accuracy, "equal_risk": equal, "frontier": points}
    for name, rows in tables.items():
        write_rows(place / f"{name}.csv", rows)
    pictures = {name: frontier.to_svg() for name, frontier in found.items()}
    for name, picture in pictures.items():
        (place / f"frontier_{name}.svg").write_text(picture, encoding="utf-8")
    write_claims(place, "IB04", judged)
    _page(judged, tables, pictures).write(place / "index.html")
    return judged


def _point(point: Any) -> dict[str, Any]:
    own = {"method": point.method, "amount": point.amount, "risk": round(point.risk, 4)}
    return {**own, **{name: round(score, 4) for name, score in point.by_classifier.items()}}


def _page(judged: list[Claim], tables: dict[str, Rows], pictures: dict[str, str]) -> Page:
    page = Page("IB04 again", "Islam & Brankovic 2004: what the paper found, and what releases do here.")
    verdicts = [(one.verdict, one.text, one.evidence) for one in judged]
    page.section("Claims").table(verdicts, ("here", "the paper", "because"), wrap=True)
    for title, rows in tables.items():
        page.section(title.replace("_", " ").capitalize()).table(rows)
    for name, picture in pictures.items():
        page.section(f"Risk against accuracy: {name}").chart(picture)
    return page
