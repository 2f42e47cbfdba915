"""Estimates as pictures: matplotlib for .png and .svg, altair with its JavaScript inside for .html."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from sfumato.cli.estimates import NINETY_PERCENT, Row, rows_of
from sfumato.cli.files import write_text, write_whole
from sfumato.reconstruction import Estimate

ESTIMATE, ERROR, TRUTH, REPORTS = "#b5651d", "#5b2c0a", "#1f6f78", "#9a9a9a"


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


def chart(
    rows: list[Row],
    *,
    truth: list[float] | None = None,
    reports: list[float] | None = None,
    size: tuple[int, int] = (275, 170),
) -> Any:
    """An altair chart of one attribute; in a simulation with the truth, and with what the reports alone look like."""
    import altair as alt

    base = alt.Chart(alt.Data(values=_points(rows, truth, reports)))
    bar, middle = _axes(rows)
    share = alt.Y("share:Q", title=None, axis=alt.Axis(format="%", tickCount=4))
    ticks = {"orient": "horizontal", "size": 0.9 * size[0] / len(rows)}
    bars = base.mark_bar(color=ESTIMATE, opacity=0.5, stroke="white", strokeWidth=0.5)
    layers = [bars.encode(**bar, y=share, tooltip=_tips(truth, reports))]
    if reports:
        layers.append(base.mark_tick(color=REPORTS, thickness=1.5, **ticks).encode(x=middle, y="reported:Q"))
    if truth:
        layers.append(base.mark_tick(color=TRUTH, thickness=2.5, **ticks).encode(x=middle, y="true:Q"))
    layers.append(base.mark_rule(color=ERROR, strokeWidth=1.2).encode(x=middle, y="below:Q", y2="above:Q"))
    return alt.layer(*layers).properties(width=size[0], height=size[1])


def page_of_charts(estimates: dict[str, Estimate]) -> str:
    """A page with one chart an attribute that opens without a network."""
    import altair as alt

    charts = [chart(rows_of(name, estimate)).properties(title=name) for name, estimate in estimates.items()]
    return str(alt.concat(*charts, columns=3).configure_view(stroke=None).to_html(inline=True))


def _points(rows: list[Row], truth: list[float] | None, reports: list[float] | None) -> list[dict[str, Any]]:
    absent = [None] * len(rows)
    return [_point(*one) for one in zip(rows, truth or absent, reports or absent, strict=True)]


def _point(row: Row, true: float | None, reported: float | None) -> dict[str, Any]:
    share, error = row["probability"], NINETY_PERCENT * row["stderr"]
    where = {"place": row["label"], "low": row["low"], "high": row["high"]}
    where["middle"] = None if row["low"] is None else (row["low"] + row["high"]) / 2
    spread = {"share": share, "error": error, "below": max(share - error, 0.0), "above": share + error}
    return where | spread | {"true": true, "reported": reported}


def _tips(truth: list[float] | None, reports: list[float] | None) -> list[Any]:
    import altair as alt

    shown = [("share", "estimate"), ("error", "± (90 %)")]
    shown += [("true", "truth")] if truth else []
    shown += [("reported", "reports alone")] if reports else []
    shares = [alt.Tooltip(f"{key}:Q", title=title, format=".2%") for key, title in shown]
    return [alt.Tooltip("place:N", title=" "), *shares]


def _axes(rows: list[Row]) -> tuple[dict[str, Any], Any]:
    """Where a bar stands and where its middle is: on a number line, or at a category."""
    import altair as alt

    if rows[0]["category"] is None:
        scale = alt.Scale(domain=[rows[0]["low"], rows[-1]["high"]], nice=False)
        axis = alt.Axis(grid=False, tickCount=5, format="~s")
        low = alt.X("low:Q", title=None, scale=scale, axis=axis)
        return {"x": low, "x2": "high:Q", "y2": alt.datum(0)}, alt.X("middle:Q")
    x = alt.X("place:N", title=None, sort=[row["label"] for row in rows], axis=alt.Axis(labelAngle=0))
    return {"x": x}, x
