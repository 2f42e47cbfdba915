"""`Plan`: reading, checking and writing it, blurring a table by it, and what it guarantees."""

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
"""Hexadecimal digits of a plan's identity that files of reports carry (docs/decisions/0012): 64 bits, so that two plans
agree by chance once in 2⁶⁴."""


@dataclass(frozen=True)
class Plan:
    """What is asked of people and how each answer is blurred; devices and the collector read the same plan.

    ``name`` and ``description``: texts that people read. ``attributes``: the questions by name, in order. ``language``:
    that of the sentences for people ("en", …). ``empty``: texts that stand for a missing answer in files, beside the
    empty field. ``budget``: the γ that all answers of one person together must keep (None: no bound).
    ``questions_each``: how many of the questions each person answers, drawn on the device (None: all). Always asked are
    the question whose answer learners predict (role "class") and those sent as they are, not blurred (role "clear").

    >>> import sfumato as sf
    >>> plan = sf.Plan.loads('''
    ... name = "health"
    ... [attributes.smokes]
    ... categories = ["yes", "no"]
    ... channel = "randomized-response"
    ... gamma = 19
    ... ''')
    >>> reports = plan.randomize({"smokes": ["yes", "no", "no"]}, rng=1)
    >>> len(reports["smokes"]), float(plan.guarantee().gamma)
    (3, 19.0)
    """

    name: str
    attributes: dict[str, Attribute]
    description: str = ""
    language: str = "en"
    empty: tuple[str, ...] = ()
    budget: float | None = None
    questions_each: int | None = None

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
        """Raise ValueError for names of columns that clash, and for texts with characters that cannot be shown.

        A name clashes if it occurs twice, or if files of reports use it for something else.
        """
        _check_visible("name", self.name)
        _check_visible("description", self.description)
        for name, attribute in self.attributes.items():
            for what, texts in _texts(attribute).items():
                for text in texts:
                    _check_visible(f"attributes.{visible(name)}: {what}", text)
        names = Counter(column for attribute in self.attributes.values() for column in attribute.columns)
        for name in names:
            if name.endswith((LEVEL_SUFFIX, CODE_SUFFIX)):
                meant = "the level that people chose" if name.endswith(LEVEL_SUFFIX) else "reports as codes"
                raise ValueError(f"attributes.{name}: a column of this name holds {meant}; rename the attribute")
            if name == PLAN_COLUMN:
                raise ValueError(f"attributes.{name}: this column names the plan in files of reports; rename it")
            if names[name] > 1:
                raise ValueError(f"attributes.{name}: two attributes have a column of this name; rename one of them")

    def _check_empty(self) -> None:
        """Raise ValueError unless the texts that mean a missing answer (``empty``) are a list, and none is a category.
        """
        if type(self.empty) not in (tuple, list) or not all(isinstance(word, str) for word in self.empty):
            raise ValueError('empty is not a list of texts; write for example empty = ["NA"]')
        object.__setattr__(self, "empty", tuple(self.empty))
        for name, attribute in self.attributes.items():
            labels = getattr(attribute.domain, "labels", ()) if self.empty else ()
            both = set(self.empty) & {str(label) for label in labels}
            if both:
                raise ValueError(f"attributes.{name}: {min(both)!r} is a category and in empty; keep one of the two")

    # --- reading and writing ------------------------------------------------------------------------------------

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read a plan from a file.

        ``path``: a .toml or .json file.
        """
        file = Path(path)
        if not file.is_file():
            raise FileNotFoundError(f"plan {str(path)!r} is not a file; check the path")
        if file.suffix not in (".toml", ".json"):
            raise ValueError(f"plan {file.name!r} is neither .toml nor .json; rename it to what it is")
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise ValueError(f"{file.name} is not a text file in UTF-8; save it as one") from None
        try:
            return cls.loads(text, file.suffix[1:])
        except (ValueError, TypeError) as error:
            raise type(error)(f"{file.name}: {error}") from None

    @classmethod
    def loads(cls, text: str, form: str = "toml") -> Plan:
        """Read a plan from a text.

        ``text``: the plan. ``form``: "toml" or "json".
        """
        try:
            spec = tomllib.loads(text) if form == "toml" else json.loads(text)
        except RecursionError:
            raise too_deep("the plan") from None
        except ValueError as error:
            raise ValueError(f"not valid {form.upper()}: {error}; is the file complete?") from None
        return cls.from_dict(spec)

    @classmethod
    def from_dict(cls, spec: Mapping[str, Any]) -> Plan:
        """Make a plan from plain data; every error names the key and says how to mend it.

        ``spec``: the keys of a plan file, as nested dictionaries.
        """
        if not isinstance(spec, Mapping):
            raise ValueError("a plan is a table with the keys name and attributes")
        check_nesting(spec, "the plan")
        for key in spec:
            if key not in PLAN_KEYS:
                raise ValueError(f"key {key!r} is unknown{suggest(str(key), PLAN_KEYS)}")
        specs = spec.get("attributes", {})
        if not isinstance(specs, Mapping):
            raise ValueError("attributes is not a table; write [attributes.<name>] for each question")
        budget = read_budget(spec) if set(BOUNDS) & set(spec) else None
        candidates = {name: part for name, part in specs.items() if budget is not None or _has_weight(part)}
        shared = {str(key): part for key, part in candidates.items() if about_attribute(key, takes_share, part, budget)}
        own = {str(name): _attribute(name, part) for name, part in specs.items() if str(name) not in shared}
        each = spec.get("questions_each")
        if each is not None and (isinstance(each, bool) or not isinstance(each, int) or each < 1):
            raise ValueError(f"questions_each = {each!r} is not a whole number from 1; so many each person answers")
        shared = {} if budget is None else with_shares(shared, own, budget, each)
        attributes = {name: own[name] if name in own else _attribute(name, shared[name]) for name in map(str, specs)}
        words = {key: str(spec[key]) for key in ("description", "language") if key in spec}
        name = str(spec.get("name", "plan"))
        return cls(name, attributes, **words, empty=spec.get("empty", ()), budget=budget, questions_each=each)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data, from which `from_dict` makes the same plan."""
        language = self.language if self.language != "en" else ""
        head = {"description": self.description, "language": language, "empty": list(self.empty), "gamma": self.budget}
        head["questions_each"] = self.questions_each
        head = {"name": self.name, **{key: value for key, value in head.items() if value}}
        return {**head, "attributes": {name: attribute.to_dict() for name, attribute in self.attributes.items()}}

    def to_json(self) -> str:
        """Return the plan as a text in JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    @staticmethod
    def schema() -> dict[str, Any]:
        """Return the published JSON Schema of plans."""
        return plan_schema()

    @cached_property
    def identity(self) -> str:
        """A hash of what is asked and how each answer is blurred (64 hexadecimal digits).

        Reports carry it. The same plan has the same identity, however its numbers are spelt.
        """
        attributes = [{"name": name, **attribute.canonical()} for name, attribute in self.attributes.items()]
        drawn = {} if self.questions_each is None else {"questions_each": self.questions_each}
        return identity_of({"name": self.name, **drawn, "attributes": attributes})

    @property
    def origin(self) -> str:
        """The text that names this plan in files of reports: the first digits of its identity, and its name."""
        return f"{self.identity[:SHORT]} {self.name}"

    def check_origin(self, origins: Any) -> None:
        """Raise ValueError if a report was made by another plan.

        ``origins``: the text that each report carries (`origin` of its plan); missing ones are not checked.
        """
        rows = as_array(origins).ravel().tolist()
        for row, origin in enumerate(rows):
            if not is_missing(origin) and str(origin).split(" ")[0] != self.identity[:SHORT]:
                own = f"this plan is {self.name!r} ({self.identity[:SHORT]})"
                digits, _, name = str(origin).partition(" ")
                where = f"row {row + 1:,}: " if len(rows) > 1 else ""
                raise ValueError(f"{where}made by the plan {name!r} ({digits}), and {own}; use the plan that made them")

    # --- use ----------------------------------------------------------------------------------------------------

    @property
    def channels(self) -> dict[str, Mechanism | None]:
        """The channel of every question but the one that learners predict, by name; None: it is sent as it is."""
        return {name: attribute.channel for name, attribute in self.attributes.items() if attribute.role != "class"}

    @property
    def drawn(self) -> tuple[str, ...]:
        """The names of the questions of which a device draws ``questions_each``; () where each person answers all."""
        names = (name for name, attribute in self.attributes.items() if attribute.role == "attribute")
        return () if self.questions_each is None else tuple(names)

    @cached_property
    def columns(self) -> dict[str, Attribute]:
        """The question (`Attribute`) that each column of a table of answers belongs to, by the column's name."""
        return {column: attribute for attribute in self.attributes.values() for column in attribute.columns}

    @property
    def headings(self) -> dict[str, str]:
        """The text of every question as people read it, by the question's name; the name where it has no text."""
        return {name: attribute.question or name for name, attribute in self.attributes.items()}

    @property
    def column_channels(self) -> dict[str, Mechanism | None]:
        """The channel of every column by its name; None where it is not blurred, or blurred with others together."""
        return {name: each.channel if name == each.name else None for name, each in self.columns.items()}

    @property
    def target(self) -> str | None:
        """The name of the question whose answer learners predict (role "class"), None where there is none."""
        return next((name for name, attribute in self.attributes.items() if attribute.role == "class"), None)

    def randomize(
        self, table: Any, rng: np.random.Generator | int | None = None, *, key: Key | str = None,
        levels: Mapping[str, Any] | None = None, to: str | Path | None = None, codes: bool = False,
        progress: Progress | None = None, engine: str | None = None, place: str | None = None,
    ) -> Any:
        """Blur a table of people's answers; return their reports in the same kind of table.

        ``table``: pandas, Polars, PyArrow, DuckDB, a Spark frame, or a mapping of columns or of one person's answers;
        with ``to`` also paths, patterns and folders. Columns that the plan does not name are refused, and nothing but
        columns leaves: no index, attributes or metadata.
        ``rng``: a NumPy generator or a seed for simulations; None: secure random numbers.
        ``key``: for one person's answers the device's secret, with which the same answers always give the same reports;
        for a table of people the name of its column of secrets, one a person, which is not sent. None: fresh noise.
        ``levels``: by attribute the level that people chose (a level's name, or in a simulation shares of the levels to
        draw from), where the table has no column ``<name>.level``; else it is the default. Reports carry the level in
        ``<name>.level``.
        ``to``: the file that the reports are written to, whole or not at all; files are read block by block in bounded
        memory, and the number of reports is returned.
        ``codes``: write report codes, ``<name>.code``, instead of values.
        ``progress``: called with (rows done, rows in all).
        ``engine``: the address of a Spark cluster ("spark://host:7077") that reads the files and writes a folder of
        them. The noise of a job on a cluster follows from a secret of its own and each record's number in the files, so
        that a record that the cluster runs again gives the same report.
        ``place``: the column that holds the records' numbers, where a Spark frame has none of its own.

        >>> plan = Plan.from_dict({"attributes": {"smokes": {
        ...     "categories": ["yes", "no"], "channel": "randomized-response", "gamma": 19}}})
        >>> sorted(plan.randomize({"smokes": "yes"}, key=bytes(32)))  # one person's device
        ['smokes']
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
        """Raise ValueError unless a table of answers has the plan's columns, levels of them, and no others.

        ``columns``: the names of the table's columns.
        """
        attribute_of = self.columns
        if PLAN_COLUMN in columns:
            raise ValueError(f"column {PLAN_COLUMN!r} says that these are reports already; give the true answers")
        for column in columns:
            if column in attribute_of:
                continue
            chooser = attribute_of.get(str(column).removesuffix(LEVEL_SUFFIX))
            if chooser is None or not chooser.has_levels:
                hint = suggest(str(column), attribute_of)
                close = hint if hint.startswith("; did you mean") else ""
                raise ValueError(f'column {column!r} has no channel{close}; drop it or declare it with role = "clear"')
        for name in attribute_of:
            if name not in columns:
                raise ValueError(f"column {name!r} of the plan is not in the table; add it, or drop it from the plan")

    def counts(self, table: Any, *, by: str | None = None, weights: Any = None) -> Any:
        """Count how many reports of every blurred question have each value; return a dict of `Counts` by name.

        ``table``: reports of this plan, as a table, a path, … or as `Reports`. ``by``: the name of a column whose
        classes are counted apart. ``weights``: how many people each report stands for, an array or the name of a
        column.

        >>> plan = Plan.from_dict({"attributes": {"smokes": {
        ...     "categories": ["yes", "no"], "channel": "randomized-response", "gamma": 19}}})
        >>> plan.counts({"smokes": ["yes", "no", "no"]})["smokes"].histogram.tolist()
        [1, 2]
        """
        if by is not None and not isinstance(by, str):
            raise TypeError("by= names a column of the table; put the classes into one")
        return counts_of(self, table, by, weights)

    def reconstruct(
        self, table: Any, intervals: Any = None, method: str = "smooth", *, by: str | None = None, weights: Any = None
    ) -> Any:
        """Reconstruct the distribution of true answers to every blurred question; return a dict of `Estimate` by name.

        ``table``: reports of this plan, or the counts of them (`counts`). ``intervals``: how many intervals the numbers
        are estimated in, or their edges; for all attributes or as a mapping by name (None: as many as suit).
        ``method``: "smooth", "em", "as00" or "inverse", see `sf.reconstruct`. ``by``: the name of a column whose
        classes are estimated apart. ``weights``: how many people each report stands for, an array or the name of a
        column.
        """
        return reconstructed(self, table, intervals, method, by, weights)

    def guarantee(self, prior: Mapping[str, Any] | None = None, *, truth: Any = None) -> CombinedGuarantee:
        """Return what all answers of one person together reveal, in numbers and in sentences of the plan's language.

        ``prior``: by attribute, what is believed about the answer beforehand (None: nothing). ``truth``: a data owner's
        own table of true records, from which it is counted what clear answers reveal about blurred ones; without it the
        bound is on what reports reveal beyond the clear answers.
        """
        return guarantee_of(self.attributes, prior or {}, truth, self.language, self.drawn, self.questions_each)

    @property
    def shares(self) -> dict[str, float]:
        """The share of the plan's bound that each blurred question takes, by name; {} where there is no bound.

            ln γ(question)/ln γ(plan),   γ the largest factor on the odds
        """
        return {} if self.budget is None else shares_of(self.attributes, self.budget)

    def page(self, *, truth: Any = None) -> Page:
        """Return an HTML page for the people who are asked: what each question sends and what that can reveal at worst.

        ``truth``: as in `guarantee`. ``.write(path)`` writes the page to a file.
        """
        return page_of(self.headings, self.guarantee(truth=truth))


def _has_weight(part: Any) -> bool:
    """Return whether a question's part of a plan file states a weight, how much it matters where a bound is shared."""
    return isinstance(part, Mapping) and "weight" in part


