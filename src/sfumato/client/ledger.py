"""What a device has told whom, what that adds up to, and how much a person permits.

A ledger is plain JSON, so that a file and a browser's storage hold the same:

    {"ledger": 1,
     "limit": {"gamma": "361" or null, "reports": 1},
     "told": [{"collector": …, "survey": …, "attribute": …, "domain": {…}, "mechanism": identity or null, "level": …,
               "mark": …, "report": …, "gamma": "19" or null, "day": "2026-05-12"}, …],
     "receipts": [{"collector": …, "survey": …, "plan": identity, "id": …, "digest": …, "day": …}, …]}

γ is a fraction as text, null where there is no bound; ``mechanism`` is null for what is sent as it is; ``mark`` is a
keyed hash of the true value, which tells whether it has changed and nothing else. ``receipts`` are the ids under which
whole plans were answered; a ledger without any has no such key.
``docs/how-to/keep-answers-consistent.md`` has the rest.
"""

from __future__ import annotations

import json
import math
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
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
FRACTION = re.compile("[0-9]+(/0*[1-9][0-9]*)?")
LONGEST_GAMMA = 4000
"""A γ as text has at most so many characters; ``gamma_text`` writes far fewer."""


class LedgerError(ValueError):
    """A ledger that cannot be read or written; it is left as it is."""


class LimitError(ValueError):
    """An answer that the person's limit does not permit; nothing of the plan was answered."""


@dataclass(frozen=True)
class Limit:
    """How much a collector may learn: γ of all that it is told (None: any), and how many reports of one attribute."""

    gamma: Fraction | None = None
    reports: int = 1

    @classmethod
    def of(
        cls, gamma: float | Fraction | None = None, *, epsilon: float | None = None,
        belief: tuple[float, float] | None = None, reports: int = 1,
    ) -> Limit:
        """γ as such, as ε = ln γ, or as a belief that may not grow further: (0.05, 0.5) is 5 % to 50 %."""
        given = [each for each in (gamma, epsilon, belief) if each is not None]
        if len(given) > 1:
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

    def told_by(self, say: Voice) -> str:
        odds = [] if self.gamma is None else [say("limit.odds", gamma=say.number(self.gamma))]
        return say.listed([*odds, say("limit.reports", count=self.reports)])

    def __str__(self) -> str:
        return self.told_by(voice("en"))


@dataclass(frozen=True)
class Told:
    """One report: whose it is, what it was drawn by, and what it can reveal."""

    collector: str
    survey: str
    attribute: str
    domain: dict[str, Any]
    mechanism: str | None
    level: str | None
    mark: str
    report: Any
    gamma: str | None
    day: str

    @cached_property
    def exact_gamma(self) -> Fraction | None:
        return None if self.gamma is None else Fraction(self.gamma)

    @property
    def answered(self) -> bool:
        return self.report is not None

    def asks(self, collector: str, attribute: str) -> bool:
        """Whether it went to this collector under this name, however the name is written."""
        return self.collector == collector and same_name(self.attribute) == same_name(attribute)

    @cached_property
    def domain_identity(self) -> str:
        return identity_of(self.domain)


@dataclass(frozen=True)
class Receipt:
    """A plan answered as a whole: the id under which its report was sent, and a hash to know the report again."""

    collector: str
    survey: str
    plan: str
    id: str
    digest: str
    day: str


