import json

import numpy as np
import pytest
from pyarrow import csv, parquet


@pytest.fixture(scope="module")
def kept():
    """The answer of the design that all tests use, and the files of it."""
    return {}


@pytest.fixture
def baskets(folder, sfumato, kept):
    if not kept:
        kept["answer"] = design(folder, sfumato)
        kept["files"] = {name: (folder / name).read_text() for name in ("baskets.csv", "baskets.json")}
    for name, text in kept["files"].items():
        folder.write(name, text)
    return kept["answer"]


def design(folder, sfumato):
    rng = np.random.default_rng(1)
    others = rng.permuted(np.tile(np.arange(8, 50), (8000, 1)), axis=1)[:, :3]
    chance = rng.random(8000)
    rows = [
        [1, 2, 3] if u < 0.4 else [4, 5, 6, 7] if u < 0.7 else row.tolist()
        for u, row in zip(chance, others, strict=True)
    ]
    folder.write("baskets.csv", "basket\n" + "\n".join(" ".join(map(str, row)) for row in rows) + "\n")
    answer = sfumato("itemsets design --items 50 --sizes 3-4 --gamma 19 --up-to 2 --reports 8000 -o baskets.json")
    assert answer.code == 0, answer.err
    return answer


def test_a_design_states_its_guarantee_and_what_can_be_found(baskets):
    assert "γ = 19" in baskets.out and "With 8,000 reports" in baskets.out and "as a seed" in baskets.out


@pytest.mark.parametrize(
    ("extension", "compress"), [("parquet", ""), ("csv", ""), ("csv", "--compress"), ("parquet", "--compress")]
)
def test_what_many_hold_is_found_in_the_reports(sfumato, folder, baskets, extension, compress):
    assert sfumato(f"itemsets randomize baskets.json baskets.csv -o reports.{extension} {compress}").code == 0
    answer = sfumato(f"itemsets mine baskets.json reports.{extension} --min-support 0.2 --max-len 2 --json --rules 0.7")
    found = json.loads(answer.out)
    itemsets = [tuple(row["itemsets"]) for row in found["itemsets"]]
    assert set(itemsets) == {(i,) for i in range(1, 8)} | {(1, 2), (1, 3), (2, 3)} | {
        (a, b) for a in range(4, 8) for b in range(a + 1, 8)
    }
    assert any(rule["antecedents"] == [1] and rule["consequents"] == [2] for rule in found["rules"])


def test_itemsets_are_written_with_their_errors(sfumato, folder, baskets):
    sfumato("itemsets randomize baskets.json baskets.csv -o reports.parquet --seed 1")
    assert parquet.read_table(folder / "reports.parquet").column_names == ["size", "bitmap"]
    answer = sfumato("itemsets mine baskets.json reports.parquet --min-support 0.25 --max-len 1 -o found.csv")
    assert "itemsets reach 25.00%" in answer.out
    assert csv.read_csv(folder / "found.csv").column_names == ["itemset", "support", "stderr", "certainty"]


def test_a_support_that_cannot_be_seen_is_a_note_on_stderr(sfumato, baskets):
    sfumato("itemsets randomize baskets.json baskets.csv -o reports.parquet --seed 1")
    answer = sfumato("itemsets mine baskets.json reports.parquet --min-support 0.01 --max-len 2")
    assert answer.code == 0 and "reports are needed" in answer.err and "certain are shown" in answer.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("design --items x --sizes 3 --gamma 19", "neither a number nor a file"),
        ("design --items 50 --sizes 5-3 --gamma 19", "--sizes 5-3 is unclear"),
        ("design --items 50 --sizes 3", "give either gamma="),
        ("design --items 50 --sizes 3 --gamma 0.5", "γ = 0.5"),
        ("randomize plan.toml baskets.csv -o r.csv", "0 attributes are baskets"),
        ("randomize baskets.json people.csv -o r.csv", "column 'basket' is missing"),
        ("mine baskets.json baskets.csv --min-support 0.1", "needs the columns size and bitmap"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(sfumato, baskets, arguments, message):
    answer = sfumato(f"itemsets {arguments}")
    assert answer.code == 2 and message in answer.err and answer.err.count("\n") == 1


def test_labels_may_come_from_a_file(sfumato, folder):
    folder.write("labels.txt", "green tea\nmilk\nbread\n")
    folder.write("people.csv", "basket\ngreen tea;milk\nmilk;bread\n")
    assert sfumato("itemsets design --items labels.txt --sizes 2 --gamma 5 --up-to 1 -o plan.json").code == 0
    answer = sfumato("itemsets randomize plan.json people.csv -o r.csv --separator ;")
    assert answer.code == 0, answer.err


@pytest.mark.parametrize("compress", ["", "--compress"])
def test_csv_is_counted_where_it_is(sfumato, folder, baskets, compress):
    sfumato(f"itemsets randomize baskets.json baskets.csv -o reports.csv --seed 1 {compress}")
    lines = (folder / "reports.csv").read_text().splitlines()
    for part in range(2):
        folder.write(f"part-{part}.csv", "\n".join([lines[0], *lines[1 + 4000 * part : 4001 + 4000 * part], ""]))
    found = sfumato("itemsets mine baskets.json reports.csv --min-support 0.2 --max-len 2 --json")
    again = sfumato("itemsets mine baskets.json part-*.csv --min-support 0.2 --max-len 2 --json --engine arrow")
    assert found.code == 0 and json.loads(again.out) == json.loads(found.out)


def test_large_files_are_counted_where_they_are(sfumato, folder, baskets, monkeypatch):
    sfumato("itemsets randomize baskets.json baskets.csv -o reports.parquet --seed 1")
    monkeypatch.setattr("sfumato.cli.itemsets.read_answers", None)
    monkeypatch.setattr("sfumato.cli.plans.LARGE", 10)
    answer = sfumato("itemsets mine baskets.json reports.parquet --min-support 0.2 --max-len 1")
    assert answer.code == 0 and "itemsets reach 20.00%" in answer.out


def test_levels_are_mined_together(sfumato, folder, baskets):
    spec = json.loads((folder / "baskets.json").read_text())
    design = spec["attributes"]["basket"]
    items, channel = design.pop("items"), dict(design)
    spec["attributes"]["basket"] = {"items": items, "channel": "choice", "levels": {"shy": channel, "open": channel}}
    folder.write("choice.json", json.dumps(spec))
    sfumato("itemsets randomize baskets.json baskets.csv -o reports.parquet --seed 1")
    table = parquet.read_table(folder / "reports.parquet").replace_schema_metadata(None)
    level = np.array(["shy", "open"])[np.arange(table.num_rows) % 2]
    parquet.write_table(table.append_column("basket.level", [level]), folder / "levels.parquet")
    found = sfumato("itemsets mine choice.json levels.parquet --min-support 0.2 --max-len 2 --json")
    assert [1, 2] in [row["itemsets"] for row in json.loads(found.out)["itemsets"]]
    refused = sfumato("itemsets randomize choice.json baskets.csv -o reports.csv")
    assert refused.code == 2 and "randomize the baskets of each with a plan of its own" in refused.err
