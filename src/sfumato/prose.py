"""Write numbers, names and sentences for people in three languages, and data as strict JSON."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import fields, is_dataclass
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import cache
from importlib.resources import files
from os import PathLike, fspath
from typing import Any

LANGUAGES = ("en", "de", "fr")  # those of languages/*.json
LARGEST_FLOAT = Decimal("1.7e308")  # just below the largest float, 1.797e308: more is written from its decimal digits


def in_words(number: float | Fraction, digits: int = 4, *, up: bool = False) -> str:
    """Write a number for prose: few digits, thousands set off, no powers of ten unless it is tiny or huge.

    ``digits``: how many significant ones. ``up``: True: round up, so that what a report reveals is never understated.
    NaN is "unknown", infinity "unlimited".

    >>> in_words(1296000), in_words(0.12345), in_words(Fraction(19, 3), up=True)
    ('1,296,000', '0.1235', '6.334')
    """
    if not _is_finite(number):
        return "unknown" if math.isnan(number) else "unlimited"
    exact = _rounded(number, digits, up)
    if abs(exact) > LARGEST_FLOAT:
        return f"{exact.normalize():e}"
    rounded = float(exact)
    return f"{rounded:,.0f}" if abs(rounded) < 1e15 and rounded.is_integer() else f"{rounded:.{digits}g}"


def _is_finite(number: float | Fraction) -> bool:
    """Return whether a number is neither infinite nor NaN; a fraction always is finite, even where no float holds it.
    """
    return isinstance(number, Fraction) or math.isfinite(number)


def _rounded(number: float | Fraction, digits: int, up: bool) -> Decimal:
    """Round a number, from its exact value, to so many significant digits, as a Decimal; ``up``: never below it."""
    context = Context(prec=digits, rounding=ROUND_CEILING if up else ROUND_HALF_EVEN)
    exact = Fraction(number)
    return context.divide(Decimal(exact.numerator), Decimal(exact.denominator))


def percent(share: float | Fraction, digits: int = 1, *, up: bool = False) -> str:
    """Write a share as percent: "12.3 %" for 0.123.

    ``digits``: how many after the point. ``up``: True: round up, from the exact value of a fraction, so that a bound is
    never understated, and leave out closing zeros.
    """
    if not up:
        return f"{100 * share:.{digits}f} %"
    exact = share if isinstance(share, Fraction) else Fraction(repr(float(share)))
    bound = Decimal(math.ceil(exact * 100 * 10**digits)).scaleb(-digits)
    return f"{bound.normalize():f} %"


def shown(value: Any) -> str:
    """Write a value as it was reported: text in quotes, numbers without the noise of the last digits of floats."""
    plain_value = value.item() if hasattr(value, "item") else value
    if isinstance(plain_value, float):
        whole = 1e5 <= abs(plain_value) < 1e12 and plain_value.is_integer()
        return f"{plain_value:,.0f}" if whole else f"{plain_value:.7g}"
    return repr(plain_value) if isinstance(plain_value, str) else str(plain_value)


def counted(number: int, noun: str) -> str:
    """Write a number of things in English: "1 target", "2 targets"; ``noun``: its singular."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(names: Iterable[object], last: str = "and") -> str:
    """Write names as an English list: "a, b and c"; ``last``: the word before the last name."""
    words = [str(name) for name in names]
    return f"{', '.join(words[:-1])} {last} {words[-1]}" if len(words) > 1 else "".join(words)


def sentence(text: str) -> str:
    """Write words as a sentence: a capital first, a full stop at the end.

    >>> sentence("trust only broad features")
    'Trust only broad features.'
    """
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


class Voice:
    """The writer of sentences and numbers in one language, "en", "de" or "fr".

    ``languages/<language>.json`` holds the sentences by name.

    >>> voice("de").percent(0.123), voice("en")("total.participation")
    ('12,3 %', 'That you take part at all is visible to the collector.')
    """

    def __init__(self, language: str) -> None:
        if language not in LANGUAGES:
            raise ValueError(f"language = {language!r} is unknown; there are {listed(LANGUAGES)}")
        self.language = language
        self.sentences: dict[str, str] = json.loads(
            files("sfumato").joinpath("languages", f"{language}.json").read_text(encoding="utf-8")
        )

    def __call__(self, name: str, /, **parts: object) -> str:
        """Return the sentence with this ``name`` in the voice's language, its parts filled in: ``say("sent", how=…)``.
        """
        return self.sentences[name].format_map(parts)

    def number(self, number: float | Fraction, digits: int = 4, *, up: bool = False) -> str:
        """Write a number for prose in this language with few digits: 1296000 is "1,296,000" in English.

        ``digits``: how many significant ones; ``up``: True: round up, so that a stated bound is never too small. NaN
        and infinity become words.
        """
        if not _is_finite(number):
            return self("number.unknown" if math.isnan(number) else "number.unlimited")
        return self.marked(in_words(number, digits, up=up))

    def percent(self, share: float | Fraction, digits: int = 1, *, up: bool = False) -> str:
        """Write a share as percent in this language: 0.123 is "12.3 %" in English, "12,3 %" in German.

        ``digits``: how many after the point; ``up``: True: round up, as bounds are written.
        """
        return self.marked(percent(share, digits, up=up))

    def shown(self, value: Any) -> str:
        """Write an answer or a report in this language: text in its quotes, numbers with its decimal mark."""
        plain_value = value.item() if hasattr(value, "item") else value
        if isinstance(plain_value, str):
            return self("quoted", text=plain_value)
        return self.number(plain_value, 6) if isinstance(plain_value, float) else str(plain_value)

    def listed(self, names: Iterable[object], last: str = "and") -> str:
        """Write names as a list in this language, "a, b and c"; ``last``: "and" or "or", which is translated."""
        return listed(names, self(last))

    def marked(self, number: str) -> str:
        """Replace the comma and the point of a number written in English by this language's marks."""
        return number.translate({ord(","): self("number.group"), ord("."): self("number.decimal")})


voice = cache(Voice)


def suggest(word: str, known: Iterable[object]) -> str:
    """Return the end of an error about an unknown word: "; did you mean …?", or a list of all known words."""
    names = [str(name) for name in known]
    close = difflib.get_close_matches(word, names, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(sorted(names))}"


def finite(number: float | None) -> float | None:
    """Return a number as a float, for JSON; None where it is infinite, NaN or None."""
    return None if number is None or not math.isfinite(number) else float(number)


def plain(value: Any) -> Any:
    """Return a value in a form that strict JSON can hold: of dicts, lists, texts, numbers, truth values and None.

    Arrays, tuples and sets become lists, dataclasses mappings, keys texts, infinite numbers "infinity" and "-infinity",
    NaN None.
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, Set):
        return [plain(part) for part in sorted(value, key=lambda part: (type(part).__name__, part))]
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("infinity" if value > 0 else "-infinity")
    return fspath(value) if isinstance(value, PathLike) else value


def json_text(value: Any, indent: int | None = None) -> str:
    """Return a value as strict JSON text, after turning arrays, dataclasses and the like to plain data (``plain``).

    Other kinds of values raise TypeError. ``indent``: blanks by which lines are indented; None: all on one line.
    """
    return json.dumps(plain(value), indent=indent, ensure_ascii=False, allow_nan=False)


UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that a terminal obeys instead of showing them, or that turn the order of letters around."""


def visible(text: object) -> str:
    """Return a text in which control characters are written out, so that a terminal does not obey them.

    Line breaks and tabs stay.

    >>> visible("a\x1b[31m")
    'a\\\\x1b[31m'
    """
    return UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), str(text))
