"""Sphinx settings: Markdown pages, reference from docstrings, nothing loaded from the network."""

project = "sfumato"
copyright = "the sfumato contributors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
exclude_patterns: list[str] = []
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autosummary_generate = True
html_theme = "furo"
html_title = "sfumato"
html_theme_options = {"light_css_variables": {"color-brand-primary": "#8a4b2a", "color-brand-content": "#8a4b2a"}}


def as_written(app, what, name, obj, options, lines):
    """Docstrings state formulas in plain text: the first line is a paragraph, the rest is shown as it was written."""
    if lines:
        first = lines[0].replace("|", r"\|").replace("*", r"\*")
        rest = [f"   {line}" for line in lines[1:]]
        lines[:] = [first, *(["", "::", "", *rest, ""] if any(line.strip() for line in rest) else [""])]


def setup(app):
    app.connect("autodoc-process-docstring", as_written)
