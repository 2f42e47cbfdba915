"""The published schema is the one that the channels write."""

from __future__ import annotations

import json
from pathlib import Path

from sfumato.plan import plan_schema

# To publish anew: python -c "import json, sfumato; print(json.dumps(sfumato.Plan.schema(), indent=2))"
PUBLISHED = Path(__file__).parents[2] / "docs" / "plan.schema.json"


def test_the_published_schema_is_current() -> None:
    assert json.loads(PUBLISHED.read_text(encoding="utf-8")) == plan_schema()
