"""One claim, one voice; one table writer for every paper."""

from pathlib import Path

import pytest

from sfumato.papers import Claim, as_markdown, write_rows


@pytest.mark.parametrize(("kept", "verdict"), [(True, "kept"), (False, "not kept"), (None, "not measured")])
def test_a_claim_says_whether_it_was_kept_and_why(kept: bool | None, verdict: str) -> None:
    claim = Claim("two and two make four", kept, "counted")
    assert str(claim) == f"{verdict}: two and two make four (counted)"
    assert as_markdown([claim]).splitlines()[2:] == [f"| two and two make four | **{verdict}** | counted |"]


def test_rows_are_written_with_all_their_columns(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.csv", [{"a": 1}, {"a": 2, "b": 3}])
    assert (tmp_path / "rows.csv").read_text().splitlines() == ["a,b", "1,", "2,3"]
