"""A device's ledger: the reports it sent to each collector, what they reveal together, and how much a person permits.

A ledger is plain JSON, so that a file and a browser's storage hold the same:

    {"ledger": 1,
     "limit": {"gamma": "361" or null, "reports": 1},
     "told": [{"collector": …, "survey": …, "attribute": …, "domain": {…}, "mechanism": identity or null, "level": …,
               "mark": …, "report": …, "gamma": "19" or null, "day": "2026-05-12"}, …],
     "receipts": [{"collector": …, "survey": …, "plan": identity, "id": …, "digest": …, "day": …}, …]}

γ is a fraction as text, null where there is no bound; ``mechanism`` is null for what is sent as it is; ``mark`` is a
keyed hash of the true value, which tells whether it has changed and nothing else. ``receipts`` are the ids under which
whole plans were answered; a ledger without any has no such key.
``docs/how-to/keep-answers-consistent.md`` explains every key.
"""

from __future__ import annotations

import json
import math
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar

from sfumato.channels.identity import identity_of
from sfumato.guarantee.amplification import breach_gamma, grown
from sfumato.prose import Voice, voice
from sfumato.tables import write_whole

VERSION = 1
"""The version of the format above, the same in ``client/static/ledger.js``; another one is refused."""
FRACTION = re.compile("[0-9]+(/0*[1-9][0-9]*)?")
LONGEST_GAMMA = 4000
"""The most characters of a γ as text. ``gamma_text`` writes a few hundred at most (numbers of 1,024 bits); a longer one
in a file was not written by a device, and would only take time to multiply."""


class LedgerError(ValueError):
    """The error raised for a ledger that cannot be read or written; its file is left as it is."""


class LimitError(ValueError):
    """The error raised for an answer that would reveal more than the person's limit permits; nothing was answered."""


@dataclass(frozen=True)
class Limit:
    """A person's limit on what any one collector may learn from all reports that this device sends to it.

    ``gamma``: the largest factor by which all its reports together may multiply the odds of anything (None: no limit);
    ``reports``: how many reports it may have of one attribute.

    >>> print(Limit.of(belief=(0.05, 0.5)).gamma)
    19
    """

    gamma: Fraction | None = None
    reports: int = 1

    @classmethod
    def of(
        cls, gamma: float | Fraction | None = None, *, epsilon: float | None = None,
        belief: tuple[float, float] | None = None, reports: int = 1,
    ) -> Limit:
        """Make a limit from γ (the largest factor on the odds), from ε or from beliefs; else γ has no limit.

        ``gamma``: γ itself, from 1; ``epsilon``: ε = ln γ; ``belief``: (ρ1, ρ2), where a belief of ρ1 may not grow
        beyond ρ2: (0.05, 0.5) is 5 % to 50 %. ``reports``: how many reports of one attribute a collector may have.
        """
        if sum(bound is not None for bound in (gamma, epsilon, belief)) > 1:
            raise ValueError("give one of gamma=, epsilon= and belief=; they are three ways to say the same")
        if belief is not None:
            low, high = (Fraction(repr(float(share))) for share in belief)
            gamma = breach_gamma(low, high)
        elif epsilon is not None:
            gamma = math.exp(epsilon)
        if gamma is not None and not 1 <= gamma < math.inf:
            raise ValueError(f"the limit γ = {float(gamma):g} is not a number from 1; give for example 19")
        if isinstance(reports, bool) or not isinstance(reports, int) or reports < 1:
            raise ValueError(f"reports={reports!r} is not a count; give 1 or more")
        return cls(None if gamma is None else Fraction(repr(gamma) if isinstance(gamma, float) else gamma), reports)

    def describe(self, say: Voice) -> str:
        """Write the limit as a phrase, such as "odds multiplied by at most 19", in the language of the voice ``say``.
        """
        odds = [] if self.gamma is None else [say("limit.odds", gamma=say.number(self.gamma))]
        return say.listed([*odds, say("limit.reports", count=self.reports)])

    def __str__(self) -> str:
        return self.describe(voice("en"))


