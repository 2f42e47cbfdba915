"""What learning asks of reports: questions whose answers for parts of the people add up to the answer for all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.counts.reports import Reports


class Question(ABC):
    """Asked by `Reports.ask`; it travels to where the reports are, so it must be picklable."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that it reads; class, weight and place are always there."""

    @abstractmethod
    def of(self, part: Reports) -> Any:
        """The answer for some people, whose reports are in memory."""

    def merged(self, answers: Sequence[Any]) -> Any:
        """The answer for all, from those for each part of the people; they are added up unless a question says how."""
        return reduce(add, answers)
