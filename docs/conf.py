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
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_theme = "furo"
html_title = "sfumato"
html_theme_options = {"light_css_variables": {"color-brand-primary": "#8a4b2a", "color-brand-content": "#8a4b2a"}}


def as_written(app, what, name, obj, options, lines):
    """Docstrings state formulas in plain text: the first line is a paragraph, the rest is shown as it was written."""
    if lines:
        first = lines[0].replace("|", r"\|").replace("*", r"\*")
        rest = ["   " + line.replace("``", "") for line in lines[1:]]
        lines[:] = [first, *(["", "::", "", *rest, ""] if any(line.strip() for line in rest) else [""])]


def every_public_name(app, docname, source):
    """The reference lists what the package lists, so that it cannot fall behind."""
    import inspect

    import sfumato

    def entry(name):
        kind = "autoclass" if inspect.isclass(getattr(sfumato, name)) else "autofunction"
        return f".. {kind}:: sfumato.{name}\n" + "   :members:\n" * (kind == "autoclass")

    listing = "\n".join(entry(name) for name in sfumato.__all__)
    source[0] = source[0].replace(" every public name ", f"```{{eval-rst}}\n{listing}\n```")


def setup(app):
    app.connect("autodoc-process-docstring", as_written)
    app.connect("source-read", every_public_name)
