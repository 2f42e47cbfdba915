"""Draw charts as SVG: shares with 90 % bars, grey where they are within noise; no script, no network.

A row has ``label``, ``value``, ``stderr``, ``from`` and ``to`` (the ends of its bar) and ``within_noise``; on a number
line ``low`` and ``high`` too. Colours are the page's own, so that they follow the reader's scheme.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from html import escape
from typing import Any, NamedTuple

from sfumato.pages.html import Html, breakable, tag
from sfumato.prose import percent

NINETY_PERCENT = 1.6448536269514722  # standard errors on each side of a 90 % bar: z(0.95) of the normal distribution
# Sizes in pixels of the drawing's own scale, by judgement of the eye: the page stretches a chart to its width.
WIDTH = 340  # of a chart, so that two stand side by side on a laptop and one fills a phone
HEIGHT = 172  # about half the width
LEFT = 38  # margin for labels such as "12.5 %"
TOP = 10  # margin for half a line of text
BOTTOM = 22  # margin for a line of labels
PALETTE = ("#b5651d", "#1f6f78", "#7a5195", "#4f7a4b", "#8a6a12", "#b3382c", "#9a9a9a")
"""The light colours of g0 … g6 in the page's style (page.css), for a chart that stands alone."""
SCATTER_WIDTH = 420  # of a chart of points, wider than others for the names of its series
SCATTER_HEIGHT = 200  # of its area of points
SCATTER_LEFT = 52  # margin for labels and the title of the axis, which stands upright
SCATTER_BOTTOM = 38  # margin for labels and the title of the axis
LEGEND_WIDTH = 92  # for a name of about twelve letters
LEGEND_LINE = 16  # height of a line of names
Row = Mapping[str, Any]
Scale = Callable[[float], float]


class Mark(NamedTuple):
    """A further share for every row of a chart, such as the true one, drawn as a line across the row's bar."""

    kind: str  # the class of its style
    name: str  # in tooltips
    shares: Sequence[float]  # one a row


MarkedShares = Sequence[tuple[Mark, float]]
"""The marks of one row, each with its share there."""


def within_bounds(share: float) -> float:
    """Return a share clipped to 0..1, for display: an estimate without bias may lie below 0 or above 1."""
    return min(max(float(share), 0.0), 1.0)


# --- categories -------------------------------------------------------------------------------------------------------


def share_bars(rows: Sequence[Row], marks: Sequence[Mark] = ()) -> Html:
    """Draw categories as bars as wide as the screen allows, each with its 90 % confidence interval; return HTML.

    ``rows``: for each category a mapping with ``label``, ``value``, ``stderr``, ``from`` and ``to`` (the interval's
    ends) and ``within_noise``, which greys it; ``marks``: further shares, drawn as lines across the bars.
    """
    top = _reach(rows, marks)
    return tag("dl", *(_share_bar(row, top, _marks_of(marks, i)) for i, row in enumerate(rows)), class_="shares")


def _share_bar(row: Row, top: float, marks: MarkedShares) -> Html:
    """Draw the bar of one category as HTML, with label, 90 % interval and numbers.

    ``row``: its label, share and interval; ``top``: the share at the right end; ``marks``: further shares, drawn as
    lines.
    """
    width, low, high = (_along(row[key], top) for key in ("value", "from", "to"))
    bar = f'<rect class="{_kind(row)}" width="{width}" height="100%" rx="2"/>'
    lines = "".join(
        f'<line class="{mark.kind} mark" x1="{_along(share, top)}" x2="{_along(share, top)}" y1="0" y2="100%"/>'
        for mark, share in marks
    )
    title = _title(describe_row(row, marks)) if marks else ""
    track = _track(f"{title}{bar}{lines}{_whisker(low, high)}")
    numbers = tag("span", f"{percent(within_bounds(row['value']))} ", tag("small", f"± {_points(row)}"))
    return tag(
        "div", tag("dt", row["label"]), tag("dd", track, numbers), class_="noise" if row["within_noise"] else None
    )


def _whisker(low: str, high: str) -> str:
    """Draw the 90 % confidence interval of a share as a thin line with ends, as SVG text.

    ``low`` and ``high``: the positions of its ends along the bar, such as "12.50%".
    """
    ends = "".join(f'<line x1="{x}" x2="{x}" y1="30%" y2="70%"/>' for x in (low, high))
    return f'<g class="whisker"><line x1="{low}" x2="{high}" y1="50%" y2="50%"/>{ends}</g>'