@dataclass(frozen=True)
class Total:
    """What several reports add up to; ``str()`` is prose."""

    told: tuple[Told, ...]
    language: str = "en"

    @property
    def gamma(self) -> Fraction | None:
        """The product over all reports: exact; None: no bound."""
        found = [each.exact_gamma for each in self.told]
        return None if None in found else math.prod((each for each in found if each is not None), start=Fraction(1))

    @property
    def changed(self) -> list[str]:
        """Attributes of which a collector holds reports of different values, which proves a change."""
        seen: dict[tuple[str, str, str], set[str]] = {}
        for each in self.told:
            seen.setdefault((each.collector, each.attribute, each.domain_identity), set()).add(each.mark)
        return list(dict.fromkeys(name for (_, name, _), marks in seen.items() if len(marks) > 1))

    def to_dict(self) -> dict[str, Any]:
        """γ (a fraction as text, None: no bound), the sentences, and what was told, as plain data."""
        kept = ("collector", "survey", "attribute", "level", "gamma", "day")
        told = [{name: getattr(each, name) for name in kept} for each in self.told]
        return {"gamma": None if self.gamma is None else str(self.gamma), "words": [*self._sentences()], "told": told}

    def __str__(self) -> str:
        return "\n".join(self._sentences())

    def _sentences(self) -> Iterator[str]:
        say = voice(self.language)
        whom = say.listed(dict.fromkeys(each.collector for each in self.told))
        answered = [each for each in self.told if each.answered]
        kinds = {
            "told.answers": answered,
            "told.gaps": [each for each in self.told if not each.answered],
            "told.clear": [each for each in answered if each.mechanism is None],
            "told.loose": [each for each in self.told if each.mechanism is not None and each.gamma is None],
        }
        if not self.told:
            yield say("told.nothing")
        for kind, told in kinds.items():
            if told:
                yield say(kind, whom=whom, names=say.listed(dict.fromkeys(each.attribute for each in told)))
        yield from self._bound(say, alone=not kinds["told.clear"] and not kinds["told.loose"])
        if self.changed:
            yield say("told.changed", names=say.listed(self.changed))

    def _bound(self, say: Voice, alone: bool) -> Iterator[str]:
        gamma = Total(tuple(each for each in self.told if each.gamma is not None and each.answered)).gamma
        if gamma is not None and gamma > 1:
            five, fifty = (say.percent(grown(Fraction(share), gamma), up=True) for share in ("1/20", "1/2"))
            kind = "told.bound" if alone else "told.bound.more"
            yield say(kind, gamma=say.number(gamma, up=True), five=five, fifty=fifty)


class Ledger:
    """What was told, in memory or in a file of one's own (``Ledger.open``); saved before a report leaves."""

    def __init__(
        self, told: Iterable[Told] = (), limit: Limit | None = None, *, receipts: Iterable[Receipt] = (),
        language: str = "en",
    ) -> None:
        self.told, self.receipts, self.language = tuple(told), tuple(receipts), language
        self.limit = limit or Limit()
        self._places: dict[tuple[str, str], list[Told]] = {}
        self._placed = 0
        self._path: Path | None = None
        self._known: bytes | None = None

    # --- reading and writing ------------------------------------------------------------------------------------

    @classmethod
    def open(cls, path: str | Path) -> Ledger:
        """The ledger in a file, a new one where there is none; a file that is no ledger is an error, never emptied."""
        place = Path(path)
        data = place.read_bytes() if place.exists() else None
        try:
            ledger = cls() if data is None else cls.loads(data.decode("utf-8"))
        except ValueError as error:
            raise LedgerError(f"{place.name}: {error}; it is left as it is: mend it, or move it away") from None
        ledger._path, ledger._known = place, data
        return ledger

    @classmethod
    def loads(cls, text: str) -> Ledger:
        try:
            data = json.loads(text, parse_constant=_no_number)
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
            [_read_told(f"entry {place}", each) for place, each in enumerate(told, 1)], _read_limit(data["limit"]),
            receipts=[_read_texts(f"receipt {place}", each, Receipt) for place, each in enumerate(receipts, 1)],
        )  # fmt: skip

    def dumps(self) -> str:
        """The ledger as JSON text, for a file or a browser's storage."""
        limit = {"gamma": None if self.limit.gamma is None else str(self.limit.gamma), "reports": self.limit.reports}
        data: dict[str, Any] = {"ledger": VERSION, "limit": limit, "told": [asdict(each) for each in self.told]}
        data |= {"receipts": [asdict(each) for each in self.receipts]} if self.receipts else {}
        return json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1) + "\n"

    def save(self) -> None:
        """Write the file whole or not at all, for its owner only."""
        if self._path is None:
            return
        if self._known != (self._path.read_bytes() if self._path.exists() else None):
            raise LedgerError(f"{self._path.name} was changed since it was read; open it again: nothing may be lost")
        data = self.dumps().encode()

        def write(part: Path) -> None:
            with part.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())

        write_whole(self._path, write, mode=0o600)
        self._known = data

    # --- use ----------------------------------------------------------------------------------------------------

    def set_limit(self, gamma: float | Fraction | None = None, **how: Any) -> None:
        """What the person permits from now on; see ``Limit.of``."""
        self.limit = Limit.of(gamma, **how)
        self.save()

    def reports_of(self, collector: str, attribute: str) -> list[Told]:
        """What a collector was told of an attribute, whatever the survey and the domain."""
        if self._placed < len(self.told):
            for each in self.told[self._placed :]:
                self._places.setdefault((each.collector, same_name(each.attribute)), []).append(each)
            self._placed = len(self.told)
        return [*self._places.get((collector, same_name(attribute)), ())]

    def receipts_of(self, collector: str, plan: str) -> list[Receipt]:
        """The ids under which a collector got this device's reports for a plan, by the plan's identity."""
        return [each for each in self.receipts if each.collector == collector and each.plan == plan]

    def total(self, collector: str | None = None, attribute: str | None = None) -> Total:
        """What a collector (None: all of them) was told, of one attribute or of all."""
        wanted = (each for each in self.told if collector in (None, each.collector))
        name = None if attribute is None else same_name(attribute)
        chosen = tuple(each for each in wanted if name in (None, same_name(each.attribute)))
        return Total(chosen, self.language)

    def add(self, told: Iterable[Told], receipt: Receipt | None = None) -> None:
        """Remember reports before they leave; if one is beyond the limit all of them are refused."""
        new, before = tuple(told), (self.told, self.receipts)
        if not new and receipt is None:
            return
        self._permit([each for each in new if each.answered])
        self.told += new
        self.receipts += () if receipt is None else (receipt,)
        try:
            self.save()
        except BaseException:
            self.told, self.receipts = before
            raise

    def _permit(self, new: list[Told]) -> None:
        held: dict[tuple[str, str], int] = {}
        totals: dict[str, Fraction | None] = {}
        for each in new:
            place = each.collector, same_name(each.attribute)
            earlier = held.get(place) or len([told for told in self.reports_of(*place) if told.answered])
            held[place] = earlier + 1
            if earlier >= self.limit.reports:
                raise self._refusal("limit.again", each, count=earlier)
            if self.limit.gamma is None:
                continue
            before = totals[each.collector] if each.collector in totals else self.total(each.collector).gamma
            totals[each.collector] = total = _product(before, each.exact_gamma)
            if total is None:
                raise self._refusal("limit.unbounded", each)
            if total > self.limit.gamma:
                raise self._refusal("limit.beyond", each, gamma=voice(self.language).number(total, up=True))

    def _refusal(self, kind: str, new: Told, **parts: Any) -> LimitError:
        say = voice(self.language)
        return LimitError(say(kind, whom=new.collector, name=new.attribute, limit=self.limit.told_by(say), **parts))


