"""How docstrings and formulas become HTML: with docutils alone, nothing from the network and no LaTeX."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import Any

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml

TITLE, NAMES = r"[A-Zγ][\w γε’'/()-]{0,40}", r"\*{0,2}[a-z]\w*(?:, \*{0,2}[a-z]\w*)*"
NAMED = re.compile(rf"(?P<label>{TITLE}|{NAMES})(?:: +|\s{{2,}})(?P<text>\S.*)")
"""``Law: …``, or ``reports: …``, or ``reports   …``: the beginning of an item in a docstring."""
INSIDE = re.compile(r"(?:^|(?<=[.;)] ))(``\w+``(?:(?:,| and| or) ``\w+``)*): ")
"""The same of quoted names in running text."""
QUOTED = re.compile(r"``(.+?)``|:\w+:`(.+?)`|`(.+?)`")


def as_rest(docstring: list[str]) -> list[str]:
    """Turn a docstring into reStructuredText: paragraphs, lists of named items, indented formulas, examples."""
    first, *rest = "\n".join(docstring).strip("\n").split("\n\n")
    parts = [_with_formulas(first.splitlines()), *map(_block, rest)]
    return [*"\n\n".join(filter(None, parts)).splitlines(), ""]


def _block(block: str) -> str:
    lines = block.strip("\n").splitlines()
    if not lines or lines[0].startswith(">>>"):
        return block.strip("\n")
    if all(line.startswith("    ") for line in lines):
        return "::\n\n" + block.strip("\n")
    if INSIDE.match(lines[0]):
        _, *parts = INSIDE.split(" ".join(line.strip() for line in lines))
        pairs = zip(parts[::2], parts[1::2], strict=True)
        return "\n\n".join(f"{label}\n   {_escaped([text])}" for label, text in pairs)
    if not (first := NAMED.fullmatch(lines[0])):
        return _with_formulas(lines)
    items, words = [], _is_name(first["label"])
    for line in lines:
        found = NAMED.fullmatch(line)
        if found and _is_name(found["label"]) == words:
            items.append((found["label"], [found["text"]]))
        else:
            items[-1][1].append(line.strip())
    return "\n\n".join(f"{_label(label, words)}\n{textwrap.indent(_escaped(text), '   ')}" for label, text in items)


def _with_formulas(lines: list[str]) -> str:
    """A paragraph; what is indented in it stands as it was written."""
    parts: list[tuple[bool, list[str]]] = []
    for line in lines:
        set_off = line.startswith("    ")
        if not parts or parts[-1][0] != set_off:
            parts.append((set_off, []))
        parts[-1][1].append(line)
    shown = ["::\n\n" + "\n".join(some) if set_off else _escaped(some) for set_off, some in parts]
    return "\n\n".join(shown)


def _is_name(label: str) -> bool:
    return re.fullmatch(NAMES, label) is not None


def _label(label: str, words: bool) -> str:
    return ", ".join(f"``{name}``" for name in label.split(", ")) if words else f"**{label}**"


def _escaped(lines: list[str]) -> str:
    """One line of text: quoted names are literals, and nothing else is markup."""
    text, parts, end = " ".join(line.strip() for line in lines), [], 0
    for quoted in QUOTED.finditer(text):
        parts += [_plain(text[end : quoted.start()]), f"\\ ``{next(filter(None, quoted.groups())).lstrip('~')}``\\ "]
        end = quoted.end()
    return ("".join(parts) + _plain(text[end:])).strip()


def _plain(text: str) -> str:
    return re.sub(r"([\\*|`_])", r"\\\1", text)


def process_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = as_rest(lines)


def list_every_public_name(app: Any, docname: str, source: list[str]) -> None:
    """Put what the package lists into the reference, so that it cannot fall behind."""
    import sfumato

    def entry(name: str) -> str:
        kind = "autoclass" if inspect.isclass(getattr(sfumato, name)) else "autofunction"
        return f".. {kind}:: sfumato.{name}\n" + "   :members:\n" * (kind == "autoclass")

    listing = "\n".join(entry(name) for name in sfumato.__all__)
    source[0] = source[0].replace(" every public name ", f"```{{eval-rst}}\n{listing}\n```")


# --- formulas -------------------------------------------------------------------------------------------------------


def inline_formula(self: Any, node: Any) -> None:
    self.body.append(mathml(node.astext(), False))
    raise SkipNode


def displayed_formula(self: Any, node: Any) -> None:
    self.body.append(f'<div class="formula">{mathml(node.astext(), True)}</div>\n')
    raise SkipNode


def mathml(tex: str, displayed: bool) -> str:
    """A formula as MathML: browsers set it without a script, where MathJax is 2 MB and imgmath needs LaTeX."""
    return re.sub(r">\s+<", "><", tex2mathml(tex, as_block=displayed))


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", process_docstring)
    app.connect("source-read", list_every_public_name)
    app.add_html_math_renderer("mathml", (inline_formula, None), (displayed_formula, None))
    return {"parallel_read_safe": True}