@dataclass(frozen=True)
class LedgerEntry:
    """One report of one attribute as the ledger remembers it: to whom it went, how it was drawn, what it can reveal."""

    collector: str  # who receives it, as an address
    survey: str  # the plan's name
    attribute: str
    domain: dict[str, Any]  # the specification of the attribute's domain
    mechanism: str | None  # the identity of what drew the report; None: the answer was sent as it is
    level: str | None  # the level that the person chose; None where there is none
    mark: str  # a keyed hash of the true value
    report: Any  # the report as plain data; None: a missing answer
    gamma: str | None  # γ of the report, a fraction as text; None: no bound
    day: str  # when it was drawn, as 2026-05-12

    @cached_property
    def exact_gamma(self) -> Fraction | None:
        """The largest factor by which the report multiplies odds (γ), as an exact fraction; None: no bound."""
        return None if self.gamma is None else Fraction(self.gamma)

    @property
    def answered(self) -> bool:
        """Whether the person gave an answer, so that the report is more than a gap."""
        return self.report is not None

    @cached_property
    def domain_identity(self) -> str:
        """The hash of the attribute's domain, equal where the possible answers are."""
        return identity_of(self.domain)


@dataclass(frozen=True)
class Receipt:
    """The record of one plan answered as a whole: the id of its report, and a hash to recognise the same report by."""

    collector: str
    survey: str
    plan: str  # the plan's identity
    id: str
    digest: str  # the first 32 hexadecimal digits of the report's hash
    day: str


@dataclass(frozen=True)
class Total:
    """What several reports of one person reveal together; ``str()`` says it in the ``language`` "en", "de" or "fr".

    ``entries``: the ledger's entries of these reports.
    """

    entries: tuple[LedgerEntry, ...]
    language: str = "en"

    @property
    def gamma(self) -> Fraction | None:
        """The largest factor by which all the reports together multiply odds: the product of their γ; None: no bound.
        """
        gammas = [entry.exact_gamma for entry in self.entries]
        return None if None in gammas else math.prod((each for each in gammas if each is not None), start=Fraction(1))

    @property
    def changed(self) -> list[str]:
        """The names of attributes of which one collector has reports of different values, which proves a change."""
        marks: dict[tuple[str, str, str], set[str]] = {}
        for entry in self.entries:
            marks.setdefault((entry.collector, entry.attribute, entry.domain_identity), set()).add(entry.mark)
        return list(dict.fromkeys(name for (_, name, _), different in marks.items() if len(different) > 1))

    def to_dict(self) -> dict[str, Any]:
        """Return what the reports reveal together as a dict for JSON: "gamma", "words" and "told".

        "gamma": the largest factor on the odds, a fraction as text (None: no bound); "words": a list of sentences;
        "told": for each report to whom it went, for which survey and attribute, its level (strength of blur), its own γ
        and its day.
        """
        kept = ("collector", "survey", "attribute", "level", "gamma", "day")
        told = [{name: getattr(entry, name) for name in kept} for entry in self.entries]
        return {"gamma": None if self.gamma is None else str(self.gamma), "words": [*self._sentences()], "told": told}

    def __str__(self) -> str:
        return "\n".join(self._sentences())

    def _sentences(self) -> Iterator[str]:
        """Yield the sentences on what was told to whom: what is blurred or clear, what all reveal, what has changed."""
        say = voice(self.language)
        whom = say.listed(dict.fromkeys(each.collector for each in self.entries))
        answered = [each for each in self.entries if each.answered]
        kinds = {
            "told.answers": answered,
            "told.gaps": [each for each in self.entries if not each.answered],
            "told.clear": [each for each in answered if each.mechanism is None],
            "told.loose": [each for each in self.entries if each.mechanism is not None and each.gamma is None],
        }
        if not self.entries:
            yield say("told.nothing")
        for kind, entries in kinds.items():
            if entries:
                yield say(kind, whom=whom, names=say.listed(dict.fromkeys(each.attribute for each in entries)))
        yield from self._bound(say, alone=not kinds["told.clear"] and not kinds["told.loose"])
        if self.changed:
            yield say("told.changed", names=say.listed(self.changed))

    def _bound(self, say: Voice, alone: bool) -> Iterator[str]:
        """Yield the sentence on how far all bounded reports together can move a belief; nothing if they reveal nothing.

        ``say``: the writer of the language; ``alone``: whether all reports are bounded, so that the sentence is about
        them all.
        """
        gamma = Total(tuple(each for each in self.entries if each.gamma is not None and each.answered)).gamma
        if gamma is not None and gamma > 1:
            five, fifty = (say.percent(grown(Fraction(share), gamma), up=True) for share in ("1/20", "1/2"))
            kind = "told.bound" if alone else "told.bound.more"
            yield say(kind, gamma=say.number(gamma, up=True), five=five, fifty=fifty)