def _product(one: Fraction | None, other: Fraction | None) -> Fraction | None:
    return None if one is None or other is None else one * other


@lru_cache(4096)
def same_name(name: str) -> str:
    """A name however it is written: compatible characters, case and spaces do not count."""
    return " ".join(unicodedata.normalize("NFKC", name).lower().split())


Entry = TypeVar("Entry", Told, Receipt)


def _read_texts(what: str, data: Any, kind: type[Entry], others: tuple[str, ...] = ()) -> Entry:
    """An entry that has the fields of its kind, all of them texts but ``others``."""
    names = {each.name for each in fields(kind)}
    if not isinstance(data, dict) or set(data) != names:
        raise LedgerError(f"{what} has not the keys {', '.join(sorted(names))}")
    for name in sorted(names.difference(others)):
        if not isinstance(data[name], str):
            raise LedgerError(f"{what}: {name} is not text")
    return kind(**data)


def _read_told(what: str, data: Any) -> Told:
    told = _read_texts(what, data, Told, ("domain", "mechanism", "level", "report", "gamma"))
    for name in ("mechanism", "level"):
        if not isinstance(getattr(told, name), str | None):
            raise LedgerError(f"{what}: {name} is neither text nor null")
    if not isinstance(told.domain, dict):
        raise LedgerError(f"{what}: domain is not a table")
    _read_gamma(told.gamma, f"{what}: gamma")
    return told


def _read_limit(data: Any) -> Limit:
    if not isinstance(data, dict) or set(data) != {"gamma", "reports"}:
        raise LedgerError("limit has not the keys gamma and reports")
    return Limit.of(_read_gamma(data["gamma"], "limit: gamma"), reports=data["reports"])


def _read_gamma(text: Any, what: str) -> Fraction | None:
    if text is None:
        return None
    if not isinstance(text, str) or len(text) > LONGEST_GAMMA or not FRACTION.fullmatch(text):
        raise LedgerError(f"{what} is not a fraction")
    found = Fraction(text)
    if found < 1:
        raise LedgerError(f"{what} is below 1")
    return found


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
