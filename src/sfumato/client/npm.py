"""A command that writes the JavaScript device as an npm package: ``python -m sfumato.client.npm FOLDER``.

``npm pack FOLDER`` then makes the archive.
"""

from __future__ import annotations

import json
import shutil
import sys
from importlib.metadata import version
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

READ_ME = """# sfumato

Answers blurred on the device, under a law that can be checked; a ledger of what was told; models that come home.

```js
import { answer, Ledger, readSurvey } from "sfumato";
```

Plain ES modules for browsers and Node 18 or later; no dependencies, no build step.
"""


def package(names: list[str]) -> dict[str, Any]:
    """Return the content of package.json as a dict, for an npm package of the files with these names."""
    return {
        "name": "sfumato",
        "version": version("sfumato"),
        "description": "The device in JavaScript: answers blurred where they are given.",
        "license": "Apache-2.0",
        "type": "module",
        "exports": {".": {"types": "./sfumato.d.ts", "default": "./sfumato.js"}, "./*": "./*"},
        "types": "./sfumato.d.ts",
        "files": names,
        "engines": {"node": ">=18"},
    }


def write(folder: Path) -> None:
    """Write the JavaScript device, package.json and a README into a folder, new or empty, as an npm package."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty; name a new folder")
    with as_file(files("sfumato").joinpath("client", "static")) as static:
        shutil.copytree(static, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("package.json"))
    names = sorted(path.name for path in folder.iterdir())
    (folder / "package.json").write_text(json.dumps(package(names), indent=2) + "\n", encoding="utf-8")
    (folder / "README.md").write_text(READ_ME, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m sfumato.client.npm FOLDER")
    try:
        write(Path(sys.argv[1]))
    except (OSError, ValueError) as error:
        sys.exit(str(error))
