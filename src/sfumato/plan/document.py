"""The plan as a whole: read, checked, applied, and what it guarantees."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.channels.bound import BOUNDS
from sfumato.channels.identity import identity_of
from sfumato.channels.mechanism import Mechanism
from sfumato.channels.program.random_words import Key, noise_generator
from sfumato.domain import as_array, is_missing
from sfumato.guarantee import CombinedGuarantee
from sfumato.guarantee.page import page_of
from sfumato.pages import Page
from sfumato.plan.analysis import counts_of, reconstructed
from sfumato.plan.attribute import Attribute, about_attribute
from sfumato.plan.batches import ClusterJob, Progress, randomize_files
from sfumato.plan.budget import check_budget, read_budget, shares_of, takes_share, with_shares
from sfumato.plan.reports import reports_in_memory
from sfumato.plan.schema import plan_schema
from sfumato.plan.total import guarantee_of
from sfumato.prose import suggest, visible, voice
from sfumato.tables import CODE_SUFFIX, LEVEL_SUFFIX, PLAN_COLUMN, check_nesting, kind_of, too_deep

PLAN_KEYS = ("name", "description", "language", "empty", "gamma", "epsilon", "questions_each", "attributes")
SHORT = 16
"""So many digits of a plan's identity stand in files of reports."""


