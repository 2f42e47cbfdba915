"""The Python interpreter passes the cases that every interpreter must pass, reading the programs alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.channels.identity import identity_of, noise_part
from sfumato.channels.mechanism import mechanism_from_spec
from sfumato.channels.program import Program, interpreter
from sfumato.channels.program.random_words import KeyedWords
from sfumato.domain import Cells, Grid, domain_from_spec
from tests.vectors import make_programs

CASES = json.loads((Path(__file__).parent / "programs.json").read_text(encoding="utf-8"))
MECHANISMS = CASES["mechanisms"]


def program_of(name: str, level: str | None) -> dict[str, Any]:
    written = MECHANISMS[name]["program"]
    found: dict[str, Any] = written if level is None else written["levels"][level]
    return found


def test_the_cases_are_those_that_the_script_makes() -> None:
    assert json.loads(make_programs.text(make_programs.make())) == CASES


def test_there_are_many() -> None:
    baskets = json.loads((Path(__file__).parent / "baskets.json").read_text(encoding="utf-8"))
    counted = sum(len(CASES[part]) for part in ("draws", "rows", "read", "write", "keyed"))
    assert counted + len(baskets["cases"]) >= 1000


@pytest.mark.parametrize("name", MECHANISMS)
def test_words_lead_to_the_report(name: str) -> None:
    cases = [case for case in CASES["draws"] if case[0] == name]
    for level in dict.fromkeys(case[1] for case in cases):
        program = Program.from_dict(program_of(name, level))
        some = [case for case in cases if case[1] == level]
        rows = [[int(word, 16) for word in case[3]] for case in some]
        reports = [case[4] for case in some]
        assert [program.draw(case[2], words) for case, words in zip(some, rows, strict=True)] == reports
        codes = np.array([case[2] for case in some])
        words = np.array(rows, dtype=np.uint64).reshape(len(some), program.words)
        np.testing.assert_array_equal(program.draw(codes, list(words.T)), reports)
        many = np.resize(codes, interpreter.WORTH_COMPILING).astype(np.int32)
        interpreter.draw_in_place(program, many, np.resize(words, (many.size, program.words)))
        np.testing.assert_array_equal(many, np.resize(reports, many.size))


def test_rows_are_drawn_together() -> None:
    for name, codes, words, reports in CASES["rows"]:
        noise: list[int] = []
        pairs = [(int(a, 16), int(b, 16)) for a, b in zip(words[::2], words[1::2], strict=True)]
        for column, (word, other) in zip(MECHANISMS[name]["program"]["columns"], pairs, strict=True):
            alone = {"step": "shift", "noise": column["noise"], "offset": 0, "outputs": 1 << 30}
            drawn = Program.from_dict({"program": 1, "read": {"size": 1}, "steps": [alone], "write": {}})
            centre = sum(w * k for w, k in zip(column["weights"], noise, strict=True))
            noise.append(drawn.draw(0, [word]) - column["offset"] + ((centre + (other >> 32)) >> 32))
        assert [code + k for code, k in zip(codes, noise, strict=True)] == reports


def test_values_become_codes_and_codes_become_reports() -> None:
    for name, level, value, code in CASES["read"]:
        read, domain = program_of(name, level)["read"], domain_from_spec(MECHANISMS[name]["domain"])
        assert code == (domain.labels.index(value) if "per" not in read else space_of(read).code_of(value)), name  # type: ignore[union-attr]
    for name, level, code, report in CASES["write"]:
        write, domain = program_of(name, level)["write"], domain_from_spec(MECHANISMS[name]["domain"])
        labels = write.get("labels") or getattr(domain, "labels", None)
        assert report == (labels[code] if "per" not in write else space_of(write).value_of(code)), name


def space_of(written: dict[str, Any]) -> Grid | Cells:
    per = written["per"]
    if "edges" in written:
        return Cells(tuple(edge / per for edge in written["edges"]))
    return Grid(written["first"] / per, written["stride"] / per, written["size"])


def test_a_device_answers_the_same_again() -> None:
    for secret, question, noise, code, words in CASES["keyed"]:
        found = KeyedWords(bytes.fromhex(secret), f"{question}\0{noise}").row(code, len(words))
        assert [f"{word:016x}" for word in found] == words


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_keyed_noise_depends_on_is_read_off_the_program(name: str) -> None:
    for level, noise in MECHANISMS[name]["noise"].items():
        program = program_of(name, None if level == "null" else level)
        assert noise == identity_of({"domain": MECHANISMS[name]["domain"], **noise_part(program)})


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_identity_is_the_hash_of_domain_and_program(name: str) -> None:
    found = MECHANISMS[name]
    assert found["identity"] == identity_of({"domain": found["domain"], "program": found["program"]})
    made = make_programs.MECHANISMS[name]
    assert mechanism_from_spec(made.domain, json.loads(json.dumps(made.to_spec()))).identity == found["identity"]
