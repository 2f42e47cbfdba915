"""The example of the documentation runs in Node as it stands."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.browser.chromium import ROOT, STATIC

PAGE = ROOT / "docs" / "how-to" / "answer-in-the-browser.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_example_runs_in_node_and_prints_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node here; on Debian: apt-get install nodejs")
    folder = tmp_path / "static"
    shutil.copytree(ROOT / STATIC, folder)
    monkeypatch.chdir(folder)
    (survey,), (example,) = blocks("python"), blocks("js")
    exec(survey, {})
    (folder / "example.js").write_text(example, encoding="utf-8")
    done = subprocess.run([node, "example.js"], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    said = done.stdout
    assert said.startswith("Do you smoke? At worst a suspicion of 5 % grows to 50 %") and "\ntrue\n" in said
    assert '"reports":[{"id":"' in said and "You have told https://town.example" in said
    assert "true with age, https://city.example could multiply the odds about you by up to 57" in said
