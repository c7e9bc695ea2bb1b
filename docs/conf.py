"""Sphinx configuration."""

project = "Localax"
author = "The Localax developers"
extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath", "amsmath"]
html_theme = "pydata_sphinx_theme"
html_show_sourcelink = False
exclude_patterns = ["_build"]
