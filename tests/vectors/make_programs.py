"""Write programs.json: cases that every interpreter of drawing programs must pass.

Run as ``python tests/vectors/make_programs.py``; the parts are

    mechanisms   name → domain, program, identity and, for one value, what keyed noise depends on (noise)
    draws        [mechanism, level or null, code, words, report code]
    rows         [mechanism, codes, words, report codes]       several numbers blurred together
    read         [mechanism, level or null, value, code]        how a value becomes the program's first code
    write        [mechanism, level or null, code, report]       how the last code becomes a report
    keyed        [secret, question, noise, code, words]         the words of a device that answers the same again

Words are sixteen hexadecimal digits; the secret is hexadecimal too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import sfumato as sf
from sfumato.channels.base import Channel
from sfumato.channels.bounded.subset_response import Slices
from sfumato.channels.mechanism import Mechanism
from sfumato.channels.program import WORD, Alias, hex_word
from sfumato.channels.program.random_words import KeyedWords, question_of
from sfumato.domain import Categories, Grid, Interval, domain_to_spec

PLACE = Path(__file__).parent / "programs.json"
UNIT, SMALL = sf.Interval(0, 1), sf.Interval(0, 9, integer=True)
AGES = sf.Interval(20, 80)
COLOURS = sf.Categories(["red", "green", "blue"])

MECHANISMS: dict[str, Mechanism] = {
    "gaussian": sf.Gaussian(UNIT, scale=0.25, step=0.05),
    "gaussian, whole": sf.Gaussian(SMALL, privacy=1.0),
    "gaussian, odd grid": sf.Gaussian(sf.Interval(-1.27, 4.4), scale=1, step=0.3),
    "uniform": sf.Uniform(UNIT, halfwidth=0.5, step=0.02),
    "laplace": sf.Laplace(AGES, scale=20, step=5),
    "square wave": sf.SquareWave(AGES, gamma=19, step=0.5),
    "square wave, whole": sf.SquareWave(SMALL, gamma=np.e),
    "piecewise": sf.Piecewise(AGES, gamma=19, step=0.5),
    "piecewise, two places": sf.Piecewise(SMALL, gamma=3, places=2),
    "piecewise, four places": sf.Piecewise(AGES, epsilon=1, step=5),
    "laplace by its bound": sf.Laplace(AGES, gamma=19, step=5),
    "randomized response": sf.RandomizedResponse(COLOURS, gamma=19),
    "a likely lie": sf.RandomizedResponse(COLOURS, keep=0.1),
    "always the truth": sf.RandomizedResponse(COLOURS, keep=1.0),
    "never the truth": sf.RandomizedResponse(COLOURS, keep=0.0),
    "many categories": sf.RandomizedResponse(sf.Categories(range(1000)), gamma=99),
    "subsets": sf.SubsetResponse(sf.Categories(range(60)), gamma=5),
    "subsets on a grid": sf.SubsetResponse(sf.Categories(range(200)), gamma=19),
    "arcs on a grid": sf.SubsetResponse(sf.Categories(range(200)), gamma=3),
    "subsets of two": sf.SubsetResponse(sf.Categories(["yes", "no"]), gamma=3),
    "subsets of many": sf.SubsetResponse(sf.Categories([f"word {i}" for i in range(1000)]), gamma=19),
    "value classes": sf.Discretize(AGES, width=7.5),
    "value classes, long edges": sf.Discretize(AGES, edges=[5 / 3, 100 / 3, 50.1, 250 / 3]),
    "gaussian, long step": sf.Gaussian(sf.Interval(-1.6304, -0.8348), scale=0.2, step=0.06103729694733737),
    "tabulated": sf.Tabulated(COLOURS, [[0.5, 0.1, 0], [0.5, 0.9, 0.5], [0, 0, 0.5]], reports=["warm", "cold", "none"]),
    "noise, then classes": sf.Gaussian(SMALL, scale=2) >> sf.Discretize(sf.Interval(-30, 40), width=10),
    "classes, then response": sf.Discretize(UNIT, width=0.25) >> sf.SquareWave(UNIT, gamma=9, step=0.05),
    "response twice": sf.RandomizedResponse(COLOURS, keep=0.6) >> sf.RandomizedResponse(COLOURS, keep=0.7),
    "two-phase": sf.TwoPhase(sf.Gaussian(UNIT, privacy=1.0, step=0.02), {"normal": 20, "paranoid": 7}),
    "choice": sf.Choice({f"γ = {g}": sf.RandomizedResponse(COLOURS, gamma=g) for g in (99, 3)}, default="γ = 3"),
    "longitudinal": sf.Longitudinal(sf.RandomizedResponse(COLOURS, gamma=19), sf.RandomizedResponse(COLOURS, gamma=3)),
    "longitudinal, numbers": sf.Longitudinal(
        sf.SquareWave(SMALL, gamma=9), sf.Gaussian(sf.Interval(-9, 18), scale=3, step=3)
    ),
    "clear level": sf.Choice({"open": None, "shy": sf.RandomizedResponse(COLOURS, gamma=3)}),
    "clear numbers": sf.Clear(AGES, step=0.5),
    "correlated": sf.CorrelatedNoise({"a": UNIT, "b": SMALL}, [[0.04, 0.5], [0.5, 9.0]], ratio=1.5),
    "correlated, three": sf.CorrelatedNoise({"a": SMALL, "b": SMALL, "c": SMALL}, np.eye(3) * 4 + 3, privacy=0.8),
}


def on_the_edge(step: dict[str, Any], rng: np.random.Generator) -> list[list[int]]:
    """Words at which a step changes its mind: the last word of one outcome and the first of the next."""
    if step["step"] == "window":
        inside = int(step["inside"], 16)
        first = [min(max(2 * inside + shift, 0), WORD - 1) for shift in (-1, 0)]
        second = [-(-WORD // step["window"]) - 1, -(-WORD // step["window"]) % WORD]
        return [[a, b] for a in first for b in second]
    if step["step"] == "slices":
        inside, prime, digits, width = int(step["inside"], 16), step["prime"], step["digits"], step["width"]
        bounds = Slices(inside, prime, digits, 1, width).directions, prime - width
        first, third = ([-(-WORD // bound) - 1, -(-WORD // bound) % WORD] for bound in bounds)
        return [[a, min(2 * inside + shift, WORD - 1), c] for a in first for shift in (-1, 0) for c in third]
    entries = step.get("noise") or step.get("tables", [[]])[0]
    if not entries:
        return []
    alias, found = Alias.from_list(entries), []
    for place in rng.choice(len(entries), min(4, len(entries)), replace=False).tolist():
        base = place << (64 - alias.bits)
        threshold = alias.listed[place] >> alias.bits
        found += [[base + threshold], [base + max(threshold - 1, 0)]]
    return found


def draws(name: str, level: str | None, channel: Channel, rng: np.random.Generator) -> list[list[Any]]:
    size, count = channel.entry.size, channel.drawing.words
    steps = channel.program()["steps"]
    rows = [[0] * count, [WORD - 1] * count]
    rows += [[int(word) for word in rng.integers(0, WORD, count, dtype=np.uint64)] for _ in range(32)]
    if len(steps) == 1:
        rows += on_the_edge(steps[0], rng)
    codes = [0, size - 1, *rng.integers(0, size, len(rows) - 2).tolist()]
    return [
        [name, level, code, [hex_word(word) for word in words], int(channel.drawing.draw(code, words))]
        for code, words in zip(codes, rows, strict=True)
    ]


def readings(name: str, level: str | None, channel: Channel, rng: np.random.Generator) -> list[list[Any]]:
    domain = channel.domain
    if isinstance(domain, Categories):
        values: list[Any] = list(domain.labels)[:4]
    elif isinstance(domain, Interval) and domain.integer:
        values = [domain.low, domain.high, *rng.integers(domain.low, domain.high + 1, 4).tolist()]
    else:
        assert isinstance(domain, Interval)
        step = channel.entry.step if isinstance(channel.entry, Grid) else 0.5
        between = [round(float(domain.low) + (k + 0.5) * step, 6) for k in range(4)]  # half-way: to the even code
        values = [domain.low, domain.high, *between, *rng.uniform(domain.low, domain.high, 4).round(4).tolist()]
        values = [value for value in values if value <= domain.high]
    return [[name, level, value, channel.encode_one(value)] for value in values]


def writings(name: str, level: str | None, channel: Channel) -> list[list[Any]]:
    last = channel.outputs.size - 1
    return [[name, level, code, channel.outputs.value_of(code)] for code in sorted({0, last // 3, last})]


def together(name: str, mechanism: sf.CorrelatedNoise, rng: np.random.Generator) -> list[list[Any]]:
    cases = []
    for _ in range(30):
        words = rng.integers(0, WORD, (1, 2 * len(mechanism.domains)), dtype=np.uint64)
        codes = [int(rng.integers(0, grid.size)) for grid in mechanism.inputs]
        reports = np.array(codes) + mechanism.noise_of(words)[0]
        cases.append([name, codes, [hex_word(int(word)) for word in words[0]], reports.tolist()])
    return cases


def keyed(rng: np.random.Generator) -> list[list[Any]]:
    cases = []
    for i, (name, mechanism) in enumerate(MECHANISMS.items()):
        for code in (0, 7, 123456789):
            secret, question, noise = rng.bytes(16 + i), question_of("survey", f"{name} – é"), mechanism.noise_identity
            words = KeyedWords(secret, f"{question}\0{noise}").row(code, 1 + i % 6)
            cases.append([secret.hex(), question, noise, code, [hex_word(word) for word in words]])
    return cases


def make() -> dict[str, Any]:
    rng = np.random.default_rng(20261116)
    found: dict[str, Any] = {"mechanisms": {}, "draws": [], "rows": [], "read": [], "write": [], "keyed": keyed(rng)}
    for name, mechanism in MECHANISMS.items():
        parts = {"domain": domain_to_spec(mechanism.domain), "identity": mechanism.identity}
        parts["noise"] = {level: channel.noise_identity for level, channel in mechanism.levels.items()}
        found["mechanisms"][name] = {**parts, "program": mechanism.program()}
        if isinstance(mechanism, sf.CorrelatedNoise):
            found["rows"] += together(name, mechanism, rng)
        for level, channel in mechanism.levels.items():
            found["draws"] += draws(name, level, channel, rng)
            found["read"] += readings(name, level, channel, rng)
            found["write"] += writings(name, level, channel)
    return found


def text(cases: dict[str, Any]) -> str:
    """One case a line."""
    rows = {name: part.items() if isinstance(part, dict) else part for name, part in cases.items()}
    blocks = []
    for name, part in rows.items():
        keyed_part = isinstance(cases[name], dict)
        lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in part] if keyed_part else [json.dumps(c) for c in part]
        opening, closing = "{}" if keyed_part else "[]"
        blocks.append(f"{json.dumps(name)}: {opening}\n" + ",\n".join(lines) + f"\n{closing}")
    return "{\n" + ",\n".join(blocks) + "\n}\n"


if __name__ == "__main__":
    PLACE.write_text(text(make()), encoding="utf-8")
    print({name: len(part) for name, part in make().items()}, PLACE.stat().st_size)
