"""AS00's Figures 2, 5 and 6 as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sfumato.papers.as00.runs import ALGORITHMS, NOISES, SHAPES, Accuracies
from sfumato.papers.claims import Rows

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
FIGURE_6_ALGORITHMS = ("randomized", "byclass", "joint tree")


def _panels(down: int, across: int) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(4.6 * across, 3.2 * down), layout="constrained", dpi=120)
    return drawing, drawing.subplots(down, across, squeeze=False)


def draw_figure_2(rows: Rows, path: Path) -> None:
    """Both shapes under both noises: truth, reports, and both reconstructions."""
    drawing, panels = _panels(len(SHAPES), len(NOISES))
    for i, shape in enumerate(SHAPES):
        for j, noise in enumerate(NOISES):
            chosen = [row for row in rows if (row["shape"], row["noise"]) == (shape, noise)]
            middle = [(row["low"] + row["high"]) / 2 for row in chosen]
            for name, colour in SHAPE_LINES.items():
                panels[i, j].plot(middle, [row[name] for row in chosen], color=colour, label=name, marker=".")
            panels[i, j].set_title(f"{shape}, {noise} noise", fontsize=10)
    panels[0, 0].legend(fontsize=8)
    drawing.savefig(path)


def draw_figure_5(accuracies: Accuracies, path: Path) -> None:
    """Every algorithm on every function, at 25 and 100 % privacy under both noises."""
    drawing, panels = _panels(len(FIGURE_5_LEVELS), len(NOISES))
    width = 0.8 / len(ALGORITHMS)
    for i, level in enumerate(FIGURE_5_LEVELS):
        for j, noise in enumerate(NOISES):
            for place, name in enumerate(ALGORITHMS):
                heights = [100 * accuracies.mean(f, noise, level, name) for f in accuracies.functions]
                at = np.arange(len(heights)) + (place - len(ALGORITHMS) / 2 + 0.5) * width
                panels[i, j].bar(at, heights, width, color=COLOURS[name], label=name)
            panels[i, j].set_ylim(40, 100)
            panels[i, j].set_xticks(range(len(accuracies.functions)), [f"F{f}" for f in accuracies.functions])
            panels[i, j].set_title(f"{noise} noise, {level} % privacy", fontsize=10)
    panels[0, 0].set_ylabel("accuracy, %")
    drawing.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=7, fontsize=8)
    drawing.savefig(path)


def draw_figure_6(accuracies: Accuracies, path: Path) -> None:
    """Accuracy against privacy, one panel a function; solid: gaussian, dashed: uniform."""
    drawing, panels = _panels(1, len(accuracies.functions))
    for panel, function in zip(panels[0], accuracies.functions, strict=True):
        original = 100 * accuracies.mean(function, "none", 0, "original")
        panel.axhline(original, color=COLOURS["original"], label="original")
        for name in FIGURE_6_ALGORITHMS:
            for noise, style in (("gaussian", "-"), ("uniform", "--")):
                heights = [100 * accuracies.mean(function, noise, level, name) for level in accuracies.levels]
                panel.plot(
                    accuracies.levels,
                    heights,
                    style,
                    color=COLOURS[name],
                    marker=".",
                    label=f"{name} ({noise[0].upper()})",
                )
        panel.set_ylim(25, 101)
        panel.set_title(f"function {function}", fontsize=10)
        panel.set_xlabel("privacy, % of range")
    panels[0, 0].set_ylabel("accuracy, %")
    panels[0, 0].legend(fontsize=7)
    drawing.savefig(path)
