"""The shipped JavaScript, a plan with every kind of mechanism, and copies of the files with one line changed."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

import sfumato as sf
from sfumato.privacy.audit import SAMPLES

STATIC = files("sfumato.client") / "static"
COIN, AGES, UNIT = sf.Categories(["yes", "no"]), sf.Interval(20, 80, integer=True), sf.Interval(0, 1)
TIMES, TEN = sf.Categories(["never", "at times", "often"]), sf.Interval(0, 10)


def plan_of(*names: str) -> sf.Plan:
    """A plan of these attributes; of all of them where none is named."""
    return sf.Plan("every kind", {name: each for name, each in ATTRIBUTES.items() if not names or name in names})


def _attributes() -> dict[str, sf.Attribute]:
    often = [[0.7, 0.2, 0.1], [0.2, 0.6, 0.3], [0.1, 0.2, 0.6]]
    body = {"height": sf.Interval(100, 220), "weight": sf.Interval(30, 150), "waist": sf.Interval(40, 160)}
    covariance = [[100.0, 80.0, 40.0], [80.0, 150.0, 90.0], [40.0, 90.0, 120.0]]
    channels = {
        "age": sf.Gaussian(AGES, privacy=1.0),
        "share": sf.SquareWave(UNIT, gamma=9),
        "smokes": sf.RandomizedResponse(TIMES, gamma=5),
        "drinks": sf.RandomizedResponse(TIMES, gamma=5),
        "sport": sf.Tabulated(TIMES, often),
        "hours": sf.Uniform(TEN, halfwidth=4, step=0.5) >> sf.Discretize(sf.Interval(-4, 14), width=2),
        "income": sf.TwoPhase(sf.Laplace(UNIT, scale=0.5, step=0.01), {"normal": 20, "careful": 5}),
        "habit": sf.Longitudinal(sf.RandomizedResponse(COIN, gamma=19), sf.RandomizedResponse(COIN, gamma=3)),
        "body": sf.CorrelatedNoise(body, covariance, ratio=1.5),
        "basket": sf.SelectASize.design(sf.Items(60), sizes=[2, 3], gamma=9, up_to=2),
    }
    asked = {name: sf.Attribute(name, channel.domain, channel) for name, channel in channels.items()}
    return {**asked, "town": sf.Attribute("town", sf.Categories(["A", "B"]), None, role="class")}


ATTRIBUTES = _attributes()


@dataclass(frozen=True)
class Change:
    """One line of a file in other words, and the attributes in which that shows."""

    file: str
    line: str
    changed: str
    attributes: tuple[str, ...]
    samples: int = 40_000  # enough to find it

    def into(self, folder: Path) -> list[str]:
        """A copy of the shipped files with the line changed, as the command that drives it."""
        with as_file(STATIC) as shipped:
            shutil.copytree(shipped, folder)
        path = folder / self.file
        text = path.read_text()
        assert text.count(self.line) == 1, f"{self.file} has the line {text.count(self.line)} times: {self.line}"
        path.write_text(text.replace(self.line, self.changed))
        return ["node", str(folder / "drive.mjs")]


REFILL = "crypto.getRandomValues(words.subarray(at, at + LARGEST_FILL))"
GENERATOR = """for (const i of words.keys()) {
  const x = (globalThis.drawn = (globalThis.drawn ?? -1) + 1) % 1024 ? globalThis.x : SEED;
  words[i] = globalThis.x = Math.imul(x ^ (x >>> 15), 0x2c1b3c6d) + 0x9e3779b9;
}"""
SHORT_SEED = "crypto.getRandomValues(new Uint16Array(1))[0]"
CHANGES = {
    "the bits that chose a place are used again": Change(
        "steps.js", "less((wordHigh << bits) >>> bits,", "less(wordHigh,", ("age",)
    ),
    "a window's own places are not left out": Change(
        "steps.js", "other + width * Number(other >= code)", "other", ("share",)
    ),
    "what is remembered is sent as it is": Change(
        "program.js",
        "exit.value(everyRound.run(memory.code(report), freshWords(everyRound.words)))",
        "report",
        ("habit",),
    ),
    "noise by the clock": Change(
        "words.js", REFILL, GENERATOR.replace("SEED", "Date.now()"), ("share",)
    ),
    "a seed of 16 bits": Change(
        "words.js", REFILL, GENERATOR.replace("SEED", SHORT_SEED), ("share",), SAMPLES
    ),
    **{
        f"one number in a {many} as it is": Change(
            "mechanism.js",
            "if (value === null) return null",
            f'if (value === null || (typeof value === "number" && Math.random() < {share})) return value',
            ("share",),
            samples,
        )
        for many, share, samples in (("hundred", 1e-2, 40_000), ("thousand", 1e-3, SAMPLES))
    },
    "the question does not count": Change(
        "mechanism.js", "`${question}\\0${part.noise}`", "part.noise", ("smokes",)
    ),
    "every block of words is the first": Change(
        "words.js", "tail.setUint32(8, i)", "tail.setUint32(8, 0)", ("body",)
    ),
    "all questions have the same noise": Change(
        "answer.js",
        "question: JSON.stringify([collector, name])",
        "question: JSON.stringify([collector])",
        ("smokes", "drinks"),
    ),
}