def _track(shapes: str, size: str = "") -> Html:
    """Put the ``shapes`` of one bar into an SVG element as wide as the screen allows, and return its HTML.

    ``shapes``: SVG text with positions in percent. ``size``: further attributes of the element, such as its height.
    """
    return Html(f'<svg class="track"{size} aria-hidden="true">{shapes}</svg>')


def _along(share: float, top: float = 1.0) -> str:
    """Return the position of a share along a bar whose right end is the share ``top``, as text in percent: "12.50%"."""
    return f"{100 * within_bounds(share) / top:.2f}%"


def whole_bars(rows: Iterable[tuple[str, float | Sequence[float]]]) -> Html:
    """Draw for each label one share or several, as horizontal bars from 0 to 1; return HTML."""
    return tag("dl", *(_whole_bar(*row) for row in rows), class_="bars")


def _whole_bar(label: str, shares: float | Sequence[float]) -> Html:
    """Draw the bars of one label, for one share or several, each from 0 to 1; return HTML."""
    several = [float(share) for share in (shares if isinstance(shares, Sequence) else [shares])]
    bars = [
        tag("dd", _track(f'<rect class="b{i}" width="{_along(share)}" height="100%"/>'), tag("span", percent(share)))
        for i, share in enumerate(several)
    ]
    return tag("div", tag("dt", breakable(label)), *bars)


def deviations(rows: Sequence[tuple[str, float, float]]) -> Html:
    """Draw for each (label, value, allowed) a dot, and the band of ±allowed that chance explains; return HTML."""
    reach = 1.1 * max([1e-9, *(abs(value) for _, value, _ in rows), *(allowed for _, _, allowed in rows)])
    return tag("dl", *(_deviation(*row, reach) for row in rows), class_="bars")


def _deviation(label: str, value: float, allowed: float, reach: float) -> Html:
    """Draw one value as a dot on a line from −reach to reach, with the band from −allowed to allowed; return HTML.

    The dot stands out where it lies outside the band, so that chance does not explain it.
    """
    start, width, kind = (1 - allowed / reach) / 2, allowed / reach, "dot" if abs(value) <= allowed + 1e-12 else "far"
    band = f'<rect class="band" x="{_along(start)}" width="{_along(width)}" y="30%" height="40%" rx="3"/>'
    dot = f'<circle class="{kind}" cx="{_along((1 + value / reach) / 2)}" cy="50%" r="4.5"/>'
    middle = '<line x1="50%" x2="50%" y1="0" y2="100%"/>'
    return tag("div", tag("dt", breakable(label)), tag("dd", _track(band + middle + dot), tag("span", f"{value:+.3f}")))


# --- numbers ----------------------------------------------------------------------------------------------------------


def histogram(rows: Sequence[Row], description: str, marks: Sequence[Mark] = ()) -> Html:
    """Draw shares as bars over the intervals of a number line, each with its 90 % confidence interval; return SVG.

    ``rows``: for each interval of numbers a mapping with its ends ``low`` and ``high``, its share ``value``,
    ``stderr``, ``from`` and ``to`` (the confidence interval's ends) and ``within_noise``, which greys it;
    ``description``: for those who cannot see it; ``marks``: further shares, drawn as lines across the bars.
    """
    x_of, height, frame = _frame(rows, _reach(rows, marks))
    drawn = []
    for i, row in enumerate(rows):
        x, right, y = x_of(row["low"]), x_of(row["high"]), height(row["value"])
        middle, low, high = (x + right) / 2, height(row["from"]), height(row["to"])
        gap = min(0.6, (right - x) / 8)
        bar = _rect(x + gap, right - gap, y, height(0.0), _kind(row))
        lines = "".join(
            f'<line class="{mark.kind} mark" x1="{x + gap:.1f}" x2="{right - gap:.1f}" y1="{height(share):.1f}" '
            f'y2="{height(share):.1f}"/>'
            for mark, share in _marks_of(marks, i)
        )
        whisker = f'<line class="whisker" x1="{middle:.1f}" x2="{middle:.1f}" y1="{low:.1f}" y2="{high:.1f}"/>'
        drawn.append(f"<g>{_title(describe_row(row, _marks_of(marks, i)))}{bar}{lines}{whisker}</g>")
    return _svg(frame + "".join(drawn), description)


# --- groups compared --------------------------------------------------------------------------------------------------

Series = Sequence[tuple[int, str, Sequence[Row]]]
"""Groups to compare: (number of the group's colour, name, rows) of each."""


