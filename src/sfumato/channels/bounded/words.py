"""Words that no list holds: each person reports the beginning of their word, of a length that the device draws.

The words are padded with an end mark to ``longest`` letters, and cut there. A device draws one of a few lengths, takes
the beginning of that length, and hashes it into one of 2^19 *buckets* by a public function,

    bucket = the first 8 bytes of SHA-256("sfumato/1/words" ‖ 0 ‖ length ‖ 0 ‖ beginning), modulo 2^19,

which it reports as a set, like any category (``SubsetResponse``). The length says nothing about the word, so the report
has the γ of the set, exactly. Whoever collects goes from frequent beginnings to longer ones (``frequent_words``): only
those that go on from a frequent one need to be tried, and a false one, that shares its bucket with a frequent one,
meets other company at the next length.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sfumato.channels.bound import one_given
from sfumato.channels.bounded.subset_response import MOST_CATEGORIES, SubsetResponse
from sfumato.channels.mechanism import Rng
from sfumato.channels.program import below
from sfumato.channels.program.random_words import Key, RecordWords, noise_generator, question_of, source_for
from sfumato.domain import Categories, Codes, as_array, is_missing
from sfumato.guarantee import Guarantee

END = "\0"
"""The mark that fills up short words; no alphabet holds it."""
FIRST_TRIES = 50_000
"""So many beginnings are all tried at the first length."""
STEP = 2
"""By so many letters a length is longer than the one before."""
LONGEST = 64
FALSE_ALARM = 0.05
"""In so many surveys a word is found that nobody has, at most."""


class Words:
    """The beginning of a word, of a length drawn on the device, as a set of buckets; for words that no list holds.

    Domain: words of the letters of ``alphabet``; of longer ones the first ``longest`` letters.
    Law: a length, evenly; then that of ``SubsetResponse`` over the bucket of the beginning. A report is one number.
    γ: as given, exactly, or e^ε.
    Estimator: ``sf.frequent_words(reports, words)``.
    In a plan: ``words.questions(name)``, answered by ``words.answers(name, word)``.

    >>> import sfumato as sf
    >>> slang = sf.Words("abcdefghijklmnopqrstuvwxyz", longest=6, gamma=19)
    >>> slang.lengths, slang.guarantee().gamma, slang.report_bits
    ((3, 5, 6), 19.0, 22)
    """

    def __init__(
        self, alphabet: str, longest: int, gamma: float | None = None, *, epsilon: float | None = None
    ) -> None:
        if not isinstance(alphabet, str) or not alphabet or len(set(alphabet)) < len(alphabet) or END in alphabet:
            raise ValueError(f"alphabet={alphabet!r} is no text of different letters; give all that words are made of")
        if isinstance(longest, bool) or not isinstance(longest, int) or not 1 <= longest <= LONGEST:
            raise ValueError(f"longest={longest!r} is not a whole number of letters from 1 to {LONGEST}; 10 is usual")
        one_given("words", gamma=gamma, epsilon=epsilon)
        self.alphabet, self.longest = alphabet, longest
        self.buckets = SubsetResponse(Categories(MOST_CATEGORIES), gamma=gamma, epsilon=epsilon)

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of beginnings that are reported, the shortest first, the last the whole word."""
        letters = len(self.alphabet) + 1
        first = min(max(int(math.log(FIRST_TRIES, letters)), 1), self.longest)
        return (*range(first, self.longest, STEP), self.longest)

    def guarantee(self, prior: Any = None, *, language: str = "en") -> Guarantee:
        """What a report can reveal about the beginning, and so about the word; its length says nothing."""
        found: Guarantee = self.buckets.guarantee(prior, language=language)
        return found

    @property
    def report_bits(self) -> int:
        """How many bits a report has."""
        return (len(self.lengths) * self.buckets.slices.outputs - 1).bit_length()

    def randomize(self, words: Any, rng: Rng = None, *, key: Key = None, question: str = "") -> Any:
        """Reports for words: numbers, and None for a missing one. ``rng``, ``key`` and ``question`` as of a channel."""
        one = isinstance(words, str) or not isinstance(words, Iterable)
        texts = [words] if one else list(words)
        source = None if rng is None else noise_generator(rng)
        known = [place for place, word in enumerate(texts) if not is_missing(word)]
        drawn = source_for(source, key, question_of(question, "length")).rows(np.zeros(len(texts), np.int64), 1)
        groups = below(drawn[:, 0], len(self.lengths)).astype(np.int64)
        padded = [self.padded(texts[place], place) for place in known]
        begun = [word[: self.lengths[group]] for word, group in zip(padded, groups[known].tolist(), strict=True)]
        bucket_of = {each: self.bucket(each) for each in set(begun)}
        codes = np.array([bucket_of[each] for each in begun], np.int64)
        theirs = key.some(known) if isinstance(key, RecordWords) else key
        sets = np.asarray(self.buckets.randomize(codes, source, key=theirs, question=question), np.int64)
        found: list[int | None] = [None] * len(texts)
        for place, report in zip(known, (groups[known] * self.buckets.slices.outputs + sets).tolist(), strict=True):
            found[place] = report
        return found[0] if one else as_array(found)  # type: ignore[arg-type]

    def questions(self, name: str) -> dict[str, Any]:
        """A plan's questions as plain data: the bucket at each length, ``<name>-<length>``; a device draws one of them.

        >>> import sfumato as sf
        >>> slang = sf.Words("abcdefghijklmnopqrstuvwxyz", longest=6, gamma=19)
        >>> plan = sf.Plan.from_dict({"name": "slang", **slang.questions("slang")})
        >>> plan.drawn, plan.guarantee().gamma
        (('slang-3', 'slang-5', 'slang-6'), 19.0)
        """
        asked = {"categories": MOST_CATEGORIES, **self.buckets.to_spec()}
        drawn = {"questions_each": 1} if len(self.lengths) > 1 else {}
        return {**drawn, "attributes": {f"{name}-{length}": asked for length in self.lengths}}

    def answers(self, name: str, words: Any) -> dict[str, Any]:
        """A person's answers to those questions, from their word; a column of them from a list of words."""
        one = isinstance(words, str) or not isinstance(words, Iterable)
        texts = [words] if one else list(words)
        padded = [None if is_missing(word) else self.padded(word, row) for row, word in enumerate(texts)]
        columns = {
            f"{name}-{length}": [None if word is None else self.bucket(word[:length]) for word in padded]
            for length in self.lengths
        }
        return {column: found[0] for column, found in columns.items()} if one else columns

    def padded(self, word: Any, row: int = 0) -> str:
        """The word with end marks, or cut, to the longest length."""
        if not isinstance(word, str) or not word:
            raise ValueError(f"row {row + 1:,}: {word!r} is not a word; give texts, and None where there is none")
        stray = next((letter for letter in word if letter not in self.alphabet), None)
        if stray is not None:
            raise ValueError(f"row {row + 1:,}: {stray!r} is not in the alphabet; add it there, or spell words without")
        return word[: self.longest].ljust(self.longest, END)

    @staticmethod
    def bucket(beginning: str) -> int:
        """The bucket of a padded beginning."""
        text = f"sfumato/1/words\0{len(beginning)}\0{beginning}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % MOST_CATEGORIES

    def longer(self, beginnings: Iterable[str], length: int) -> Iterator[str]:
        """All padded beginnings of a length that go on from these; behind an end mark there are only end marks."""
        for one in beginnings:
            if len(one) < length:
                letters = END if one.endswith(END) else self.alphabet + END
                yield from self.longer((one + letter for letter in letters), length)
            elif one.strip(END):
                yield one

    def counted(self, reports: Any) -> list[NDArray[np.float64]]:
        """How often each set was reported, by length; missing reports are left out."""
        sets, array = self.buckets.slices.outputs, as_array(reports).ravel()
        codes = array if array.dtype.kind in "iu" else self._codes(array.tolist())
        wrong = (codes < 0) | (codes >= len(self.lengths) * sets)
        if wrong.any():
            most, found = len(self.lengths) * sets - 1, codes[wrong][0]
            raise ValueError(f"{found:,} is no report of these words, which are 0 to {most:,}; use those it came from")
        counts = np.bincount(codes, minlength=len(self.lengths) * sets).astype(float)
        return list(counts.reshape(-1, sets))

    @staticmethod
    def _codes(reports: list[Any]) -> Codes:
        """Whole numbers, among which some are missing."""
        held = [each for each in reports if not is_missing(each)]
        for each in held:
            number = isinstance(each, (int, float)) and not isinstance(each, bool)
            if not number or not abs(each) < 1 << 62 or each != int(each):
                raise ValueError(f"{each!r} is no report of words; give the numbers that randomize made")
        return np.array(held, dtype=np.int64)

    def lowest_discoverable_share(self, n: int) -> float:
        """About the share at which a word of ``longest`` letters is found every second time, where a hundred
        beginnings go on. Shorter words are found from smaller shares on: all lengths beyond their end tell of them."""
        if isinstance(n, bool) or not isinstance(n, (int, float, np.integer)) or not 1 <= n < math.inf:
            raise ValueError(f"n={n!r} is not a number of people; give 1 or more")
        people = n / len(self.lengths)
        errors = self.errors_needed(100 * (len(self.alphabet) + 1) ** STEP)
        return errors / math.sqrt(people * self.buckets.balanced().precision)

    def errors_needed(self, tries: int) -> float:
        """So many standard errors above zero a word must stand, of so many that were tried at its length."""
        return -float(ndtri(FALSE_ALARM / len(self.lengths) / max(tries, 1)))

    def __repr__(self) -> str:
        (bound,) = self.buckets.parameters().items()
        return f"Words({self.alphabet!r}, longest={self.longest}, {bound[0]}={bound[1]!r})"
