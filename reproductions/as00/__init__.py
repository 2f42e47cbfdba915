"""AS00, "Privacy-preserving data mining": Figures 2, 5 and 6 and every claim about them again.

Into the folder: `figure2.csv`, `accuracies.csv` (one row a run), `means.csv`, three pictures, `statements.md` and
`index.html`.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from reproductions import Claim, Paper, Rows, Scale, at, opened, write_paper
from reproductions.as00.beside import beside
from reproductions.as00.claims import all_claims
from reproductions.as00.places import PLACES
from reproductions.as00.runs import ALGORITHMS, MIDDLE, NOISES, QUICK, Accuracies, Extent, run_all
from reproductions.as00.shapes import SHAPES, SHARES, drawn
from sfumato.evidence import WITHIN_CLASSES, ChiSquare
from sfumato.prose import percent
from sfumato.shipping.training import Progress, silently

COLOURS = {
    "original": "#1f6f78",
    "randomized": "#9a9a9a",
    "global": "#d9b38c",
    "byclass": "#c98b4b",
    "local": "#8a4b2a",
    "joint tree": "#6b4e9b",
    "joint model": "#3d2a6b",
}
SHAPE_LINES = {"truth": "#1f6f78", "randomized": "#9a9a9a", "as00": "#c98b4b", "smooth": "#6b4e9b"}
FIGURE_5_LEVELS = (25, 100)
WITHIN = {1: 5, 2: 15, 3: 15, 4: 5, 5: 5}
"""The text's readings of Figure 5: ByClass and Local at 100 % are within so many points of Original."""
FIGURE_6_ALGORITHMS = ("randomized", "byclass", "joint tree")


PICTURES = {
    "figure2.png": "Figure 2: shapes, blurred and reconstructed",
    "figure2_stops.png": "Figure 2's triangles under gaussian noise by the stop and the number of values",
    "figure5.png": "Figure 5: accuracy of every algorithm on every function",
    "figure6.png": "Figure 6: accuracy against privacy",
}


def reproduce(
    folder: Path | str, scale: Scale = "full", progress: Progress = silently, extent: Extent | None = None
) -> list[Claim]:
    """Run what is not finished yet, then draw and judge; at full scale half an hour or more."""
    place = opened(folder)
    chosen = extent or at(scale, QUICK, MIDDLE, Extent())
    return written(place, run_all(place / "accuracies.csv", chosen, progress), chosen, scale)


def written(place: Path, rows: Rows, chosen: Extent, scale: Scale) -> list[Claim]:
    """Pictures, tables and the page of finished runs."""
    accuracies, shapes, others = Accuracies(rows), drawn(chosen.shape_values, at(scale, 2, 20, 40)), beside(chosen)
    found = all_claims(accuracies, shapes, others)
    draw_figure_2(shapes.intervals, place / "figure2.png")
    draw_stops(shapes.by_number, place / "figure2_stops.png")
    draw_figure_5(accuracies, place / "figure5.png")
    draw_figure_6(accuracies, place / "figure6.png")
    tables = {
        "means": mean_rows(accuracies),
        "stopping_rules": shapes.stops,
        "triangles_by_number_of_values": shapes.by_number,
        "value_classes": others.value_classes,
        "clean_trees_with_a_least_gain": others.xor,
        "ages": others.ages,
        "effort": others.effort,
        "figure2": shapes.intervals,
    }
    write_paper(place, described(chosen, tables), found, scale)
    return found


def described(extent: Extent, tables: dict[str, Rows]) -> Paper:
    several = "" if extent.runs == 1 else "s"
    return Paper(
        "AS00",
        "Agrawal & Srikant 2000, Privacy-preserving data mining",
        f"{extent.train:,} training and {extent.test:,} test records of two classes of equal size, {extent.runs} "
        f"run{several}; every attribute blurred at the same level, test records clean.",
        [
            "Whole-number attributes (elevel, car, zipcode) get whole-number noise, so at 10 % privacy elevel is all "
            "but clear.",
            f"ByClass and Local stop reconstructing at {100 * WITHIN_CLASSES.share:g} % of the χ² threshold, the paper "
            f"at {100 * ChiSquare.share:g} %.",
            "Reports are counted past the ends of the domain.",
            "Figure 2's shapes are our reading of their names; the pictures of the paper are lost, so that beside ours "
            "stands only what its text reads off them.",
            "The text does not say how many values Figure 2 draws, which its stop depends on; nor whether the last "
            "zipcode's houses are worth 9 or 10 times those of the first: here k is the zipcode, 1 to 9.",
            "Uniform noise is drawn from a continuous law, the paper's Figure 2 (c, d) from a discrete one.",
        ],
        PLACES,
        tables,
        PICTURES,
    )