def compared_numbers(groups: Series, description: str) -> Html:
    """Draw how several groups of people are spread over a number line, each in its own colour; return SVG.

    For each interval of numbers a line shows the group's share, and a band its 90 % confidence interval; grey where the
    groups show no difference. ``groups``: (number of the colour, name, rows) of each; ``description``: for those who
    cannot see it.
    """
    x_of, height, frame = _frame(groups[0][2], max(_reach(rows) for _, _, rows in groups))
    drawn = []
    for colour, name, rows in groups:
        for row in rows:
            kind = "unseen" if row["within_noise"] else f"g{colour}"
            x, right, y = x_of(row["low"]), x_of(row["high"]), height(row["value"])
            band = _rect(x, right, height(row["to"]), height(row["from"]), f"{kind} band")
            line = f'<line class="{kind} level" x1="{x:.1f}" x2="{right:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
            drawn.append(f"<g>{_title(f'{name}, {describe_row(row)}')}{band}{line}</g>")
    return _svg(frame + "".join(drawn), description)


def compared_shares(groups: Series) -> Html:
    """Draw for every category each group's share as a dot with its 90 % confidence interval; return HTML.

    Groups have a colour each; grey where they show no difference. ``groups``: (number of the colour, name, rows) of
    each.
    """
    top, lines = max(_reach(rows) for _, _, rows in groups), []
    for i, first in enumerate(groups[0][2]):
        dots = "".join(
            _dot(rows[i], name, colour, 100 * (number + 0.5) / len(groups), top)
            for number, (colour, name, rows) in enumerate(groups)
        )
        track = _track(dots, f' height="{max(18, 11 * len(groups))}"')
        lines.append(tag("div", tag("dt", first["label"]), tag("dd", track)))
    return tag("dl", *lines, class_="shares dots")


def _dot(row: Row, name: str, colour: int, y: float, top: float) -> str:
    """Draw the share of one group in one category as a dot with its 90 % confidence interval; return SVG text.

    ``name``: the group's; ``colour``: its number; ``y``: the height within the category's line in percent; ``top``: the
    share at the right end.
    """
    x, low, high = (_along(row[key], top) for key in ("value", "from", "to"))
    kind = "unseen" if row["within_noise"] else f"g{colour}"
    line = f'<line class="{kind} level" x1="{low}" x2="{high}" y1="{y:.1f}%" y2="{y:.1f}%"/>'
    title = _title(f"{name}, {describe_row(row)}")
    return f'<g>{title}{line}<circle class="{kind}" cx="{x}" cy="{y:.1f}%" r="4"/></g>'


# --- days, and points in two directions -------------------------------------------------------------------------------


def day_bars(days: Sequence[tuple[Any, int, int]], unusual: Set[str], description: str) -> Html:
    """Draw how many reports a collector accepted on each day as bars, with withdrawn ones in tooltips; return SVG.

    ``days``: (day, accepted, withdrawn) of each; ``unusual``: days, as text, whose bars stand out by colour;
    ``description``: for those who cannot see it.
    """
    top = max([1, *(accepted for _, accepted, _ in days)])
    width = (WIDTH - LEFT) / max(len(days), 7)
    drawn = [f'<line class="gridline" x1="{LEFT}" x2="{WIDTH}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM}"/>']
    drawn.append(_text(LEFT - 5, TOP + 4, _short(top), "end"))
    for i, (day, accepted, withdrawn) in enumerate(days):
        x, y = LEFT + i * width, HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * accepted / top
        kind = "far" if str(day) in unusual else "seen"
        title = _title(f"{day}: {accepted:,} accepted, {withdrawn:,} withdrawn")
        drawn.append(f"<g>{title}{_rect(x + 1, x + width - 1, y, HEIGHT - BOTTOM, kind)}</g>")
    if days:
        drawn.append(_text(LEFT, HEIGHT - 6, str(days[0][0]), "start"))
    if len(days) > 7:
        drawn.append(_text(LEFT + width * len(days), HEIGHT - 6, str(days[-1][0]), "end"))
    return _svg("".join(drawn), description)


