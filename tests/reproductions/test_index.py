"""The table of all statements, and what the pages in the documentation must say."""

from importlib import import_module
from operator import attrgetter
from pathlib import Path
from re import findall

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from reproductions import Claim, Paper, write_paper
from reproductions.index import index_of, statements, write_index

PAGES = Path(__file__).parents[2] / "docs" / "papers"
PAPERS = ("as00", "egs03", "ib04", "lkt08")
TEXT = st.text(
    st.characters(blacklist_categories=("Cc", "Cs", "Zl", "Zp", "Zs"), blacklist_characters="\\*"), min_size=1
)


def page_of(folder: Path, name: str, *claims: Claim) -> str:
    (folder / name.lower()).mkdir()
    write_paper(folder / name.lower(), Paper(name, "A title", "Two people."), claims, "middle")
    return (folder / name.lower() / "statements.md").read_text(encoding="utf-8")


@given(text=TEXT, evidence=TEXT, cause=TEXT, kept=st.sampled_from([True, False, None]))
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, text: str, evidence: str, cause: str, kept: bool | None
) -> None:
    claim = Claim(text, kept, evidence, "§1", cause=cause)
    (found,) = statements(page_of(tmp_path_factory.mktemp("page"), "XY00", claim))
    assert (found.paper, found.number, found.where, found.threshold) == ("XY00", "1", "§1", "the paper's")
    assert (found.text, found.verdict, found.measured) == (text, claim.verdict, claim.measured)


def test_the_index_counts_and_shows_every_statement_with_its_cause(tmp_path: Path) -> None:
    page_of(tmp_path, "AB01", Claim("a | b", True, "3 of 4; more"), Claim("c", False, "9 of 10", cause="7 late"))
    page_of(tmp_path, "CD02", Claim("d", None, "x " * 200))
    write_index(tmp_path)
    index = (tmp_path / "index.md").read_text()
    assert "| [AB01](ab01/statements.md) | 2 | 1 | 1 | 0 | middle |" in index
    assert "| [AB01 1](ab01/statements.md) | a \\| b | kept | 3 of 4 |" in index
    assert "| [AB01 2](ab01/statements.md) | c | not kept | 9 of 10. **Cause**: 7 late |" in index
    assert "| not measured at this size | x x" in index and max(map(len, index.splitlines())) < 250


@pytest.mark.parametrize("paper", PAPERS)
def test_every_statement_that_was_not_kept_has_a_cause_with_a_figure(paper: str) -> None:
    found = statements((PAGES / paper / "statements.md").read_text(encoding="utf-8"))
    assert len(found) >= 15
    assert [one.text for one in found if one.verdict == "not kept" and not findall(r"\d", one.cause)] == []


def test_the_index_in_the_documentation_is_the_one_that_its_pages_give() -> None:
    pages = [(PAGES / paper / "statements.md").read_text(encoding="utf-8") for paper in PAPERS]
    assert (PAGES / "index.md").read_text(encoding="utf-8") == index_of(pages)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_place_that_is_named_exists(paper: str) -> None:
    places = import_module(f"reproductions.{paper}.places").PLACES
    named = [name for *_, here in places for name in findall(r"`([\w.]+)`", here)]
    assert len(named) >= 10
    for name in named:
        if name.startswith("sf."):
            assert attrgetter(name[3:])(sf)
        elif name.startswith("sfumato."):
            import_module(name)
