"""What a check of an implementation says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SKIPPED, PASSED, FAILED = "skipped", "passed", "failed"


@dataclass(frozen=True)
class Check:
    """One claim about an implementation, tried on its own reports; ``text`` says what was found."""

    name: str
    attribute: str
    outcome: str
    text: str
    false_alarm: float = 0.0
    numbers: dict[str, Any] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return self.outcome != FAILED

    def __str__(self) -> str:
        mark = {PASSED: "ok", FAILED: "BROKEN", SKIPPED: "not tried"}[self.outcome]
        return f"[{mark}] {self.attribute}, {self.name}: {self.text}"

    def to_dict(self) -> dict[str, Any]:
        names = ("name", "attribute", "outcome", "text", "false_alarm")
        return {**{name: getattr(self, name) for name in names}, **self.numbers}


def outcome(passed: bool) -> str:
    return PASSED if passed else FAILED
