"""Damaged programs in JavaScript: refused by one sentence, or drawn to a report in range; never a hang."""

from __future__ import annotations

import copy
import json
import math
import shutil
import subprocess
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.channels.baskets.program import read_program
from sfumato.channels.program import Program
from sfumato.domain import domain_to_spec
from tests.hostile import mutated, places
from tests.vectors import make_programs
from tests.vectors.test_javascript import BASKETS, values_of

HERE = Path(__file__).parent
SECONDS = 100  # of a machine that may be busy
TINY = sf.SelectASize.design(sf.Items(40), sizes=[1, 3], gamma=9, up_to=1)
MECHANISMS = make_programs.MECHANISMS | {"baskets": BASKETS, "numbered baskets": TINY}
Attempt = Callable[[dict[str, Any]], dict[str, Any]]


@pytest.fixture(scope="module")
def attempt() -> Iterator[Attempt]:
    """Asks one running Node what comes of a program; it is ended when it takes too long."""
    node = shutil.which("node")
    assert node, "there is no node; requirements/debian.txt names the package"
    command = [node, str(HERE / "interpreter.js"), "attempt"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None

        def ask(case: dict[str, Any]) -> dict[str, Any]:
            assert process.stdin is not None and process.stdout is not None
            clock = Timer(SECONDS, process.kill)
            clock.start()
            process.stdin.write(json.dumps([case]) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
            clock.cancel()
            assert line, f"Node ended, or took more than {SECONDS} s"
            found: dict[str, Any] = json.loads(line, parse_int=as_double)[0]["answer"]
            return found

        yield ask
        process.stdin.close()


def as_double(digits: str) -> float:
    """The number of JavaScript that these digits stand for: beyond 2^53 it writes digits of its own choice."""
    return int(digits) if abs(int(digits)) <= 1 << 53 else float(digits)


def plain(value: Any) -> Any:
    """The value as JavaScript reads it in JSON: whole numbers beyond 2^53 are rounded, none is infinite or NaN."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [plain(part) for part in value]
    if isinstance(value, int) and abs(value) > 1 << 53:
        return float(value) if abs(value) < 1 << 1000 else None
    return None if isinstance(value, float) and not math.isfinite(value) else value


def case_of(name: str) -> dict[str, Any]:
    mechanism = MECHANISMS[name]
    return {"domain": domain_to_spec(mechanism.domain), "program": mechanism.program()}


def answers_of(name: str) -> list[Any]:
    return [*values_of(MECHANISMS[name]), None]


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_whole_program_is_drawn(attempt: Attempt, name: str) -> None:
    found = attempt({**case_of(name), "answers": answers_of(name)})
    assert "sentence" not in found or "A basket here has" in found["sentence"]


@settings(max_examples=600)
@example("clear numbers", 146)  # a grid that starts at -2^63
@example("tabulated", 1489)  # a label that is 2^63
@given(st.sampled_from(list(MECHANISMS)), st.integers(0, 2**32 - 1))
@example("gaussian", 0)
def test_a_damaged_program_is_refused_by_a_sentence_or_gives_a_report_in_range(
    attempt: Attempt, name: str, seed: int
) -> None:
    case = plain(mutated(case_of(name), np.random.default_rng(seed)))
    if not isinstance(case, dict):
        return
    found = attempt({**case, "answers": answers_of(name)})
    if "sentence" in found:
        sentence = found["sentence"]
        assert found["error"] == "Error", found
        assert len(sentence.splitlines()) == 1 and sentence.endswith(".") and len(sentence) < 300, sentence
    else:
        assert all(in_range(report, case) for report in found["reports"]), (found, case["program"])


@settings(max_examples=300)
@given(st.sampled_from([name for name in MECHANISMS if not name.startswith("correlated")]), st.integers(0, 2**32 - 1))
def test_what_a_nudged_program_still_draws_has_the_gamma_that_python_reads(
    attempt: Attempt, name: str, seed: int
) -> None:
    case = nudged(case_of(name), np.random.default_rng(seed))
    found = attempt({**case, "answers": answers_of(name)})
    assert all(in_range(report, case) for report in found.get("reports", [])), (found, case["program"])
    for level, gamma in found.get("gammas", {}).items():
        assert gamma == gamma_in_python(case["program"]["levels"][level] if level else case["program"])


def nudged(case: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """A copy in which a whole number of the program is a few more or fewer, or one digit of a word another."""
    changed = copy.deepcopy(case)
    held = {place: at(changed["program"], place) for place in places(changed["program"])}
    numbers = [place for place, found in held.items() if isinstance(found, int)]
    words = [place for place, found in held.items() if isinstance(found, str) and len(found) == 16]
    chosen = words if words and (not numbers or rng.random() < 0.5) else numbers
    place = chosen[int(rng.integers(len(chosen)))]
    table, found = at(changed["program"], place[:-1]), held[place]
    if isinstance(found, int):
        table[place[-1]] = found + int(rng.choice([-3, -2, -1, 1, 2, 3]))
    else:
        digit = int(rng.integers(16))
        table[place[-1]] = found[:digit] + f"{int(rng.integers(16)):x}" + found[digit + 1 :]
    return changed


def at(data: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        data = data[key]
    return data


def gamma_in_python(program: dict[str, Any]) -> str | None:
    if "sizes" in program:
        return fraction(max(part.gamma for part in read_program(program).values()))
    kept = program["steps"][: program.get("permanent", len(program["steps"]))]
    return fraction(Program.from_dict({**program, "steps": kept, "write": {}}).gamma)


def fraction(gamma: Fraction | None) -> str | None:
    return None if gamma is None else f"{gamma.numerator}/{gamma.denominator}"


def in_range(report: Any, case: dict[str, Any]) -> bool:
    """Nothing, whether it can be carried, a number, a label, several numbers, or a basket in hexadecimal digits."""
    program = case["program"]
    spaces = [part for level in program.get("levels", {"": program}).values() for part in ends(level)]
    own = [part["labels"] for part in spaces if isinstance(part.get("labels"), list)]
    labels = [label for each in (*own, case["domain"].get("categories") or []) for label in each]
    if report is None or isinstance(report, bool) or report in labels:
        return True
    if isinstance(report, (int, float)):
        return any(low <= report <= high for low, high in map(bounds, filter(lambda part: "per" in part, spaces)))
    if "columns" in program:
        return set(report) == set(case["domain"]["columns"])
    if set(report) == {"seed"} and "sizes" not in program:  # of a set, remembered by its number
        return in_range(report["seed"], case)
    sizes = {part["size"]: part for part in program["sizes"]}
    form = next(key for key in report if key != "size")
    bits = sizes[report["size"]]["seed"]["bits"] if form == "seed" else program["items"]
    return bytes.fromhex(report[form])[-(-bits // 8) :].strip(b"\0") == b""


def ends(program: dict[str, Any]) -> list[dict[str, Any]]:
    return [program[end] for end in ("write", "remembered") if isinstance(program.get(end), dict)]


def bounds(space: dict[str, Any]) -> tuple[float, float]:
    if "edges" in space:
        return min(space["edges"]) / space["per"], max(space["edges"]) / space["per"]
    return space["first"] / space["per"], (space["first"] + space["stride"] * (space["size"] - 1)) / space["per"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"program": 2}, "update"),
        ({"program": "1"}, "damaged"),
        ({"steps": []}, "damaged"),
        ({"words": 3}, "damaged"),
        ({"steps": [{"step": "constructor"}]}, "damaged"),
        ({"read": {"size": 1e300}}, "damaged"),
    ],
)
def test_the_sentence_says_how_to_mend_it(attempt: Attempt, change: dict[str, Any], words: str) -> None:
    case = copy.deepcopy(case_of("randomized response"))
    case["program"] |= change
    assert words in attempt({**case, "answers": ["red"]})["sentence"]


@pytest.mark.parametrize("digits", ["6000000000000000", 1e15, 21, 0, None])
def test_slices_of_more_digits_than_there_are_are_refused_at_once(attempt: Attempt, digits: Any) -> None:
    case = copy.deepcopy(case_of("subsets of two"))
    case["program"]["steps"][0]["digits"] = digits
    assert "damaged" in attempt({**case, "answers": ["yes"]})["sentence"]


def test_a_program_nested_deeply_is_refused(attempt: Attempt) -> None:
    case: dict[str, Any] = case_of("randomized response")
    for _ in range(100):
        case["program"] = {"program": 1, "levels": {"a": case["program"]}, "default": "a"}
    assert "damaged" in attempt({**case, "answers": ["red"]})["sentence"]
