"""Sphinx configuration; `rooms` makes the pages of the reference and `mathml` the formulas."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = html_title = "Localax"
author = "The Localax developers"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "mathml", "rooms"]
exclude_patterns = ["_build", "jupyter_execute", ".jupyter_cache"]
myst_enable_extensions = ["dollarmath", "amsmath"]

# A signature has names and defaults; types, which name every axis, would take lines.
autodoc_typehints = "none"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
autodoc_inherit_docstrings = False  # a method stands where it is explained
autosummary_generate = False
add_module_names = False
default_role = "py:obj"
nitpicky = True  # a link that leads nowhere is a mistake

# Tutorials run when the pages are built, once as long as they do not change; what fails or hangs is a mistake.
nb_execution_mode = "cache"
nb_execution_timeout = 180
nb_execution_raise_on_error = True
nb_merge_streams = True

html_theme = "pydata_sphinx_theme"
html_theme_options = {"header_links_before_dropdown": 6}
html_static_path, html_css_files = ["_static"], ["localax.css"]
html_sidebars = {"*": []}  # pages at the top have nothing beside them
html_math_renderer = "mathml"
html_show_sourcelink = False
