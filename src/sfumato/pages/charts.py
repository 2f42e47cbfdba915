"""Charts as SVG: drawn by altair and vl-convert where the page is written, so that a reader needs no script.

They are drawn in the light colours below; the pages' style gives the same colours their dark form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape, unescape
from typing import Any

from sfumato.pages.html import Html

ESTIMATE, ERROR, TRUTH, REPORTS = "#b5651d", "#5b2c0a", "#1f6f78", "#9a9a9a"
PALETTE = (ESTIMATE, TRUTH, "#7a5195", "#5b8c5a", REPORTS, "#c0392b")
SOFT, LINE = "#6e645c", "#e6ddd3"
NINETY_PERCENT = 1.6448536269514722  # standard errors on each side
TIPS = re.compile(r'<path aria-label="([^"]*)"([^>]*)/>')
CONFIG = {
    "background": None,
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {"labelColor": SOFT, "titleColor": SOFT, "domainColor": LINE, "tickColor": LINE, "gridColor": LINE},
    "legend": {"labelColor": SOFT, "titleColor": SOFT},
}


def to_svg(drawing: Any, description: str = "", prefix: str = "") -> Html:
    """An altair chart or its specification as SVG, with its marks' descriptions as tooltips; SVG stays as it is.

    ``prefix`` keeps the names inside one picture apart from those of the others on a page.
    """
    if isinstance(drawing, str):
        return Html(drawing)
    vl_convert = _vl_convert()
    spec = dict(drawing if isinstance(drawing, Mapping) else drawing.to_dict())
    spec["config"] = {**spec.get("config", {}), **CONFIG}
    svg = TIPS.sub(_with_title, vl_convert.vegalite_to_svg(spec))
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}", svg)
    return Html(svg.replace("<svg ", f'<svg role="img" aria-label="{escape(description)}" ', 1))


def _with_title(mark: re.Match[str]) -> str:
    """A mark whose description is a tooltip; the description is escaped here, whatever it was before."""
    return f"<path{mark[2]}><title>{escape(unescape(mark[1]))}</title></path>"


def distribution(
    rows: Sequence[Mapping[str, Any]], *, truth: Sequence[float] | None = None,
    reports: Sequence[float] | None = None, size: tuple[int, int] = (275, 170), top: float | None = None,
) -> Any:
    """A chart of one attribute's estimate; in a simulation with the truth, and with what the reports alone look like.

    A row has ``label``, ``low`` and ``high`` (None for a category), ``probability`` and ``stderr``. ``top``: where the
    axis of shares ends, so that charts beside each other can be compared.
    """
    alt = _altair()
    base = alt.Chart(alt.Data(values=_points(rows, truth, reports)))
    bar, middle = _axes(rows)
    scale = alt.Undefined if top is None else alt.Scale(domain=[0, top])
    share = alt.Y("share:Q", title=None, axis=alt.Axis(format="%", tickCount=4), scale=scale)
    ticks = {"orient": "horizontal", "size": 0.9 * size[0] / len(rows)}
    bars = base.mark_bar(color=ESTIMATE, opacity=0.5, stroke="white", strokeWidth=0.5)
    layers = [bars.encode(**bar, y=share, description="tip:N")]
    for key, given, colour, thickness in (("reported", reports, REPORTS, 1.5), ("true", truth, TRUTH, 2.5)):
        if given:
            ticked = base.mark_tick(color=colour, thickness=thickness, **ticks)
            layers.append(ticked.encode(x=middle, y=f"{key}:Q", description="tip:N"))
    layers.append(base.mark_rule(color=ERROR, strokeWidth=1.2).encode(x=middle, y="below:Q", y2="above:Q"))
    return alt.layer(*layers).properties(width=size[0], height=size[1])


def scatter(series: Mapping[str, Sequence[tuple[float, float, str]]], x_title: str, y_title: str) -> Any:
    """Points (x, y, tooltip) of several series joined by lines, both axes shares."""
    alt = _altair()
    points = [
        {"series": name, "x": x, "y": y, "tip": f"{name}: {tip}"} for name, some in series.items() for x, y, tip in some
    ]
    base = alt.Chart(alt.Data(values=points)).encode(
        x=alt.X("x:Q", title=x_title, axis=alt.Axis(format="%", grid=False)),
        y=alt.Y("y:Q", title=y_title, scale=alt.Scale(zero=False), axis=alt.Axis(format="%")),
        color=alt.Color("series:N", title=None, sort=list(series), scale=alt.Scale(range=list(PALETTE))),
    )
    layers = base.mark_line(opacity=0.6, strokeWidth=1.5), base.mark_point(filled=True, size=70, opacity=1)
    return alt.layer(layers[0], layers[1].encode(description="tip:N")).properties(width=560, height=300)


def _points(
    rows: Sequence[Mapping[str, Any]], truth: Sequence[float] | None, reports: Sequence[float] | None
) -> list[dict[str, Any]]:
    absent = [None] * len(rows)
    return [_point(*one) for one in zip(rows, truth or absent, reports or absent, strict=True)]


def _point(row: Mapping[str, Any], true: float | None, reported: float | None) -> dict[str, Any]:
    share, error = row["probability"], NINETY_PERCENT * row["stderr"]
    where = {"place": row["label"], "low": row["low"], "high": row["high"]}
    where["middle"] = None if row["low"] is None else (row["low"] + row["high"]) / 2
    spread = {"share": share, "below": max(share - error, 0.0), "above": share + error}
    also = [f"{what} {100 * part:.2f} %" for what, part in (("truth", true), ("reports", reported)) if part is not None]
    tip = ", ".join([f"{row['label']}: {100 * share:.2f} % ± {100 * error:.2f} (90 %)", *also])
    return where | spread | {"true": true, "reported": reported, "tip": tip}


def _axes(rows: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], Any]:
    """Where a bar stands and where its middle is: on a number line, or at a category."""
    alt = _altair()
    if rows[0]["low"] is not None:
        scale = alt.Scale(domain=[rows[0]["low"], rows[-1]["high"]], nice=False)
        axis = alt.Axis(grid=False, tickCount=5, format="~s")
        low = alt.X("low:Q", title=None, scale=scale, axis=axis)
        return {"x": low, "x2": "high:Q", "y2": alt.datum(0)}, alt.X("middle:Q")
    x = alt.X("place:N", title=None, sort=[row["label"] for row in rows], axis=alt.Axis(labelAngle=0))
    return {"x": x}, x


def _altair() -> Any:
    try:
        import altair
    except ImportError:
        raise ImportError("charts need altair; install sfumato[plots]") from None
    return altair


def _vl_convert() -> Any:
    try:
        import vl_convert
    except ImportError:
        raise ImportError("charts need vl-convert; install sfumato[plots]") from None
    return vl_convert
