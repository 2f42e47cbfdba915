"""One catalogue of sentences a language: the same names and the same parts in each."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import pytest

import sfumato as sf
from sfumato.prose import LANGUAGES, Voice, voice

SOURCE, AB = Path(sf.__file__).parent, sf.Categories(["a", "b"])


def parts_of(sentence: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(sentence) if name}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_the_same_sentences_with_the_same_parts(language: str) -> None:
    english, other = voice("en").sentences, voice(language).sentences
    assert list(other) == list(english)
    for name, sentence in english.items():
        assert parts_of(other[name]) == parts_of(sentence), name
        assert other[name].strip() or name == "number.group"


def test_every_sentence_is_used_and_every_used_one_exists() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    for name in voice("en").sentences:
        family = name.split(".")[0] + "."
        assert f'"{name}"' in text or re.search(rf'f"{re.escape(family)}{{', text) or is_on_the_page(name), name


def is_on_the_page(name: str) -> bool:
    """``device.x.y`` is said by the page as "x.y", as one of the family `x.${…}`, or whole before there is a page."""
    static = SOURCE / "client" / "static"
    text = "\n".join(path.read_text("utf-8") for path in (static / "index.html", *static.glob("page*.js")))
    own = name.removeprefix("device.")
    family = f"`{own.split('.')[0]}.${{"
    spellings = (f'"{own}"', f'"{name}"', f'data-say="{own}">', family)
    return name.startswith("device.") and any(spelling in text for spelling in spellings)


def test_numbers_follow_the_language() -> None:
    assert [voice(one).number(1234000.0) for one in LANGUAGES] == ["1,234,000", "1.234.000", "1\u202f234\u202f000"]
    assert [voice(one).percent(0.12345, 2) for one in LANGUAGES] == ["12.35 %", "12,35 %", "12,35 %"]
    assert [voice(one).shown("a") for one in LANGUAGES] == ["“a”", "„a“", "«\u00a0a\u00a0»"]
    assert voice("de").number(float("inf")) == "unbegrenzt"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "channel",
    [
        sf.Gaussian(sf.Interval(20, 80), privacy=1.0),
        sf.SquareWave(sf.Interval(20, 80), gamma=5),
        sf.RandomizedResponse(sf.Categories(["a{b}", "c"]), gamma=5),
        sf.RandomizedResponse(sf.Categories(range(5)), keep=1.0),
        sf.Discretize(sf.Interval(20, 80), width=10),
        sf.Tabulated(AB, [[0.7, 0.4], [0.3, 0.6]]),
        sf.RandomizedResponse(AB, gamma=5) >> sf.RandomizedResponse(AB, gamma=7),
        sf.TwoPhase(sf.Laplace(sf.Interval(0, 9), scale=9, step=0.1), {"mild": 5, "strong": 2}),
        sf.SelectASize.design(sf.Items(30), [3], 19, 2),
    ],
    ids=lambda channel: getattr(channel, "kind", channel),
)
def test_every_channel_speaks_every_language(channel: sf.Channel, language: str) -> None:
    guarantee = channel.guarantee(language=language)
    for sentence in (guarantee.sent, guarantee.worst, guarantee.besides, str(guarantee.breach(0.3, 0.4))):
        assert sentence and "{" not in sentence.replace("a{b}", "")
    if language != "en":
        assert guarantee.sent != channel.guarantee().sent and "answer" not in guarantee.sent


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(ValueError, match="there are en, de and fr"):
        Voice("it")
