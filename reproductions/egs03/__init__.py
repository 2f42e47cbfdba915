"""EGS03, "Limiting privacy breaches in privacy preserving data mining": every table, chart and claim again.

`reproduce(folder)` writes CSV tables, PNG charts and `statements.md`, which says of each of the paper's claims
whether it was kept here, and on what evidence.
"""

from __future__ import annotations

from pathlib import Path

from reproductions import Claim, Paper, Rows, Say, Scale, at, opened, write_paper
from reproductions.egs03 import breaches, claims, runs
from reproductions.egs03.places import PLACES

CHARTS = {"breach_level": "breach level", "size": "size of the basket", "reports": "number of reports"}


def reproduce(folder: Path | str, scale: Scale = "full", say: Say = print) -> list[Claim]:
    """All of it, into `folder`; `quick` uses fewer people and fewer designs."""
    place, quick = opened(folder), at(scale, True, False, False)
    say("Example 1 and worst-case information")
    tables = {"example1": breaches.example_table(), "information": breaches.information_table()}
    say("Lowest discoverable supports and compression")
    charts = [run(quick) for run in (runs.by_breach_level, runs.by_size, runs.by_reports)]
    for name, rows in zip(CHARTS, charts, strict=True):
        draw(place / f"lds_by_{name}.png", rows)
    tables["compression"] = runs.compression_table()
    say("Mining randomized baskets")
    tables["mining"], missing = mined(scale, say)
    say("Cut-and-paste and bit flips beside select-a-size")
    tables["operators"] = runs.operator_rows(*at(scale, (50_000, 0.1), (1_000_000, 0.04), (1_000_000, 0.04)))
    found = [
        *claims.judge_examples(),
        *claims.judge_breaches(tables["example1"]),
        *claims.judge_laws(charts[1]),
        *claims.judge_supports(*charts),
        claims.judge_mining(tables["mining"], missing, quick),
        *claims.judge_real(tables["mining"]),
        claims.judge_operators(tables["operators"]),
        *claims.judge_seeds(tables["compression"]),
        *claims.judge_information(tables["information"]),
    ]
    tables |= {f"lds_by_{name}": rows for name, rows in zip(CHARTS, charts, strict=True)}
    write_paper(place, described(tables), found, scale)
    return found


def mined(scale: Scale, say: Say) -> tuple[Rows, str]:
    """Baskets drawn and real ones, and in words which real ones are not installed."""
    rows, missing = runs.quest_rows(scale), ""
    for name in runs.REAL:
        try:
            rows += runs.real_rows(name, scale == "quick")
        except OSError as absent:
            missing += f"; {name} left out: {absent}"
            say(f"{name} left out: {absent}")
    return rows, missing


def described(tables: dict[str, Rows]) -> Paper:
    return Paper(
        "EGS03",
        "Evfimievski, Gehrke & Srikant 2003, Limiting privacy breaches in privacy preserving data mining",
        "Breaches, worst-case information and designs are computed exactly; baskets are drawn, randomized and mined.",
        [
            "The figures of the text are lost; those here were computed, and the computation decides.",
            "Quest-like baskets stand for the paper's, which are not published.",
        ],
        PLACES,
        tables,
        {f"lds_by_{name}.png": f"Lowest discoverable support by {axis}" for name, axis in CHARTS.items()},
    )


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
