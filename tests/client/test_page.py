"""A plan as a folder of static files."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.client.page import write_page

PLAN = {"attributes": {"smokes": {"categories": ["yes", "no"], "channel": "randomized-response", "gamma": 19}}}


def plan(**changes: object) -> sf.Plan:
    return sf.Plan.from_dict({**PLAN, **changes})


def policy_of(folder: Path) -> dict[str, str]:
    found = re.search(r'Content-Security-Policy" content="([^"]+)"', (folder / "index.html").read_text())
    assert found
    return dict(part.strip().split(" ", 1) for part in found[1].split(";"))


def test_the_folder_holds_all_that_the_page_needs_and_nothing_else(tmp_path: Path) -> None:
    written = write_page(plan(), tmp_path / "new" / "page", submit="/reports")
    folder = tmp_path / "new" / "page"
    assert sorted(folder.iterdir()) == sorted(written) and written[-1].name == "index.html"
    assert {path.suffix for path in written} == {".html", ".js", ".css", ".json"}
    for path in folder.glob("*.js"):
        for name in imported(path):
            assert (folder / name).is_file(), name
    document = json.loads((folder / "survey.json").read_text())
    assert document["submit"] == "/reports" and document["model"] is None


def imported(path: Path) -> list[str]:
    """The modules that one names, but not those that it loads only when it needs them."""
    return re.findall(r'^(?:import|export) [^;]*? ?from "\./(.+?)";$', path.read_text(), re.M)


def test_all_modules_are_fetched_at_once(tmp_path: Path) -> None:
    """A browser that finds them import by import pays a round trip for each."""
    write_page(plan(), tmp_path)
    needed, new = set[str](), {"page.js"}
    while new:
        new = {name for each in new for name in imported(tmp_path / each)} - needed
        needed |= new
    preloaded = re.findall(r'rel="modulepreload" href="(.+?)"', (tmp_path / "index.html").read_text())
    assert sorted(preloaded) == sorted(needed) and "model.js" not in needed


def test_the_page_holds_itself_to_its_own_files_and_the_one_address(tmp_path: Path) -> None:
    write_page(plan(), tmp_path, submit="https://town.example:8443/v1/reports")
    policy = policy_of(tmp_path)
    assert policy["default-src"] == "'none'" and policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["connect-src"] == "'self' https://town.example:8443"
    for submit in ("/reports", "reports", None):
        write_page(plan(), tmp_path, submit=submit)
        assert policy_of(tmp_path)["connect-src"] == "'self'"


def test_nothing_in_the_page_is_inline(tmp_path: Path) -> None:
    write_page(plan(), tmp_path)

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            assert tag != "style" and not any(name == "style" or name.startswith("on") for name, _ in attrs)
            assert tag != "script" or dict(attrs)["src"]

    Reader().feed((tmp_path / "index.html").read_text())


@pytest.mark.parametrize(("language", "words"), [("de", "braucht JavaScript"), ("fr", "besoin de JavaScript")])
def test_before_any_script_runs_the_page_speaks_the_language_of_the_plan(
    tmp_path: Path, language: str, words: str
) -> None:
    write_page(plan(language=language), tmp_path)
    text = (tmp_path / "index.html").read_text()
    assert f'<html lang="{language}">' in text and words in text and "needs JavaScript" not in text


@pytest.mark.parametrize(
    "submit",
    ["ftp://town.example", "https://", "https://me@town.example/r", "https://town.example/r?x=1", "/r#x",
     "https://town.example;script-src/r", "https://tówn.example/r", "javascript:alert(1)"],
)  # fmt: skip
def test_an_address_that_no_report_can_be_sent_to_is_refused_before_anything_is_written(
    tmp_path: Path, submit: str
) -> None:
    with pytest.raises(ValueError, match="submit = "):
        write_page(plan(), tmp_path / "page", submit=submit)
    assert not (tmp_path / "page").exists()


def test_a_collector_that_is_not_where_reports_go_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not where reports are sent"):
        write_page(plan(), tmp_path, submit="https://town.example/r", collector="https://other.example")
    write_page(plan(), tmp_path, submit="https://town.example/r", collector="https://town.example")
    assert json.loads((tmp_path / "survey.json").read_text())["collector"] == "https://town.example"


def test_a_file_is_no_folder_and_a_foreign_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="name a folder"):
        write_page(plan(), tmp_path / "file")
    (tmp_path / "model.json").write_text("{}")
    with pytest.raises(ValueError, match="not a model"):
        write_page(plan(), tmp_path / "page", model=tmp_path / "model.json")
    assert not (tmp_path / "page").exists()


def test_writing_again_replaces_the_files_and_leaves_others_alone(tmp_path: Path) -> None:
    write_page(plan(), tmp_path)
    (tmp_path / "logo.svg").write_text("<svg/>")
    write_page(plan(name="another"), tmp_path)
    assert json.loads((tmp_path / "survey.json").read_text())["name"] == "another"
    assert (tmp_path / "logo.svg").read_text() == "<svg/>"


def test_a_list_that_is_too_long_for_a_page_is_refused(tmp_path: Path) -> None:
    many = {"town": {"categories": list(range(10_001)), "channel": "randomized-response", "gamma": 19}}
    with pytest.raises(ValueError, match=r"attributes\.town: .* more than 10,000; group them"):
        write_page(plan(attributes=many), tmp_path)


def test_categories_that_are_numbers_of_no_name_are_refused(tmp_path: Path) -> None:
    few = {"town": {"categories": 12, "channel": "randomized-response", "gamma": 19}}
    with pytest.raises(ValueError, match=r"attributes\.town: a page shows categories by name; list them"):
        write_page(plan(attributes=few), tmp_path)
