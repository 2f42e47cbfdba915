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
