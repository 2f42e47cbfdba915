"""The static files pack as an npm package that Node imports by name, with this package's version and its types."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.client import npm
from tests.browser.chromium import ROOT, STATIC, in_node

USE = """
import * as device from "sfumato";
import { gammaOf } from "sfumato/check/gamma.js";
import { canonical } from "sfumato/hashes.js";
console.log(JSON.stringify([Object.keys(device).sort(), canonical({ b: 1, a: [0.5] }), typeof gammaOf]));
"""


def test_the_folder_says_what_it_is_and_holds_every_file(tmp_path: Path) -> None:
    npm.write(tmp_path / "npm")
    made = json.loads((tmp_path / "npm" / "package.json").read_text(encoding="utf-8"))
    assert made["version"] == sf.__version__ and made["type"] == "module" and made["types"] == "./sfumato.d.ts"
    static = {path.name for path in (ROOT / STATIC).iterdir()} - {"package.json"}
    assert set(made["files"]) == static and {"sfumato.js", "sfumato.d.ts"} <= static


def test_what_a_browser_loads_leaves_the_check_out() -> None:
    """`check` is for those who do not trust whoever made the survey."""
    for path in (ROOT / STATIC).glob("*.js"):
        assert "check/" not in "".join(re.findall(r' from "(.+)"', path.read_text(encoding="utf-8"))), path.name


def test_a_folder_with_files_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    done = subprocess.run([sys.executable, "-m", "sfumato.client.npm", str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 1 and "is not empty; name a new folder" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_npm_packs_it_and_node_imports_it(tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("there is no npm here; on Debian: apt-get install npm")
    npm.write(tmp_path / "npm")
    packing = ["npm", "pack", "--offline", "--silent", "--pack-destination", str(tmp_path), str(tmp_path / "npm")]
    subprocess.run(packing, check=True, capture_output=True, cwd=tmp_path)
    (packed,) = tmp_path.glob("*.tgz")
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path / "node_modules", filter="data")
    (tmp_path / "node_modules" / "package").rename(tmp_path / "node_modules" / "sfumato")
    (tmp_path / "use.mjs").write_text(USE, encoding="utf-8")
    names, text, kind = in_node(tmp_path / "use.mjs")
    assert {"answer", "readSurvey", "Ledger", "readMechanism"} <= set(names) and text == '{"a":["0.5"],"b":1}'
    assert kind == "function"
