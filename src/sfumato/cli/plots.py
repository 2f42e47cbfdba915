"""Estimates as pictures: matplotlib for .png and .svg, a page for .html."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from sfumato.cli.estimates import rows_of
from sfumato.cli.files import write_text, write_whole
from sfumato.pages import Card, Page, distribution
from sfumato.reconstruction import Estimate


def save(estimates: dict[str, Estimate], path: Path) -> None:
    """All attributes in one picture; the extension says which kind."""
    if path.suffix.lower() == ".html":
        write_text(page_of_charts(estimates), path)
    else:
        write_whole(path, figure(estimates).savefig)


def figure(estimates: dict[str, Estimate]) -> Any:
    """A matplotlib figure, one panel an attribute."""
    from matplotlib.figure import Figure

    across = min(3, len(estimates))
    down = math.ceil(len(estimates) / across)
    drawing = Figure(figsize=(4.2 * across, 3.0 * down), layout="constrained", dpi=130)
    panels = drawing.subplots(down, across, squeeze=False).ravel()
    for panel, (name, estimate) in zip(panels, estimates.items(), strict=False):
        estimate.plot(panel).set_title(name, loc="left")
    for panel in panels[len(estimates) :]:
        panel.set_axis_off()
    return drawing


def page_of_charts(estimates: dict[str, Estimate]) -> str:
    """A page with one chart an attribute that opens without a network."""
    cards = [_card(name, estimate) for name, estimate in estimates.items()]
    lead = "How the true values are distributed, reconstructed from the reports; with 90 % error bars."
    return Page("Reconstructed distributions", lead).cards(cards).html()


def _card(name: str, estimate: Estimate) -> Card:
    facts = estimate.diagnostics
    how = f"{facts.reports:,.0f} reports, {facts.missing:,.0f} missing, method {facts.method}"
    return Card(name, how, distribution(rows_of(name, estimate)), " ".join(facts.messages))
