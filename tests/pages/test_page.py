import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from sfumato.pages import Card, Html, Page, tag
from sfumato.pages.charts import Mark, histogram, scatter, share_bars

VOID = {"meta", "link", "br", "img", "hr"}
NASTY = '<script>alert("x")</script> & \' "'
ROWS = [
    {"label": f"{low}–{low + 10} & <b>", "low": low, "high": low + 10, "value": 0.5, "stderr": 0.01,
     "from": 0.48, "to": 0.52, "within_noise": False}
    for low in (0, 10)
]  # fmt: skip


class Reader(HTMLParser):
    """A strict reader: every element is closed, and what is met is kept."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.met: list[tuple[str, dict]] = []
        self.text: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, name, attributes):
        self.met.append((name, dict(attributes)))
        if name not in VOID:
            self.open.append(name)

    def handle_startendtag(self, name, attributes):
        self.met.append((name, dict(attributes)))

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, data):
        self.text.append(data)

    def all(self, name: str) -> list[dict]:
        return [attributes for met, attributes in self.met if met == name]


def everything() -> Page:
    page = Page(f"Title {NASTY}", f"Lead {NASTY}")
    page.facts([("20 %", NASTY)]).section(NASTY, NASTY).paragraph(f"{NASTY}\nsecond", soft=True).items([NASTY])
    page.note(NASTY).note(NASTY, good=True).note(NASTY, good=False).unfold(NASTY, NASTY).unfold("list", [NASTY])
    page.table([[NASTY, 1.5, tag("b", NASTY)]], ["name", NASTY, "z"]).table([{"a": 1, "b": NASTY}], wrap=True)
    page.bars([(NASTY, 0.5), ("two", (0.2, 1.4))]).deviations([(NASTY, 0.1, 0.2), ("far", -0.5, 0.2)])
    page.legend({"seen": NASTY}).cards([Card(NASTY, NASTY, histogram(ROWS, NASTY), NASTY)])
    page.cards([Card(NASTY, NASTY, share_bars(ROWS), NASTY)])
    points = {NASTY: [(0.1, 0.2, NASTY), (0.2, 0.3, "b")]}
    return page.chart(scatter(points, NASTY, "accuracy", NASTY)).footer(NASTY)


@pytest.fixture(scope="module")
def page() -> str:
    return everything().html()


def test_everything_is_escaped_and_every_element_closed(page):
    read = Reader(page)
    assert read.all("script") == []
    assert sum(NASTY.strip() in text for text in read.text) >= 12


def test_nothing_is_fetched_and_nothing_runs(page):
    read = Reader(page)
    links = [value for _, attributes in read.met for key, value in attributes.items() if key in ("src", "href")]
    assert links == ["data:,"]
    assert not any(key.startswith("on") or key == "style" for _, attributes in read.met for key in attributes)
    assert "@import" not in page
    assert "url(http" not in page


def test_tables_say_what_their_headings_head(page):
    scopes = [attributes.get("scope") for attributes in Reader(page).all("th")]
    assert set(scopes) == {"col", "row"}


def test_pictures_are_described_and_their_marks_have_tooltips(page):
    read = Reader(page)
    pictures = [attributes for attributes in read.all("svg") if attributes.get("aria-hidden") != "true"]
    assert len(pictures) == 2
    assert all(attributes["role"] == "img" and attributes["aria-label"] for attributes in pictures)
    assert "0–10 & <b>: 50.0 % ± 1.6 points (90 %)" in read.text


def test_it_has_a_language_a_viewport_and_both_colour_schemes(page):
    read = Reader(page)
    assert read.all("html") == [{"lang": "en"}]
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in read.all("meta")
    assert "prefers-color-scheme: dark" in page


def test_names_inside_pictures_do_not_meet(page):
    names = [attributes["id"] for _, attributes in Reader(page).met if "id" in attributes]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("draw", [lambda marks: histogram(ROWS, "", marks), lambda marks: share_bars(ROWS, marks)])
def test_the_truth_and_the_reports_are_drawn_where_given(draw):
    marks = [Mark("truth", "truth", [0.4, 0.6]), Mark("bare", "reports", [0.3, 0.7])]
    assert ('class="truth mark"' in draw([]), 'class="truth mark"' in draw(marks)) == (False, True)
    assert "points (90 %), truth 40.0 %, reports 30.0 %" in draw(marks)


def test_categories_stand_in_their_own_order():
    texts = [text for text in Reader(share_bars([{**ROWS[0], "label": "z"}, {**ROWS[1], "label": "a"}])).text]
    assert [text for text in texts if text in ("z", "a")] == ["z", "a"]


@pytest.mark.parametrize("points", [[(0.0, 0.7, "")], [(0.2, 0.5, ""), (1.0, 1.0, "")], [(0.03, 0.61, "")] * 2])
def test_a_scatter_has_all_its_points_and_stands_alone(points):
    """Within its frame, with a name space and colours of its own."""
    drawn = scatter({str(number): points for number in range(7)}, "across", "up", "both")
    frame = [float(end) for end in re.search(r'viewBox="([^"]*)"', drawn)[1].split()]
    circles = re.findall(r'cx="([\d.-]+)" cy="([\d.-]+)" r="4" fill="#', drawn)
    assert len(circles) == 7 * (1 + len(points)) and 'xmlns="http://www.w3.org/2000/svg"' in drawn
    assert all(0 < float(x) < frame[2] and 0 < float(y) < frame[3] for x, y in circles)


def test_contents_lead_to_every_section():
    read = Reader(Page("Title").contents().section("First").section("Second & last").html())
    assert [link["href"] for link in read.all("a")] == ["#part-1", "#part-2"]
    assert [section["id"] for section in read.all("section")] == ["part-1", "part-2"]
    assert Reader(Page("Title").section("First").html()).all("nav") == []


def test_a_page_is_written_whole(tmp_path: Path):
    place = tmp_path / "page.html"
    Page("Title").paragraph("text").write(place)
    assert place.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_html_stays_and_none_is_nothing():
    assert tag("p", Html("<i>a</i>"), None, "<", class_=None, data_x=1) == '<p data-x="1"><i>a</i>&lt;</p>'
