"""The release report in a browser: full labels and nothing beyond the edge, on a screen and on a phone."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.microdata import Donors, Frontier
from sfumato.microdata.judged.frontier import Point

OUTSIDE = """() => [...document.querySelectorAll('body *')].filter(part => {
    const box = part.getBoundingClientRect(), width = document.documentElement.clientWidth
    return box.width && (box.left < -1 || box.right > width + 1)
}).map(part => part.textContent.slice(0, 60))"""
LONG = "satisfied_with_the_treatment_in_our_hospital_and_with_the_food_and_the_rooms"
GERMAN = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichengröße"


@pytest.fixture(scope="module")
def report():
    rng = np.random.default_rng(0)
    table = {
        LONG: np.where(rng.random(300) < 0.1, np.nan, rng.integers(0, 100, 300)),
        GERMAN: rng.choice(["small", "middle", f"as large as {GERMAN}"], 300),
        "age": rng.integers(18, 90, 300),
    }
    table["outcome"] = np.where(table["age"] > 70, f"not {LONG}", "well")
    done = sf.release(table, "outcome", Donors(attempts=1), rng=0)
    points = tuple(Point("donors", amount, 0.1, f"guessing {LONG}", 0.8, {}) for amount in (5, 10))
    return done.report.with_frontier(Frontier(points, 0.82))


@pytest.mark.parametrize("width", [1100, 390])
@pytest.mark.parametrize("public", [False, True], ids=["owner", "public"])
def test_nothing_of_the_report_is_clipped(page, report, width, public):
    page.set_viewport_size({"width": width, "height": 900})
    page.set_content(report.to_html(public=public))
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true })")
    assert page.evaluate(OUTSIDE) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    told = page.evaluate("document.body.textContent")
    assert LONG in told and (public or GERMAN in told)
    assert "Risk against utility" in told or public
