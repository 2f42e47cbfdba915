"""The JavaScript interpreter passes the cases that every interpreter must pass, in Node and in Chromium."""

from __future__ import annotations

import json
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Page

import sfumato as sf
from sfumato.channels.baskets.program import read_program
from sfumato.channels.mechanism import Mechanism
from sfumato.channels.program.random_words import KeyedWords
from sfumato.client.questions import blur_of
from sfumato.domain import Categories, Items, Row, domain_to_spec
from tests.browser.chromium import ROOT, STATIC, in_node
from tests.laws.test_laws import EXAMPLES
from tests.vectors import make_baskets, make_programs

HERE = Path(__file__).parent
AGES, SMALL, WIDE = sf.Interval(20, 80), sf.Interval(0, 9), sf.Interval(-90, 99)
LARGE: list[Mechanism] = [
    sf.Laplace(AGES, scale=20) >> sf.Discretize(sf.Interval(-200, 300), width=10, outside="clamp"),
    sf.Laplace(SMALL, scale=9) >> sf.Discretize(WIDE, width=3) >> sf.Discretize(WIDE, width=9),
    sf.Discretize(SMALL, width=3) >> sf.Discretize(SMALL, width=6) >> sf.SquareWave(SMALL, gamma=9),
    sf.TwoPhase(sf.SquareWave(AGES, gamma=19), {"normal": 30, "careful": 5}),
    sf.TwoPhase(sf.Laplace(AGES, scale=30), {"normal": 30, "careful": 5}),
    sf.TwoPhase(sf.Gaussian(AGES, privacy=1.0), {"normal": 200, "paranoid": 25}),
    sf.Laplace(sf.Interval(0, 20_000), scale=10_000, step=1),
    sf.SquareWave(sf.Interval(0, 100_000), gamma=9, step=1),
    sf.RandomizedResponse(sf.Categories(range(100_000)), gamma=99),
]


def expected_gammas() -> dict[str, dict[str, str | None]]:
    """γ of what is remembered, of every mechanism and level in the cases."""
    found: dict[str, dict[str, str | None]] = {}
    for name, mechanism in make_programs.MECHANISMS.items():
        levels = mechanism.levels or {None: None}
        found[name] = {level or "": text(blur_of(mechanism, level).gamma) for level in levels}
    for name in make_baskets.PROGRAMS:
        parts = read_program(make_baskets.program_of(name))
        found[name] = {"": text(max(part.gamma for part in parts.values()))}
    return found


def text(gamma: Fraction | str | None) -> str | None:
    return None if gamma is None else "{}/{}".format(*Fraction(gamma).as_integer_ratio())


def check(result: dict[str, Any]) -> None:
    assert result["differing"] == []
    assert result["counted"] >= 1700
    assert result["gammas"] == expected_gammas()


def test_node_passes_every_case_and_reads_the_exact_gammas() -> None:
    check(in_node(HERE / "run.js"))


def test_chromium_passes_every_case_and_reads_the_exact_gammas(page: Page, origin: str) -> None:
    page.goto(f"{origin}/tests/vectors/programs.json")
    run = "async (cases) => { const { run } = await import('/tests/vectors/run.js'); return run(...cases); }"
    check(page.evaluate(run, [json.loads((HERE / f"{name}.json").read_text()) for name in ("programs", "baskets")]))


def test_gamma_of_every_kind_is_that_of_python_and_soon_found() -> None:
    """Exactly; of large chains to a billionth, from sums of doubles in another order."""
    mechanisms = [each for found in EXAMPLES.values() for each in found if each.levels] + LARGE
    asked = [{"domain": domain_to_spec(each.domain), "program": each.program(), "answers": []} for each in mechanisms]
    for mechanism, found in zip(mechanisms, in_node(HERE / "interpreter.js", "attempt", given=asked), strict=True):
        assert found["seconds"] < 5
        for level in mechanism.levels:
            wanted, stated = blur_of(mechanism, level).gamma, found["answer"]["gammas"][level or ""]
            assert (wanted is None) == (stated is None), mechanism
            if wanted is not None and stated != text(wanted):
                assert mechanism in LARGE or mechanism.kind in ("chain", "two-phase-level"), mechanism
                assert abs(Fraction(stated) / Fraction(wanted) - 1) < Fraction(2, 10**9), mechanism


def test_a_page_over_plain_http_is_told_why_it_cannot_answer(page: Page) -> None:
    page.route("http://town.example/", lambda route: route.fulfill(body="hello", content_type="text/html"))
    files = ROOT / STATIC
    page.route("http://town.example/*.js", lambda route: route.fulfill(path=files / Path(route.request.url).name))
    page.goto("http://town.example/")
    said = page.evaluate(
        """async (program) => {
            const { readMechanism } = await import("/mechanism.js");
            return readMechanism({ categories: ["red", "green", "blue"] }, program).catch((error) => error.message);
        }""",
        make_programs.MECHANISMS["randomized response"].program(),
    )
    assert said == "Browsers lend no cryptography over plain HTTP; open the page by https."


