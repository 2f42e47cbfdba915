"""One answer with all its noise, of a plan with 20 attributes and a ledger in memory: in Python and in Chromium.

The limits are 0.5 ms and 5 ms. Beside the median stands the time in units of one HMAC-SHA-256 of Python, which travels
between machines.
"""

import hmac
import shutil
import statistics
import time

from harness import Bench, main
from playwright.sync_api import sync_playwright

import sfumato as sf
from sfumato.client import survey
from tests.browser.chromium import ROOT, STATIC, serving

AGES = {"low": 20, "high": 80}
NOISE = {"channel": "gaussian", "privacy": 1.0, "step": 1}
KINDS = {
    "category": ({"categories": ["a", "b", "c"], "channel": "randomized-response", "gamma": 19}, "b"),
    "number": ({**AGES, "channel": "square-wave", "gamma": 19}, 33.3),
    "whole": ({**AGES, "integer": True, "channel": "gaussian", "privacy": 1.0}, 55),
    "level": ({**AGES, "channel": "two-phase", "noise": NOISE, "levels": {"normal": 20, "shy": 5}}, 40),
}
NAMES = {f"{kind} {i}": kind for i in range(5) for kind in KINDS}
PLAN = sf.Plan.from_dict({"attributes": {name: KINDS[kind][0] for name, kind in NAMES.items()}})
ANSWERS = {name: KINDS[kind][1] for name, kind in NAMES.items()}
IN_PAGE = """async ([module, document, answers, times]) => {
  const { answer, Ledger, readSurvey } = await import(module);
  const survey = await readSurvey(document);
  const [first, again] = [[], []];
  for (let i = 0; i < times; i++) {
    const options = { secret: crypto.getRandomValues(new Uint8Array(32)), ledger: new Ledger(), collector: "town" };
    for (const found of [first, again]) {
      const start = performance.now();
      await answer(survey, answers, options);
      found.push(performance.now() - start);
    }
  }
  return [first, again];
}"""


def milliseconds(call) -> float:
    start = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - start)


def in_python(times: int) -> list[list[float]]:
    first, again = [], []
    for i in range(times):
        device = sf.Device(i.to_bytes(16, "big"), sf.Ledger())
        for found in (first, again):
            found.append(milliseconds(lambda: device.answer(PLAN, ANSWERS, collector="town")))  # noqa: B023
    return [first, again]


def in_chromium(times: int) -> list[list[float]]:
    with serving(ROOT) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page()
        page.goto(f"{address}/{STATIC}/package.json")
        return page.evaluate(IN_PAGE, [f"/{STATIC}/sfumato.js", survey(PLAN), ANSWERS, times])


def measure(bench: Bench) -> None:
    one = statistics.median(milliseconds(lambda: hmac.digest(b"k" * 32, b"m" * 100, "sha256")) for _ in range(5000))
    bench.table("Answers of 20 questions", {"ms": ".3f", "HMACs": ".0f", "limit, ms": "g"})
    for name, work, limit in (("Python", in_python, 0.5), ("Chromium", in_chromium, 5)):
        work(3)
        for kind, found in zip(("a new answer", "the same again"), work(bench.runs), strict=True):
            median = statistics.median(found)
            bench.row(f"{name}: {kind}", median, median / one, limit)


if __name__ == "__main__":
    main(measure, runs=300)