@dataclass(frozen=True)
class Plan:
    """The attributes of a survey, by name, in order."""

    name: str
    attributes: dict[str, Attribute]
    description: str = ""
    language: str = "en"
    empty: tuple[str, ...] = ()
    """Texts that stand for a missing answer in files, beside the empty field."""
    budget: float | None = None
    """γ that all answers of one person together keep; None: whatever they have."""
    questions_each: int | None = None
    """So many of the questions each person answers, drawn on the device; None: all. The class and what is sent in the
    clear are always asked."""

    def __post_init__(self) -> None:
        voice(self.language)
        if not self.attributes:
            raise ValueError("the plan has no attributes; add a table [attributes.<name>] for each question")
        self._check_names()
        self._check_empty()
        classes = [name for name, attribute in self.attributes.items() if attribute.role == "class"]
        if len(classes) > 1:
            raise ValueError(f'attributes {", ".join(classes)} all have role = "class"; keep one')
        if self.questions_each is not None:
            _check_questions_each(self.attributes, self.questions_each)
        if self.budget is not None:
            check_budget(self.attributes, self.budget, self.questions_each)

    def _check_names(self) -> None:
        """Every column has a name of its own, and none that files of reports use for something else."""
        _check_visible("name", self.name)
        _check_visible("description", self.description)
        for name, each in self.attributes.items():
            for what, texts in _texts(each).items():
                for text in texts:
                    _check_visible(f"attributes.{visible(name)}: {what}", text)
        names = Counter(column for each in self.attributes.values() for column in each.columns)
        for name in names:
            if name.endswith((LEVEL_SUFFIX, CODE_SUFFIX)):
                meant = "the level that people chose" if name.endswith(LEVEL_SUFFIX) else "reports as codes"
                raise ValueError(f"attributes.{name}: a column of this name holds {meant}; rename the attribute")
            if name == PLAN_COLUMN:
                raise ValueError(f"attributes.{name}: this column names the plan in files of reports; rename it")
            if names[name] > 1:
                raise ValueError(f"attributes.{name}: two attributes have a column of this name; rename one of them")

    def _check_empty(self) -> None:
        if type(self.empty) not in (tuple, list) or not all(isinstance(word, str) for word in self.empty):
            raise ValueError('empty is not a list of texts; write for example empty = ["NA"]')
        object.__setattr__(self, "empty", tuple(self.empty))
        for name, each in self.attributes.items():
            both = set(self.empty) & {str(label) for label in getattr(each.domain, "labels", ())} if self.empty else ()
            if both:
                raise ValueError(f"attributes.{name}: {min(both)!r} is a category and in empty; keep one of the two")

    # --- reading and writing ------------------------------------------------------------------------------------

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read a plan from a .toml or .json file."""
        place = Path(path)
        if not place.is_file():
            raise FileNotFoundError(f"plan {str(path)!r} is not a file; check the path")
        if place.suffix not in (".toml", ".json"):
            raise ValueError(f"plan {place.name!r} is neither .toml nor .json; rename it to what it is")
        try:
            text = place.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"{place.name} is not a text file in UTF-8; save it as one") from None
        try:
            return cls.loads(text, place.suffix[1:])
        except (ValueError, TypeError) as error:
            raise type(error)(f"{place.name}: {error}") from None

    @classmethod
    def loads(cls, text: str, form: str = "toml") -> Plan:
        """Read a plan from text in TOML or JSON."""
        try:
            spec = tomllib.loads(text) if form == "toml" else json.loads(text)
        except RecursionError:
            raise too_deep("the plan") from None
        except ValueError as error:
            raise ValueError(f"not valid {form.upper()}: {error}; is the file complete?") from None
        return cls.from_dict(spec)

    @classmethod
    def from_dict(cls, spec: Mapping[str, Any]) -> Plan:
        """A plan from plain data; every error names the key and says how to mend it."""
        if not isinstance(spec, Mapping):
            raise ValueError("a plan is a table with the keys name and attributes")
        check_nesting(spec, "the plan")
        for key in spec:
            if key not in PLAN_KEYS:
                raise ValueError(f"key {key!r} is unknown{suggest(str(key), PLAN_KEYS)}")
        found = spec.get("attributes", {})
        if not isinstance(found, Mapping):
            raise ValueError("attributes is not a table; write [attributes.<name>] for each question")
        budget = read_budget(spec) if set(BOUNDS) & set(spec) else None
        maybe = {name: part for name, part in found.items() if budget is not None or _has_weight(part)}
        waiting = {str(name): part for name, part in maybe.items() if about_attribute(name, takes_share, part, budget)}
        own = {str(name): _attribute(name, part) for name, part in found.items() if str(name) not in waiting}
        each = spec.get("questions_each")
        if each is not None and (isinstance(each, bool) or not isinstance(each, int) or each < 1):
            raise ValueError(f"questions_each = {each!r} is not a whole number from 1; so many each person answers")
        shared = {} if budget is None else with_shares(waiting, own, budget, each)
        attributes = {name: own[name] if name in own else _attribute(name, shared[name]) for name in map(str, found)}
        words = {key: str(spec[key]) for key in ("description", "language") if key in spec}
        name = str(spec.get("name", "plan"))
        return cls(name, attributes, **words, empty=spec.get("empty", ()), budget=budget, questions_each=each)

    def to_dict(self) -> dict[str, Any]:
        language = self.language if self.language != "en" else ""
        said = {"description": self.description, "language": language, "empty": list(self.empty), "gamma": self.budget}
        said["questions_each"] = self.questions_each
        head = {"name": self.name, **{key: value for key, value in said.items() if value}}
        return {**head, "attributes": {name: attribute.to_dict() for name, attribute in self.attributes.items()}}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    @staticmethod
    def schema() -> dict[str, Any]:
        """The published JSON Schema of plans."""
        return plan_schema()

    @cached_property
    def identity(self) -> str:
        """A hash of what is asked and how each answer is blurred; it travels with reports. However the plan's numbers
        are spelt, the same plan has the same identity."""
        attributes = [{"name": name, **each.canonical()} for name, each in self.attributes.items()]
        drawn = {} if self.questions_each is None else {"questions_each": self.questions_each}
        return identity_of({"name": self.name, **drawn, "attributes": attributes})

    @property
    def origin(self) -> str:
        """What the reports of this plan carry in files: the first digits of its identity, and its name."""
        return f"{self.identity[:SHORT]} {self.name}"

    def check_origin(self, origins: Any) -> None:
        """Reports that say where they come from (one text a report, missing ones say nothing) come from this plan."""
        found = as_array(origins).ravel().tolist()
        for row, origin in enumerate(found):
            if not is_missing(origin) and str(origin).split(" ")[0] != self.identity[:SHORT]:
                own = f"this plan is {self.name!r} ({self.identity[:SHORT]})"
                digits, _, name = str(origin).partition(" ")
                where = f"row {row + 1:,}: " if len(found) > 1 else ""
                raise ValueError(f"{where}made by the plan {name!r} ({digits}), and {own}; use the plan that made them")

    # --- use ----------------------------------------------------------------------------------------------------

    @property
    def channels(self) -> dict[str, Mechanism | None]:
        """The channel (None: clear) of every attribute that is not the class."""
        return {name: each.channel for name, each in self.attributes.items() if each.role != "class"}

    @property
    def drawn(self) -> tuple[str, ...]:
        """The questions of which a device draws ``questions_each``; () where each person answers all."""
        names = (name for name, each in self.attributes.items() if each.role == "attribute")
        return () if self.questions_each is None else tuple(names)

    @cached_property
    def columns(self) -> dict[str, Attribute]:
        """The columns of a table of answers, each with its attribute."""
        return {column: each for each in self.attributes.values() for column in each.columns}

    @property
    def headings(self) -> dict[str, str]:
        """The text of every question; the attribute's name where it has none."""
        return {name: each.question or name for name, each in self.attributes.items()}

    @property
    def column_channels(self) -> dict[str, Mechanism | None]:
        """The channel of every column; None where several numbers were blurred together."""
        return {column: each.channel if column == each.name else None for column, each in self.columns.items()}

    @property
    def target(self) -> str | None:
        """The name of the class attribute."""
        return next((name for name, each in self.attributes.items() if each.role == "class"), None)

    def randomize(
        self, table: Any, rng: np.random.Generator | int | None = None, *, key: Key | str = None,
        levels: Mapping[str, Any] | None = None, to: str | Path | None = None, codes: bool = False,
        progress: Progress | None = None, engine: str | None = None, place: str | None = None,
    ) -> Any:
        """Reports for a table of people, in the same kind of table (pandas, Polars, PyArrow, DuckDB, or a mapping).

        A mapping with one person's answers gives a mapping with their reports; with ``key``, the device's secret, the
        same answers always give the same reports. For a table of people ``key`` names its column of secrets, one a
        person, which is not sent. Columns that the plan does not name are refused, and nothing but columns leaves: no
        index, attributes or metadata. Where people choose a level, it is read from the column ``<name>.level`` or from
        ``levels`` (a level's name, or shares of the levels to draw from in a simulation), else it is the default; the
        reports carry it in ``<name>.level``.

        Files go to a file: ``plan.randomize("people/*.parquet", to="reports.parquet")`` reads paths, patterns or
        folders, block by block in bounded memory, writes the reports whole or not at all and returns how many there
        are; with ``codes`` as ``<name>.code``, and ``progress`` is called with (rows done, rows in all).

        A Spark frame becomes a Spark frame, and files become a folder of them with ``engine="spark://host:7077"``: by a
        job whose noise is keyed by a secret of its own and by each record's number in the files (or in the column
        ``place``), so that a record that the cluster runs again gives the same report.
        """
        generator = None if rng is None else noise_generator(rng)
        if to is None and isinstance(table, (str, Path)):
            raise ValueError(f"{str(table)!r} names files; say with to= which file their reports go to")
        on_cluster = engine is not None or (not isinstance(table, str) and kind_of(table) == "spark")
        if key is not None and (on_cluster or to is not None):
            raise ValueError("key is for tables in memory; leave it out, and every report has noise of its own")
        if on_cluster:
            job = ClusterJob(self, codes, levels or {}, place, generator)
            return job.of_frame(table) if to is None else job.of_files(table, engine, to)
        if to is not None:
            return randomize_files(self, table, to, rng=generator, levels=levels, codes=codes, progress=progress)

        return reports_in_memory(self, table, generator, key, levels or {})

    def check_columns(self, columns: list[str]) -> None:
        """Every column is in the plan (or the level of one that is) and every attribute is in the table."""
        asked = self.columns
        if PLAN_COLUMN in columns:
            raise ValueError(f"column {PLAN_COLUMN!r} says that these are reports already; give the true answers")
        for column in columns:
            if column in asked:
                continue
            chooser = asked.get(str(column).removesuffix(LEVEL_SUFFIX))
            if chooser is None or not chooser.has_levels:
                hint = suggest(str(column), asked)
                close = hint if hint.startswith("; did you mean") else ""
                raise ValueError(f'column {column!r} has no channel{close}; drop it or declare it with role = "clear"')
        for name in asked:
            if name not in columns:
                raise ValueError(f"column {name!r} of the plan is not in the table; add it, or drop it from the plan")

    def counts(self, table: Any, *, by: str | None = None, weights: Any = None) -> Any:
        """The counts of every blurred attribute, by name; ``by``: apart by the class in this column.

        ``table``: reports of this plan, as a table, a path, … or as `Reports`. ``weights``: how many people each report
        stands for, an array or the name of a column.
        """
        if by is not None and not isinstance(by, str):
            raise TypeError("by= names a column of the table; put the classes into one")
        return counts_of(self, table, by, weights)

    def reconstruct(
        self, table: Any, intervals: Any = None, method: str = "smooth", *, by: str | None = None, weights: Any = None
    ) -> Any:
        """The distribution of every blurred attribute, by name, from reports (or from ``plan.counts`` of them)."""
        return reconstructed(self, table, intervals, method, by, weights)

    def guarantee(self, prior: Mapping[str, Any] | None = None, *, truth: Any = None) -> CombinedGuarantee:
        """What everything that leaves one person's device reveals, in the plan's language.

        ``prior``: beliefs by attribute. ``truth``: a data owner's own table of true records, from which is counted what
        answers in the clear tell about blurred ones; without it a bound is stated only beyond what they tell.
        """
        return guarantee_of(self.attributes, prior or {}, truth, self.language, self.drawn, self.questions_each)

    @property
    def shares(self) -> dict[str, float]:
        """ln γ of every blurred attribute as a share of that of the plan; {} where the plan states none."""
        return {} if self.budget is None else shares_of(self.attributes, self.budget)

    def page(self, *, truth: Any = None) -> Page:
        """The page for the people who are asked: question by question what is sent, what it can reveal at worst, and
        what is visible besides; ``.write(path)`` writes it."""
        return page_of(self.headings, self.guarantee(truth=truth))


