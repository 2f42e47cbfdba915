"""Charts in a few lines of SVG, for pages with many of them: shares with 90 % bars, grey where they are within noise.

A row has ``label``, ``value``, ``stderr``, ``from`` and ``to`` (the ends of its bar) and ``within_noise``; on a number
line ``low`` and ``high`` too. Colours are the style's own, so that they follow the reader's scheme.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from html import escape
from typing import Any

from sfumato.pages.charts import NINETY_PERCENT
from sfumato.pages.html import Html, tag
from sfumato.prose import percent

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 340, 172, 38, 10, 22
Row = Mapping[str, Any]
Scale = Callable[[float], float]


def share_bars(rows: Sequence[Row]) -> Html:
    """A bar a category, as wide as the screen allows, with its 90 % bar and its numbers beside it."""
    top = _reach(rows)
    return tag("dl", *(_share_bar(row, top) for row in rows), class_="shares")


def held(share: float) -> float:
    """A share as it is shown: an estimate without bias may come out below 0 or above 1."""
    return min(max(float(share), 0.0), 1.0)


def _share_bar(row: Row, top: float) -> Html:
    width, low, high = (_along(row[key], top) for key in ("value", "from", "to"))
    bar = f'<rect class="{_kind(row)}" width="{width}" height="100%" rx="2"/>'
    track = Html(f'<svg class="track" aria-hidden="true">{bar}{_whisker(low, high)}</svg>')
    numbers = tag("span", f"{percent(held(row['value']))} ", tag("small", f"± {_points(row)}"))
    return tag(
        "div", tag("dt", row["label"]), tag("dd", track, numbers), class_="noise" if row["within_noise"] else None
    )


def _whisker(low: str, high: str) -> str:
    ends = "".join(f'<line x1="{x}" x2="{x}" y1="30%" y2="70%"/>' for x in (low, high))
    return f'<g class="whisker"><line x1="{low}" x2="{high}" y1="50%" y2="50%"/>{ends}</g>'


def histogram(rows: Sequence[Row], description: str) -> Html:
    """Bars on a number line, each with its 90 % bar."""
    place, height, frame = _frame(rows, [rows])
    marks = []
    for row in rows:
        x, right, y = place(row["low"]), place(row["high"]), height(row["value"])
        middle, low, high = (x + right) / 2, height(row["from"]), height(row["to"])
        bar = _rect(x + 0.6, right - 0.6, y, height(0.0), _kind(row))
        whisker = f'<line class="whisker" x1="{middle:.1f}" x2="{middle:.1f}" y1="{low:.1f}" y2="{high:.1f}"/>'
        marks.append(f"<g>{_title(said(row))}{bar}{whisker}</g>")
    return _svg(frame + "".join(marks), description)


Series = Sequence[tuple[int, str, Sequence[Row]]]
"""Groups to compare: the number of each one's colour, its name and its rows."""


def compared_numbers(groups: Series, description: str) -> Html:
    """The 90 % bars of several groups on a number line, one colour a group; grey where they show no difference."""
    place, height, frame = _frame(groups[0][2], [rows for _, _, rows in groups])
    marks = []
    for colour, name, rows in groups:
        for row in rows:
            kind = "unseen" if row["within_noise"] else f"g{colour}"
            x, right, y = place(row["low"]), place(row["high"]), height(row["value"])
            band = _rect(x, right, height(row["to"]), height(row["from"]), f"{kind} band")
            line = f'<line class="{kind} level" x1="{x:.1f}" x2="{right:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
            marks.append(f"<g>{_title(f'{name}, {said(row)}')}{band}{line}</g>")
    return _svg(frame + "".join(marks), description)


def compared_shares(groups: Series) -> Html:
    """For every category a dot and a 90 % bar of each group; grey where they show no difference."""
    top, lines = max(_reach(rows) for _, _, rows in groups), []
    for place, first in enumerate(groups[0][2]):
        marks = "".join(
            _dot(rows[place], name, colour, 100 * (number + 0.5) / len(groups), top)
            for number, (colour, name, rows) in enumerate(groups)
        )
        track = Html(f'<svg class="track" height="{max(18, 11 * len(groups))}" aria-hidden="true">{marks}</svg>')
        lines.append(tag("div", tag("dt", first["label"]), tag("dd", track)))
    return tag("dl", *lines, class_="shares dots")


