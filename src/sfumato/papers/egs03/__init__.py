"""EGS03, "Limiting privacy breaches in privacy preserving data mining": every table, chart and claim again.

`reproduce(folder)` writes CSV tables, PNG charts and `statements.md`, which says of each of the paper's claims
whether it was kept here, and on what evidence.
"""

from __future__ import annotations

from pathlib import Path

from sfumato.papers.claims import Claim, Rows, Say, opened, write_claims, write_rows
from sfumato.papers.egs03 import claims, runs


def reproduce(folder: Path | str, quick: bool = False, say: Say = print) -> list[Claim]:
    """All of it, into `folder`; `quick` uses fewer people and fewer designs."""
    place = opened(folder)
    say("Example 1 and worst-case information")
    example = write_rows(place / "example1.csv", runs.example_table())
    information = write_rows(place / "information.csv", runs.information_table())
    say("Lowest discoverable supports and compression")
    charts = [run(quick) for run in (runs.by_breach_level, runs.by_size, runs.by_reports)]
    for name, rows in zip(("breach_level", "size", "reports"), charts, strict=True):
        draw(place / f"lds_by_{name}.png", write_rows(place / f"lds_by_{name}.csv", rows))
    compression = write_rows(place / "compression.csv", runs.compression_table())
    say("Mining randomized baskets")
    mined, missing = runs.quest_rows(quick), ""
    try:
        mined += runs.supermarket_rows(quick)
    except OSError as absent:
        missing = f"; supermarket left out: {absent}"
        say(f"supermarket data left out: {absent}")
    write_rows(place / "mining.csv", mined)
    found = [
        *claims.breaches(example, information),
        *claims.designs(*charts),
        *claims.seeds(compression),
        claims.mining(mined, missing, quick),
    ]
    write_claims(place, "EGS03", found)
    return found


def draw(path: Path, rows: Rows) -> None:
    """Lowest discoverable support against the first column: two-level dashed, the best design drawn through."""
    from matplotlib.figure import Figure

    axis = next(iter(rows[0]))
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    plot = figure.subplots()
    for k, colour in zip((1, 2, 3), ("tab:blue", "tab:orange", "tab:green"), strict=True):
        for form, line in (("two-level", "--"), ("best", "-")):
            shown = [row for row in rows if f"{form} {k}" in row]
            x, y = [row[axis] for row in shown], [row[f"{form} {k}"] for row in shown]
            plot.plot(x, y, line, color=colour, marker="o", markersize=3, label=f"{k}-itemsets, {form}")
    plot.set(xlabel=axis, ylabel="lowest discoverable support, %", ylim=(0, None))
    plot.legend(fontsize=8)
    figure.savefig(path, dpi=150)