def scatter(
    series: Mapping[str, Sequence[tuple[float, float, str]]], x_title: str, y_title: str, description: str
) -> Html:
    """Draw several series of points joined by lines, both axes shares; return SVG for a page or a file of its own.

    ``series``: name → its points (x, y, tooltip). The horizontal axis begins at 0, the vertical one near the lowest
    point. ``x_title`` and ``y_title``: of the axes; ``description``: for those who cannot see it.
    """
    points = [point for some in series.values() for point in some]
    xs = _rounded(0.0, max(x for x, _, _ in points), 6)
    ys = _rounded(min(y for _, y, _ in points), max(y for _, y, _ in points), 5)
    a_line = (SCATTER_WIDTH - SCATTER_LEFT) // LEGEND_WIDTH
    top = LEGEND_LINE * -(-len(series) // a_line) + TOP
    bottom, right = top + SCATTER_HEIGHT, SCATTER_WIDTH - 20

    def x_of(share: float) -> float:
        return SCATTER_LEFT + (right - SCATTER_LEFT) * (share - xs[0]) / (xs[-1] - xs[0])

    def height(share: float) -> float:
        return bottom - SCATTER_HEIGHT * (share - ys[0]) / (ys[-1] - ys[0])

    left = SCATTER_LEFT
    drawn = [_gridline(left, right, height(y)) + _percent(left - 5, height(y) + 4, y, "end") for y in ys]
    drawn += [_percent(x_of(x), bottom + 15, x, "middle") for x in xs]
    drawn.append(_text((SCATTER_LEFT + right) / 2, bottom + 32, x_title, "middle"))
    middle = (top + bottom) / 2
    drawn.append(_text(11, middle, y_title, "middle", f' transform="rotate(-90 11 {middle:.1f})"'))
    for i, (name, some) in enumerate(series.items()):
        kind, colour = i % len(PALETTE), PALETTE[i % len(PALETTE)]
        x, y = SCATTER_LEFT + LEGEND_WIDTH * (i % a_line), LEGEND_LINE * (i // a_line) + 9
        drawn.append(_point(x + 4, y, kind, "") + _text(x + 12, y + 4, name, "start"))
        corners = " ".join(f"{x_of(x):.1f},{height(y):.1f}" for x, y, _ in some)
        line = f'points="{corners}" fill="none" stroke="{colour}" stroke-width="1.5" opacity=".6"'
        drawn.append(f'<polyline class="g{kind}" {line}/>')
        drawn += [_point(x_of(x), height(y), kind, f"{name}: {tip}") for x, y, tip in some]
    return _svg("".join(drawn), description, SCATTER_WIDTH, bottom + SCATTER_BOTTOM, "drawn scatter")


def _point(x: float, y: float, colour: int, title: str) -> str:
    """Draw a point at pixel (x, y) as SVG text, with a tooltip unless ``title`` is empty; ``colour``: index in PALETTE.
    """
    circle = f'<circle class="g{colour}" cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{PALETTE[colour]}"'
    return f"{circle}>{_title(title)}</circle>" if title else f"{circle}/>"


# --- words ------------------------------------------------------------------------------------------------------------


def describe_row(row: Row, marks: MarkedShares = ()) -> str:
    """Write a bar of a chart in words for its tooltip: label, share, 90 % confidence interval, further marked shares.

    ``row``: its label, value and error; ``marks``: further shares in this row.
    """
    noise = ", within noise" if row["within_noise"] else ""
    also = "".join(f", {mark.name} {percent(share)}" for mark, share in marks)
    return f"{row['label']}: {percent(within_bounds(row['value']))} ± {_points(row)} points (90 %){noise}{also}"


def swatch(kind: str, meaning: object) -> Html:
    """Return an entry of a legend as HTML: a box in a colour and what it means.

    ``kind``: the class of the style sheet that has the colour.
    """
    box = f'<svg width="21" height="12" aria-hidden="true"><rect class="{kind}" width="21" height="12"/></svg>'
    return tag("span", Html(box), " ", meaning)


# --- axes -------------------------------------------------------------------------------------------------------------


def _frame(rows: Sequence[Row], top: float) -> tuple[Scale, Scale, str]:
    """Draw the axes of a chart over a number line, and return what places the rest into it.

    Returns (function from a number to its x in pixels, function from a share to its y in pixels, SVG text of the grid
    lines and labels). ``rows``: the chart's intervals; ``top``: the share at the upper end.
    """
    low, high = float(rows[0]["low"]), float(rows[-1]["high"])
    bottom = HEIGHT - BOTTOM

    def x_of(number: float) -> float:
        return LEFT + (WIDTH - LEFT - 2) * (number - low) / (high - low)

    def height(share: float) -> float:
        return bottom - (bottom - TOP) * within_bounds(share) / top

    lines = [
        _gridline(LEFT, WIDTH, height(y)) + _percent(LEFT - 5, height(y) + 4, y, "end") for y in ticks(0.0, top, 4)
    ]
    labels = [
        _text(min(x_of(x), WIDTH), HEIGHT - 5, _short(x), "end" if x_of(x) > WIDTH - 14 else "middle")
        for x in ticks(low, high, 5)
    ]
    return x_of, height, "".join(lines + labels)


def ticks(low: float, high: float, about: int) -> list[float]:
    """Return the multiples of a round step from low to high, for the labels of an axis, as a list.

    The step cuts the axis into at most ``about`` parts.

    >>> ticks(19.5, 79.5, 5)
    [20.0, 40.0, 60.0]
    """
    step = _step(low, high, about)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(step * i, 12) for i in range(first, last + 1)]


def _rounded(low: float, high: float, about: int) -> list[float]:
    """Return the multiples of a round step for an axis, the first at most ``low``, the last at least ``high``.

    There are about ``about`` of them.
    """
    step = _step(low, high if high > low else low + 0.01, about)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * i, 12) for i in range(first, max(last, first + 1) + 1)]