def _dot(row: Row, name: str, colour: int, y: float, top: float) -> str:
    x, low, high = (_along(row[key], top) for key in ("value", "from", "to"))
    kind = "unseen" if row["within_noise"] else f"g{colour}"
    line = f'<line class="{kind} level" x1="{low}" x2="{high}" y1="{y:.1f}%" y2="{y:.1f}%"/>'
    return f'<g>{_title(f"{name}, {said(row)}")}{line}<circle class="{kind}" cx="{x}" cy="{y:.1f}%" r="4"/></g>'


def _along(share: float, top: float) -> str:
    return f"{100 * held(share) / top:.2f}%"


def day_bars(days: Sequence[tuple[Any, int, int]], unusual: Set[str], description: str) -> Html:
    """How many reports came in on each day; unusual days stand out."""
    top = max([1, *(accepted for _, accepted, _ in days)])
    width = (WIDTH - LEFT) / max(len(days), 7)
    marks = [f'<line class="gridline" x1="{LEFT}" x2="{WIDTH}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM}"/>']
    marks.append(_text(LEFT - 5, TOP + 4, _short(top), "end"))
    for i, (day, accepted, withdrawn) in enumerate(days):
        x, y = LEFT + i * width, HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * accepted / top
        kind = "far" if str(day) in unusual else "seen"
        told = f"{day}: {accepted:,} accepted, {withdrawn:,} withdrawn"
        marks.append(f"<g>{_title(told)}{_rect(x + 1, x + width - 1, y, HEIGHT - BOTTOM, kind)}</g>")
    if days:
        marks.append(_text(LEFT, HEIGHT - 6, str(days[0][0]), "start"))
    if len(days) > 7:
        marks.append(_text(LEFT + width * len(days), HEIGHT - 6, str(days[-1][0]), "end"))
    return _svg("".join(marks), description)


def said(row: Row) -> str:
    """A row in words, as its tooltip has it."""
    noise = ", within noise" if row["within_noise"] else ""
    return f"{row['label']}: {percent(held(row['value']))} ± {_points(row)} points (90 %){noise}"


def swatch(kind: str, meaning: object) -> Html:
    """A colour of the style and what it means."""
    box = f'<svg width="21" height="12" aria-hidden="true"><rect class="{kind}" width="21" height="12"/></svg>'
    return tag("span", Html(box), " ", meaning)


# --- axes -------------------------------------------------------------------------------------------------------------


def _frame(rows: Sequence[Row], groups: Sequence[Sequence[Row]]) -> tuple[Scale, Scale, str]:
    """Where a number and a share lie, and the lines and labels behind them."""
    low, high, top = float(rows[0]["low"]), float(rows[-1]["high"]), max(_reach(some) for some in groups)
    bottom = HEIGHT - BOTTOM

    def place(number: float) -> float:
        return LEFT + (WIDTH - LEFT - 2) * (number - low) / (high - low)

    def height(share: float) -> float:
        return bottom - (bottom - TOP) * held(share) / top

    lines = [
        f'<line class="gridline" x1="{LEFT}" x2="{WIDTH}" y1="{height(y):.1f}" y2="{height(y):.1f}"/>'
        + _text(LEFT - 5, height(y) + 4, f"{100 * y:g} %", "end")
        for y in ticks(0.0, top, 3)
    ]
    labels = [
        _text(min(place(x), WIDTH), HEIGHT - 5, _short(x), "end" if place(x) > WIDTH - 14 else "middle")
        for x in ticks(low, high, 5)
    ]
    return place, height, "".join(lines + labels)


def ticks(low: float, high: float, about: int) -> list[float]:
    """Round numbers from low to high, about so many.

    >>> ticks(19.5, 79.5, 5)
    [20.0, 40.0, 60.0]
    """
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= 0.999 * raw)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(step * i, 12) for i in range(first, last + 1)]


def _short(number: float) -> str:
    for size, mark in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            return f"{number / size:g}{mark}"
    return f"{number:g}"


def _reach(rows: Sequence[Row]) -> float:
    return max([1e-9, *(held(max(row["to"], row["value"])) for row in rows)])


def _points(row: Row) -> str:
    """Half of the 90 % bar in points, as if it did not end at 0 or 1."""
    return f"{100 * NINETY_PERCENT * row['stderr']:.1f}"


def _kind(row: Row) -> str:
    return "unseen" if row["within_noise"] else "seen"


def _rect(x: float, right: float, y: float, bottom: float, kind: str) -> str:
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{max(right - x, 0.5):.1f}" '
        f'height="{max(bottom - y, 0.0):.1f}"/>'
    )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _title(text: str) -> str:
    return f"<title>{escape(text)}</title>"


def _svg(inside: str, description: str) -> Html:
    named = f'class="drawn" role="img" aria-label="{escape(description)}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    return Html(f"<svg {named}>{inside}</svg>")
