"""A survey with all that is answered of it, made once: what a device reads, and the respondent's page."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sfumato.client import survey
from sfumato.client.page import MODEL, page_texts
from sfumato.collector.form import ReportForm
from sfumato.collector.store import Survey
from sfumato.prose import json_text

SUBMIT = "reports"
"""Where reports are sent, beside the document that says so."""


@dataclass(frozen=True)
class ServedSurvey:
    """A survey of the store, and its documents as they go over the wire."""

    survey: Survey

    @cached_property
    def form(self) -> ReportForm:
        """What checks and packs its reports."""
        return ReportForm(self.survey.plan)

    @cached_property
    def identity(self) -> str:
        """The identity of its plan."""
        return self.survey.plan.identity

    @cached_property
    def files(self) -> dict[str, bytes]:
        """The respondent's page, file by file; none where a plan does not fit onto a page."""
        try:
            texts = page_texts(self.survey.plan, submit=SUBMIT, model=self.survey.model)
        except ValueError:
            return {}
        return {name: text.encode() for name, text in texts.items()}

    @cached_property
    def _document(self) -> dict[str, Any]:
        return survey(self.survey.plan, submit=SUBMIT, model=MODEL if self.survey.model else None)

    @cached_property
    def survey_json(self) -> bytes:
        """What a device reads."""
        return json_text(self._document).encode()

    @cached_property
    def plan(self) -> bytes:
        """The plan, its identity and whether reports are taken."""
        head = {"identity": self.identity, "state": self.survey.state, "plan": self.survey.plan.to_dict()}
        return json_text(head).encode()

    @cached_property
    def guarantee(self) -> bytes:
        """What reports can reveal, together and question by question."""
        levels = {each["name"]: each["levels"] for each in self._document["questions"]}
        together = self._document["together"]
        return json_text({"plan": self.identity, "together": together, "questions": levels}).encode()

    @cached_property
    def program(self) -> bytes:
        """What devices execute, question by question."""
        programs = {
            each["name"]: {"identity": each["mechanism"], "program": each["program"]}
            for each in self._document["questions"]
        }
        return json_text({"plan": self.identity, "programs": programs}).encode()

    def prepare(self) -> None:
        """Make everything now, so that nobody who asks has to wait for it."""
        for part in ("form", "identity", "files", "survey_json", "plan", "guarantee", "program"):
            getattr(self, part)
