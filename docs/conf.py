"""Sphinx settings: Markdown pages, reference from docstrings, formulas as MathML, nothing loaded from the network."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "sfumato"
copyright = "the sfumato contributors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "rendering"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"
smartquotes = False  # "likelihood" is what one types
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_theme = "furo"
html_title = "sfumato"
html_theme_options = {"light_css_variables": {"color-brand-primary": "#8a4b2a", "color-brand-content": "#8a4b2a"}}
