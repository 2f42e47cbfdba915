"""Small pictures as SVG text, for pages that must need nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

ORIGINAL, RELEASED, LIMIT, INK = "#1f6f78", "#b5651d", "#9a9a9a", "#2c2622"
PALETTE = ("#b5651d", "#1f6f78", "#7a5195", "#5b8c5a", "#9a9a9a", "#c0392b")
ROW, LABEL, WIDTH = 22, 270, 400


def paired_bars(rows: Sequence[tuple[str, float, float]], low: float = 0.0) -> str:
    """For each label an original and a released share, as two bars from ``low`` to 1."""
    parts = []
    for place, (label, before, after) in enumerate(rows):
        top = place * 2 * ROW
        parts.append(_text(LABEL - 8, top + ROW, label, "end"))
        for offset, share, colour in ((4, before, ORIGINAL), (ROW - 2, after, RELEASED)):
            length = max((share - low) / (1 - low), 0) * WIDTH
            parts.append(f'<rect x="{LABEL}" y="{top + offset}" width="{length:.1f}" height="15" fill="{colour}"/>')
            parts.append(_text(LABEL + length + 6, top + offset + 12, f"{share:.1%}"))
    return _svg(parts, 2 * ROW * len(rows) + 6)


def share_bars(shares: Mapping[str, float]) -> str:
    """One bar a label, from 0 to 1."""
    parts = []
    for place, (label, share) in enumerate(shares.items()):
        top, length = place * ROW, share * WIDTH
        parts.append(_text(LABEL - 8, top + 16, label, "end"))
        parts.append(f'<rect x="{LABEL}" y="{top + 4}" width="{length:.1f}" height="15" fill="{RELEASED}"/>')
        parts.append(_text(LABEL + length + 6, top + 16, f"{share:.1%}"))
    return _svg(parts, ROW * len(shares) + 6)


def intervals(rows: Sequence[tuple[str, float, float]]) -> str:
    """For each label a value and the interval around zero that chance explains."""
    reach = max([abs(value) for _, value, _ in rows] + [allowed for _, _, allowed in rows] + [1e-9]) * 1.1
    middle, scale = LABEL + WIDTH / 2, WIDTH / 2 / reach
    height = ROW * len(rows) + 6
    parts = [f'<line x1="{middle}" x2="{middle}" y1="0" y2="{height}" stroke="{INK}" stroke-width=".6"/>']
    for place, (label, value, allowed) in enumerate(rows):
        line = place * ROW + 12
        colour = ORIGINAL if abs(value) <= allowed + 1e-12 else "#c0392b"
        ends = f'x1="{middle - allowed * scale:.1f}" x2="{middle + allowed * scale:.1f}" y1="{line}" y2="{line}"'
        parts.append(f'<line {ends} stroke="{LIMIT}" stroke-width="6" stroke-linecap="round" opacity=".5"/>')
        parts.append(f'<circle cx="{middle + value * scale:.1f}" cy="{line}" r="4.5" fill="{colour}"/>')
        parts += [_text(LABEL - 8, line + 4, label, "end"), _text(LABEL + WIDTH + 8, line + 4, f"{value:+.3f}")]
    return _svg(parts, height)


def scatter(series: Mapping[str, Sequence[tuple[float, float, str]]], x_title: str, y_title: str) -> str:
    """Points (x, y, tooltip) of several series joined by lines, both axes shares."""
    points = [point for some in series.values() for point in some]
    left, top, wide, high = 60, 12, 560, 300
    x_most = max(max(x for x, _, _ in points), 1e-9) * 1.05
    y_low, y_high = min(y for _, y, _ in points), max(y for _, y, _ in points)
    margin = max(0.05 * (y_high - y_low), 0.005)
    y_low, y_high = y_low - margin, y_high + margin

    def across(x: float) -> float:
        return left + wide * x / x_most

    def down(y: float) -> float:
        return top + high * (y_high - y) / (y_high - y_low)

    parts = _axes(left, top, wide, high, (x_most, y_low, y_high), (x_title, y_title))
    for place, (name, some) in enumerate(series.items()):
        colour, ordered = PALETTE[place % len(PALETTE)], sorted(some)
        path = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y, _ in ordered)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5" opacity=".6"/>')
        for x, y, tip in ordered:
            circle = f'<circle cx="{across(x):.1f}" cy="{down(y):.1f}" r="5" fill="{colour}">'
            parts.append(f"{circle}<title>{escape(f'{name}: {tip}')}</title></circle>")
        parts.append(f'<rect x="{left + wide + 14}" y="{top + 22 * place}" width="12" height="12" fill="{colour}"/>')
        parts.append(_text(left + wide + 32, top + 22 * place + 11, name))
    return _svg(parts, top + high + 50, left + wide + 150)


def _axes(
    left: int, top: int, wide: int, high: int, limits: tuple[float, float, float], titles: tuple[str, str]
) -> list[str]:
    x_most, y_low, y_high = limits
    frame = f'<rect x="{left}" y="{top}" width="{wide}" height="{high}" fill="none" stroke="{LIMIT}"/>'
    parts = [frame, _text(left + wide / 2, top + high + 40, titles[0], "middle"), _text(left, top - 1, titles[1])]
    for step in range(5):
        share = step / 4
        parts.append(_text(left + wide * share, top + high + 18, f"{x_most * share:.0%}", "middle"))
        parts.append(_text(left - 6, top + high * (1 - share) + 4, f"{y_low + (y_high - y_low) * share:.0%}", "end"))
    return parts


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(parts: Iterable[str], height: float, width: float = LABEL + WIDTH + 90) -> str:
    style = f'font-family="system-ui, sans-serif" font-size="13" fill="{INK}"'
    box = f'viewBox="0 -8 {width:.0f} {height + 8:.0f}" width="{width:.0f}" height="{height + 8:.0f}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {box} {style}>{"".join(parts)}</svg>'
