"""Strangers at the door: what no device sends is refused with a reason, never stored, and never breaks anything.

Schemathesis reads the OpenAPI document and sends what it allows, what it forbids and what nobody thought of. Its known
false positives: which questions there are, and what makes a model, is not in the document, so that analysts' requests
of the right form may be refused (`positive_data_acceptance`).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.collector.access import SCOPES
from sfumato.collector.form import ReportError, ReportForm
from sfumato.collector.store import open_store
from tests.collector.serving import PLAN, Running, batch, reports, serving, token

CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
    "response_schema_conformance", "negative_data_rejection", "positive_data_acceptance", "missing_required_header",
    "unsupported_method", "use_after_free", "ensure_resource_availability", "ignored_auth",
)  # fmt: skip
SETTINGS = f"""
[checks]
{"".join(f"{name}.enabled = true" + chr(10) for name in CHECKS)}
[parameters]
"path.survey" = "town"
[[operations]]
include-path-regex = "/api/"
checks.positive_data_acceptance.enabled = false
"""


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Jobs are taken, and ended as soon as they begin: nothing here asks what comes of them."""
    with serving(str(tmp_path_factory.mktemp("store") / "store.db"), job_seconds=0.1) as running:
        yield running


def test_schemathesis_finds_no_fault(town: Running, tmp_path: Path) -> None:
    (tmp_path / "schemathesis.toml").write_text(SETTINGS)
    header = "Authorization: " + token(town.address, *SCOPES)["Authorization"]
    command = [Path(sys.executable).with_name("schemathesis"), "run", f"{town.url}/openapi.json", "-H", header]
    command += ["--max-examples", "15", "--seed", "1", "--phases", "coverage,fuzzing", "--request-timeout", "100"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    found = re.search(r"(\d+) generated", done.stdout)
    assert found and int(found[1]) > 150


WIRE = json.dumps(batch(*reports(2))).encode()
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
values = st.recursive(
    leaves, lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=8), part, max_size=3)
)
FORM = ReportForm(PLAN)


def stored(running: Running) -> int:
    with open_store(running.address).connected() as connection:
        return connection.count_reports(connection.require_survey("town").number)


@settings(max_examples=150)
@given(st.integers(0, len(WIRE) - 1), st.integers(0, 20), st.binary(max_size=12))
def test_a_damaged_body_is_refused_or_was_sound(town: Running, place: int, cut: int, put: bytes) -> None:
    _check(town, WIRE[:place] + put + WIRE[place + cut :])


@settings(max_examples=150)
@given(
    st.sampled_from(["plan", "reports", "id", "report", "invitation", "smokes", "age", "group"]), values,
    st.sampled_from(["change", "drop", "add"]),
)  # fmt: skip
def test_a_body_with_another_part_is_refused_or_was_sound(town: Running, where: str, value: Any, how: str) -> None:
    body: dict[str, Any] = batch(*reports(2))
    first = body["reports"][0]
    part = next((each for each in (body, first, first["report"]) if where in each), first)
    if how == "drop":
        part.pop(where, None)
    else:
        part[where if how == "change" else f"{where}s"] = value
    _check(town, json.dumps(body).encode())


def _check(running: Running, body: bytes) -> None:
    """Not a 5xx; what was accepted is what is stored, and could be stored."""
    before = stored(running)
    answer = running.ask("POST", "/town/reports", body)
    assert 200 <= answer.status < 500, answer.data
    said = answer.json
    if "accepted" not in said:
        assert said["reason"] and stored(running) == before
        return
    sent = {each["id"]: each["report"] for each in json.loads(body)["reports"]}
    for id in said["accepted"]:
        assert FORM.pack(sent[id])
    for each in said["refused"]:
        if "not a report" in each["reason"] or "differ" in each["reason"]:
            with pytest.raises(ReportError):
                FORM.pack(sent[each["id"]])
    assert before <= stored(running) <= before + len(said["accepted"])
