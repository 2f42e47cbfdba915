"""Plans from files that nobody vouches for: sizes and depth are checked before memory is taken."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.channels.program import MOST_ENTRIES, Program
from sfumato.cli import run
from sfumato.domain import MOST_CODES, MOST_ITEMS
from tests.hostile import FOR_PLANS, PLANS, complaint, mutated, use_plan

RANGE = {"low": 0, "high": 1}


def plan(**attribute: Any) -> dict[str, Any]:
    return {"name": "hostile", "attributes": {"a": attribute}}


def chain(depth: int) -> dict[str, Any]:
    last = {**RANGE, "channel": "discretize", "width": 0.1}
    for _ in range(depth):
        last = {**RANGE, "channel": "chain", "stages": [{**RANGE, "channel": "discretize", "width": 0.1}, last]}
    return last


@pytest.mark.parametrize(
    ("attribute", "words"),
    [
        ({**RANGE, "channel": "laplace", "scale": 1, "step": 1e-9}, "a grid of .* steps is finer .* larger step="),
        ({**RANGE, "channel": "gaussian", "scale": 1, "step": 1e-300}, "use a larger step="),
        ({**RANGE, "channel": "square-wave", "gamma": 19, "halfwidth": 1e9, "step": 0.5}, "use a larger step="),
        ({**RANGE, "channel": "discretize", "width": 1e-12}, "use a larger step="),
        ({"low": 0, "high": 10**15, "integer": True, "channel": "square-wave", "gamma": 19, "step": 1}, "larger step="),
        ({"low": 0, "high": 10**400, "channel": "gaussian", "privacy": 1}, "high is not finite"),
        ({"low": -1e308, "high": 1e308, "channel": "gaussian", "privacy": 1}, "use other units"),
        ({**RANGE, "channel": "gaussian", "privacy": 10**400}, "privacy=a huge number is not above 0 and finite"),
        ({"items": 10**12, "channel": "select-a-size", "designs": []}, f"items are more than {MOST_ITEMS:,}"),
        ({"categories": list(range(2001)), "channel": "tabulated", "table": [[1.0]]}, "more than 4,000,000 entries"),
        ({"categories": list(range(MOST_CODES + 1)), "role": "clear"}, f"categories are more than {MOST_CODES:,}"),
        (chain(1000), "nested more than 60 deep"),
        (chain(30), "nested more than 60 deep"),
        ({**RANGE, "channel": "chain", "stages": ["x", "y"]}, "stages is not a list of two tables"),
        ({"categories": ["x", "y"], "channel": "choice", "levels": "l"}, "levels is not a table"),
        ({"categories": [["x"], "y"], "role": "clear"}, "a category is a list or a table"),
    ],
)
def test_what_is_too_large_or_deep_is_refused_at_once_with_the_fix(attribute: dict[str, Any], words: str) -> None:
    started = time.process_time()
    with pytest.raises((ValueError, TypeError), match=words) as refusal:
        sf.Plan.from_dict(plan(**attribute))
    assert time.process_time() - started < 5
    assert len(str(refusal.value).splitlines()) == 1


def test_plans_changed_at_random_are_read_or_refused_in_one_line() -> None:
    """Each plan ten times; ``bench/hostile.py`` makes ten thousand."""
    rng = np.random.default_rng(3)
    for place in range(10 * len(PLANS)):
        spec = mutated(PLANS[place % len(PLANS)], rng)
        assert complaint(lambda spec=spec: use_plan(spec), FOR_PLANS) is None, json.dumps(spec)[:2000]


DEEP = [("json", "[" * 100_000), ("json", '{"a":' * 9_000), ("toml", "a=" + "[" * 9_000)]


@pytest.mark.parametrize(("form", "text"), DEEP)
def test_deep_texts_are_one_line(form: str, text: str) -> None:
    with pytest.raises(ValueError) as refusal:
        sf.Plan.loads(text, form)
    assert len(str(refusal.value).splitlines()) == 1


def test_fifty_thousand_categories_work_without_their_table() -> None:
    many = sf.Categories([f"c{i}" for i in range(50_000)])
    channel = sf.RandomizedResponse(many, gamma=19)
    asked = sf.Plan("many", {"a": sf.Attribute("a", many, channel)})
    assert asked.guarantee().gamma == 19 and "19" in str(asked.guarantee())
    assert set(asked.randomize({"a": ["c1", "c49999"] * 50})["a"]) <= set(many.labels)
    with pytest.raises(ValueError, match=rf"the law has 2,500,000,000 entries, more than the {MOST_ENTRIES:,}"):
        channel.matrix()


# --- what a terminal obeys ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("nasty", ["\x1b[2J", "a\x07", "x\x9b31m", "abc\u202ecba", "\x00"])
@pytest.mark.parametrize("where", ["plan", "attribute", "label", "question", "level"])
def test_what_a_terminal_obeys_is_not_in_a_plan(nasty: str, where: str) -> None:
    coin = {"channel": "randomized-response", "gamma": 3}
    spec = {"categories": ["x", nasty if where == "label" else "y"], "question": nasty if where == "question" else ""}
    spec |= {"channel": "choice", "levels": {nasty: coin}} if where == "level" else coin
    name = nasty if where == "attribute" else "a"
    with pytest.raises(ValueError, match="holds a character that cannot be shown") as refusal:
        sf.Plan.from_dict({"name": nasty if where == "plan" else "p", "attributes": {name: spec}})
    assert nasty not in str(refusal.value) and "\x1b" not in str(refusal.value)


def test_escapes_from_files_are_shown_and_not_sent_to_the_terminal(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.json").write_text(json.dumps(plan(categories=["x", "y"], channel="randomized-response", gamma=3)))
    (tmp_path / "r.csv").write_text("a\nx\n\x1b[31mred\n")
    (tmp_path / "odd.json").write_text(json.dumps({"a\x1b[2J": 1}))
    for line in (["reconstruct", "plan.json", "r.csv"], ["check", "odd.json"], ["check", "no\x1b[2Jfile.json"]):
        assert run(line) == 2
        told = capsys.readouterr().err
        assert "\x1b" not in told and "\\x1b" in told and len(told.splitlines()) == 1


def test_markup_in_names_is_shown_as_it_is(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    spec = plan(categories=["x", "y"], channel="randomized-response", gamma=3) | {"name": "[/bold] [red]x"}
    (tmp_path / "plan.json").write_text(json.dumps(spec))
    assert run(["check", "plan.json"]) == 0
    assert "[/bold] [red]x: 1 attributes" in capsys.readouterr().out


# --- programs and counts ------------------------------------------------------------------------------------------

CHANNELS = [
    sf.Gaussian(sf.Interval(0, 10), scale=1, step=0.5),
    sf.SquareWave(sf.Interval(0, 10), gamma=9, step=0.5),
    sf.Tabulated(sf.Categories("abc"[i] for i in range(3)), np.full((3, 3), 1 / 3)),
    sf.Gaussian(sf.Interval(0, 10), scale=1, step=0.5) >> sf.Discretize(sf.Interval(-10, 20), width=1, outside="clamp"),
    sf.TwoPhase(sf.Gaussian(sf.Interval(0, 10), scale=1, step=0.5), {"l": 5}).level("l"),
]


@pytest.mark.parametrize("channel", CHANNELS, ids=lambda channel: channel.kind)
def test_programs_changed_at_random_are_read_or_refused(channel: Any) -> None:
    rng, program = np.random.default_rng(5), channel.program()
    assert Program.from_dict(program).to_dict() == program

    def use(changed: Any) -> None:
        read = Program.from_dict(changed)
        words = [np.full(2, 2**63, np.uint64) for _ in range(read.words)]
        codes = read.draw(np.array([0, read.size - 1]), words)
        assert ((codes >= 0) & (codes < read.outputs)).all()

    for _ in range(100):
        changed = mutated(program, rng)
        assert complaint(lambda changed=changed: use(changed)) is None, json.dumps(changed)[:1000]


def test_counts_changed_at_random_are_read_or_refused() -> None:
    coin, rng = sf.RandomizedResponse(sf.Categories(["yes", "no"]), gamma=3), np.random.default_rng(6)
    data = sf.Counts.of(["yes", "no", "yes", None], coin, by=["a", "b", "a", "b"]).to_dict()
    assert sf.Counts.from_dict(data, coin).to_dict() == data
    for _ in range(300):
        changed = mutated(data, rng)
        assert complaint(lambda changed=changed: repr(sf.Counts.from_dict(changed, coin))) is None, changed