# --- keyed answers --------------------------------------------------------------------------------------------------

SECRET, QUESTION = bytes(range(32)), '["https://town.example","é – 年"]'
BASKETS = sf.SelectASize.design(sf.Items(["tea", "milk", "rice", "salt", "soap"]), sizes=[2, 3], gamma=19, up_to=2)
MANY = sf.SelectASize.design(sf.Items(1000), sizes=[3], gamma=19, up_to=2)
KEYED = make_programs.MECHANISMS | {"labelled baskets": BASKETS, "many items": MANY}


def values_of(mechanism: Mechanism) -> list[Any]:
    domain = mechanism.domain
    if isinstance(domain, Categories):
        return list(domain.labels[:5])
    if isinstance(domain, Items):
        return [list(domain.labels[:3]), [domain.labels[0], domain.labels[2], domain.labels[4]]]
    if isinstance(domain, Row):
        ends = [(each.low, each.high) for each in domain.columns.values()]
        return [dict(zip(domain.columns, row, strict=True)) for row in zip(*ends, strict=True)]
    return [domain.low, domain.high, round((domain.low + 2 * domain.high) / 3)]


def test_a_secret_draws_in_javascript_what_it_draws_in_python() -> None:
    asked, expected = [], []
    for mechanism in KEYED.values():
        for level in mechanism.levels or [None]:
            values = values_of(mechanism)
            spec = {"domain": domain_to_spec(mechanism.domain), "program": mechanism.program()}
            asked.append({**spec, "level": level, "values": values, "secret": SECRET.hex(), "question": QUESTION})
            blur, words = blur_of(mechanism, level), KeyedWords(SECRET, "")
            expected.append([blur.draw(value, words, QUESTION) for value in values])
    found = in_node(HERE / "interpreter.js", "keyed", given=asked)
    assert [each["answer"] for each in found] == expected


def test_node_18_has_web_crypto_elsewhere() -> None:
    """There it is no global, but a part of node:crypto."""
    words = (ROOT / STATIC / "words.js").as_uri()
    script = f"delete globalThis.crypto; const found = await import('{words}'); console.log(found.freshWords(9).length)"
    done = subprocess.run(["node", "--input-type=module", "-e", script], capture_output=True, text=True, timeout=60)
    assert done.stdout == "18\n", done.stderr


def test_fresh_words_are_as_many_as_asked_for_and_never_the_same() -> None:
    found = in_node(HERE / "interpreter.js", "fresh", given=[{"counts": [1, 511, 513, 20_000, 3]}])[0]["answer"]
    assert [len(row) for row in found] == [2, 1022, 1026, 40_000, 6]
    halves = [half for row in found for half in row]
    assert len(set(halves)) > 0.999 * len(halves)  # 42,056 numbers of 32 bits: 0.2 pairs are expected


SUBSETS = """
import { gammaOf } from "%s/check/gamma.js";
import { readMechanism } from "%s/mechanism.js";
import { readFileSync } from "node:fs";
const { labels, program, words } = JSON.parse(readFileSync(0, "utf8"));
const [subsets, baskets] = await Promise.all(
  [{ categories: labels }, { items: labels }].map((domain) => readMechanism(domain, program)),
);
const drawn = words.flatMap((row) => labels.map((label) => {
  const noise = Uint32Array.from(row);
  const [one, other] = [subsets, baskets].map((made) => made.parts.get(""))
    .map((part, i) => part.remember(part.codes([label, [label]][i]), noise));
  return JSON.stringify(one) === JSON.stringify(other);
}));
const key = { secret: new Uint8Array(16), question: "q" };
const again = JSON.stringify(await subsets.draw(labels[3], key)) === JSON.stringify(await subsets.draw(labels[3], key));
const stray = await subsets.draw("nowhere", key).catch((error) => error.message);
const differs = subsets.identity !== baskets.identity;
console.log(JSON.stringify({ drawn, again, stray, differs, gamma: String(gammaOf(program).num) }));
"""


def test_a_subset_of_categories_is_drawn_as_a_basket_of_one(tmp_path: Path) -> None:
    labels = [f"town {number}" for number in range(40)]
    channel = sf.SelectASize.design(sf.Items(labels), sizes=[1], gamma=19, up_to=1)
    words = np.random.default_rng(1).integers(0, 2**32, (20, 2 * 8)).tolist()
    script = tmp_path / "subsets.mjs"
    script.write_text(SUBSETS % (2 * ((ROOT / STATIC).as_uri(),)), encoding="utf-8")
    found = in_node(script, given={"labels": labels, "program": channel.program(), "words": words})
    assert all(found["drawn"]) and found["again"] and found["differs"]
    assert found["stray"] == "The answer is none of the categories; choose one."
    assert int(found["gamma"]) == channel.exact_gamma.numerator