class Ledger:
    """The record of a device's reports and the person's limit on them, in memory or in a file (`Ledger.open`).

    ``entries``: the reports so far; ``limit``: how much a collector may learn (None: one report an attribute, any γ);
    ``receipts``: the ids under which whole plans were answered; ``language``: of its sentences, "en", "de" or "fr".

    >>> import sfumato as sf
    >>> ledger = sf.Ledger()
    >>> ledger.set_limit(gamma=19)
    >>> print(ledger.limit)
    odds multiplied by at most 19 and reports of each answer for one collector: at most 1
    >>> sf.Ledger.loads(ledger.dumps()).limit == ledger.limit
    True
    """

    def __init__(
        self, entries: Iterable[LedgerEntry] = (), limit: Limit | None = None, *, receipts: Iterable[Receipt] = (),
        language: str = "en",
    ) -> None:
        self.entries, self.receipts, self.language = tuple(entries), tuple(receipts), language
        self.limit = limit or Limit()
        self._index: dict[tuple[str, str], list[LedgerEntry]] = {}  # entries by collector and attribute
        self._indexed = 0  # how many entries are in the index
        self._path: Path | None = None
        self._content: bytes | None = None  # of the file when it was read or written last

    # --- reading and writing ------------------------------------------------------------------------------------

    @classmethod
    def open(cls, path: str | Path) -> Ledger:
        """Read the ledger in the file ``path``, or begin an empty one if there is no file; it is saved there later.

        A file that is no ledger raises LedgerError and is never emptied.
        """
        file = Path(path)
        data = file.read_bytes() if file.exists() else None
        try:
            ledger = cls() if data is None else cls.loads(data.decode("utf-8"))
        except ValueError as error:
            raise LedgerError(f"{file.name}: {error}; it is left as it is: mend it, or move it away") from None
        ledger._path, ledger._content = file, data
        return ledger

    @classmethod
    def loads(cls, text: str) -> Ledger:
        """Read a ledger from JSON ``text`` that `dumps` wrote; it belongs to no file. LedgerError for any other text.
        """
        try:
            data = json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            raise LedgerError("not valid JSON") from None
        if not isinstance(data, dict) or set(data) - {"receipts"} != {"ledger", "limit", "told"}:
            raise LedgerError("not a ledger; it has the keys ledger, limit and told")
        if data["ledger"] != VERSION:
            raise LedgerError(f"a ledger of version {data['ledger']!r}; this one reads version {VERSION}")
        told, receipts = data["told"], data.get("receipts", [])
        if not isinstance(told, list) or not isinstance(receipts, list):
            raise LedgerError("not a ledger; told and receipts are lists")
        return cls(
            [_read_entry(f"entry {number}", each) for number, each in enumerate(told, 1)], _read_limit(data["limit"]),
            receipts=[_read_texts(f"receipt {number}", each, Receipt) for number, each in enumerate(receipts, 1)],
        )  # fmt: skip

    def dumps(self) -> str:
        """Return the ledger as JSON text, for a file or a browser's storage; `loads` reads it."""
        limit = {"gamma": None if self.limit.gamma is None else str(self.limit.gamma), "reports": self.limit.reports}
        data: dict[str, Any] = {"ledger": VERSION, "limit": limit, "told": [asdict(each) for each in self.entries]}
        data |= {"receipts": [asdict(each) for each in self.receipts]} if self.receipts else {}
        return json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1) + "\n"

    def save(self) -> None:
        """Write the ledger's file, readable by its owner only; a ledger in memory has none, and nothing is done.

        The file is written whole or not at all. LedgerError where it was changed since this ledger read it.
        """
        if self._path is None:
            return
        if self._content != (self._path.read_bytes() if self._path.exists() else None):
            raise LedgerError(f"{self._path.name} was changed since it was read; open it again: nothing may be lost")
        text = self.dumps()
        write_whole(self._path, durable_writer(text), mode=0o600)
        self._content = text.encode()

    # --- use ----------------------------------------------------------------------------------------------------

    def set_limit(self, gamma: float | Fraction | None = None, **how: Any) -> None:
        """Set how much every collector may learn from now on, and save the ledger.

        ``gamma``: the largest factor by which all reports to one collector together may multiply the odds of anything.
        ``how``: keywords instead of it: ``epsilon`` = ln γ, or ``belief`` = (ρ1, ρ2), where a belief of ρ1 may not grow
        beyond ρ2; and ``reports``, how many reports of one attribute a collector may have.
        """
        self.limit = Limit.of(gamma, **how)
        self.save()

    def reports_of(self, collector: str, attribute: str) -> list[LedgerEntry]:
        """Return the entries of all reports of an ``attribute`` that a ``collector`` has, of any survey and domain.

        ``attribute``: its name, in any spelling (capitals, spaces).
        """
        if self._indexed < len(self.entries):
            for entry in self.entries[self._indexed :]:
                self._index.setdefault((entry.collector, same_name(entry.attribute)), []).append(entry)
            self._indexed = len(self.entries)
        return [*self._index.get((collector, same_name(attribute)), ())]

    def receipts_of(self, collector: str, plan: str) -> list[Receipt]:
        """Return the receipts (ids and hashes of whole reports) of what a ``collector`` got for one plan.

        ``plan``: the plan's identity, a hash.
        """
        return [each for each in self.receipts if each.collector == collector and each.plan == plan]

    def total(self, collector: str | None = None, attribute: str | None = None) -> Total:
        """Return what the reports that a ``collector`` (None: any) has of an ``attribute`` (None: any) reveal together.
        """
        wanted = (each for each in self.entries if collector in (None, each.collector))
        name = None if attribute is None else same_name(attribute)
        chosen = tuple(each for each in wanted if name in (None, same_name(each.attribute)))
        return Total(chosen, self.language)

    def add(self, entries: Iterable[LedgerEntry], receipt: Receipt | None = None) -> None:
        """Add the ``entries`` of new reports and the ``receipt`` of their whole plan (None: none); save the ledger.

        This is done before the reports are sent. LimitError, and nothing is remembered, where one of them is beyond the
        person's limit.
        """
        new, before = tuple(entries), (self.entries, self.receipts)
        if not new and receipt is None:
            return
        self._permit([each for each in new if each.answered])
        self.entries += new
        self.receipts += () if receipt is None else (receipt,)
        try:
            self.save()
        except BaseException:
            self.entries, self.receipts = before
            raise

    def _permit(self, new: list[LedgerEntry]) -> None:
        """Check new reports against the person's limit, one by one; raise LimitError for the first that goes beyond.

        Each counts together with the reports sent before and the new ones ahead of it in ``new``.
        """
        counts: dict[tuple[str, str], int] = {}
        totals: dict[str, Fraction | None] = {}
        for entry in new:
            key = entry.collector, same_name(entry.attribute)
            earlier = counts.get(key) or sum(each.answered for each in self.reports_of(*key))
            counts[key] = earlier + 1
            if earlier >= self.limit.reports:
                raise self._refusal("limit.again", entry, count=earlier)
            if self.limit.gamma is None:
                continue
            before = totals[entry.collector] if entry.collector in totals else self.total(entry.collector).gamma
            total = None if before is None or entry.exact_gamma is None else before * entry.exact_gamma
            totals[entry.collector] = total
            if total is None:
                raise self._refusal("limit.unbounded", entry)
            if total > self.limit.gamma:
                raise self._refusal("limit.beyond", entry, gamma=voice(self.language).number(total, up=True))

    def _refusal(self, kind: str, entry: LedgerEntry, **parts: Any) -> LimitError:
        """Return the error that refuses a report beyond the limit, with its sentence in the ledger's language.

        ``kind``: which sentence, such as "limit.beyond"; ``parts``: what else is filled into it.
        """
        say, limit = voice(self.language), self.limit.describe(voice(self.language))
        return LimitError(say(kind, whom=entry.collector, name=entry.attribute, limit=limit, **parts))


