"""The published schema is the one that the channels write."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sfumato.client import survey_schema
from sfumato.plan import plan_schema, program_schema

# To publish anew: python tests/plan/test_schema.py
DOCS = Path(__file__).parents[2] / "docs"
PUBLISHED = {
    "plan.schema.json": plan_schema,
    "program.schema.json": program_schema,
    "survey.schema.json": survey_schema,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_schema_is_current(name: str) -> None:
    assert json.loads((DOCS / name).read_text(encoding="utf-8")) == PUBLISHED[name]()


if __name__ == "__main__":
    for name, schema in PUBLISHED.items():
        (DOCS / name).write_text(json.dumps(schema(), indent=2) + "\n", encoding="utf-8")
