"""A survey with the documents that are served of it, each made once: survey.json, the plan, the respondent's page."""

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
"""The address to which reports are sent, relative to that of survey.json, which names it."""


@dataclass(frozen=True)
class ServedSurvey:
    """A survey of the store with the documents that are served of it, as bytes; each is made when it is first read."""

    survey: Survey

    @cached_property
    def form(self) -> ReportForm:
        """The form that checks the survey's reports and packs them into rows."""
        return ReportForm(self.survey.plan)

    @cached_property
    def identity(self) -> str:
        """The identity of the survey's plan, a hash by which devices know it."""
        return self.survey.plan.identity

    @cached_property
    def files(self) -> dict[str, bytes]:
        """The files of the page on which people answer, by name; empty if the plan cannot be asked on a page."""
        try:
            texts = page_texts(self.survey.plan, submit=SUBMIT, model=self.survey.model)
        except ValueError:
            return {}
        return {name: text.encode() for name, text in texts.items()}

    @cached_property
    def _document(self) -> dict[str, Any]:
        """The survey as devices read it, as a dict: questions, strengths of blur, drawing programs, addresses."""
        return survey(self.survey.plan, submit=SUBMIT, model=MODEL if self.survey.model else None)

    @cached_property
    def survey_json(self) -> bytes:
        """The survey as devices read it (questions, strengths of blur, drawing programs), as JSON bytes."""
        return json_text(self._document).encode()

    @cached_property
    def plan(self) -> bytes:
        """The plan, its identity, and whether the survey is open, as JSON bytes."""
        head = {"identity": self.identity, "state": self.survey.state, "plan": self.survey.plan.to_dict()}
        return json_text(head).encode()

    @cached_property
    def guarantee(self) -> bytes:
        """What reports can reveal, question by question and all together, as JSON bytes."""
        levels = {each["name"]: each["levels"] for each in self._document["questions"]}
        together = self._document["together"]
        return json_text({"plan": self.identity, "together": together, "questions": levels}).encode()

    @cached_property
    def program(self) -> bytes:
        """The programs by which devices draw their reports, by question, as JSON bytes."""
        programs = {
            each["name"]: {"identity": each["mechanism"], "program": each["program"]}
            for each in self._document["questions"]
        }
        return json_text({"plan": self.identity, "programs": programs}).encode()

    def prepare(self) -> None:
        """Make all documents of the survey now, so that no request has to wait for them."""
        for document in ("form", "identity", "files", "survey_json", "plan", "guarantee", "program"):
            getattr(self, document)