def _step(low: float, high: float, about: int) -> float:
    """Return the distance between the labels of an axis, the smallest of 1, 2, 2.5 or 5 · 10^k that is large enough.

    It cuts low..high into at most ``about`` parts.
    """
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= 0.999 * raw)


def _short(number: float) -> str:
    """Write a number in few letters for an axis, with k, M or G for thousands, millions or billions: "20k"."""
    for size, mark in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            return f"{number / size:g}{mark}"
    return f"{number:g}"


def _reach(rows: Sequence[Row], marks: Sequence[Mark] = ()) -> float:
    """Return the largest share that a chart shows, to scale it: of bars, the upper ends of their intervals, and marks.
    """
    ends = [within_bounds(max(row["to"], row["value"])) for row in rows]
    return max([1e-9, *ends, *(within_bounds(share) for mark in marks for share in mark.shares)])


def _marks_of(marks: Sequence[Mark], row: int) -> MarkedShares:
    """Return each mark (a further share for every row) with its share in one row, given by its number."""
    return [(mark, mark.shares[row]) for mark in marks]


def _points(row: Row) -> str:
    """Write half the width of a bar's 90 % confidence interval in percentage points, as text such as "1.2".

    It is not cut where the interval would end at 0 or 1.
    """
    return f"{100 * NINETY_PERCENT * row['stderr']:.1f}"


def _kind(row: Row) -> str:
    """Return the style's class for a bar: "unseen" (grey) where its share is within noise, else "seen"."""
    return "unseen" if row["within_noise"] else "seen"


def _rect(x: float, right: float, y: float, bottom: float, kind: str) -> str:
    """Draw a rectangle, from x to ``right`` and y to ``bottom`` in pixels, as SVG text; at least half a pixel wide.

    ``kind``: the class of the style sheet that colours it.
    """
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{max(right - x, 0.5):.1f}" '
        f'height="{max(bottom - y, 0.0):.1f}"/>'
    )


def _gridline(x: float, right: float, y: float) -> str:
    """Draw a horizontal line across the chart at height y, from x to ``right`` in pixels, as SVG text."""
    return f'<line class="gridline" x1="{x}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e6ddd3"/>'


def _percent(x: float, y: float, share: float, anchor: str) -> str:
    """Draw a share as a label in percent at pixel (x, y), as SVG text.

    ``anchor``: which part of the label stands at x: "start", "middle" or "end".
    """
    return _text(x, y, f"{100 * share:g} %", anchor)


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    """Draw a text at pixel (x, y), as SVG text.

    ``anchor``: which part of it stands at x: "start", "middle" or "end"; ``more``: further attributes of the element.
    """
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(text)}</text>'


def _title(text: str) -> str:
    """Return a tooltip with this text, as SVG text to stand inside the shape that it explains."""
    return f"<title>{escape(text)}</title>"


def _svg(inside: str, description: str, width: int = WIDTH, height: int = HEIGHT, kind: str = "drawn") -> Html:
    """Return a whole drawing as an SVG element, with a description for those who cannot see it.

    ``inside``: the SVG text of its shapes; ``width``, ``height``: in pixels of its own scale; ``kind``: its class.
    """
    named = f'class="{kind}" role="img" aria-label="{escape(description)}" viewBox="0 0 {width} {height}"'
    alone = 'xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" font-size="11" fill="#6e645c"'
    return Html(f"<svg {named} {alone}>{inside}</svg>")
