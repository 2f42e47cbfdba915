"""No label runs code: everything is escaped, and the page's own policy forbids scripts and network."""

import html
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from pyarrow import csv, table

import sfumato as sf
from sfumato.cli import run
from sfumato.pages import Page
from sfumato.pages.page import POLICY
from tests.browser.chromium import chromium_program

RUNS = "<script>document.title='ran'</script>"
LOADS = '<img src="x" onerror="document.title=\'ran\'">'
LABELS = [f"</script>{RUNS}", f"--></title>{RUNS}", LOADS, "$\\bad{$", "[/bold]"]
SPEC = {
    "name": f"</title>{RUNS}",
    "attributes": {
        f"</h3>{RUNS}": {"categories": LABELS, "channel": "randomized-response", "gamma": 19, "question": RUNS},
        "age": {"low": 20, "high": 80, "channel": "gaussian", "privacy": 0.5},
        "group": {"categories": [f"A{RUNS}", "B"], "role": "class"},
    },
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> Path:
    """A folder with a plan whose every label is an attack, and its reports."""
    folder, rng = tmp_path_factory.mktemp("hostile"), np.random.default_rng(0)
    (folder / "plan.json").write_text(json.dumps(SPEC))
    plan = sf.Plan.from_dict(SPEC)
    names = list(plan.attributes)
    people = {names[0]: rng.choice(LABELS, 2000), "age": rng.uniform(20, 80, 2000)}
    people["group"] = rng.choice([f"A{RUNS}", "B"], 2000)
    csv.write_csv(table(people), folder / "people.csv")
    csv.write_csv(table(plan.randomize(people, rng=1)), folder / "reports.csv")
    return folder


PAGES = {
    "plot": "reconstruct plan.json reports.csv --plot page.html",
    "synthetic": "synthesize plan.json reports.csv -n 200 -o s.csv --report page.html",
    "release": "release people.csv --target group -o r.csv --report page.html",
    "reviewer": "audit plan.json --samples 20000 --html page.html",
    "respondent": "audit plan.json --samples 20000 --respondent page.html",
}


def title_in_chromium(page: Path) -> str:
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000", "--dump-dom"]
    line = [chromium_program(), *flags, page.as_uri()]
    shown = subprocess.run(line, capture_output=True, text=True, timeout=300).stdout
    return html.unescape(shown.partition("<title>")[2].partition("</title>")[0])


@pytest.mark.parametrize("kind", PAGES)
def test_no_label_runs_code_in_any_page(hostile, monkeypatch, kind):
    monkeypatch.chdir(hostile)
    assert run(PAGES[kind].split()) in (0, 1)
    page = (hostile / "page.html").read_text()
    assert "<script" not in page and "<img" not in page
    assert html.escape(POLICY) in page.partition("<body>")[0]
    assert title_in_chromium(hostile / "page.html") not in ("", "ran")


@pytest.mark.parametrize("extension", ["svg", "png"])
def test_pictures_take_every_label_as_it_is(hostile, monkeypatch, extension):
    monkeypatch.chdir(hostile)
    assert run(f"reconstruct plan.json reports.csv --plot plot.{extension}".split()) == 0
    assert b"<script" not in (hostile / f"plot.{extension}").read_bytes()


def test_the_policy_stops_what_would_slip_through_and_leaves_the_style(tmp_path):
    from sfumato.pages import Html

    page = tmp_path / "page.html"
    Page("quiet").add(Html(f"{RUNS}<p id='styled'>text</p>")).write(page)
    assert title_in_chromium(page) == "quiet"
    page.write_text(page.read_text().replace(html.escape(POLICY), ""))
    assert title_in_chromium(page) == "ran"


def test_notebooks_show_labels_escaped(hostile):
    name = next(iter(SPEC["attributes"]))
    channel = sf.Plan.from_dict(SPEC).attributes[name].channel
    assert "<script" not in sf.reconstruct(channel.randomize(LABELS * 100), channel)._repr_html_()