def _has_weight(part: Any) -> bool:
    return isinstance(part, Mapping) and "weight" in part


def _attribute(name: Any, part: Any) -> Attribute:
    """An attribute of the plan; an error says of which."""
    return about_attribute(name, Attribute.from_dict, str(name), part)  # type: ignore[no-any-return]


def _texts(each: Attribute) -> dict[str, Iterable[Any]]:
    """All that is shown of an attribute."""
    labels = () if isinstance(getattr(each.domain, "labels", ()), range) else getattr(each.domain, "labels", ())
    levels = [] if each.channel is None else list(each.channel.levels)
    return {"its name": (each.name, *each.columns), "a label": labels, "a level": levels, "question": (each.question,)}


def _check_visible(what: str, text: Any) -> None:
    if isinstance(text, str) and visible(text) != text:
        raise ValueError(f"{what} holds a character that cannot be shown ({visible(text)[:60]}); leave it out")


def _check_questions_each(attributes: Mapping[str, Attribute], each: Any) -> None:
    """A person can answer so many of the questions, and leave out any of the others."""
    drawn = [name for name, one in attributes.items() if one.role == "attribute"]
    if isinstance(each, bool) or not isinstance(each, int) or not 1 <= each < len(drawn):
        most = f"a number from 1 to {len(drawn) - 1}" if len(drawn) > 1 else "left out where there is one question"
        raise ValueError(f"questions_each = {each!r} is not {most}; each person answers so many of {len(drawn)}")
    needed = [name for name in drawn if getattr(attributes[name].channel, "missing", "pass") == "refuse"]
    if needed:
        raise ValueError(f'attributes.{needed[0]}: missing = "refuse" and questions_each exclude each other; drop one')