def durable_writer(text: str) -> Callable[[Path], None]:
    """Return a function that writes the text to a path in UTF-8, and returns only once it is safe on the disk."""

    def write(path: Path) -> None:
        with path.open("wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())

    return write


@lru_cache(4096)
def same_name(name: str) -> str:
    """Return a name in the form in which names are compared: lower case, compatible characters and spaces made alike.
    """
    return " ".join(unicodedata.normalize("NFKC", name).lower().split())


_Record = TypeVar("_Record", LedgerEntry, Receipt)


def _read_texts(what: str, data: Any, kind: type[_Record], others: tuple[str, ...] = ()) -> _Record:
    """Make an entry or a receipt (``kind``) from a dict: all its fields are there, and all but ``others`` are texts.

    LedgerError for other data; ``what`` is what errors call it.
    """
    names = {each.name for each in fields(kind)}
    if not isinstance(data, dict) or set(data) != names:
        raise LedgerError(f"{what} has not the keys {', '.join(sorted(names))}")
    for name in sorted(names.difference(others)):
        if not isinstance(data[name], str):
            raise LedgerError(f"{what}: {name} is not text")
    return kind(**data)


def _read_entry(what: str, data: Any) -> LedgerEntry:
    """Make a ledger entry from a dict, with every field checked; ``what`` is what errors call it."""
    entry = _read_texts(what, data, LedgerEntry, ("domain", "mechanism", "level", "report", "gamma"))
    for name in ("mechanism", "level"):
        if not isinstance(getattr(entry, name), str | None):
            raise LedgerError(f"{what}: {name} is neither text nor null")
    if not isinstance(entry.domain, dict):
        raise LedgerError(f"{what}: domain is not a table")
    _read_gamma(entry.gamma, f"{what}: gamma")
    return entry


def _read_limit(data: Any) -> Limit:
    """Make a limit from a dict with the keys gamma and reports; LedgerError for other data."""
    if not isinstance(data, dict) or set(data) != {"gamma", "reports"}:
        raise LedgerError("limit has not the keys gamma and reports")
    return Limit.of(_read_gamma(data["gamma"], "limit: gamma"), reports=data["reports"])


def _read_gamma(text: Any, what: str) -> Fraction | None:
    """Read γ, a factor on odds, from the text of a fraction, at least 1; None, for no bound, stays None.

    ``what``: what errors call it.
    """
    if text is None:
        return None
    if not isinstance(text, str) or len(text) > LONGEST_GAMMA or not FRACTION.fullmatch(text):
        raise LedgerError(f"{what} is not a fraction")
    gamma = Fraction(text)
    if gamma < 1:
        raise LedgerError(f"{what} is below 1")
    return gamma


def _refuse_constant(name: str) -> None:
    """Raise ValueError for the words NaN and Infinity, which Python's reader of JSON takes and JSON does not have."""
    raise ValueError(f"{name} is not JSON")
