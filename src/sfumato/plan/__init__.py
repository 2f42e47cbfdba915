"""Plans: what is asked and how each answer is blurred. People's devices and the collector read the same file."""

from sfumato.plan.attribute import Attribute
from sfumato.plan.batches import ReportMaker
from sfumato.plan.document import Plan
from sfumato.plan.schema import plan_schema, program_schema
from sfumato.plan.survey import survey, survey_schema

__all__ = ["Attribute", "Plan", "ReportMaker", "plan_schema", "program_schema", "survey", "survey_schema"]