def _attribute(name: Any, part: Any) -> Attribute:
    """Make one question of a plan from ``part``, its keys in a plan file; errors begin with its ``name``."""
    return about_attribute(name, Attribute.from_dict, str(name), part)  # type: ignore[no-any-return]


def _texts(attribute: Attribute) -> dict[str, Iterable[Any]]:
    """Return all texts of one question that people see, as lists by what they are ("a label", "question")."""
    labels = getattr(attribute.domain, "labels", ())
    labels = () if isinstance(labels, range) else labels
    levels = [] if attribute.channel is None else list(attribute.channel.levels)
    names = (attribute.name, *attribute.columns)
    return {"its name": names, "a label": labels, "a level": levels, "question": (attribute.question,)}


def _check_visible(what: str, text: Any) -> None:
    """Raise ValueError if a text has a character that cannot be shown; ``what`` names the text in the error."""
    if isinstance(text, str) and visible(text) != text:
        raise ValueError(f"{what} holds a character that cannot be shown ({visible(text)[:60]}); leave it out")


def _check_questions_each(attributes: Mapping[str, Attribute], each: Any) -> None:
    """Raise ValueError unless a device can draw ``each`` of the questions that a person is to answer.

    There must be more questions than that, and none may refuse to be left out (missing = "refuse").
    """
    drawn = [name for name, attribute in attributes.items() if attribute.role == "attribute"]
    if isinstance(each, bool) or not isinstance(each, int) or not 1 <= each < len(drawn):
        most = f"a number from 1 to {len(drawn) - 1}" if len(drawn) > 1 else "left out where there is one question"
        raise ValueError(f"questions_each = {each!r} is not {most}; each person answers so many of {len(drawn)}")
    needed = [name for name in drawn if getattr(attributes[name].channel, "missing", "pass") == "refuse"]
    if needed:
        raise ValueError(f'attributes.{needed[0]}: missing = "refuse" and questions_each exclude each other; drop one')