def mean_rows(accuracies: Accuracies) -> Rows:
    """Figures 5 and 6 as one table: a row for each function, noise and level, a column for each algorithm."""
    return [
        {"function": f, "noise": noise, "privacy": level}
        | {name: round(accuracies.mean(f, noise, level, name), 4) for name in ALGORITHMS}
        for f in accuracies.functions
        for noise in NOISES
        for level in accuracies.levels
    ]


# --- figures ----------------------------------------------------------------------------------------------------------


def _panels(down: int, across: int) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(4.6 * across, 3.2 * down), layout="constrained", dpi=120)
    return drawing, drawing.subplots(down, across, squeeze=False)


def draw_figure_2(rows: Rows, path: Path) -> None:
    """Both shapes under both noises: truth, reports, and both reconstructions."""
    drawing, panels = _panels(len(SHAPES), len(NOISES))
    for panel, (shape, noise) in zip(panels.flat, product(SHAPES, NOISES), strict=True):
        chosen = [row for row in rows if (row["shape"], row["noise"]) == (shape, noise)]
        middle = [(row["low"] + row["high"]) / 2 for row in chosen]
        for name, colour in SHAPE_LINES.items():
            panel.plot(middle, [row[name] for row in chosen], color=colour, label=name, marker=".")
        panel.set_title(f"{shape}, {noise} noise", fontsize=10)
    panels[0, 0].legend(fontsize=8)
    drawing.savefig(path)


def draw_stops(rows: Rows, path: Path) -> None:
    """The triangles under gaussian noise: the share of values in a wrong interval by the stop, a line a number."""
    drawing, panels = _panels(1, 1)
    panel = panels[0, 0]
    for row, colour in zip(rows, SHAPE_LINES.values(), strict=False):
        means, spread = ([row[f"{start}{100 * share:g} %"] for share in SHARES] for start in ("", "± at "))
        panel.errorbar(SHARES, means, spread, color=colour, marker=".", capsize=3, label=_label(row))
    panel.set(xscale="log", xlabel="stop, share of the χ² threshold", ylabel="in a wrong interval", ylim=(0, None))
    panel.invert_xaxis()
    panel.legend(fontsize=8)
    drawing.savefig(path)


def _label(row: dict[str, Any]) -> str:
    return f"{row['values']:,} values, χ² at {percent(row['confidence'], 0)}"


def draw_figure_5(accuracies: Accuracies, path: Path) -> None:
    """Every algorithm on every function, at 25 and 100 % privacy under both noises."""
    drawing, panels = _panels(len(FIGURE_5_LEVELS), len(NOISES))
    width, functions = 0.8 / len(ALGORITHMS), accuracies.functions
    for panel, (level, noise) in zip(panels.flat, product(FIGURE_5_LEVELS, NOISES), strict=True):
        for place, name in enumerate(ALGORITHMS):
            heights = [100 * accuracies.mean(f, noise, level, name) for f in functions]
            at = np.arange(len(heights)) + (place - len(ALGORITHMS) / 2 + 0.5) * width
            panel.bar(at, heights, width, color=COLOURS[name], label=name)
        if level == 100:
            least = [100 * accuracies.mean(f, noise, level, "original") - WITHIN[f] for f in functions]
            panel.plot(range(len(least)), least, "k_", markersize=28, label="ByClass and Local in the paper: at least")
        panel.set_ylim(40, 100)
        panel.set_xticks(range(len(functions)), [f"F{f}" for f in functions])
        panel.set_title(f"{noise} noise, {level} % privacy", fontsize=10)
    panels[0, 0].set_ylabel("accuracy, %")
    drawing.legend(*panels[-1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
    drawing.savefig(path)


def draw_figure_6(accuracies: Accuracies, path: Path) -> None:
    """Accuracy against privacy, one panel a function; solid: gaussian, dashed: uniform."""
    across = min(len(accuracies.functions), 2)
    drawing, panels = _panels(-(-len(accuracies.functions) // across), across)
    for panel, function in zip(panels.flat, accuracies.functions, strict=False):
        original = 100 * accuracies.mean(function, "none", 0, "original")
        panel.axhline(original, color=COLOURS["original"], label="original")
        for name, (noise, style) in product(FIGURE_6_ALGORITHMS, {"gaussian": "-", "uniform": "--"}.items()):
            heights = [100 * accuracies.mean(function, noise, level, name) for level in accuracies.levels]
            line = {"color": COLOURS[name], "marker": ".", "label": f"{name} ({noise[0].upper()})"}
            panel.plot(accuracies.levels, heights, style, **line)
        panel.set_ylim(25, 101)
        panel.set_title(f"function {function}", fontsize=10)
        panel.set_xlabel("privacy, % of range")
    for panel in panels.flat[len(accuracies.functions) :]:
        panel.set_axis_off()
    panels[0, 0].set_ylabel("accuracy, %")
    drawing.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)
    drawing.savefig(path)
