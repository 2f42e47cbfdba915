"""One claim, one voice; one table writer for every paper."""

from pathlib import Path

import pytest

from reproductions import Claim, Paper, as_markdown, at, placed, write_paper, write_rows


@pytest.mark.parametrize(
    ("kept", "verdict"), [(True, "kept"), (False, "not kept"), (None, "not measured at this size")]
)
def test_a_claim_says_whether_it_was_kept_where_it_stands_and_why(kept: bool | None, verdict: str) -> None:
    (claim,) = placed("Section 1", [Claim("two and two make four", kept, "counted")])
    assert str(claim) == f"{verdict}: Section 1: two and two make four (counted)"
    row = f"| 1 | two and two make four | Section 1 | **{verdict}** | counted | the paper's |"
    assert as_markdown([claim]).splitlines()[2:] == [row]


def test_a_cause_is_told_where_the_claim_was_not_kept() -> None:
    measured = [Claim("a", kept, "3 of 4", cause="one is 5 late").measured for kept in (True, False, None)]
    assert measured == ["3 of 4", "3 of 4; cause: one is 5 late", "3 of 4"]


def test_a_claim_keeps_the_place_that_it_names() -> None:
    assert placed("Section 1", [Claim("a", True, "b", where="Table 2")])[0].where == "Table 2"


def test_a_scale_has_its_own_size_and_an_unknown_one_is_refused() -> None:
    assert [at(scale, 1, 2, 3) for scale in ("quick", "middle", "full")] == [1, 2, 3]  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="scale 'huge' is unknown; choose one of quick, middle, full"):
        at("huge", 1, 2, 3)  # type: ignore[arg-type]


def test_every_paper_has_one_page_with_the_same_headings(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text("<svg ></svg>")
    (tmp_path / "b.png").write_bytes(b"PNG")
    rows = {"few_rows": [{"x": 1, "y": 0.12345}], "many_rows": [{"x": i} for i in range(61)]}
    shown = {"a.svg": "Drawn", "b.png": "Painted"}
    paper = Paper("XY00", "A title", "Two people.", ["They | differ."], [("§1", "a way", "`sf.Way`")], rows, shown)
    write_paper(tmp_path, paper, [Claim("a | b", None, "c"), Claim("d", True, "e")], "middle")
    page, text = (tmp_path / "index.html").read_text(), (tmp_path / "statements.md").read_text()
    headings = ("Statements", "Where this differs from the paper", "Paragraph by paragraph", "Figures", "Tables")
    assert [part.split("</h2>")[0] for part in page.split("<h2>")[1:]] == list(headings)
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == list(headings)
    assert "data:image/png;base64," in page and "<svg " in page and "Many rows" in page
    assert "### Few rows" in text and "| 1 | 0.1235 |" in text and "Many rows" not in text and "a \\| b" in text
    assert "1 kept, 1 not measured at this size" in page
    assert "`sf.Way`" in text and "sf.Way" in page and "`" not in page
    assert (tmp_path / "many_rows.csv").read_text().count("\n") == 62


def test_rows_are_written_with_all_their_columns(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.csv", [{"a": 1}, {"a": 2, "b": 3}])
    assert (tmp_path / "rows.csv").read_text().splitlines() == ["a,b", "1,", "2,3"]
