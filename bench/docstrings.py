"""Twelve docstrings drawn at random from each folder of the package, to be read by somebody who sees nothing else.

    python bench/docstrings.py --seed 31 --only channels,plan

Prints a name and the first paragraph of its docstring; whoever reads says what the object is for. Functions whose name
begins with an underscore are drawn too: they are read as often. A folder's draw depends on the seed and its name alone.
"""

from __future__ import annotations

import ast
import random
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src/sfumato"
DRAWN = 12
Documented = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def documented(node: ast.AST, path: str) -> Iterator[tuple[str, str]]:
    """Yield (dotted name, whole docstring) of every class and function below a node."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Documented):
            name = f"{path}.{child.name}"
            text = ast.get_docstring(child)
            if text:
                yield name, text
            yield from documented(child, name)


def main() -> None:
    """Print the draw of each folder."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=31)
    parser.add_argument("--only", default="", help="folders, separated by commas")
    chosen = parser.parse_args()
    folders = sorted({path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in SOURCE.rglob("*.py")})
    for folder in filter(None, chosen.only.split(",")) if chosen.only else folders:
        paths = sorted((SOURCE / folder).rglob("*.py")) or [SOURCE / f"{folder}.py"]
        found = [
            each for path in paths
            for each in documented(ast.parse(path.read_text(encoding="utf-8")), path.stem)
        ]  # fmt: skip
        draw = random.Random(f"{chosen.seed} {folder}").sample(found, min(DRAWN, len(found)))
        print(f"== {folder}: {len(draw)} of {len(found)} docstrings, seed {chosen.seed}")
        for name, text in draw:
            print(f"\n{name}\n    " + text.replace("\n", "\n    "))
        print()


if __name__ == "__main__":
    main()
