"""Draw the picture at the top of README and docs: what people answered, what was sent, and what is read from it.

    python docs/pictures/crowd.py        writes docs/_static/crowd.svg and, for telephones, crowd-narrow.svg
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import sfumato as sf

STATIC = Path(__file__).parents[1] / "_static"
PEOPLE, BARS, GAMMA = 100_000, 20, 4
AGES = sf.Interval(20, 80)
PANEL, HEIGHT, GAP, TOP, FOOT = 260, 150, 28, 62, 26
WIDTH = PANEL / BARS
DENSITY_AT_TOP = 0.043  # people a year of age
STYLE = """
.card { fill: #fbf8f4; stroke: #e4dbd0 }
text { fill: #2f2a26; font: 14px system-ui, sans-serif }
.title { font-weight: 600; font-size: 16px }
.quiet { fill: #6d645c }
.true { fill: #8a4b2a }
.sent { fill: #9a938c }
.read { fill: #d9a679 }
.line { fill: none; stroke: #8a4b2a; stroke-width: 2 }
.bar { stroke: #2f2a26; stroke-width: 1.5 }
.axis { stroke: #b9aea3 }
@media (prefers-color-scheme: dark) {
  .card { fill: #1c1917; stroke: #3b352f }
  text { fill: #efe9e2 }
  .quiet { fill: #b3a99e }
  .true { fill: #d98b5f }
  .sent { fill: #7d756d }
  .read { fill: #8f5e3c }
  .line { stroke: #f0b28b }
  .bar { stroke: #efe9e2 }
  .axis { stroke: #5b534b }
}
"""


def ages(rng: np.random.Generator) -> np.ndarray:
    """Two generations in a town."""
    young = rng.random(PEOPLE) < 0.6
    drawn = np.where(young, rng.normal(34, 6, PEOPLE), rng.normal(62, 6, PEOPLE))
    return np.clip(drawn, AGES.low, AGES.high)


def panels() -> list[tuple[str, str, str]]:
    """(title, the line below it, the drawing) of each panel, as SVG in a box of PANEL × HEIGHT."""
    rng, channel = np.random.default_rng(7), sf.SquareWave(AGES, gamma=GAMMA)
    people = ages(rng)
    reports = channel.randomize(people, rng)
    crowd = sf.reconstruct(reports, channel, intervals=BARS)
    truth, years = np.histogram(people, crowd.edges)[0] / PEOPLE, AGES.width / BARS
    sent, places = np.histogram(reports, BARS, (channel.outputs.values[0], channel.outputs.values[-1]))
    low, high = crowd.interval(0.9)
    steps = " ".join(f"{x:.1f},{y(each / years):.1f} {x + WIDTH:.1f},{y(each / years):.1f}" for x, each in at(truth))
    errors = "".join(
        f'<path class="bar" d="M{x + WIDTH / 2:.1f} {y(a / years):.1f}V{y(b / years):.1f}"/>'
        for (x, _), a, b in zip(at(truth), low, high, strict=True)
    )
    shown = bars(crowd.probabilities / years, "read") + f'<polyline class="line" points="{steps}"/>' + errors
    usual = axis(AGES.low, AGES.high)
    return [
        ("True", "ages: they stay on people's devices", bars(truth / years, "true") + usual),
        ("Blurred", f"what each device sends (γ = {GAMMA})",
         bars(sent / PEOPLE / np.diff(places), "sent") + axis(places[0], places[-1])),
        ("Reconstructed", "with errors; the line is the truth", shown + usual),
    ]  # fmt: skip


def y(density: float) -> float:
    return HEIGHT * (1 - float(density) / DENSITY_AT_TOP)


def at(heights: np.ndarray) -> list[tuple[float, float]]:
    return [(place * WIDTH, float(height)) for place, height in enumerate(heights)]


def bars(densities: np.ndarray, kind: str) -> str:
    boxes = "".join(f"M{x + 0.7:.1f} {HEIGHT}V{y(each):.1f}h{WIDTH - 1.4:.1f}V{HEIGHT}z" for x, each in at(densities))
    return f'<path class="{kind}" d="{boxes}"/>'


def axis(low: float, high: float) -> str:
    ticks = "".join(
        f'<text class="quiet" x="{PANEL * (age - low) / (high - low):.0f}" y="{HEIGHT + 19}" text-anchor="middle">'
        f"{age}</text>"
        for age in range(0, 101, 20)
        if low <= age <= high
    )
    return f'<path class="axis" d="M0 {HEIGHT + 0.5}H{PANEL}"/>{ticks}'


def picture(stacked: bool) -> str:
    drawn, high = panels(), TOP + HEIGHT + FOOT
    across, down = (1, 3) if stacked else (3, 1)
    w, h = across * (PANEL + GAP) + GAP, down * (high + GAP / 2) + GAP / 2
    parts = []
    for place, (title, below, inside) in enumerate(drawn):
        x, top = (GAP, GAP / 2 + place * (high + GAP / 2)) if stacked else (GAP + place * (PANEL + GAP), GAP / 2)
        parts.append(
            f'<g transform="translate({x:g} {top:g})"><text class="title" y="20">{title}</text>'
            f'<text class="quiet" y="41">{below}</text><g transform="translate(0 {TOP})">{inside}</g></g>'
        )
    name = "Ages of a crowd: as they are, as they are sent, and as they are reconstructed from what was sent"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w:g} {h:g}" width="{w:g}" height="{h:g}" role="img" '
        f'aria-label="{name}">\n<title>{name}</title>\n<style>{STYLE}</style>\n'
        f'<rect class="card" x=".5" y=".5" width="{w - 1:g}" height="{h - 1:g}" rx="8"/>\n{"".join(parts)}\n</svg>\n'
    )


if __name__ == "__main__":
    for name, stacked in (("crowd.svg", False), ("crowd-narrow.svg", True)):
        (STATIC / name).write_text(picture(stacked), encoding="utf-8")
