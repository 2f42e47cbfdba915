"""Words that nobody listed beforehand: each person reports a blurred beginning of their word.

Words are padded with an end mark to ``longest`` letters, and longer ones are cut. A device draws one of a few lengths,
takes the beginning of that length, and hashes it into one of 2^19 *buckets* by a public function,

    bucket = the first 8 bytes of SHA-256("sfumato/1/words" ‖ 0 ‖ length ‖ 0 ‖ beginning), modulo 2^19,

which it reports as a set, like any category (``SubsetResponse``). The length is drawn without looking at the word, so
the report has exactly the γ of the set. The collector goes from frequent beginnings to longer ones
(``frequent_words``): only those that continue a frequent one need to be tried. A beginning that seems frequent only
because it shares its bucket with a frequent one shares buckets with others at the next length, and drops out there.
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

from sfumato.channels.bound import require_one
from sfumato.channels.bounded.subset_response import MOST_CATEGORIES, SubsetResponse
from sfumato.channels.mechanism import Rng
from sfumato.channels.program import below
from sfumato.channels.program.random_words import Key, RecordWords, noise_generator, question_of, source_for
from sfumato.domain import Categories, Codes, as_array, is_missing
from sfumato.guarantee import Guarantee

END = "\0"
"""The mark that fills up short words; no alphabet holds it."""
FIRST_TRIES = 50_000
"""Beginnings of the first length at most, all of which are tried. By judgement: 26 letters and the end mark make 19,683
beginnings of three; of four they would make 531,441, more than there are buckets."""
STEP = 2  # letters by which a length is longer than the one before (docs/decisions/0026 compares 1, 2 and 3)
LONGEST = 64  # letters of the longest word at most, by judgement: longer than words are; each two add a length
FALSE_ALARM = 0.05  # the chance that a survey finds any word that nobody has, by judgement; smaller finds fewer words


class Words:
    """A mechanism for words that nobody listed: it reports a beginning of the word, blurred as a set of hash buckets.

    Law: a length, drawn evenly from ``lengths``; then that of ``SubsetResponse`` over the bucket of the beginning. A
    report is one number.
    γ: as given, exactly, or e^ε.
    Estimator: ``sf.frequent_words(reports, words)``.
    In a plan: ``words.questions(name)``, answered by ``words.answers(name, word)``.

    ``alphabet``: all letters that words are made of, as one text.
    ``longest``: the number of letters after which longer words are cut.
    ``gamma`` or ``epsilon``: the bound γ, or its logarithm; exactly one of them.

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
        require_one("words", gamma=gamma, epsilon=epsilon)
        self.alphabet, self.longest = alphabet, longest
        self.buckets = SubsetResponse(Categories(MOST_CATEGORIES), gamma=gamma, epsilon=epsilon)

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of beginnings that are reported, the shortest first, the last the whole word."""
        letters = len(self.alphabet) + 1
        first = min(max(int(math.log(FIRST_TRIES, letters)), 1), self.longest)
        return (*range(first, self.longest, STEP), self.longest)

    def guarantee(self, prior: Any = None, *, language: str = "en") -> Guarantee:
        """Return the statement of what a report can reveal about the word's beginning, and so about the word.

        ``prior``: chances of the 524,288 buckets, or None for even ones. ``language``: of its sentences, "en", "de" or
        "fr".
        """
        stated: Guarantee = self.buckets.guarantee(prior, language=language)
        return stated

    @property
    def report_bits(self) -> int:
        """How many bits a report takes."""
        return (len(self.lengths) * self.buckets.slices.outputs - 1).bit_length()

    def randomize(self, words: Any, rng: Rng = None, *, key: Key = None, question: str = "") -> Any:
        """Draw a report for every word: a whole number, or None for a missing word.

        ``words``: one word or several. ``rng``, ``key`` and ``question`` are those of ``Channel.randomize``.
        """
        alone = isinstance(words, str) or not isinstance(words, Iterable)
        texts = [words] if alone else list(words)
        source = None if rng is None else noise_generator(rng)
        rows = [row for row, word in enumerate(texts) if not is_missing(word)]
        drawn = source_for(source, key, question_of(question, "length")).rows(np.zeros(len(texts), np.int64), 1)
        groups = below(drawn[:, 0], len(self.lengths)).astype(np.int64)
        padded = [self.pad(texts[row], row) for row in rows]
        begun = [word[: self.lengths[group]] for word, group in zip(padded, groups[rows].tolist(), strict=True)]
        bucket_of = {beginning: self.bucket(beginning) for beginning in set(begun)}
        codes = np.array([bucket_of[beginning] for beginning in begun], np.int64)
        theirs = key.some(rows) if isinstance(key, RecordWords) else key
        sets = np.asarray(self.buckets.randomize(codes, source, key=theirs, question=question), np.int64)
        reports: list[int | None] = [None] * len(texts)
        for row, report in zip(rows, (groups[rows] * self.buckets.slices.outputs + sets).tolist(), strict=True):
            reports[row] = report
        return reports[0] if alone else as_array(reports)  # type: ignore[arg-type]

    def questions(self, name: str) -> dict[str, Any]:
        """Return the questions of a plan that asks for a word, as plain data.

        There is one for each length, ``<name>-<length>``, which asks for the bucket of the beginning; a device draws
        one of them. ``name``: of the word's question.

        >>> import sfumato as sf
        >>> slang = sf.Words("abcdefghijklmnopqrstuvwxyz", longest=6, gamma=19)
        >>> plan = sf.Plan.from_dict({"name": "slang", **slang.questions("slang")})
        >>> plan.drawn, plan.guarantee().gamma
        (('slang-3', 'slang-5', 'slang-6'), 19.0)
        """
        attribute = {"categories": MOST_CATEGORIES, **self.buckets.to_spec()}
        drawn = {"questions_each": 1} if len(self.lengths) > 1 else {}
        return {**drawn, "attributes": {f"{name}-{length}": attribute for length in self.lengths}}

    def answers(self, name: str, words: Any) -> dict[str, Any]:
        """Return the true answers to the questions of ``questions(name)``: for a word one bucket a question.

        ``words``: one person's word, or a list of words, which gives a column of buckets a question; None is missing.
        """
        alone = isinstance(words, str) or not isinstance(words, Iterable)
        texts = [words] if alone else list(words)
        padded = [None if is_missing(word) else self.pad(word, row) for row, word in enumerate(texts)]
        columns = {
            f"{name}-{length}": [None if word is None else self.bucket(word[:length]) for word in padded]
            for length in self.lengths
        }
        return {column: buckets[0] for column, buckets in columns.items()} if alone else columns

    def pad(self, word: Any, row: int = 0) -> str:
        """Return a word of exactly ``longest`` letters: filled up with end marks, or cut.

        ``row``: the word's row, from 0, which errors name.
        """
        if not isinstance(word, str) or not word:
            raise ValueError(f"row {row + 1:,}: {word!r} is not a word; give texts, and None where there is none")
        stray = next((letter for letter in word if letter not in self.alphabet), None)
        if stray is not None:
            raise ValueError(f"row {row + 1:,}: {stray!r} is not in the alphabet; add it there, or spell words without")
        return word[: self.longest].ljust(self.longest, END)

    @staticmethod
    def bucket(beginning: str) -> int:
        """Return the number of the hash bucket, below 2^19, into which the beginning of a padded word falls."""
        text = f"sfumato/1/words\0{len(beginning)}\0{beginning}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % MOST_CATEGORIES

    def extend(self, beginnings: Iterable[str], length: int) -> Iterator[str]:
        """Yield all beginnings of this length that continue the given ones: what the search for frequent words tries.

        After an end mark come only end marks; beginnings of end marks alone are left out.
        """
        for beginning in beginnings:
            if len(beginning) < length:
                letters = END if beginning.endswith(END) else self.alphabet + END
                yield from self.extend((beginning + letter for letter in letters), length)
            elif beginning.strip(END):
                yield beginning

    def count(self, reports: Any) -> list[NDArray[np.float64]]:
        """Count how often each set of buckets was reported: a list with one array of counts for each length.

        Missing reports are left out.
        """
        sets, array = self.buckets.slices.outputs, as_array(reports).ravel()
        codes = array if array.dtype.kind in "iu" else self._codes(array.tolist())
        wrong = (codes < 0) | (codes >= len(self.lengths) * sets)
        if wrong.any():
            most, bad = len(self.lengths) * sets - 1, codes[wrong][0]
            raise ValueError(f"{bad:,} is no report of these words, which are 0 to {most:,}; use those it came from")
        counts = np.bincount(codes, minlength=len(self.lengths) * sets).astype(float)
        return list(counts.reshape(-1, sets))

    @staticmethod
    def _codes(reports: list[Any]) -> Codes:
        """Return reports as an array of whole numbers, without the missing ones; anything else is an error."""
        present = [report for report in reports if not is_missing(report)]
        for report in present:
            number = isinstance(report, (int, float)) and not isinstance(report, bool)
            if not number or not abs(report) < 1 << 62 or report != int(report):
                raise ValueError(f"{report!r} is no report of words; give the numbers that randomize made")
        return np.array(present, dtype=np.int64)

    def lowest_discoverable_share(self, n: int) -> float:
        """Return about the share of people at which a word of ``longest`` letters is found in every second survey.

        ``n``: how many people report. Assumed is that 100 beginnings go on at each length. Shorter words are found from
        smaller shares on, because all lengths beyond their end count for them.
        """
        if isinstance(n, bool) or not isinstance(n, (int, float, np.integer)) or not 1 <= n < math.inf:
            raise ValueError(f"n={n!r} is not a number of people; give 1 or more")
        people = n / len(self.lengths)
        errors = self.errors_needed(100 * (len(self.alphabet) + 1) ** STEP)
        return errors / math.sqrt(people * self.buckets.balanced().precision)

    def errors_needed(self, tries: int) -> float:
        """Return how many standard errors above zero a share must lie to be found, of ``tries`` words of its length."""
        return -float(ndtri(FALSE_ALARM / len(self.lengths) / max(tries, 1)))

    def __repr__(self) -> str:
        (bound,) = self.buckets.parameters().items()
        return f"Words({self.alphabet!r}, longest={self.longest}, {bound[0]}={bound[1]!r})"
