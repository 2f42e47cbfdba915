"""Write baskets.json: programs, baskets and words, and the reports that every interpreter must draw from them.

Run `python -m tests.vectors.make_baskets`. Everything is a function of this file: laws are fractions and words are
hashes of their places, so that any machine writes the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.channels.baskets.law import SizeLaw
from sfumato.channels.baskets.program import VERSION, SizeProgram, by_noise, read_program
from sfumato.channels.baskets.seeds import seed_generator
from sfumato.channels.program.random_words import row_codes

FILE = Path(__file__).with_name("baskets.json")
FORMS = {"bitmap": SizeProgram.bitmaps, "seed": SizeProgram.seeds}

PROGRAMS: dict[str, tuple[int, Fraction, str | None, list[tuple[int, set[int]]]]] = {
    # name: items, ρ, construction (None: the shorter one), [(size, the kept counts that are 19 times as likely)]
    "halves of 7": (7, Fraction(1, 2), "bch", [(1, {1}), (2, {2}), (3, {0, 3})]),
    "halves of 3": (3, Fraction(1, 2), "polynomial", [(1, {1}), (2, {0}), (3, {1, 2})]),
    "eighths of 65": (65, Fraction(5, 8), None, [(1, {1}), (2, {1}), (3, {3}), (4, {0, 4}), (5, {5}), (6, {5, 6})]),
    "eighths of 64": (64, Fraction(5, 8), "bch", [(1, {0}), (2, {2}), (3, {2}), (4, {4}), (5, {0, 5}), (6, {6})]),
    "sixteenths of 200": (200, Fraction(3, 16), "bch", [(2, {1, 2}), (6, {0, 3})]),
    "1024ths of 130": (130, Fraction(41, 1024), "polynomial", [(1, {1}), (3, {2, 3})]),
    "65536ths of 70": (70, Fraction(12345, 65536), None, [(2, {2}), (4, {0, 2})]),
    "256ths of 1000": (1000, Fraction(131, 256), None, [(5, {5})]),
    "halves of 1000": (1000, Fraction(1, 2), None, [(5, {0, 5}), (6, {6})]),
    "halves of 5000": (5000, Fraction(1, 2), None, [(3, {3})]),
    "empty ones among halves of 70": (70, Fraction(1, 2), None, [(0, set()), (2, {2})]),
    "empty ones among eighths of 65": (65, Fraction(3, 8), "polynomial", [(0, set()), (1, {1})]),
}
SEEDS_ONLY = 1000
"""From so many items on bitmaps take too many words for a small file."""
UP_TO = 2


def program_of(name: str) -> dict[str, Any]:
    items, rho, construction, sizes = PROGRAMS[name]
    parts = [size_part(items, rho, construction, size, boosted) for size, boosted in sizes]
    return {"program": VERSION, "kind": "select-a-size", "items": items, "sizes": parts}


def size_part(items: int, rho: Fraction, construction: Any, size: int, boosted: set[int]) -> dict[str, Any]:
    weights = [p * (19 if j in boosted else 1) for j, p in enumerate(by_noise(size, rho))]
    law = SizeLaw(size, float(rho), tuple(float(weight / sum(weights)) for weight in weights))
    part = SizeProgram.of_law(law, items, UP_TO)
    seed = seed_generator(items, part.threshold, part.depth, min(size + UP_TO, items), construction)
    return replace(part, seed=seed).to_data()


def words_of(place: str, count: int) -> list[int]:
    digests = [hashlib.sha256(f"{place}/{number}".encode()).digest() for number in range(count)]
    return [int.from_bytes(digest[:8], "big") for digest in digests]


def first_words(bounds: list[int]) -> list[int]:
    """The first and the last word of every outcome: each kept count that can be told, and pure noise."""
    ends = [(low, high - 1) for low, high in pairwise([0, *bounds, 1 << 64]) if low < high]
    return sorted({word for end in ends for word in end})


def members_of(place: str, items: int, size: int) -> list[int]:
    ranked = sorted(range(items), key=lambda item: hashlib.sha256(f"{place}/{item}".encode()).digest())
    return sorted(ranked[:size])


def cases() -> Iterator[dict[str, Any]]:
    for name in PROGRAMS:
        program = program_of(name)
        for part in program["sizes"]:
            for form in FORMS:
                if form == "seed" or program["items"] < SEEDS_ONLY:
                    yield from cases_of(name, program, part, form)


def cases_of(name: str, program: dict[str, Any], part: dict[str, Any], form: str) -> Iterator[dict[str, Any]]:
    size, count = part["size"], part["words"][form]
    rows = [[first, *words_of(f"{name}/{size}/{form}/{first}", count - 1)] for first in first_words(kept_bounds(part))]
    if count < 40:
        rows += [[0] * count, [(1 << 64) - 1] * count]
    for row in rows:
        members = members_of(f"{name}/{size}/{form}/{row[0]}", program["items"], size)
        drawing = read_program(program)[size]
        report = FORMS[form](drawing, np.array([members]), np.array([row], dtype=np.uint64))
        case = {"program": name, "size": size, "form": form, "members": members, "words": hex_of(row)}
        case["report"] = hex_of(report[0].tolist())
        if form == "seed":
            case["shows"] = hex_of(drawing.generator.expand(report)[0].tolist())
        yield case


def codes() -> Iterator[dict[str, Any]]:
    """The code under which a basket's keyed noise is drawn."""
    for size in range(9):
        members = members_of(f"code/{size}", 10**size, size) if size < 5 else [7**place for place in range(size)]
        code = int(row_codes(np.array([members]))[0]) % (1 << 64)
        yield {"members": members, "code": f"{code:016x}"}


def kept_bounds(part: dict[str, Any]) -> list[int]:
    return [int(bound, 16) for bound in part["kept"]]


def hex_of(words: list[int]) -> str:
    """Words as 16 hexadecimal digits each, one after the other."""
    return "".join(f"{word:016x}" for word in words)


def text() -> str:
    programs = ",\n".join(f"{json.dumps(name)}: {json.dumps(program_of(name))}" for name in PROGRAMS)
    drawn = ",\n".join(json.dumps(case) for case in cases())
    named = ",\n".join(json.dumps(code) for code in codes())
    return f'{{"programs": {{\n{programs}\n}},\n"cases": [\n{drawn}\n],\n"codes": [\n{named}\n]}}\n'


if __name__ == "__main__":
    FILE.write_text(text())
